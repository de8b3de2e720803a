/*
 * image_jpeg.c: JPEG files by libjpeg-turbo. A progressive file may go over its pixels very
 * often, so that the number of scans has a limit.
 */
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "decoders.h"

#define SCANS_MOST 100 /* files of cameras and tools have 1 to 12 */

typedef struct job {
    struct jpeg_decompress_struct jpeg; /* first: callbacks get its address */
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf out;
    cli_image *image;
    unsigned char *row; /* four bytes a pixel, of files for printing */
    char *reason;
} job;

static void fail(j_common_ptr common)
{
    job *j = (job *)(void *)common;
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    (void)snprintf(j->reason, CLI_REASON, "is a damaged picture: %.200s", text);
    longjmp(j->out, 1);
}

/* Warnings are of files that still show something, but for those that end too early. */
static void warn(j_common_ptr common, int level)
{
    if (level < 0 && common->err->msg_code == JWRN_JPEG_EOF) {
        fail(common);
    }
}

static void count_scans(j_common_ptr common)
{
    job *j = (job *)(void *)common;
    if (j->jpeg.input_scan_number > SCANS_MOST) {
        (void)snprintf(j->reason, CLI_REASON, "goes over its pixels more than %d times", SCANS_MOST);
        longjmp(j->out, 1);
    }
}

/* Four inks to three colours; files of Adobe's programs have them inverted, and all do. */
static void inks_to_rgb(const unsigned char *inks, unsigned char *rgb, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++) {
        for (int c = 0; c < 3; c++) {
            rgb[3 * x + (uint32_t)c] = (unsigned char)(inks[4 * x + (uint32_t)c] * inks[4 * x + 3] / 255);
        }
    }
}

static void read_rows(job *j)
{
    const uint32_t width = j->image->width;
    while (j->jpeg.output_scanline < j->jpeg.output_height) {
        unsigned char *to = j->image->pixels + (size_t)j->jpeg.output_scanline * width * 3;
        JSAMPROW row = j->row ? j->row : to;
        if (jpeg_read_scanlines(&j->jpeg, &row, 1) == 1 && j->row) {
            inks_to_rgb(j->row, to, width);
        }
    }
}

/* Jumps to j->out on failure. */
static void read_picture(job *j, const unsigned char *file, size_t size)
{
    jpeg_create_decompress(&j->jpeg);
    j->progress.progress_monitor = count_scans;
    j->jpeg.progress = &j->progress;
    jpeg_mem_src(&j->jpeg, file, (unsigned long)size);
    (void)jpeg_read_header(&j->jpeg, TRUE);
    if (!cli_image_size_check(j->jpeg.image_width, j->jpeg.image_height, j->reason)) {
        longjmp(j->out, 1);
    }
    const bool inks = j->jpeg.jpeg_color_space == JCS_CMYK || j->jpeg.jpeg_color_space == JCS_YCCK;
    j->jpeg.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    (void)jpeg_start_decompress(&j->jpeg);
    j->row = inks ? malloc((size_t)j->jpeg.output_width * 4) : NULL;
    if ((inks && !j->row) ||
        !cli_image_make(j->image, j->jpeg.output_width, j->jpeg.output_height, j->reason)) {
        longjmp(j->out, 1);
    }
    read_rows(j);
    (void)jpeg_finish_decompress(&j->jpeg);
}

bool cli_jpeg_decode(const unsigned char *file, size_t size, cli_image *image, char *reason)
{
    *image = (cli_image){0};
    (void)snprintf(reason, CLI_REASON, "cannot be decoded: there is no memory");
    job *j = calloc(1, sizeof *j);
    if (!j) {
        return false;
    }
    j->image = image;
    j->reason = reason;
    j->jpeg.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = fail;
    j->errors.emit_message = warn;
    const bool done = setjmp(j->out) == 0;
    if (done) {
        read_picture(j, file, size);
    } else {
        cli_image_release(image);
    }
    jpeg_destroy_decompress(&j->jpeg);
    free(j->row);
    free(j);
    return image->pixels;
}
