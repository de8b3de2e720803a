/*
 * Stub of the NDK's android/asset_manager_jni.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_ANDROID_ASSET_MANAGER_JNI_H
#define STUB_ANDROID_ASSET_MANAGER_JNI_H

#include <android/asset_manager.h>
#include <jni.h>

AAssetManager *AAssetManager_fromJava(JNIEnv *env, jobject assetManager);

#endif
