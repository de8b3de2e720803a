/*
 * map.c: files as read-only memory.
 */
#include "platform/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"

static const unsigned char nothing[1];

static mts_status map_range(int descriptor, const char *what, uint64_t offset, uint64_t size, mts_os_map *map,
                            mts_error *error)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        return mts_fail(error, MTS_STATUS_IO, "%s: %s", what, strerror(errno));
    }
    if (!S_ISREG(facts.st_mode)) {
        return mts_fail(error, MTS_STATUS_IO, "%s: not a regular file", what);
    }
    const uint64_t length = (uint64_t)facts.st_size;
    if (offset > length || size > length - offset) {
        return mts_fail(error, MTS_STATUS_IO, "%s: has only %llu bytes", what, (unsigned long long)length);
    }
    size = size ? size : length - offset;
    if (size == 0) {
        map->data = nothing;
        return MTS_STATUS_OK;
    }
    const uint64_t lead = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    if (size > SIZE_MAX - lead) {
        return mts_fail(error, MTS_STATUS_LIMIT, "%s: too large for the address space", what);
    }
    void *pages =
        mmap(NULL, (size_t)(size + lead), PROT_READ, MAP_PRIVATE, descriptor, (off_t)(offset - lead));
    if (pages == MAP_FAILED) {
        return mts_fail(error, errno == ENOMEM ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_IO,
                        "%s: cannot be mapped: %s", what, strerror(errno));
    }
    map->pages = pages;
    map->pages_size = (size_t)(size + lead);
    map->data = (const unsigned char *)pages + lead;
    map->size = (size_t)size;
    return MTS_STATUS_OK;
}

mts_status mts_os_map_file(const char *path, mts_os_map *map, mts_error *error)
{
    memset(map, 0, sizeof *map);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never hang on a pipe */
    if (descriptor < 0) {
        return mts_fail(error, errno == ENOENT ? MTS_STATUS_NOT_FOUND : MTS_STATUS_IO, "%s: %s", path,
                        strerror(errno));
    }
    const mts_status status = map_range(descriptor, path, 0, 0, map, error);
    (void)close(descriptor);
    return status;
}

/* Opens a part of a path in a folder; a link is refused, and a pipe does not block. */
static int open_part(int folder, const char *part, size_t length, bool is_last)
{
    char name[256];
    if (length >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, part, length);
    name[length] = '\0';
    return openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | (is_last ? 0 : O_DIRECTORY));
}

/* Relative, without "..", "." or an empty part. */
static bool is_beneath(const char *name)
{
    for (const char *part = name;; part++) {
        const size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.')) {
            return false;
        }
        part += length;
        if (!*part) {
            return true;
        }
    }
}

mts_status mts_os_map_beneath(const char *folder, const char *name, mts_os_map *map, mts_error *error)
{
    memset(map, 0, sizeof *map);
    if (!is_beneath(name)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "'%s' is not a path beneath its folder", name);
    }
    int descriptor = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    for (const char *part = name; descriptor >= 0 && *part;) {
        const size_t length = strcspn(part, "/");
        const int inner = open_part(descriptor, part, length, !part[length]);
        const int reason = errno;
        (void)close(descriptor);
        errno = reason;
        descriptor = inner;
        part += length + (part[length] ? 1 : 0);
    }
    if (descriptor < 0) {
        return mts_fail(error, errno == ENOENT ? MTS_STATUS_NOT_FOUND : MTS_STATUS_IO, "%s: %s", name,
                        errno == ELOOP ? "it is a link, which is not followed" : strerror(errno));
    }
    struct stat facts;
    mts_status status = MTS_STATUS_OK;
    if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink > 1) {
        status = mts_fail(error, MTS_STATUS_IO,
                          "%s: it is a file with other names (hard links), which may lie elsewhere: copy it",
                          name);
    } else {
        status = map_range(descriptor, name, 0, 0, map, error);
    }
    (void)close(descriptor);
    return status;
}

mts_status mts_os_map_descriptor(int descriptor, uint64_t offset, uint64_t size, mts_os_map *map,
                                 mts_error *error)
{
    memset(map, 0, sizeof *map);
    return map_range(descriptor, "file descriptor", offset, size, map, error);
}

void mts_os_unmap(mts_os_map *map)
{
    if (!map) {
        return;
    }
    if (map->pages) {
        (void)munmap(map->pages, map->pages_size);
    }
    memset(map, 0, sizeof *map);
}
