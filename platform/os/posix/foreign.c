/*
 * foreign.c: dma-bufs by mmap and their ioctl, hardware buffers by Android's library,
 * where there is one.
 */
#define _GNU_SOURCE /* syscall */
#include "platform/os/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/size.h"
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
#define FORMAT_BLOB 0x21u            /* AHARDWAREBUFFER_FORMAT_: width is bytes */
#define PIXEL_BYTES_MOST 8u
#define PLANES_SLACK 65536u
#define INTERRUPTIONS_MOST 1000 /* by signals */

/* linux/magic.h and linux/kcmp.h */
#define ANONYMOUS_INODES 0x09041934
#define DMA_BUFS 0x444d4142 /* before Linux 5.3: ANONYMOUS_INODES */
#define COMPARE_FILES 0

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

/* Whether it is something without an inode of its own: all these share one, or can. */
static bool is_anonymous(int descriptor)
{
    struct statfs what;
    return fstatfs(descriptor, &what) != 0 || (unsigned long)what.f_type == ANONYMOUS_INODES;
}

/* Android's filter of system calls may end a program for this one. */
static bool is_same_file(int a, int b)
{
#if defined(SYS_kcmp) && !defined(__ANDROID__)
    const pid_t us = getpid();
    return syscall(SYS_kcmp, us, us, COMPARE_FILES, (unsigned long)a, (unsigned long)b) == 0;
#else
    return a == b;
#endif
}

bool mts_os_descriptor_same(int a, int b)
{
    uint64_t of_a[2], of_b[2];
    return mts_os_descriptor_identity(a, of_a) && mts_os_descriptor_identity(b, of_b) && of_a[0] == of_b[0] &&
           of_a[1] == of_b[1] && (!is_anonymous(a) || is_same_file(a, b));
}

/*
 * Whether what is mapped of it stays: a file or shared memory that another process makes
 * shorter ends a program that reads it (SIGBUS). A dma-buf has one size for ever.
 */
static bool keeps_its_size(int descriptor)
{
    struct statfs what;
    const int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals >= 0) {
        return seals & F_SEAL_SHRINK;
    }
    return fstatfs(descriptor, &what) == 0 &&
           ((unsigned long)what.f_type == DMA_BUFS || (unsigned long)what.f_type == ANONYMOUS_INODES);
}

mts_status mts_os_dmabuf_map(int descriptor, size_t size, const void **out, mts_error *error)
{
    *out = NULL;
    if (!keeps_its_size(descriptor)) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "descriptor %d is neither a dma-buf nor memory that is sealed against shrinking",
                        descriptor);
    }
    void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
    *out = mapped == MAP_FAILED ? NULL : mapped;
    return *out ? MTS_STATUS_OK
                : mts_fail(error, MTS_STATUS_UNSUPPORTED, "%zu bytes of descriptor %d cannot be mapped: %s",
                           size, descriptor, strerror(errno));
}

static void sync_dmabuf(int descriptor, uint64_t flags)
{
    const struct dma_buf_sync what = {DMA_BUF_READ | flags};
    for (int tries = 0; tries < INTERRUPTIONS_MOST && ioctl(descriptor, DMA_BUF_SYNC, &what) != 0 &&
                        (errno == EINTR || errno == EAGAIN);
         tries++) {
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
        FIND(describe, "AHardwareBuffer_describe")
        FIND(lock, "AHardwareBuffer_lock")
        FIND(lock_planes, "AHardwareBuffer_lockPlanes")
        FIND(unlock, "AHardwareBuffer_unlock")
#undef FIND
        mts_os_library_close(library);
    }
    return f->acquire && f->release && f->describe && f->lock && f->unlock;
}

/* SIZE_MAX where it cannot be counted. */
static size_t most_bytes(const struct mts_os_hardware_description *what)
{
    const size_t row = what->stride > what->width ? what->stride : what->width;
    const size_t layers = what->layers > 0 ? what->layers : 1;
    size_t bytes = 0;
    if (what->format == FORMAT_BLOB) {
        return what->width;
    }
    return mts_size_mul(row, what->height, &bytes) && mts_size_mul(bytes, layers, &bytes) &&
                   mts_size_mul(bytes, PIXEL_BYTES_MOST, &bytes) && mts_size_add(bytes, PLANES_SLACK, &bytes)
               ? bytes
               : SIZE_MAX;
}

mts_status mts_os_hardware_buffer_check(const mts_os_hardware_buffers *functions, const void *buffer,
                                        size_t size, mts_error *error)
{
    struct mts_os_hardware_description what = {.width = 0};
    functions->describe(buffer, &what);
    return size <= most_bytes(&what)
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "the frame takes %zu bytes of a hardware buffer of %u x %u pixels (format %u) that "
                          "has at most %zu",
                          size, what.width, what.height, what.format, most_bytes(&what));
}

mts_status mts_os_hardware_buffer_lock(const mts_os_hardware_buffers *functions, const void *buffer,
                                       const void **out, mts_error *error)
{
    void *address = NULL;
    struct mts_os_hardware_planes planes = {0};
    /* The older function often refuses buffers of several planes. */
    if (functions->lock_planes &&
        functions->lock_planes((void *)(uintptr_t)buffer, CPU_READ_OFTEN, -1, NULL, &planes) == 0) {
        *out = planes.planes[0].data;
        return MTS_STATUS_OK;
    }
    const int result =
        functions->lock((void *)(uintptr_t)buffer, CPU_READ_OFTEN, -1 /* no fence */, NULL, &address);
    *out = result == 0 ? address : NULL;
    return *out ? MTS_STATUS_OK
                : mts_fail(error, MTS_STATUS_UNSUPPORTED,
                           "the processor cannot read this hardware buffer (AHardwareBuffer_lock: %d)",
                           result);
}

void mts_os_hardware_buffer_unlock(const mts_os_hardware_buffers *functions, const void *buffer)
{
    (void)functions->unlock((void *)(uintptr_t)buffer, NULL);
}
