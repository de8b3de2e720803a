/* Stub of android.view.Window: what apps/android uses of it. */
package android.view;

public abstract class Window {
    public void addFlags(int flags) {
    }
}
