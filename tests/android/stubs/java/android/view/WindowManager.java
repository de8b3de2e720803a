/* Stub of android.view.WindowManager: what apps/android uses of it. */
package android.view;

public interface WindowManager {
    Display getDefaultDisplay();
}
