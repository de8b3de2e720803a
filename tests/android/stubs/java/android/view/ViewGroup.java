/* Stub of android.view.ViewGroup: what apps/android uses of it. */
package android.view;

public abstract class ViewGroup {
    public static class LayoutParams {
        public LayoutParams(int width, int height) {
        }
    }
}
