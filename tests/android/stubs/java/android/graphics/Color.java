/* Stub of android.graphics.Color: what apps/android uses of it. */
package android.graphics;

public class Color {
    public static final int BLACK = 0xFF000000;
    public static final int GREEN = 0xFF00FF00;
    public static final int WHITE = 0xFFFFFFFF;
}
