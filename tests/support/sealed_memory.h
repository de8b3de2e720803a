/*
 * sealed_memory.h: shared memory that stands for a dma-buf: it cannot shrink. Files that include it define
 * _GNU_SOURCE.
 */
#ifndef MTS_TESTS_SUPPORT_SEALED_MEMORY_H
#define MTS_TESTS_SUPPORT_SEALED_MEMORY_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* -1: there is none. */
static inline int sealed_memory(off_t size)
{
    const int fd = memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, size) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        return -1;
    }
    return fd;
}

#endif
