/*
 * foreign.c: dma-bufs by mmap and their ioctl, hardware buffers by Android's library, where there is one.
 */
#include "platform/os/foreign.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "platform/os/os.h"

/* linux/dma-buf.h, which not every system's headers have */
struct dma_buf_sync {
    uint64_t flags;
};
#define DMA_BUF_SYNC _IOW('b', 0, struct dma_buf_sync)
#define DMA_BUF_READ ((uint64_t)1)
#define DMA_BUF_START ((uint64_t)0)
#define DMA_BUF_END ((uint64_t)4)

#define CPU_READ_OFTEN ((uint64_t)3) /* AHARDWAREBUFFER_USAGE_ */

bool mts_os_descriptor_identity(int descriptor, uint64_t identity[2])
{
    struct stat what;
    if (fstat(descriptor, &what) != 0) {
        return false;
    }
    identity[0] = (uint64_t)what.st_dev;
    identity[1] = (uint64_t)what.st_ino;
    return true;
}

mts_code mts_os_dmabuf_map(int descriptor, size_t size, const void **out, mts_error *error)
{
    void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
    *out = mapped == MAP_FAILED ? NULL : mapped;
    return *out ? MTS_CODE_OK
                : mts_fail(error, MTS_CODE_UNSUPPORTED, "%zu bytes of descriptor %d cannot be mapped: %s",
                           size, descriptor, strerror(errno));
}

static void sync_dmabuf(int descriptor, uint64_t flags)
{
    const struct dma_buf_sync what = {DMA_BUF_READ | flags};
    while (ioctl(descriptor, DMA_BUF_SYNC, &what) != 0 && (errno == EINTR || errno == EAGAIN)) {
    }
}

void mts_os_dmabuf_begin(int descriptor)
{
    sync_dmabuf(descriptor, DMA_BUF_START);
}

void mts_os_dmabuf_end(int descriptor)
{
    sync_dmabuf(descriptor, DMA_BUF_END);
}

void mts_os_dmabuf_unmap(const void **mapped, size_t size)
{
    if (*mapped) {
        (void)munmap((void *)(uintptr_t)*mapped, size);
        *mapped = NULL;
    }
}

bool mts_os_hardware_buffers_find(mts_os_hardware_buffers *f)
{
    if (!f->looked) {
        mts_os_library *library = mts_os_library_open("libnativewindow.so", NULL, 0);
        f->looked = true;
#define FIND(member, name)                                                                                   \
    {                                                                                                        \
        void *const symbol = library ? mts_os_library_symbol(library, name) : NULL;                          \
        memcpy(&f->member, &symbol, sizeof symbol);                                                          \
    }
        FIND(acquire, "AHardwareBuffer_acquire")
        FIND(release, "AHardwareBuffer_release")
        FIND(lock, "AHardwareBuffer_lock")
        FIND(lock_planes, "AHardwareBuffer_lockPlanes")
        FIND(unlock, "AHardwareBuffer_unlock")
#undef FIND
        mts_os_library_close(library);
    }
    return f->acquire && f->release && f->lock && f->unlock;
}

mts_code mts_os_hardware_buffer_lock(const mts_os_hardware_buffers *functions, const void *buffer,
                                     const void **out, mts_error *error)
{

    void *address = NULL;
    struct mts_os_hardware_planes planes = {0};
    /* Pictures of several planes are often refused by the older function. */
    if (functions->lock_planes &&
        functions->lock_planes((void *)(uintptr_t)buffer, CPU_READ_OFTEN, -1, NULL, &planes) == 0) {
        *out = planes.planes[0].data;
        return MTS_CODE_OK;
    }
    const int result = functions->lock((void *)(uintptr_t)buffer, CPU_READ_OFTEN, -1 /* nobody to wait for */,
                                       NULL, &address);
    *out = result == 0 ? address : NULL;
    return *out ? MTS_CODE_OK
                : mts_fail(error, MTS_CODE_UNSUPPORTED,
                           "the processor cannot read this hardware buffer (AHardwareBuffer_lock: %d)",
                           result);
}

void mts_os_hardware_buffer_unlock(const mts_os_hardware_buffers *functions, const void *buffer)
{
    (void)functions->unlock((void *)(uintptr_t)buffer, NULL);
}
