/*
 * image.c: which decoder reads a file, encoding into memory and then into a file at once.
 */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoders.h"
#include "exif.h"
#include "stb_memory.h"

#define FILE_MOST ((size_t)256 << 20)

typedef struct sink {
    unsigned char *data;
    size_t size, capacity;
    bool failed;
} sink;

static bool begins(const unsigned char *file, size_t size, size_t at, const char *with, size_t length)
{
    return size >= at + length && memcmp(file + at, with, length) == 0;
}

/* The decoder of a file: by how it begins, else the one that tries all that are left. */
static cli_decoder *decoder_of(const unsigned char *file, size_t size)
{
    (void)begins;
    (void)file;
    (void)size;
#ifdef MTS_KIT_JPEG
    if (begins(file, size, 0, "\xff\xd8\xff", 3)) {
        return cli_jpeg_decode;
    }
#endif
#ifdef MTS_KIT_PNG
    if (begins(file, size, 0, "\x89PNG\r\n\x1a\n", 8)) {
        return cli_png_decode;
    }
#endif
#ifdef MTS_KIT_WEBP
    if (begins(file, size, 0, "RIFF", 4) && begins(file, size, 8, "WEBP", 4)) {
        return cli_webp_decode;
    }
#endif
    return cli_stb_decode_apart;
}

static bool decode(const char *path, const unsigned char *file, size_t size, cli_image *image, char *error)
{
    char reason[CLI_REASON] = "";
    if (!decoder_of(file, size)(file, size, image, reason)) {
        (void)snprintf(error, CLI_ERROR, "'%s' %s", path, reason);
        return false;
    }
    if (!cli_image_upright(image, cli_exif_orientation(file, size))) {
        (void)snprintf(error, CLI_ERROR, "no memory to turn '%s' upright", path);
        cli_image_release(image);
        return false;
    }
    return true;
}

static void sink_write(void *context, void *data, int size)
{
    sink *to = context;
    if (to->failed || size <= 0) {
        return;
    }
    if (to->size + (size_t)size > to->capacity) {
        const size_t capacity = (to->size + (size_t)size) * 2;
        unsigned char *grown = realloc(to->data, capacity);
        if (!grown) {
            to->failed = true;
            return;
        }
        to->data = grown;
        to->capacity = capacity;
    }
    memcpy(to->data + to->size, data, (size_t)size);
    to->size += (size_t)size;
}

bool cli_image_read(const char *path, cli_image *image, char *error)
{
    size_t size = 0;
    *image = (cli_image){0};
    unsigned char *file = cli_file_read(path, FILE_MOST, &size, error);
    const bool read = file && decode(path, file, size, image, error);
    free(file);
    return read;
}

bool cli_image_write_png(const char *path, const cli_image *image, char *error)
{
    sink to = {0};
    bool written = cli_stb_png(image, sink_write, &to) && !to.failed;
    if (!written) {
        (void)snprintf(error, CLI_ERROR, "no memory to write '%s'", path);
    } else {
        written = cli_file_write(path, to.data, to.size, error);
    }
    free(to.data);
    return written;
}
