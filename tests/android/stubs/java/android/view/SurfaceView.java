/* Stub of android.view.SurfaceView: what apps/android uses of it. */
package android.view;

import android.content.Context;

public class SurfaceView extends View {
    public SurfaceView(Context context) {
        super(context);
    }

    public SurfaceHolder getHolder() {
        return null;
    }
}
