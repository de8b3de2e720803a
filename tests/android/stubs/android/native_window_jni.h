/*
 * Stub of the NDK's android/native_window_jni.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_ANDROID_NATIVE_WINDOW_JNI_H
#define STUB_ANDROID_NATIVE_WINDOW_JNI_H

#include <android/native_window.h>
#include <jni.h>

ANativeWindow *ANativeWindow_fromSurface(JNIEnv *env, jobject surface);

#endif
