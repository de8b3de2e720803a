/*
 * files_write.c: a file is written beside its place and then put there, as
 * mtsc_file_write does it; the kit does without the compiler's library, so that programs
 * of boards can use it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

#define LINKS_MOST 32
#define NAMES_MOST 64           /* others may be writing some */
#define INTERRUPTIONS_MOST 1000 /* by signals, then it is a failure */

/* Replaces a link by what it points at, once; false: it is none, or errno is set. */
static bool link_follow(char *place, size_t size)
{
    char target[PATH_MAX];
    const ssize_t length = readlink(place, target, sizeof target - 1);
    if (length < 0) {
        errno = 0;
        return false;
    }
    target[length] = '\0';
    char *name = strrchr(place, '/');
    name = name && target[0] != '/' ? name + 1 : place;
    if ((size_t)(name - place) + (size_t)length >= size) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(name, target, (size_t)length + 1);
    return true;
}

/* Where the file will lie. Returns what is wrong with that, or NULL. */
static const char *place_find(const char *path, char *place, size_t size)
{
    struct stat info;
    int links = 0;
    if (snprintf(place, size, "%s", path) >= (int)size) {
        return strerror(ENAMETOOLONG);
    }
    while (link_follow(place, size)) {
        if (++links > LINKS_MOST) {
            return strerror(ELOOP);
        }
    }
    if (errno != 0) {
        return strerror(errno);
    }
    if (stat(place, &info) != 0) {
        return errno == ENOENT ? NULL : strerror(errno);
    }
    return S_ISREG(info.st_mode) ? NULL : "only a file can be replaced";
}

/* Removes a file that a killed program left: who writes one holds a lock on it. */
static void abandoned_remove(const char *name)
{
    struct stat locked, named;
    const int file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &locked) == 0 && lstat(name, &named) == 0 &&
        named.st_ino == locked.st_ino && S_ISREG(named.st_mode)) {
        (void)unlink(name);
    }
    (void)close(file);
}

static int temporary_open(const char *place, char *name, size_t size)
{
    for (int i = 0; i < NAMES_MOST; i++) {
        struct stat info;
        if (snprintf(name, size, "%s.%d.part", place, i) >= (int)size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        abandoned_remove(name);
        const int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST) {
            return -1;
        }
        /* it is ours if no other took it for one that was left behind */
        if (file >= 0 && (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
            fstat(file, &info) == 0 && info.st_nlink > 0) {
            return file;
        }
        if (file >= 0) {
            (void)close(file);
        }
    }
    errno = EEXIST;
    return -1;
}

/* Returns whether all of it is on the disk. */
static bool bytes_write(int file, const unsigned char *data, size_t size)
{
    int reason = 0;
    int interrupted = 0;
    for (size_t done = 0; done < size && reason == 0;) {
        const ssize_t wrote = write(file, data + done, size - done);
        if (wrote >= 0) {
            done += (size_t)wrote;
        } else if (errno != EINTR || ++interrupted == INTERRUPTIONS_MOST) {
            reason = errno;
        }
    }
    if (reason == 0 && fsync(file) != 0) {
        reason = errno;
    }
    errno = reason;
    return reason == 0;
}

bool cli_file_write(const char *path, const void *data, size_t size, char *error)
{
    char place[PATH_MAX];
    char temporary[PATH_MAX];
    const char *defect = place_find(path, place, sizeof place);
    const int file = defect ? -1 : temporary_open(place, temporary, sizeof temporary);
    if (!defect && file < 0) {
        defect = strerror(errno);
    }
    if (!defect && (!bytes_write(file, data, size) || rename(temporary, place) != 0)) {
        defect = strerror(errno);
        (void)unlink(temporary);
    }
    if (file >= 0) {
        (void)close(file); /* the lock ends after the rename */
    }
    if (defect) {
        (void)snprintf(error, CLI_ERROR, "cannot write '%s': %s", path, defect);
    }
    return !defect;
}
