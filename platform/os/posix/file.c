/*
 * file.c: whole files in, whole files out, directories.
 */
#include "platform/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MOST 4096
#define LINKS_MOST 40
#define ATTEMPTS_MOST 100 /* names of temporary files; other threads may hold some */

static mts_status fail_errno(mts_error *error, const char *path, const char *what)
{
    const int number = errno;
    const mts_status status = number == ENOENT ? MTS_STATUS_NOT_FOUND : MTS_STATUS_IO;
    return mts_fail(error, status, "%s: %s: %s", path, what, strerror(number));
}

static bool read_all(int descriptor, unsigned char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t count = read(descriptor, data + done, size - done);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            errno = count == 0 ? EIO : errno; /* it shrank meanwhile */
            return false;
        }
        done += (size_t)count;
    }
    return true;
}

static bool write_all(int descriptor, const unsigned char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t count = write(descriptor, data + done, size - done);
        if (count < 0 && errno != EINTR) {
            return false;
        }
        done += count < 0 ? 0 : (size_t)count;
    }
    return true;
}

static mts_status read_open(int descriptor, const mts_allocator *allocator, const char *path, size_t most,
                            void **data, size_t *size, mts_error *error)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        return fail_errno(error, path, "stat");
    }
    if (!S_ISREG(facts.st_mode)) {
        return mts_fail(error, MTS_STATUS_IO, "%s: not a regular file", path);
    }
    const uint64_t length = (uint64_t)facts.st_size;
    if (length > most || length >= SIZE_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "%s: %llu bytes are more than the limit of %zu", path,
                        (unsigned long long)length, most);
    }
    unsigned char *bytes = allocator->alloc(allocator->context, (size_t)length + 1);
    if (!bytes) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "%s: no memory for its %llu bytes", path,
                        (unsigned long long)length);
    }
    if (!read_all(descriptor, bytes, (size_t)length)) {
        (void)fail_errno(error, path, "read");
        mts_alloc_free(allocator, bytes);
        return MTS_STATUS_IO;
    }
    bytes[length] = 0;
    *data = bytes;
    *size = (size_t)length;
    return MTS_STATUS_OK;
}

mts_status mts_os_file_read(const mts_allocator *allocator, const char *path, size_t most, void **data,
                            size_t *size, mts_error *error)
{
    *data = NULL;
    *size = 0;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never hang on a pipe */
    if (descriptor < 0) {
        return fail_errno(error, path, "open");
    }
    const mts_status status = read_open(descriptor, allocator, path, most, data, size, error);
    (void)close(descriptor);
    return status;
}

/* So that the rename itself survives a power cut; file systems without it still have the
   file. */
static void sync_directory(const char *path)
{
    char folder[PATH_MOST];
    const char *slash = strrchr(path, '/');
    const int length = slash == path ? 1 : (int)(slash ? slash - path : 0);
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? length : 1, slash ? path : ".");
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
}

/*
 * The path that a chain of links ends at, so that the file is replaced and not the link
 * to it; it need not exist. `path` has PATH_MOST bytes. False: errno says why.
 */
static bool follow_links(char *path)
{
    char target[PATH_MOST];
    for (int hops = 0; hops < LINKS_MOST; hops++) {
        const ssize_t length = readlink(path, target, sizeof target);
        if (length < 0) {
            return errno == EINVAL || errno == ENOENT; /* no link; nothing there */
        }
        const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
        const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
        if (folder + (size_t)length >= PATH_MOST) {
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(path + folder, target, (size_t)length);
        path[folder + (size_t)length] = '\0';
    }
    errno = ELOOP;
    return false;
}

/* Whether a file may be put there: renaming over a device node, a pipe or a socket would
   destroy it. */
static mts_status check_place(const char *path, const char *given, mts_error *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return errno == ENOENT ? MTS_STATUS_OK : fail_errno(error, given, "stat");
    }
    if (!S_ISREG(facts.st_mode)) {
        return mts_fail(error, MTS_STATUS_IO, "%s: %s, only a file can be replaced", given,
                        S_ISDIR(facts.st_mode) ? "is a directory" : "is a device, a pipe or a socket");
    }
    return MTS_STATUS_OK;
}

/* A new file next to `path` with the mode that the umask leaves; -1: errno says why. */
static int open_temporary(const char *path, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < ATTEMPTS_MOST; attempt++) {
        const int length = snprintf(temporary, size, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) {
            return descriptor;
        }
    }
    return -1;
}

/* Fills and closes the temporary file and gives it its name. What failed, with errno set,
   or NULL. */
static const char *put_file(int descriptor, const char *temporary, const char *path, const void *data,
                            size_t size)
{
    const bool written = write_all(descriptor, data, size);
    const bool kept = written && fsync(descriptor) == 0;
    const int number = errno;
    const bool closed = close(descriptor) == 0;
    if (!kept) {
        errno = number;
        return written ? "synchronise" : "write";
    }
    return !closed ? "close" : rename(temporary, path) != 0 ? "rename" : NULL;
}

mts_status mts_os_file_write(const char *path, const void *data, size_t size, mts_error *error)
{
    char place[PATH_MOST];
    char temporary[PATH_MOST];
    const int length = snprintf(place, sizeof place, "%s", path);
    if (length < 0 || (size_t)length >= sizeof place) {
        return mts_fail(error, MTS_STATUS_IO, "%.64s...: path is too long", path);
    }
    if (!follow_links(place)) {
        return fail_errno(error, path, "follow link");
    }
    const mts_status status = check_place(place, path, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const int descriptor = open_temporary(place, temporary, sizeof temporary);
    if (descriptor < 0) {
        return fail_errno(error, path, "create");
    }
    const char *failed = put_file(descriptor, temporary, place, data, size);
    if (failed) {
        (void)fail_errno(error, path, failed);
        (void)unlink(temporary);
        return MTS_STATUS_IO;
    }
    sync_directory(place);
    return MTS_STATUS_OK;
}

static bool make_one(const char *path)
{
    struct stat facts;
    if (mkdir(path, S_IRWXU | S_IRWXG | S_IROTH | S_IXOTH) == 0) {
        return true;
    }
    const int number = errno;
    const bool there = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    errno = number;
    return there;
}

bool mts_os_file_same(const char *path, const char *other)
{
    struct stat a;
    struct stat b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

mts_status mts_os_directory_make(const char *path, mts_error *error)
{
    char part[PATH_MOST];
    const int length = snprintf(part, sizeof part, "%s", path);
    if (length <= 0 || (size_t)length >= sizeof part) {
        return mts_fail(error, MTS_STATUS_IO, "directory path is empty or too long");
    }
    for (size_t i = 1; i < (size_t)length; i++) {
        if (part[i] == '/') {
            part[i] = '\0';
            if (!make_one(part)) {
                return fail_errno(error, part, "make directory");
            }
            part[i] = '/';
        }
    }
    return make_one(part) ? MTS_STATUS_OK : fail_errno(error, part, "make directory");
}
