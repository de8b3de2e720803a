/* Stub of android.os.Bundle: what apps/android uses of it. */
package android.os;

public final class Bundle {
}
