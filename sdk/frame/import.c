/*
 * foreign.c: the memories of others that an engine keeps hold of. Not responsible for what lies in them
 * (stage.c).
 */
#include "frame/import.h"

#include "engine/engine_internal.h"
#include "platform/os/descriptor.h"

static void let_go(mts_engine *engine, engine_foreign *f)
{
    if (!f->kept) {
        return;
    }
    mts_buffer_destroy(&f->buffer);
    mts_os_dmabuf_unmap(&f->mapped, f->size);
    if (f->kind == MTS_MEMORY_DMABUF) {
        mts_os_descriptor_close(f->fd);
    } else {
        engine->foreigns.android.release((void *)(uintptr_t)f->handle);
    }
    *f = (engine_foreign){.kept = false};
}

void mts_foreigns_release(mts_engine *engine)
{
    for (uint32_t i = 0; i < MTS_FOREIGNS_KEPT; i++) {
        let_go(engine, &engine->foreigns.kept[i]);
    }
}

static mts_status identify(mts_engine *engine, const mts_memory *memory, uint64_t identity[2],
                           mts_error *error)
{
    uint64_t size = 0;
    if (memory->kind == MTS_MEMORY_ANDROID) {
        if (!mts_os_hardware_buffers_find(&engine->foreigns.android)) {
            return mts_fail(error, MTS_STATUS_UNSUPPORTED, "this system has no hardware buffers");
        }
        identity[0] = (uint64_t)(uintptr_t)memory->host;
        identity[1] = 0;
        return mts_os_hardware_buffer_check(&engine->foreigns.android, memory->host, memory->size, error);
    }
    if (!mts_os_descriptor_identity(memory->fd, identity) || !mts_os_descriptor_size(memory->fd, &size)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "descriptor %d is not open", memory->fd);
    }
    return size >= memory->size ? MTS_STATUS_OK
                                : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                           "the picture takes %zu bytes of a memory that has %llu",
                                           memory->size, (unsigned long long)size);
}

/* The place of this memory, or the one to be used for it; NULL: all are under way. */
static engine_foreign *find(engine_foreigns *all, const mts_memory *memory, const uint64_t identity[2],
                            bool *found)
{
    engine_foreign *oldest = NULL;
    for (uint32_t i = 0; i < MTS_FOREIGNS_KEPT; i++) {
        engine_foreign *f = &all->kept[i];
        *found = f->kept && f->kind == memory->kind && f->identity[0] == identity[0] &&
                 f->identity[1] == identity[1] &&
                 (f->kind != MTS_MEMORY_DMABUF || mts_os_descriptor_same(f->fd, memory->fd));
        if (*found) {
            return f;
        }
        if (f->users == 0 && (!oldest || f->used < oldest->used)) {
            oldest = f;
        }
    }
    return oldest;
}

/* Buffer of the device, or memory that the processor reads. */
static mts_status take_hold(mts_engine *engine, const mts_memory *memory, engine_foreign *f, mts_error *error)
{
    mts_status code = MTS_STATUS_UNSUPPORTED;
    if ((engine->device->info.imports & MTS_MEMORY_BIT(memory->kind)) != 0) {
        code = mts_buffer_import(engine->device, memory, &f->buffer, error);
    }
    if (code == MTS_STATUS_UNSUPPORTED && memory->kind == MTS_MEMORY_DMABUF) {
        code = mts_os_dmabuf_map(f->fd, memory->size, &f->mapped, error);
    } else if (code == MTS_STATUS_UNSUPPORTED) {
        code = MTS_STATUS_OK; /* it is locked when it is read */
    }
    f->size = code == MTS_STATUS_OK ? memory->size : 0;
    return code;
}

static mts_status keep(mts_engine *engine, const mts_memory *memory, const uint64_t identity[2],
                       engine_foreign *f, mts_error *error)
{
    *f = (engine_foreign){
        .kind = memory->kind, .identity = {identity[0], identity[1]}, .handle = memory->host};
    if (memory->kind == MTS_MEMORY_DMABUF) {
        f->fd = mts_os_descriptor_copy(memory->fd);
        if (f->fd < 0) {
            return mts_fail_memory(error);
        }
    } else {
        engine->foreigns.android.acquire((void *)(uintptr_t)f->handle);
    }
    f->kept = true;
    return MTS_STATUS_OK;
}

mts_status mts_foreign_get(mts_engine *engine, const mts_memory *memory, engine_foreign **out,
                           mts_error *error)
{
    uint64_t identity[2];
    bool found = false;
    mts_status code = identify(engine, memory, identity, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    engine_foreign *f = find(&engine->foreigns, memory, identity, &found);
    if (f && found && f->size < memory->size && f->users > 0) {
        return mts_fail(error, MTS_STATUS_BUSY, "a run reads a smaller part of this memory: wait for it");
    }
    if (!f) {
        return mts_fail(error, MTS_STATUS_LIMIT, "%d memories of pictures are under way", MTS_FOREIGNS_KEPT);
    }
    if (!found || f->size < memory->size) {
        let_go(engine, f);
        code = keep(engine, memory, identity, f, error);
        MTS_TRY(code, take_hold(engine, memory, f, error));
        if (code != MTS_STATUS_OK) {
            let_go(engine, f);
            return code;
        }
    }
    f->used = ++engine->foreigns.clock;
    *out = f;
    return MTS_STATUS_OK;
}

mts_status mts_foreign_begin(mts_engine *engine, engine_foreign *f, const void **out, mts_error *error)
{
    if (f->kind == MTS_MEMORY_ANDROID) {
        return mts_os_hardware_buffer_lock(&engine->foreigns.android, f->handle, out, error);
    }
    mts_status code = MTS_STATUS_OK;
    if (!f->mapped) { /* the device has it: a second picture of one run is copied */
        code = mts_os_dmabuf_map(f->fd, f->size, &f->mapped, error);
    }
    if (code == MTS_STATUS_OK) {
        mts_os_dmabuf_begin(f->fd);
        *out = f->mapped;
    }
    return code;
}

void mts_foreign_end(mts_engine *engine, engine_foreign *f)
{
    if (f->kind == MTS_MEMORY_ANDROID) {
        mts_os_hardware_buffer_unlock(&engine->foreigns.android, f->handle);
    } else {
        mts_os_dmabuf_end(f->fd);
    }
}
