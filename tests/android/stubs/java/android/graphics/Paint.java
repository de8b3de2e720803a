/* Stub of android.graphics.Paint: what apps/android uses of it. */
package android.graphics;

public class Paint {
    public enum Style { FILL, STROKE, FILL_AND_STROKE }

    public void setStyle(Style style) {
    }

    public void setStrokeWidth(float width) {
    }

    public void setColor(int color) {
    }

    public void setTextSize(float textSize) {
    }

    public void setShadowLayer(float radius, float dx, float dy, int shadowColor) {
    }
}
