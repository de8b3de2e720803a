/*
 * descriptor.h: file descriptors that the library did not open.
 *
 * Not responsible for what they name: files, shared memory, memory of devices (dma-buf).
 */
#ifndef MTS_PLATFORM_OS_DESCRIPTOR_H
#define MTS_PLATFORM_OS_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/* False: it is not open. *size is UINT64_MAX where the length cannot be told. */
bool mts_os_descriptor_size(int descriptor, uint64_t *size);
/* Another descriptor of the same thing, which no program started later gets; negative:
 * there is none left, or `descriptor` is not open. */
int mts_os_descriptor_copy(int descriptor);
void mts_os_descriptor_close(int descriptor);

#endif
