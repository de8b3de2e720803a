/*
 * memory.c: pages of memory.
 */
#ifdef __linux__
#define _DEFAULT_SOURCE 1 /* madvise is older than POSIX's form of it, which has no large pages */
#endif
#include "platform/os/os.h"

#include <sys/mman.h>
#include <unistd.h>

void mts_os_memory_prefer_large_pages(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)memory + size) / page * page;
    if (end > first) {
        (void)madvise((void *)first, (size_t)(end - first), MADV_HUGEPAGE);
    }
#else
    (void)memory;
    (void)size;
#endif
}
