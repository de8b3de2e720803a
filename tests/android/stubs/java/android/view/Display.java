/* Stub of android.view.Display: what apps/android uses of it. */
package android.view;

public final class Display {
    public int getRotation() {
        return 0;
    }
}
