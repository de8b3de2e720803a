/*
 * faces.h: the kit's cascade on each frame: the faces on it, drawn and recorded.
 */
#ifndef MTS_CAMERA_FACES_H
#define MTS_CAMERA_FACES_H

#include "feed.h"
#include "kit/image.h"
#include "kit/json.h"

typedef struct faces {
    cli_cascade *cascade; /* NULL: faces are not looked for */
    char text[96];        /* what the last frame held */
} faces;

/* Finds the faces of the frame, waits, and keeps the largest ones with it. False with a
   sentence. */
bool faces_find(faces *all, feed_frame *frame, char *error);
void faces_draw(const faces *all, const feed_frame *frame, cli_image *picture);
/* "faces": [...] */
void faces_json(const faces *all, const feed_frame *frame, cli_json *json);

#endif
