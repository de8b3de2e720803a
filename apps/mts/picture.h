/*
 * picture.h: the picture of mts run: a photo or raw pixels, and which part of it the
 * networks see, how.
 */
#ifndef MTS_APPS_PICTURE_H
#define MTS_APPS_PICTURE_H

#include "kit/args.h"
#include "kit/image.h"

typedef struct cli_picture_options {
    const char *path;   /* NULL: no picture */
    const char *pixels; /* "nv12:640x480": the file holds raw frames, the first one is meant */
    const char *yuv, *fit, *crop, *filter;
    uint32_t rotate;
    bool mirror;
} cli_picture_options;

typedef struct cli_picture {
    cli_image image;    /* as it lies in the file, to draw on; no pixels if there is none */
    unsigned char *raw; /* of the file, if they are */
    mts_frame frame;    /* what the networks see; its data are one of the two */
} cli_picture;

/* Rows of an option table. */
#define CLI_PICTURE_OPTIONS(o)                                                                               \
    {"image", 'i', CLI_KIND_TEXT, &(o).path, "FILE", "the picture: PNG, JPEG, BMP, TGA or PNM", 0, 0},       \
        {"pixels",                                                                                           \
         0,                                                                                                  \
         CLI_KIND_TEXT,                                                                                      \
         &(o).pixels,                                                                                        \
         "FORMAT:WxH",                                                                                       \
         "the picture is a file of raw frames, such as nv12:640x480",                                        \
         0,                                                                                                  \
         0},                                                                                                 \
        {"yuv",    0,     CLI_KIND_TEXT,                                                                     \
         &(o).yuv, "HOW", "colours of raw frames: bt601 (default), bt601-full, bt709, bt709-full",           \
         0,        0},                                                                                       \
        {"crop", 0, CLI_KIND_TEXT, &(o).crop, "X,Y,W,H", "use this part of the picture", 0, 0},              \
        {"rotate", 0, CLI_KIND_COUNT, &(o).rotate, "DEGREES", "turn it clockwise: 90, 180 or 270", 0, 270},  \
        {"mirror", 0, CLI_KIND_FLAG, &(o).mirror, "", "swap left and right, after turning", 0, 0},           \
        {"fit",                                                                                              \
         0,                                                                                                  \
         CLI_KIND_TEXT,                                                                                      \
         &(o).fit,                                                                                           \
         "HOW",                                                                                              \
         "stretch, letterbox, letterbox-corner or crop (default: as the task list says, else stretch)",      \
         0,                                                                                                  \
         0},                                                                                                 \
    {                                                                                                        \
        "filter", 0, CLI_KIND_TEXT, &(o).filter, "HOW",                                                      \
            "bilinear (default), or area: the mean of all pixels that become one", 0, 0                      \
    }

/* Reads what can be read without the file into the frame. -1 to go on, else the exit
   status. */
int cli_picture_check(const cli_picture_options *options, mts_frame *frame);
/* Reads the file, into a picture whose frame cli_picture_check has filled. Likewise. */
int cli_picture_read(const cli_picture_options *options, cli_picture *picture);
/* The part that --crop names, else the whole picture: x, y, width, height. */
void cli_picture_part(const cli_picture *picture, uint32_t part[4]);
void cli_picture_release(cli_picture *picture);

#endif
