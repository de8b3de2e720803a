/*
 * Stub of the NDK's android/native_window.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_ANDROID_NATIVE_WINDOW_H
#define STUB_ANDROID_NATIVE_WINDOW_H

typedef struct ANativeWindow ANativeWindow;

void ANativeWindow_release(ANativeWindow *window);

#endif
