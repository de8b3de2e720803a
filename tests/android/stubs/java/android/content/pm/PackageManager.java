/* Stub of android.content.pm.PackageManager: what apps/android uses of it. */
package android.content.pm;

public class PackageManager {
    public static final int PERMISSION_GRANTED = 0;
}
