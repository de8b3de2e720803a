/*
 * os.h: what the library asks of an operating system: files, shared libraries, pages of
 * memory, a clock, whether there may be a GPU; thread.h has threads.
 *
 * One folder per system implements it (posix/ serves Linux and Android). Paths are UTF-8
 * and are used unchanged.
 *
 * Thread-safety: all functions may be called from any thread; objects belong to one
 * thread at a time.
 */
#ifndef MTS_PLATFORM_OS_OS_H
#define MTS_PLATFORM_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

/* Bytes of a file, mapped read-only and private. data is not NULL even if size is 0. */
typedef struct mts_os_map {
    const unsigned char *data;
    size_t size;
    void *pages; /* what was mapped; NULL: nothing to unmap */
    size_t pages_size;
} mts_os_map;

/* NOT_FOUND: no such file; IO: everything else. A failed call zeroes *map. */
mts_status mts_os_map_file(const char *path, mts_os_map *map, mts_error *error);
/* `size` bytes from `offset` of an open regular file; size 0: to its end. The descriptor
 * stays the caller's.
 */
mts_status mts_os_map_descriptor(int descriptor, uint64_t offset, uint64_t size, mts_os_map *map,
                                 mts_error *error);
/*
 * A regular file beneath a folder: `name` is relative, has no "..", and no part of it is
 * a link, nor has the file other names (MALFORMED for the name, IO for what lies there, NOT_FOUND).
 */
mts_status mts_os_map_beneath(const char *folder, const char *name, mts_os_map *map, mts_error *error);
/* Zeroes *map; a zeroed map and NULL are fine. */
void mts_os_unmap(mts_os_map *map);

/*
 * Reads a whole file of at most `most` bytes (LIMIT if it is larger). *data lies on the
 * allocator, is terminated with a zero byte that *size does not count, and is NULL on
 * failure. NOT_FOUND: no such file.
 */
mts_status mts_os_file_read(const mts_allocator *allocator, const char *path, size_t most, void **data,
                            size_t *size, mts_error *error);
/*
 * Replaces a file in one step: a temporary file next to it is written, synchronised and
 * renamed, so that no reader and no crash sees half of it. On failure the old file is as
 * it was and the temporary one is gone; one that a killed process left is removed by the
 * next who replaces the same file. A link stays and its target is replaced; a
 * directory, device, pipe or socket is refused (IO). The mode is 0666 less the umask.
 */
mts_status mts_os_file_write(const char *path, const void *data, size_t size, mts_error *error);
/*
 * A folder whose files only this process's effective user can have written: it is no link,
 * belongs to that user, and no other may write to it. MALFORMED: it is not like that, and
 * `error` says why. *folder is an open descriptor; -1 on failure.
 */
mts_status mts_os_private_open(const char *path, int *folder, mts_error *error);
/* As mts_os_file_read, of a file in such a folder, which is no link and private too
   (MALFORMED). */
mts_status mts_os_private_read(const mts_allocator *allocator, int folder, const char *name, size_t most,
                               void **data, size_t *size, mts_error *error);
/* As mts_os_file_write, but no link is followed: it is replaced. The mode is 0600 less the
   umask. */
mts_status mts_os_private_write(int folder, const char *name, const void *data, size_t size,
                                mts_error *error);
/* Whether both paths lead to one file that exists. */
bool mts_os_file_same(const char *path, const char *other);
/* Makes a directory and its missing parents, of mode 0700; one that exists is fine. */
mts_status mts_os_directory_make(const char *path, mts_error *error);

/* A shared library. It stays in the process after close: drivers do not survive being
   unloaded. */
typedef struct mts_os_library mts_os_library;
/* NULL if it cannot be loaded; `reason` (may be NULL) then receives the loader's text. */
mts_os_library *mts_os_library_open(const char *name, char *reason, size_t reason_size);
/* NULL if there is no such symbol. */
void *mts_os_library_symbol(mts_os_library *library, const char *name);
void mts_os_library_close(mts_os_library *library);

/*
 * Asks the system to back memory with large pages where it has them: it then comes at its
 * first touch 2 MB at once instead of 4 KB. It is a hint: content and address stay what
 * they are.
 */
void mts_os_memory_prefer_large_pages(void *memory, size_t size);

/*
 * Whether a folder of devices ("/dev") shows one by which programs reach a GPU: that of a
 * driver for NVIDIA, AMD, Intel, Adreno, Mali, PowerVR or Vivante, or of Windows beneath
 * Linux. True also where that cannot be told, as on Android.
 */
bool mts_os_shows_gpu(const char *folder);

/* Monotonic nanoseconds from an arbitrary start. */
uint64_t mts_os_clock_ns(void);
/* At least so long, as a rule some ten microseconds longer. */
void mts_os_sleep_ns(uint64_t nanoseconds);

#endif
