/*
 * face_show.h: what the cascade says of a face, for people and for programs.
 */
#ifndef MTS_KIT_FACE_SHOW_H
#define MTS_KIT_FACE_SHOW_H

#include "cascade.h"
#include "image.h"
#include "json.h"

/* "male 93.9 %", or "-" if the bundle does not have the task. `values` are the face's. */
const char *cli_face_class_text(const cli_cascade *cascade, cli_face_task task, const float values[2],
                                char *text, size_t size);
/* An object of an array that is open; boxes and points in pixels of what the frame shows,
   classes as arrays of {label, score}, the likely one first. */
void cli_face_json(const cli_cascade *cascade, const cli_face *face, uint32_t width, uint32_t height,
                   cli_json *json);
/* What is drawn of a face, in parts of the picture's sides. */
#define CLI_FACE_LINES 3
#define CLI_FACE_LINE 96
typedef struct cli_face_mark {
    float box[4]; /* left, top, right, bottom */
    float score;
    uint32_t point_count, line_count;
    float points[CLI_FACE_POINTS][2];
    char lines[CLI_FACE_LINES][CLI_FACE_LINE]; /* what the tasks say */
} cli_face_mark;

void cli_face_mark_of(const cli_cascade *cascade, const cli_face *face, cli_face_mark *mark);
void cli_face_mark_draw(const cli_face_mark *mark, cli_image *image);
/* The same at once: box, points and words onto the picture that the frame shows. */
void cli_face_draw(const cli_cascade *cascade, const cli_face *face, cli_image *image);

#endif
