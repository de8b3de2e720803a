/* Stub of android.widget.FrameLayout: what apps/android uses of it. */
package android.widget;

import android.content.Context;
import android.view.View;

public class FrameLayout extends View {
    public FrameLayout(Context context) {
        super(context);
    }

    public void addView(View child) {
    }
}
