/* Stub of android.content.Intent: what apps/android uses of it. */
package android.content;

public class Intent {
    public int getIntExtra(String name, int otherwise) {
        return otherwise;
    }
}
