/* Stub of android.content.res.Resources: what apps/android uses of it. */
package android.content.res;

import android.util.DisplayMetrics;

public class Resources {
    public DisplayMetrics getDisplayMetrics() {
        return null;
    }
}
