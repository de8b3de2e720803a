/* Stub of android.graphics.Canvas: what apps/android uses of it. */
package android.graphics;

public class Canvas {
    public void drawRect(float left, float top, float right, float bottom, Paint paint) {
    }

    public void drawText(String text, float x, float y, Paint paint) {
    }
}
