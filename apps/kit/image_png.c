/*
 * image_png.c: PNG files by libpng. Each row may take a bounded number of bytes of the file, so
 * that little of a stream that goes on behind the last row is inflated. Chunks that do not hold
 * pixels have limits of their own.
 */
#include <png.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoders.h"

#define CHUNK_MOST ((png_alloc_size_t)4 << 20)
#define CHUNKS_MOST 64u
#define BYTES_PER_PIXEL_MOST 8u /* four channels of 16 bits */
/* What a row may take beside its pixels: what libpng reads ahead, frames of chunks, codes of DEFLATE. */
#define ROW_BYTES_MORE 16384u

typedef struct source {
    const unsigned char *at;
    size_t left;
    size_t allowed; /* until the next row */
    char *reason;
} source;

static void read_bytes(png_structp png, png_bytep to, size_t size)
{
    source *from = png_get_io_ptr(png);
    if (size > from->left) {
        png_error(png, "it is cut off");
    }
    if (size > from->allowed) {
        png_error(png, "it has more bytes than its rows can take");
    }
    memcpy(to, from->at, size);
    from->at += size;
    from->left -= size;
    from->allowed -= size;
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
static void read_picture(png_structp png, png_infop info, cli_image *image, source *from)
{
    png_set_user_limits(png, CLI_SIDE_MOST, CLI_SIDE_MOST);
    png_set_chunk_malloc_max(png, CHUNK_MOST);
    png_set_chunk_cache_max(png, CHUNKS_MOST);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_read_info(png, info);
    const uint32_t width = png_get_image_width(png, info);
    const uint32_t height = png_get_image_height(png, info);
    want_rgb(png, info);
    if (!cli_image_size_check(width, height, from->reason) ||
        !cli_image_make(image, width, height, from->reason)) {
        png_longjmp(png, 1);
    }
    if (png_get_rowbytes(png, info) != (size_t)width * 3) {
        png_error(png, "its pixels have an unknown layout");
    }
    const int passes =
        png_get_interlace_type(png, info) == PNG_INTERLACE_NONE ? 1 : PNG_INTERLACE_ADAM7_PASSES;
    for (int pass = 0; pass < passes; pass++) {
        for (uint32_t y = 0; y < height; y++) {
            /* A row that does not deflate takes little more than itself. libpng inflates what goes on behind
               the last row, to its end, while it reads that row. */
            from->allowed = 2 * (size_t)BYTES_PER_PIXEL_MOST * width + ROW_BYTES_MORE;
            png_read_row(png, image->pixels + (size_t)y * width * 3, NULL);
        }
    }
}

static uint32_t number_at(const unsigned char *n)
{
    return (uint32_t)n[0] << 24 | (uint32_t)n[1] << 16 | (uint32_t)n[2] << 8 | n[3];
}

/* libpng refuses sides that are too large itself, but not with a sentence that says so. */
static bool declared_size_fits(const unsigned char *file, size_t size, char *reason)
{
    if (size < 24 || memcmp(file + 12, "IHDR", 4) != 0) {
        (void)snprintf(reason, CLI_REASON, "is a damaged picture: it has no header");
        return false;
    }
    return cli_image_size_check(number_at(file + 16), number_at(file + 20), reason);
}

bool cli_png_decode(const unsigned char *file, size_t size, cli_image *image, char *reason)
{
    source from = {.at = file, .left = size, .allowed = SIZE_MAX, .reason = reason};
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
        read_picture(png, info, image, &from);
        done = true;
    } else {
        cli_image_release(image);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return done;
}
