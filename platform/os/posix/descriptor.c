/*
 * descriptor.c: file descriptors by fcntl and lseek.
 */
#include "platform/os/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

bool mts_os_descriptor_size(int descriptor, uint64_t *size)
{
    *size = 0;
    if (fcntl(descriptor, F_GETFD) < 0) {
        return false;
    }
    const off_t at = lseek(descriptor, 0, SEEK_CUR);
    const off_t end = lseek(descriptor, 0, SEEK_END);
    if (at >= 0) {
        (void)lseek(descriptor, at, SEEK_SET);
    }
    *size = end > 0 ? (uint64_t)end : 0;
    return true;
}

int mts_os_descriptor_copy(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

void mts_os_descriptor_close(int descriptor)
{
    (void)close(descriptor);
}
