/*
 * overlay.h: what the tasks say, drawn onto the picture of a frame.
 */
#ifndef MTS_CAMERA_OVERLAY_H
#define MTS_CAMERA_OVERLAY_H

#include "kit/draw.h"
#include "results.h"

/* A dark panel in the upper left corner: a line per task with its answer and a bar for
   its score. */
void overlay_lines(cli_image *picture, const cli_line *lines, uint32_t count);
/* The same of results. */
void overlay_tasks(cli_image *picture, const results *all);

#endif
