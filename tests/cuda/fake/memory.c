/*
 * memory.c: device memory that notices who writes beside it, host memory, and their copies.
 *
 * Device memory ends near pages that nobody can touch, what lies between holds a pattern that is looked at
 * whenever the host waits, and fresh memory holds numbers that are none, as float32 and as float16.
 */
#define _GNU_SOURCE

#include "cuda/fake/driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRESH 0x7ff17ff1u
#define GUARD 0x7fd37fd3u
#define HOST_MOST ((size_t)1 << 30)   /* bytes of pinned memory at once */
#define ALIGN 256u                    /* a driver promises that much */
#define GUARD_BYTES ((size_t)1 << 20) /* that nobody can touch, before and after a block */

fake_block *fake_block_at(const void *p, size_t size, fake_kind kind)
{
    const uintptr_t at = (uintptr_t)p;
    for (fake_object *o = fake_object_next(NULL, kind, fake_current()); o;
         o = fake_object_next(o, kind, fake_current())) {
        fake_block *block = (fake_block *)o;
        const uintptr_t base = (uintptr_t)block->base;
        if (at >= base && at - base <= block->size && size <= block->size - (at - base)) {
            return block;
        }
    }
    return NULL;
}

bool fake_block_reaches(const void *p)
{
    return fake_block_at(p, 1, FAKE_KIND_DEVICE_BLOCK) || fake_block_at(p, 1, FAKE_KIND_HOST_BLOCK) ||
           fake_block_at(p, 1, FAKE_KIND_REGISTERED);
}

/* Words at whole words' addresses; parts of them at the ends. Little endian. */
static void fill(char *from, const char *end, unsigned int word)
{
    char *at = from;
    for (; (uintptr_t)at % sizeof word != 0 && at < end; at++) {
        *at = (char)(word >> 8 * ((uintptr_t)at % sizeof word) & 0xff);
    }
    for (; end - at >= (ptrdiff_t)sizeof word; at += sizeof word) {
        memcpy(at, &word, sizeof word);
    }
    for (; at < end; at++) {
        *at = (char)(word >> 8 * ((uintptr_t)at % sizeof word) & 0xff);
    }
}

static bool is_filled(fake_block *block, const char *from, const char *end)
{
    for (const char *at = from; at < end; at++) {
        if (*at != (char)(GUARD >> 8 * ((uintptr_t)at % sizeof(unsigned int)) & 0xff)) {
            fake_damage("written beside device memory", block->size, at - block->base);
            return false;
        }
    }
    return true;
}

static char *first_of(const fake_block *block)
{
    return block->map + GUARD_BYTES;
}

static char *end_of(const fake_block *block)
{
    return block->map + block->map_size - GUARD_BYTES;
}

static bool is_whole(fake_block *block)
{
    return is_filled(block, first_of(block), block->base) &&
           is_filled(block, block->base + block->size, end_of(block));
}

bool fake_blocks_whole(fake_context *context)
{
    bool whole = true;
    for (fake_object *o = fake_object_next(NULL, FAKE_KIND_DEVICE_BLOCK, context); o;
         o = fake_object_next(o, FAKE_KIND_DEVICE_BLOCK, context)) {
        fake_block *block = (fake_block *)o;
        if (!is_whole(block)) {
            fill(first_of(block), block->base, GUARD); /* told once */
            fill(block->base + block->size, end_of(block), GUARD);
            whole = false;
        }
    }
    return whole;
}

static void release(fake_block *block)
{
    fake_object_remove(&block->object);
    if (block->object.kind == FAKE_KIND_DEVICE_BLOCK) {
        fake_device_bytes(-(int64_t)block->size);
        (void)munmap(block->map, block->map_size);
    } else if (block->object.kind == FAKE_KIND_HOST_BLOCK) {
        free(block->base);
    }
    free(block);
}

void fake_blocks_release(fake_context *context)
{
    static const fake_kind kinds[] = {FAKE_KIND_DEVICE_BLOCK, FAKE_KIND_HOST_BLOCK, FAKE_KIND_REGISTERED};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        fake_object *o = NULL;
        while ((o = fake_object_next(NULL, kinds[i], context))) {
            fake_orphan();
            release((fake_block *)o);
        }
    }
}

/* Pages with the block at their end, between others that cannot be touched. */
static fake_block *make_guarded(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inside = (size + 2 * (size_t)ALIGN + page - 1) / page * page;
    fake_block *block = calloc(1, sizeof *block);
    char *map = mmap(NULL, inside + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!block || map == MAP_FAILED || mprotect(map + GUARD_BYTES, inside, PROT_READ | PROT_WRITE) != 0) {
        abort(); /* the test machine's memory, not the device's, is full */
    }
    block->map = map;
    block->map_size = inside + 2 * GUARD_BYTES;
    block->size = size;
    block->base = map + GUARD_BYTES + (inside - size) / ALIGN * ALIGN;
    fill(map + GUARD_BYTES, block->base, GUARD);
    fill(block->base, block->base + size, FRESH);
    fill(block->base + size, map + GUARD_BYTES + inside, GUARD);
    return block;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    if (result == CUDA_SUCCESS && size == 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS && fake_cuda_device()->memory < size) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result == CUDA_SUCCESS) {
        uint64_t used = 0;
        for (fake_object *o = fake_object_next(NULL, FAKE_KIND_DEVICE_BLOCK, fake_current()); o;
             o = fake_object_next(o, FAKE_KIND_DEVICE_BLOCK, fake_current())) {
            used += ((fake_block *)o)->size;
        }
        result = used > fake_cuda_device()->memory - size ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        fake_block *block = make_guarded(size);
        fake_object_add(&block->object, FAKE_KIND_DEVICE_BLOCK, fake_current());
        fake_device_bytes((int64_t)size);
        *out = (CUdeviceptr)block->base;
    }
    return fake_leave(result);
}

