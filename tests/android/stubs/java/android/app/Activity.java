/* Stub of android.app.Activity: what apps/android uses of it. */
package android.app;

import android.content.Context;
import android.content.Intent;
import android.os.Bundle;
import android.view.View;
import android.view.Window;
import android.view.WindowManager;

public class Activity extends Context {
    protected void onCreate(Bundle savedInstanceState) {
    }

    protected void onResume() {
    }

    protected void onPause() {
    }

    protected void onDestroy() {
    }

    public void onRequestPermissionsResult(int requestCode, String[] permissions, int[] grantResults) {
    }

    public final void requestPermissions(String[] permissions, int requestCode) {
    }

    public void setContentView(View view) {
    }

    public WindowManager getWindowManager() {
        return null;
    }

    public Window getWindow() {
        return null;
    }

    public Intent getIntent() {
        return null;
    }

    public final void runOnUiThread(Runnable action) {
    }
}
