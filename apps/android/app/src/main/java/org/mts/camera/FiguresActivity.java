/*
 * FiguresActivity.java: measures the bundles in the app's folder on external storage, and writes figures.json beside
 * them. It is started by adb (docs/MOBILE.md); the screen stays on and says when it has ended.
 *
 * The program is libphone.so among the app's libraries: Android lets an app run a file from there and nowhere else.
 */
package org.mts.camera;

import android.app.Activity;
import android.os.Bundle;
import android.view.WindowManager;
import android.widget.TextView;
import java.io.File;
import java.io.IOException;

public final class FiguresActivity extends Activity {
    private static final int MINUTES = 5;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        TextView view = new TextView(this);
        view.setText("measuring");
        setContentView(view);
        getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
        File folder = getExternalFilesDir(null);
        File program = new File(getApplicationInfo().nativeLibraryDir, "libphone.so");
        Figures figures = new Figures(program, folder, getIntent().getIntExtra("minutes", MINUTES));
        new Thread(() -> {
            String said = "done: " + Figures.FILE;
            try {
                figures.measure();
            } catch (IOException failure) {
                said = failure.toString();
            }
            String last = said;
            runOnUiThread(() -> view.setText(last));
        }).start();
    }
}
