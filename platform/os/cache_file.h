/*
 * cache_file.h: files under a key and a checksum, in a directory where anything may have
 * happened to them. What another user can have put there is not read, and a warning says
 * so: kernel binaries are code. On top of os.h, so the same on every system. What lies in a file, and
 * counting, is the caller's; nothing removes old files.
 */
#ifndef MTS_PLATFORM_OS_CACHE_FILE_H
#define MTS_PLATFORM_OS_CACHE_FILE_H

#include "base/log.h"
#include "platform/os/os.h"

/* One kind of files in a directory: <hash of the key>.<ending>. */
typedef struct mts_os_cache {
    const mts_allocator *allocator;
    const mts_log *log; /* is told what happened to files; may be NULL */
    const char *directory;
    const char *ending;
    char magic[8];
    size_t most; /* bytes of a file */
} mts_os_cache;

/* A file in memory. All zero is valid and holds nothing. */
typedef struct mts_os_cache_file {
    unsigned char *file;   /* on the cache's allocator: header, key, body */
    unsigned char *body;   /* in `file` */
    size_t key_size, size; /* size: of the body, at least 1 */
} mts_os_cache_file;

/*
 * What lies under the key. NOT_FOUND: nothing. OUT_OF_MEMORY says nothing about the file.
 * Any other code: there is a file that cannot be read, is damaged, or of another key or
 * format. A failed call zeroes *out.
 */
mts_status mts_os_cache_load(const mts_os_cache *cache, const char *key, mts_os_cache_file *out);
/* Whether a failed load means that there is a file that is not valid. */
bool mts_os_cache_rejects(mts_status status);
/* Room for a body of `size` > 0 bytes under the key, for the caller to fill. LIMIT,
   OUT_OF_MEMORY. */
mts_status mts_os_cache_make(const mts_os_cache *cache, const char *key, size_t size, mts_os_cache_file *out);
/* Writes such a file in one step; makes the directory. Errors as of mts_os_private_open and
   mts_os_private_write. */
mts_status mts_os_cache_store(const mts_os_cache *cache, mts_os_cache_file *file);
void mts_os_cache_release(const mts_os_cache *cache, mts_os_cache_file *file);

#endif
