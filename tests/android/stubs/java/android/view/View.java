/* Stub of android.view.View: what apps/android uses of it. */
package android.view;

import android.content.Context;
import android.graphics.Canvas;

public class View {
    public interface OnClickListener {
        void onClick(View view);
    }

    public View(Context context) {
    }

    protected void onDraw(Canvas canvas) {
    }

    public final int getWidth() {
        return 0;
    }

    public final int getHeight() {
        return 0;
    }

    public void invalidate() {
    }

    public void postInvalidateDelayed(long delayMilliseconds) {
    }

    public void setOnClickListener(OnClickListener listener) {
    }
}
