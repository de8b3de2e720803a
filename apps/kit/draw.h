/*
 * draw.h: answers drawn onto a picture: a dark panel in its lower left corner, with one
 * line per task and a bar for its score.
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
 * Draws the panel and, unless they saw all of it, the frame of the part that the networks
 * saw. Letters follow the picture's size. A picture that is too small for the panel is
 * replaced by one that is enlarged by a whole factor.
 */
bool cli_draw_answers(cli_image *image, const uint32_t crop[4], const cli_line *lines, size_t count,
                      char *error);

#endif
