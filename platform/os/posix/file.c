/*
 * file.c: whole files in, whole files out, directories.
 */
#include "platform/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MOST 4096
#define NAME_MOST 300
#define LINKS_MOST 40
#define INTERRUPTIONS_MOST 1000 /* by signals, then it is a failure */
#define ATTEMPTS_MOST 100       /* names of temporary files; others may be writing some */

static mts_status fail_errno(mts_error *error, const char *path, const char *what)
{
    const int number = errno;
    const mts_status status = number == ENOENT ? MTS_STATUS_NOT_FOUND : MTS_STATUS_IO;
    return mts_fail(error, status, "%s: %s: %s", path, what, strerror(number));
}

static bool read_all(int descriptor, unsigned char *data, size_t size)
{
    size_t done = 0;
    for (int interrupted = 0; done < size;) {
        const ssize_t count = read(descriptor, data + done, size - done);
        if (count < 0 && errno == EINTR && ++interrupted < INTERRUPTIONS_MOST) {
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
    for (int interrupted = 0; done < size;) {
        const ssize_t count = write(descriptor, data + done, size - done);
        if (count < 0 && (errno != EINTR || ++interrupted == INTERRUPTIONS_MOST)) {
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

/*
 * Removes a temporary file that a killed process left: its writer held a lock, which ended
 * with it. The name has to be that of the locked file still, as a writer that was done
 * meanwhile has renamed its own and another may have begun.
 */
static void remove_abandoned(int folder, const char *temporary)
{
    struct stat locked;
    struct stat named;
    const int descriptor = openat(folder, temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        return;
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &locked) == 0 &&
        fstatat(folder, temporary, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == locked.st_ino &&
        S_ISREG(named.st_mode)) {
        (void)unlinkat(folder, temporary, 0);
    }
    (void)close(descriptor);
}

/* Whether the new file is the caller's alone: no other writer took it for an abandoned one. File
   systems without locks have none that do so. */
static bool lock_temporary(int descriptor)
{
    struct stat facts;
    return (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
           fstat(descriptor, &facts) == 0 && facts.st_nlink > 0;
}

/* A new file beside `name`, of `mode` less the umask; -1: errno says why. */
static int open_temporary(int folder, const char *name, mode_t mode, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < ATTEMPTS_MOST; attempt++) {
        const int length = snprintf(temporary, size, "%s.%d.tmp", name, attempt);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        remove_abandoned(folder, temporary);
        const int descriptor = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (descriptor < 0 && errno != EEXIST) {
            return -1;
        }
        if (descriptor >= 0) {
            if (lock_temporary(descriptor)) {
                return descriptor;
            }
            (void)close(descriptor);
        }
    }
    errno = EEXIST;
    return -1;
}

/* Fills the temporary file and gives it its name. What failed, with errno set, or NULL. */
static const char *put_file(int folder, int descriptor, const char *temporary, const char *name,
                            const void *data, size_t size)
{
    if (!write_all(descriptor, data, size)) {
        return "write";
    }
    if (fsync(descriptor) != 0) {
        return "synchronise";
    }
    return renameat(folder, temporary, folder, name) != 0 ? "rename" : NULL;
}

/* Replaces `name` in an open folder in one step, whatever is there, a link too. */
static mts_status replace_at(int folder, const char *name, const char *path, mode_t mode, const void *data,
                             size_t size, mts_error *error)
{
    char temporary[NAME_MOST];
    const int descriptor = open_temporary(folder, name, mode, temporary, sizeof temporary);
    if (descriptor < 0) {
        return fail_errno(error, path, "create");
    }
    const char *failed = put_file(folder, descriptor, temporary, name, data, size);
    if (failed) {
        (void)fail_errno(error, path, failed);
        (void)unlinkat(folder, temporary, 0);
    }
    (void)close(descriptor); /* what was synchronised cannot fail here */
    if (!failed) {
        (void)fsync(folder); /* so that the rename survives a power cut, where that can be had */
    }
    return failed ? MTS_STATUS_IO : MTS_STATUS_OK;
}

mts_status mts_os_file_write(const char *path, const void *data, size_t size, mts_error *error)
{
    char place[PATH_MOST];
    const int length = snprintf(place, sizeof place, "%s", path);
    if (length < 0 || (size_t)length >= sizeof place) {
        return mts_fail(error, MTS_STATUS_IO, "%.64s...: path is too long", path);
    }
    if (!follow_links(place)) {
        return fail_errno(error, path, "follow link");
    }
    mts_status status = check_place(place, path, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    char *slash = strrchr(place, '/');
    const char *name = slash ? slash + 1 : place;
    const bool at_root = slash == place;
    if (slash) {
        *slash = '\0';
    }
    const int folder = open(at_root ? "/" : slash ? place : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return fail_errno(error, path, "open its folder");
    }
    status = replace_at(folder, name, path, 0666, data, size, error);
    (void)close(folder);
    return status;
}

/* MALFORMED unless only the effective user can have put there what is there. */
static mts_status check_private(int descriptor, const char *path, mts_error *error)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        return fail_errno(error, path, "stat");
    }
    if (facts.st_uid != geteuid()) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%s: belongs to user %lu, not to user %lu, who uses it",
                        path, (unsigned long)facts.st_uid, (unsigned long)geteuid());
    }
    if (facts.st_mode & (S_IWGRP | S_IWOTH)) {
        return mts_fail(error, MTS_STATUS_MALFORMED,
                        "%s: other users may write to it (mode %03o; chmod go-w)", path,
                        (unsigned)facts.st_mode & 0777u);
    }
    return MTS_STATUS_OK;
}

/* Opens what is no link, and private. */
static mts_status open_private(int folder, const char *name, const char *path, int flags, int *out,
                               mts_error *error)
{
    *out = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
    if (*out < 0) {
        return errno == ELOOP || errno == ENOTDIR ? mts_fail(error, MTS_STATUS_MALFORMED, "%s: is a link%s",
                                                             path, flags & O_DIRECTORY ? " or no folder" : "")
                                                  : fail_errno(error, path, "open");
    }
    const mts_status status = check_private(*out, path, error);
    if (status != MTS_STATUS_OK) {
        (void)close(*out);
        *out = -1;
    }
    return status;
}

mts_status mts_os_private_open(const char *path, int *folder, mts_error *error)
{
    return open_private(AT_FDCWD, path, path, O_DIRECTORY, folder, error);
}

mts_status mts_os_private_read(const mts_allocator *allocator, int folder, const char *name, size_t most,
                               void **data, size_t *size, mts_error *error)
{
    int descriptor;
    *data = NULL;
    *size = 0;
    mts_status status = open_private(folder, name, name, 0, &descriptor, error);
    if (status == MTS_STATUS_OK) {
        status = read_open(descriptor, allocator, name, most, data, size, error);
        (void)close(descriptor);
    }
    return status;
}

mts_status mts_os_private_write(int folder, const char *name, const void *data, size_t size, mts_error *error)
{
    return replace_at(folder, name, name, 0600, data, size, error);
}

static bool make_one(const char *path)
{
    struct stat facts;
    if (mkdir(path, S_IRWXU) == 0) {
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
