/*
 * descriptor.c: file descriptors by fcntl, fstat and, where that knows no size, lseek.
 */
#include "platform/os/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool mts_os_descriptor_size(int descriptor, uint64_t *size)
{
    struct stat what;
    *size = UINT64_MAX;
    if (fcntl(descriptor, F_GETFD) < 0) {
        return false;
    }
    /* All holders of a file share its offset, so lseek is only for a dma-buf, whose
       offset is never used. */
    if (fstat(descriptor, &what) == 0 && (what.st_size > 0 || S_ISREG(what.st_mode))) {
        *size = (uint64_t)what.st_size;
        return true;
    }
    const off_t at = lseek(descriptor, 0, SEEK_CUR);
    const off_t end = lseek(descriptor, 0, SEEK_END);
    if (at >= 0) {
        (void)lseek(descriptor, at, SEEK_SET);
    }

    *size = end > 0 ? (uint64_t)end : UINT64_MAX;
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
