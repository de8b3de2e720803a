/*
 * MainActivity.java: the screen. Asks for the camera, hands a surface and the bundle's name to native code, and draws
 * what native code says. Everything else happens there (../../../cpp).
 *
 * Lifetimes: the networks live from onCreate to onDestroy, the camera while the app is seen and its surface exists.
 */
package org.mts.camera;

import android.Manifest;
import android.app.Activity;
import android.content.Context;
import android.content.pm.PackageManager;
import android.content.res.AssetManager;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.os.Bundle;
import android.view.Surface;
import android.view.SurfaceHolder;
import android.view.SurfaceView;
import android.view.View;
import android.widget.FrameLayout;
import java.nio.charset.StandardCharsets;

public final class MainActivity extends Activity implements SurfaceHolder.Callback {
    private static final String BUNDLE = "app.mtsb";
    private static final int PERMISSION = 1;
    private static final int REFRESH_MS = 66;
    private static final int WIDTH = 640; // of the preview; native code looks for pictures of this shape
    private static final int HEIGHT = 480;

    static {
        System.loadLibrary("mts_camera");
    }

    private long handle;
    private SurfaceHolder holder; // null: there is no surface
    private boolean visible;
    private boolean running;
    private boolean front;
    private Overlay overlay;

    static native long create(AssetManager assets, String bundle, String cacheDir);

    static native void resume(long handle, Surface surface, boolean front, int display);

    static native void pause(long handle);

    static native byte[] text(long handle);

    static native float[] boxes(long handle);

    static native void destroy(long handle);

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        handle = create(getAssets(), BUNDLE, getCacheDir().getPath() + "/mts");
        SurfaceView preview = new SurfaceView(this);
        preview.getHolder().setFixedSize(WIDTH, HEIGHT);
        preview.getHolder().addCallback(this);
        overlay = new Overlay(this);
        overlay.setOnClickListener(view -> turnAround());
        FrameLayout layout = new FrameLayout(this);
        // upright, so that boxes lie where the preview shows things
        int side = getResources().getDisplayMetrics().widthPixels;
        layout.addView(preview, new FrameLayout.LayoutParams(side, side * WIDTH / HEIGHT));
        layout.addView(overlay, new FrameLayout.LayoutParams(side, side * WIDTH / HEIGHT));
        setContentView(layout);
        if (!mayUseCamera()) {
            requestPermissions(new String[] {Manifest.permission.CAMERA}, PERMISSION);
        }
    }

    @Override
    protected void onResume() {
        super.onResume();
        visible = true;
        update();
    }

    @Override
    protected void onPause() {
        visible = false;
        update();
        super.onPause();
    }

    @Override
    protected void onDestroy() {
        visible = false;
        update();
        long last = handle;
        handle = 0;
        if (last != 0) {
            destroy(last);
        }
        super.onDestroy();
    }

    @Override
    public void onRequestPermissionsResult(int request, String[] names, int[] granted) {
        update();
    }

    @Override
    public void surfaceCreated(SurfaceHolder made) {
    }

    @Override
    public void surfaceChanged(SurfaceHolder made, int format, int width, int height) {
        holder = made;
        update();
    }

    @Override
    public void surfaceDestroyed(SurfaceHolder gone) {
        holder = null; // native code lets go of it before this returns
        update();
    }

    private boolean mayUseCamera() {
        return checkSelfPermission(Manifest.permission.CAMERA) == PackageManager.PERMISSION_GRANTED;
    }

    private void turnAround() {
        front = !front;
        if (running) {
            resume(handle, holder.getSurface(), front, degrees());
        }
    }

    private int degrees() {
        return getWindowManager().getDefaultDisplay().getRotation() * 90;
    }

    /** Opens or closes the camera, whichever the state asks for. */
    private void update() {
        boolean wanted = handle != 0 && visible && holder != null && mayUseCamera();
        if (wanted && !running) {
            resume(handle, holder.getSurface(), front, degrees());
        } else if (!wanted && running) {
            pause(handle);
        }
        running = wanted;
        overlay.invalidate();
    }

    /** Answers over the preview. Draws itself again as long as the camera runs. */
    private final class Overlay extends View {
        private final Paint line = new Paint();
        private final Paint letters = new Paint();

        Overlay(Context context) {
            super(context);
            line.setStyle(Paint.Style.STROKE);
            line.setStrokeWidth(4f);
            line.setColor(Color.GREEN);
            letters.setColor(Color.WHITE);
            letters.setTextSize(40f);
            letters.setShadowLayer(4f, 0f, 0f, Color.BLACK);
        }

        @Override
        protected void onDraw(Canvas canvas) {
            super.onDraw(canvas);
            if (handle == 0) {
                canvas.drawText("no memory", 20f, 60f, letters);
                return;
            }
            if (!mayUseCamera()) {
                canvas.drawText("the app may not use the camera", 20f, 60f, letters);
                return;
            }
            float[] boxes = boxes(handle);
            for (int i = 0; boxes != null && i + 5 <= boxes.length; i += 5) {
                canvas.drawRect(boxes[i] * getWidth(), boxes[i + 1] * getHeight(), boxes[i + 2] * getWidth(),
                        boxes[i + 3] * getHeight(), line);
            }
            byte[] text = text(handle);
            float y = 60f;
            for (String row : text == null ? new String[0] : new String(text, StandardCharsets.UTF_8).split("\n")) {
                canvas.drawText(row, 20f, y, letters);
                y += 48f;
            }
            if (running) {
                postInvalidateDelayed(REFRESH_MS);
            }
        }
    }
}
