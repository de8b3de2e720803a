/*
 * draw.h: answers drawn onto a picture: a dark panel beside it, with one line per task and a bar for its
 * score.
 */
#ifndef MTS_KIT_DRAW_H
#define MTS_KIT_DRAW_H

#include "image.h"

typedef struct cli_line {
    const char *name; /* of the task */
    const char *text; /* of the answer */
    double score;     /* 0..1: a bar of that length; negative: none */
} cli_line;

/*
 * Replaces the picture by one with the panel on it: enlarged by a whole factor if it is too small to be read,
 * and with the frame of the part that the networks saw.
 */
bool cli_draw_answers(cli_image *image, const uint32_t crop[4], const cli_line *lines, size_t count,
                      char *error);

#endif
