/*
 * files.c: whole files in; files_write.c has the way out.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERRUPTIONS_MOST 1000 /* by signals, then it is a failure */

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
    for (int interrupted = 0; done < length;) {
        const ssize_t got = read(file, data + done, length - done);
        if (got < 0 && errno == EINTR && ++interrupted < INTERRUPTIONS_MOST) {
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
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never hang on a pipe */
    if (file < 0) {
        (void)snprintf(error, CLI_ERROR, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    unsigned char *data = read_open(file, path, most, size, error);
    (void)close(file);
    return data;
}
