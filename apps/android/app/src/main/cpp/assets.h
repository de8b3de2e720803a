/*
 * assets.h: a bundle from the APK.
 */
#ifndef MTS_ANDROID_ASSETS_H
#define MTS_ANDROID_ASSETS_H

#include <android/asset_manager.h>

#include "mts/mts.h"

/*
 * Opens an asset as a bundle. One that lies in the APK as it is (noCompress in
 * build.gradle) is mapped and costs no memory; a compressed one is unpacked to memory
 * that *held then owns: assets_close after the bundle was destroyed. NOT_FOUND, IO, or
 * what the bundle says; `why` receives a sentence for the first two, else "".
 */
mts_status assets_open(AAssetManager *assets, const char *name, mts_runtime *runtime, mts_bundle **out,
                       AAsset **held, const char **why);
/* NULL and pointers to NULL are fine. */
void assets_close(AAsset **held);

#endif
