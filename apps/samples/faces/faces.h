/*
 * faces.h: what the program found out about one frame, between the file that runs and the
 * one that prints.
 */
#ifndef MTS_SAMPLES_FACES_H
#define MTS_SAMPLES_FACES_H

#include "kit/cascade.h"
#include "kit/image.h"
#include "kit/json.h"
#include "kit/measure.h"

typedef struct frame_result {
    uint32_t number; /* of the clip's frames */
    uint32_t width, height;
    const cli_face *faces;
    uint32_t count;
    cli_cascade_times times;
} frame_result;

/* Times of the same frame again and again. */
typedef struct repeated {
    cli_latency detector, tasks, all;
} repeated;

void faces_print_head(void);
void faces_print(const cli_cascade *cascade, const frame_result *result);
/* An object of an array that is open. */
void faces_json(const cli_cascade *cascade, const frame_result *result, cli_json *json);
void faces_print_repeated(const repeated *times);
void faces_json_repeated(const repeated *times, cli_json *json);
/* Boxes, points and words onto the picture that the frame shows. */
void faces_draw(const cli_cascade *cascade, const frame_result *result, cli_image *image);

#endif
