/*
 * window.c: what poses as Android's library of hardware buffers, over memfds.
 */
#define _GNU_SOURCE

#include <sys/mman.h>
#include <sys/stat.h>

#include "opencl/fake/fake.h"
#include "platform/os/foreign.h"

static fake_window state;
static void *mapped;
static size_t mapped_size;

FAKE_API fake_window *fake_window_state(void);
FAKE_API void AHardwareBuffer_acquire(void *buffer);
FAKE_API void AHardwareBuffer_release(void *buffer);
FAKE_API void AHardwareBuffer_describe(const void *buffer, struct mts_os_hardware_description *description);
FAKE_API int AHardwareBuffer_lock(void *buffer, uint64_t usage, int32_t fence, const void *rectangle,
                                  void **address);
FAKE_API int AHardwareBuffer_unlock(void *buffer, int32_t *fence);
FAKE_API int AHardwareBuffer_lockPlanes(void *buffer, uint64_t usage, int32_t fence, const void *rectangle,
                                        struct mts_os_hardware_planes *planes);

fake_window *fake_window_state(void)
{
    return &state;
}

void AHardwareBuffer_acquire(void *buffer)
{
    (void)buffer;
    state.held++;
}

void AHardwareBuffer_release(void *buffer)
{
    (void)buffer;
    state.held--;
}

void AHardwareBuffer_describe(const void *buffer, struct mts_os_hardware_description *description)
{
    const fake_hardware_buffer *hardware = buffer;
    struct stat what = {0};
    (void)fstat(hardware->fd, &what);
    *description = (struct mts_os_hardware_description){
        .width = state.width > 0 ? state.width : (uint32_t)what.st_size,
        .height = state.width > 0 ? state.height : 1,
        .layers = 1,
        .format = state.width > 0 ? 0x23 : 0x21,
        .usage = 3,
        .stride = state.width > 0 ? state.stride : (uint32_t)what.st_size,
    };
}

int AHardwareBuffer_lock(void *buffer, uint64_t usage, int32_t fence, const void *rectangle, void **address)
{
    const fake_hardware_buffer *hardware = buffer;
    struct stat what;
    if (state.fail || hardware->magic != FAKE_HARDWARE_BUFFER || usage != 3 || fence != -1 || rectangle ||
        state.locked > 0 || fstat(hardware->fd, &what) != 0) {
        return -22;
    }
    mapped_size = (size_t)what.st_size;
    mapped = mmap(NULL, mapped_size, PROT_READ, MAP_SHARED, hardware->fd, 0);
    *address = mapped;
    state.locked++;
    state.locks++;
    return 0;
}

int AHardwareBuffer_lockPlanes(void *buffer, uint64_t usage, int32_t fence, const void *rectangle,
                               struct mts_os_hardware_planes *planes)
{
    if (!state.has_planes) {
        return -22;
    }
    planes->count = 1;
    return AHardwareBuffer_lock(buffer, usage, fence, rectangle, &planes->planes[0].data);
}

int AHardwareBuffer_unlock(void *buffer, int32_t *fence)
{
    (void)buffer;
    (void)fence;
    state.locked--;
    return munmap(mapped, mapped_size); /* who reads on is killed */
}
