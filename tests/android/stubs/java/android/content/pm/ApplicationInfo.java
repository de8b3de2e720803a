/* Stub of android.content.pm.ApplicationInfo: what apps/android uses of it. */
package android.content.pm;

public class ApplicationInfo {
    public String nativeLibraryDir;
}
