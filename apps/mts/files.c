/*
 * files.c: whole files in, whole files out.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned char *read_open(int file, const char *path, size_t most, size_t *size, char *error)
{
    struct stat info;
    if (fstat(file, &info) != 0) {
        (void)snprintf(error, CLI_ERROR, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISREG(info.st_mode)) {
        (void)snprintf(error, CLI_ERROR, "cannot read '%s': it is not a file", path);
        return NULL;
    }
    if (info.st_size < 0 || (unsigned long long)info.st_size > most) {
        (void)snprintf(error, CLI_ERROR, "'%s' has %lld bytes, more than the limit of %zu", path,
                       (long long)info.st_size, most);
        return NULL;
    }
    const size_t length = (size_t)info.st_size;
    unsigned char *data = malloc(length + 1);
    if (!data) {
        (void)snprintf(error, CLI_ERROR, "no memory to read '%s' (%zu bytes)", path, length);
        return NULL;
    }
    size_t done = 0;
    while (done < length) {
        const ssize_t got = read(file, data + done, length - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            (void)snprintf(error, CLI_ERROR, "cannot read '%s': %s", path,
                           got < 0 ? strerror(errno) : "it became shorter meanwhile");
            free(data);
            return NULL;
        }
        done += (size_t)got;
    }
    data[length] = 0;
    *size = length;
    return data;
}

unsigned char *cli_file_read(const char *path, size_t most, size_t *size, char *error)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        (void)snprintf(error, CLI_ERROR, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    unsigned char *data = read_open(file, path, most, size, error);
    (void)close(file);
    return data;
}

static bool write_all(int file, const unsigned char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t put = write(file, data + done, size - done);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        done += (size_t)put;
    }
    return fsync(file) == 0;
}

bool cli_file_write(const char *path, const void *data, size_t size, char *error)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >= (int)sizeof temporary) {
        (void)snprintf(error, CLI_ERROR, "cannot write '%s': the name is too long", path);
        return false;
    }
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        (void)snprintf(error, CLI_ERROR, "cannot write '%s': %s", path, strerror(errno));
        return false;
    }
    bool written = write_all(file, data, size);
    int reason = errno;
    if (close(file) != 0 && written) {
        written = false;
        reason = errno;
    }
    if (written && rename(temporary, path) != 0) {
        written = false;
        reason = errno;
    }
    if (!written) {
        (void)unlink(temporary);
        (void)snprintf(error, CLI_ERROR, "cannot write '%s': %s", path, strerror(reason));
    }
    return written;
}
