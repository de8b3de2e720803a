/* Stub of android.view.WindowManager: what apps/android uses of it. */
package android.view;

public interface WindowManager {
    class LayoutParams {
        public static final int FLAG_KEEP_SCREEN_ON = 0x80;
    }

    Display getDefaultDisplay();
}
