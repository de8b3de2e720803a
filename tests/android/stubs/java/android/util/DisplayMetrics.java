/* Stub of android.util.DisplayMetrics: what apps/android uses of it. */
package android.util;

public class DisplayMetrics {
    public int widthPixels;
}
