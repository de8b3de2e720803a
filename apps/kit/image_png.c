/*
 * image_png.c: PNG files by libpng. What is inflated is bounded by the declared rows, what may
 * lie behind them by its packed size, and chunks that do not hold pixels have limits of their own.
 */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoders.h"

#define CHUNK_MOST ((png_alloc_size_t)4 << 20)
#define CHUNKS_MOST 64u
#define CHUNK_FRAME 12u         /* bytes of a chunk beside its data */
#define BYTES_PER_PIXEL_MOST 8u /* four channels of 16 bits */
#define PACKED_LEAST 4096u      /* what a small picture may have in any case */

typedef struct source {
    const unsigned char *at;
    size_t left;
    char *reason;
} source;

static void read_bytes(png_structp png, png_bytep to, size_t size)
{
    source *from = png_get_io_ptr(png);
    if (size > from->left) {
        png_error(png, "it is cut off");
    }
    memcpy(to, from->at, size);
    from->at += size;
    from->left -= size;
}

static void fail(png_structp png, png_const_charp text)
{
    const source *from = png_get_error_ptr(png);
    (void)snprintf(from->reason, CLI_REASON, "is a damaged picture: %s", text);
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

/* Every kind of pixels becomes three bytes. */
static void want_rgb(png_structp png, png_infop info)
{
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

/* Jumps to the caller's setjmp on failure. */
static void read_picture(png_structp png, png_infop info, cli_image *image, char *reason)
{
    png_set_user_limits(png, CLI_SIDE_MOST, CLI_SIDE_MOST);
    png_set_chunk_malloc_max(png, CHUNK_MOST);
    png_set_chunk_cache_max(png, CHUNKS_MOST);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_read_info(png, info);
    const uint32_t width = png_get_image_width(png, info);
    const uint32_t height = png_get_image_height(png, info);
    want_rgb(png, info);
    if (!cli_image_size_check(width, height, reason) || !cli_image_make(image, width, height, reason)) {
        png_longjmp(png, 1);
    }
    if (png_get_rowbytes(png, info) != (size_t)width * 3) {
        png_error(png, "its pixels have an unknown layout");
    }
    const int passes =
        png_get_interlace_type(png, info) == PNG_INTERLACE_NONE ? 1 : PNG_INTERLACE_ADAM7_PASSES;
    for (int pass = 0; pass < passes; pass++) {
        for (uint32_t y = 0; y < height; y++) {
            png_read_row(png, image->pixels + (size_t)y * width * 3, NULL);
        }
    }
}

static uint32_t number_at(const unsigned char *n)
{
    return (uint32_t)n[0] << 24 | (uint32_t)n[1] << 16 | (uint32_t)n[2] << 8 | n[3];
}

/* Rows that do not deflate at all take little more than themselves. libpng inflates a stream that goes
   on behind the last row to its end, so a file with far more is refused. */
static bool packed_rows_fit(const unsigned char *file, size_t size, uint32_t width, uint32_t height,
                            char *reason)
{
    uint64_t packed = 0;
    const uint64_t most = 2 * (uint64_t)height * (BYTES_PER_PIXEL_MOST * (uint64_t)width + 8) + PACKED_LEAST;
    for (size_t at = 8; size - at >= CHUNK_FRAME;) {
        const uint32_t length = number_at(file + at);
        packed += memcmp(file + at + 4, "IDAT", 4) == 0 ? length : 0;
        if (length > size - at - CHUNK_FRAME) {
            break; /* libpng says where it is cut off */
        }
        at += length + CHUNK_FRAME;
    }
    if (packed > most) {
        (void)snprintf(reason, CLI_REASON,
                       "is a damaged picture: it has %llu bytes for %ux%u pixels, which take at most %llu",
                       (unsigned long long)packed, width, height, (unsigned long long)most);
    }
    return packed <= most;
}

/* libpng refuses sides that are too large itself, but not with a sentence that says so. */
static bool declared_size_fits(const unsigned char *file, size_t size, char *reason)
{
    if (size < 24 || memcmp(file + 12, "IHDR", 4) != 0) {
        (void)snprintf(reason, CLI_REASON, "is a damaged picture: it has no header");
        return false;
    }
    const uint32_t width = number_at(file + 16);
    const uint32_t height = number_at(file + 20);
    return cli_image_size_check(width, height, reason) && packed_rows_fit(file, size, width, height, reason);
}

bool cli_png_decode(const unsigned char *file, size_t size, cli_image *image, char *reason)
{
    source from = {.at = file, .left = size, .reason = reason};
    *image = (cli_image){0};
    if (!declared_size_fits(file, size, reason)) {
        return false;
    }
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &from, fail, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool done = false;
    if (!info) {
        (void)snprintf(reason, CLI_REASON, "cannot be decoded: there is no memory");
    } else if (setjmp(png_jmpbuf(png)) == 0) {
        png_set_read_fn(png, &from, read_bytes);
        read_picture(png, info, image, reason);
        done = true;
    } else {
        cli_image_release(image);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return done;
}
