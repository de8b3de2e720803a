/*
 * image.c: decoding with limits, encoding into memory and then into a file at once.
 */
#include "image.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exif.h"

#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

#define FILE_MOST ((size_t)256 << 20)
#define PIXELS_MOST ((uint64_t)64 << 20)
#define SIDE_MOST 16384u

typedef struct sink {
    unsigned char *data;
    size_t size, capacity;
    bool failed;
} sink;

/*
 * Size of a PNG, from its header. The decoder refuses large ones too, but then tries its
 * other formats, so that the reason is lost.
 */
static bool png_size(const unsigned char *file, size_t size, uint32_t *width, uint32_t *height)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (size < 24 || memcmp(file, signature, sizeof signature) != 0 || memcmp(file + 12, "IHDR", 4) != 0) {
        return false;
    }
    *width = (uint32_t)file[16] << 24 | (uint32_t)file[17] << 16 | (uint32_t)file[18] << 8 | file[19];
    *height = (uint32_t)file[20] << 24 | (uint32_t)file[21] << 16 | (uint32_t)file[22] << 8 | file[23];
    return true;
}

static bool any_size(const unsigned char *file, size_t size, uint32_t *width, uint32_t *height)
{
    int columns = 0;
    int rows = 0;
    int channels = 0;
    if (!stbi_info_from_memory(file, (int)size, &columns, &rows, &channels) || columns <= 0 || rows <= 0) {
        return false;
    }
    *width = (uint32_t)columns;
    *height = (uint32_t)rows;
    return true;
}

static bool decode(const char *path, const unsigned char *file, size_t size, cli_image *image, char *error)
{
    uint32_t width = 0;
    uint32_t height = 0;
    int columns = 0;
    int rows = 0;
    int channels = 0;
    if (size == 0 || size > INT_MAX ||
        (!png_size(file, size, &width, &height) && !any_size(file, size, &width, &height))) {
        (void)snprintf(error, CLI_ERROR, "'%s' is no picture that can be read (PNG, JPEG, BMP, TGA or PNM)",
                       path);
        return false;
    }
    if (width > SIDE_MOST || height > SIDE_MOST || (uint64_t)width * height > PIXELS_MOST) {
        (void)snprintf(error, CLI_ERROR,
                       "'%s' is too large, %" PRIu32 "x%" PRIu32 " pixels; at most %u a side and %" PRIu64
                       " altogether are read",
                       path, width, height, SIDE_MOST, PIXELS_MOST);
        return false;
    }
    image->pixels = stbi_load_from_memory(file, (int)size, &columns, &rows, &channels, 3);
    if (!image->pixels) {
        (void)snprintf(error, CLI_ERROR, "'%s' is a damaged picture: %s", path, stbi_failure_reason());
        return false;
    }
    image->width = (uint32_t)columns;
    image->height = (uint32_t)rows;
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
    const int width = (int)image->width;
    bool written =
        stbi_write_png_to_func(sink_write, &to, width, (int)image->height, 3, image->pixels, width * 3) &&
        !to.failed;
    if (!written) {
        (void)snprintf(error, CLI_ERROR, "no memory to write '%s'", path);
    } else {
        written = cli_file_write(path, to.data, to.size, error);
    }
    free(to.data);
    return written;
}

void cli_image_release(cli_image *image)
{
    free(image->pixels);
    *image = (cli_image){0};
}
