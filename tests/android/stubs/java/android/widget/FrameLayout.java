/* Stub of android.widget.FrameLayout: what apps/android uses of it. */
package android.widget;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;

public class FrameLayout extends View {
    public FrameLayout(Context context) {
        super(context);
    }

    public static class LayoutParams extends ViewGroup.LayoutParams {
        public LayoutParams(int width, int height) {
            super(width, height);
        }
    }

    public void addView(View child, ViewGroup.LayoutParams params) {
    }
}
