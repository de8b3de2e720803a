/*
 * assets.c: see assets.h.
 */
#include "assets.h"

#include <stdint.h>
#include <unistd.h>

mts_status assets_open(AAssetManager *assets, const char *name, mts_runtime *runtime, mts_bundle **out,
                       AAsset **held, const char **why)
{
    off64_t start = 0, length = 0;
    *out = NULL;
    *held = NULL;
    *why = "";
    AAsset *asset = AAssetManager_open(assets, name, AASSET_MODE_BUFFER);
    if (!asset) {
        *why = "the app has no bundle among its assets";
        return MTS_STATUS_NOT_FOUND;
    }
    const int descriptor = AAsset_openFileDescriptor64(asset, &start, &length);
    if (descriptor >= 0) {
        const mts_status status =
            mts_bundle_open_fd(runtime, descriptor, (uint64_t)start, (uint64_t)length, out);
        (void)close(descriptor);
        AAsset_close(asset);
        return status;
    }
    const void *data = AAsset_getBuffer(asset);
    if (!data) {
        AAsset_close(asset);
        *why = "the bundle among the app's assets cannot be read";
        return MTS_STATUS_IO;
    }
    *held = asset; /* memory that is aligned is not copied */
    const mts_status status = mts_bundle_open_memory(runtime, data, (size_t)AAsset_getLength64(asset), out);
    if (status != MTS_STATUS_OK) {
        assets_close(held);
    }
    return status;
}

void assets_close(AAsset **held)
{
    if (held && *held) {
        AAsset_close(*held);
        *held = NULL;
    }
}
