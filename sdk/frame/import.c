/*
 * import.c: the cache of imported memory. Not responsible for the frames in it (stage.c).
 */
#include "frame/import.h"

#include "platform/os/descriptor.h"

static void release(mts_import_cache *cache, mts_import *import)
{
    if (!import->kept) {
        return;
    }
    mts_buffer_destroy(&import->buffer);
    mts_os_dmabuf_unmap(&import->mapped, import->size);
    if (import->kind == MTS_MEMORY_DMABUF) {
        mts_os_descriptor_close(import->fd);
    } else {
        cache->android.release((void *)(uintptr_t)import->handle);
    }
    *import = (mts_import){.kept = false};
}

void mts_import_cache_release(mts_import_cache *cache)
{
    for (uint32_t i = 0; i < MTS_IMPORTS_KEPT; i++) {
        release(cache, &cache->kept[i]);
    }
}

static mts_status identify(mts_import_cache *cache, const mts_memory *memory, uint64_t identity[2],
                           mts_error *error)
{
    uint64_t size = 0;
    if (memory->kind == MTS_MEMORY_ANDROID) {
        if (!mts_os_hardware_buffers_find(&cache->android)) {
            return mts_fail(error, MTS_STATUS_UNSUPPORTED, "this system has no hardware buffers");
        }
        identity[0] = (uint64_t)(uintptr_t)memory->host;
        identity[1] = 0;
        return mts_os_hardware_buffer_check(&cache->android, memory->host, memory->size, error);
    }
    if (!mts_os_descriptor_identity(memory->fd, identity) || !mts_os_descriptor_size(memory->fd, &size)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "descriptor %d is not open", memory->fd);
    }
    return size >= memory->size ? MTS_STATUS_OK
                                : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                           "the frame needs %zu bytes, the memory of descriptor %d has %llu",
                                           memory->size, memory->fd, (unsigned long long)size);
}

/* The import of this memory, or the one to replace; NULL: submissions use all of them. */
static mts_import *find(mts_import_cache *cache, const mts_memory *memory, const uint64_t identity[2],
                        bool *found)
{
    mts_import *oldest = NULL;
    for (uint32_t i = 0; i < MTS_IMPORTS_KEPT; i++) {
        mts_import *import = &cache->kept[i];
        *found = import->kept && import->kind == memory->kind && import->identity[0] == identity[0] &&
                 import->identity[1] == identity[1] &&
                 (import->kind != MTS_MEMORY_DMABUF || mts_os_descriptor_same(import->fd, memory->fd));
        if (*found) {
            return import;
        }
        if (import->users == 0 && (!oldest || import->used < oldest->used)) {
            oldest = import;
        }
    }
    return oldest;
}

/* A buffer of the device, or else memory that the processor reads. */
static mts_status make_readable(mts_device *device, const mts_memory *memory, mts_import *import,
                                mts_error *error)
{
    mts_status status = MTS_STATUS_UNSUPPORTED;
    if ((device->info.imports & MTS_MEMORY_BIT(memory->kind)) != 0) {
        status = mts_buffer_import(device, memory, &import->buffer, error);
    }
    if (status == MTS_STATUS_UNSUPPORTED && memory->kind == MTS_MEMORY_DMABUF) {
        status = mts_os_dmabuf_map(import->fd, memory->size, &import->mapped, error);
    } else if (status == MTS_STATUS_UNSUPPORTED) {
        status = MTS_STATUS_OK; /* a hardware buffer is locked when it is read */
    }
    import->size = status == MTS_STATUS_OK ? memory->size : 0;
    return status;
}

/* Holds the memory open, so that it stays what its identity says. */
static mts_status hold(mts_import_cache *cache, const mts_memory *memory, const uint64_t identity[2],
                       mts_import *import, mts_error *error)
{
    *import =
        (mts_import){.kind = memory->kind, .identity = {identity[0], identity[1]}, .handle = memory->host};
    if (memory->kind == MTS_MEMORY_DMABUF) {
        import->fd = mts_os_descriptor_copy(memory->fd);
        if (import->fd < 0) {
            return mts_fail_memory(error);
        }
    } else {
        cache->android.acquire((void *)(uintptr_t)import->handle);
    }
    import->kept = true;
    return MTS_STATUS_OK;
}

mts_status mts_import_get(mts_import_cache *cache, mts_device *device, const mts_memory *memory,
                          mts_import **out, mts_error *error)
{
    uint64_t identity[2];
    bool found = false;
    mts_status status = identify(cache, memory, identity, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_import *import = find(cache, memory, identity, &found);
    if (import && found && import->size < memory->size && import->users > 0) {
        return mts_fail(error, MTS_STATUS_BUSY,
                        "a run reads the first %zu bytes of this memory, this frame needs %zu: wait for it",
                        import->size, memory->size);
    }
    if (!import) {
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "frames in flight use %d imported memories, which is the most", MTS_IMPORTS_KEPT);
    }
    if (!found || import->size < memory->size) {
        release(cache, import);
        status = hold(cache, memory, identity, import, error);
        MTS_TRY(status, make_readable(device, memory, import, error));
        if (status != MTS_STATUS_OK) {
            release(cache, import);
            return status;
        }
    }
    import->used = ++cache->clock;
    *out = import;
    return MTS_STATUS_OK;
}

mts_status mts_import_begin_read(mts_import_cache *cache, mts_import *import, const void **out,
                                 mts_error *error)
{
    if (import->kind == MTS_MEMORY_ANDROID) {
        return mts_os_hardware_buffer_lock(&cache->android, import->handle, out, error);
    }
    mts_status status = MTS_STATUS_OK;
    if (!import->mapped) { /* the device reads it, but a second frame of one run is copied */
        status = mts_os_dmabuf_map(import->fd, import->size, &import->mapped, error);
    }
    if (status == MTS_STATUS_OK) {
        mts_os_dmabuf_begin(import->fd);
        *out = import->mapped;
    }
    return status;
}

void mts_import_end_read(mts_import_cache *cache, mts_import *import)
{
    if (import->kind == MTS_MEMORY_ANDROID) {
        mts_os_hardware_buffer_unlock(&cache->android, import->handle);
    } else {
        mts_os_dmabuf_end(import->fd);
    }
}
