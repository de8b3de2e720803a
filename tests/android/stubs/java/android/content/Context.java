/* Stub of android.content.Context: what apps/android uses of it. */
package android.content;

import android.content.pm.ApplicationInfo;
import android.content.res.AssetManager;
import android.content.res.Resources;
import java.io.File;

public class Context {
    public AssetManager getAssets() {
        return null;
    }

    public File getCacheDir() {
        return null;
    }

    public File getExternalFilesDir(String type) {
        return null;
    }

    public ApplicationInfo getApplicationInfo() {
        return null;
    }

    public Resources getResources() {
        return null;
    }

    public int checkSelfPermission(String permission) {
        return 0;
    }
}