static CUresult free_block(const void *base, fake_kind kind, CUresult result)
{
    fake_block *block = fake_block_at(base, 0, kind);
    if (!block || block->base != base) {
        fake_misuse("memory that is not there is freed");
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult late = fake_streams_drain(fake_current());
    if (kind == FAKE_KIND_DEVICE_BLOCK) {
        (void)is_whole(block);
    }
    release(block);
    return result ? result : late;
}

CUresult cuMemFree_v2(CUdeviceptr base)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    return fake_leave(free_block((const void *)base, FAKE_KIND_DEVICE_BLOCK, result));
}

static fake_block *make_host(void *base, size_t size, fake_kind kind)
{
    fake_block *block = calloc(1, sizeof *block);
    if (!block || !base) {
        abort(); /* as above */
    }
    block->base = base;
    block->size = size;
    fake_object_add(&block->object, kind, fake_current());
    return block;
}

CUresult cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    (void)flags;
    if (result == CUDA_SUCCESS && size == 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *out = NULL;
        result = size <= HOST_MOST && posix_memalign(out, 4096, size) == 0 ? CUDA_SUCCESS
                                                                           : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result == CUDA_SUCCESS) {
        (void)make_host(*out, size, FAKE_KIND_HOST_BLOCK);
    }
    return fake_leave(result);
}

CUresult cuMemFreeHost(void *base)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    return fake_leave(free_block(base, FAKE_KIND_HOST_BLOCK, result));
}

CUresult cuMemHostRegister_v2(void *base, size_t size, unsigned int flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    (void)flags;
    if (result == CUDA_SUCCESS) {
        result = !base || size == 0                             ? CUDA_ERROR_INVALID_VALUE
                 : !fake_cuda_device()->host_register           ? CUDA_ERROR_NOT_SUPPORTED
                 : fake_block_at(base, 1, FAKE_KIND_REGISTERED) ? 712 /* already registered */
                                                                : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        (void)make_host(base, size, FAKE_KIND_REGISTERED);
    }
    return fake_leave(result);
}

CUresult cuMemHostUnregister(void *base)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    return fake_leave(free_block(base, FAKE_KIND_REGISTERED, result));
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *host, unsigned int flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    if (result == CUDA_SUCCESS) {
        const bool known =
            fake_block_at(host, 1, FAKE_KIND_HOST_BLOCK) || fake_block_at(host, 1, FAKE_KIND_REGISTERED);
        result = known && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        *out = (CUdeviceptr)host;
    }
    return fake_leave(result);
}

static bool is_pinned(const void *host, size_t size)
{
    return fake_block_at(host, size, FAKE_KIND_HOST_BLOCK) || fake_block_at(host, size, FAKE_KIND_REGISTERED);
}

static CUresult check_device_range(CUdeviceptr at, size_t size)
{
    if (fake_block_at((const void *)at, size, FAKE_KIND_DEVICE_BLOCK) || is_pinned((const void *)at, size)) {
        return CUDA_SUCCESS;
    }
    fake_misuse("a transfer that leaves its device memory");
    return CUDA_ERROR_INVALID_VALUE;
}

/* From pageable memory the bytes are taken at once, from pinned memory when the stream comes to it. */
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream handle)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUstream stream = result == CUDA_SUCCESS ? fake_stream_find(handle) : NULL;
    if (result == CUDA_SUCCESS) {
        result = stream ? check_device_range(to, size) : CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        const bool later = is_pinned(from, size);
        const fake_work work = {.kind = FAKE_WORK_COPY, .to = (void *)to, .from = from, .size = size};
        result = fake_stream_add(stream, &work, later ? NULL : from, later ? 0 : size);
        if (!later) {
            fake_pageable();
        }
    }
    return fake_leave(result);
}

/* To pageable memory it waits, to pinned memory it does not. */
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream handle)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUstream stream = result == CUDA_SUCCESS ? fake_stream_find(handle) : NULL;
    if (result == CUDA_SUCCESS) {
        result = stream ? check_device_range(from, size) : CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        const fake_work work = {.kind = FAKE_WORK_COPY, .to = to, .from = (const void *)from, .size = size};
        result = fake_stream_add(stream, &work, NULL, 0);
        if (result == CUDA_SUCCESS && !is_pinned(to, size)) {
            result = fake_stream_drain(stream);
        }
    }
    return fake_leave(result);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int word, size_t count, CUstream handle)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUstream stream = result == CUDA_SUCCESS ? fake_stream_find(handle) : NULL;
    if (result == CUDA_SUCCESS) {
        result = !stream  ? CUDA_ERROR_INVALID_HANDLE
                 : to % 4 ? CUDA_ERROR_INVALID_VALUE
                          : check_device_range(to, count * 4);
    }
    if (result == CUDA_SUCCESS) {
        const fake_work work = {.kind = FAKE_WORK_FILL, .to = (void *)to, .size = count, .word = word};
        result = fake_stream_add(stream, &work, NULL, 0);
    }
    return fake_leave(result);
}
