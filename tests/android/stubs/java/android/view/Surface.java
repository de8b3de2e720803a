/* Stub of android.view.Surface: what apps/android uses of it. */
package android.view;

public class Surface {
}
