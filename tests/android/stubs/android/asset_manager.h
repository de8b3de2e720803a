/*
 * Stub of the NDK's android/asset_manager.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_ANDROID_ASSET_MANAGER_H
#define STUB_ANDROID_ASSET_MANAGER_H

#include <sys/types.h>

typedef struct AAssetManager AAssetManager;
typedef struct AAsset AAsset;

enum { AASSET_MODE_UNKNOWN = 0, AASSET_MODE_RANDOM = 1, AASSET_MODE_STREAMING = 2, AASSET_MODE_BUFFER = 3 };

AAsset *AAssetManager_open(AAssetManager *mgr, const char *filename, int mode);
int AAsset_openFileDescriptor64(AAsset *asset, off64_t *outStart, off64_t *outLength);
const void *AAsset_getBuffer(AAsset *asset);
off64_t AAsset_getLength64(AAsset *asset);
void AAsset_close(AAsset *asset);

#endif
