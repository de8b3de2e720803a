/* Stub of android.content.res.AssetManager: what apps/android uses of it. */
package android.content.res;

public final class AssetManager {
}
