/*
 * decode.h: outputs of tasks as boxes, landmarks and masks: --decode of mts run.
 */
#ifndef MTS_APPS_DECODE_H
#define MTS_APPS_DECODE_H

#include "kit/args.h"
#include "kit/json.h"
#include "kit/open.h"
#include "mts/kit.h"

typedef enum cli_decode_kind {
    CLI_DECODE_NONE = 0,
    CLI_DECODE_CLASSES = 1,
    CLI_DECODE_FACE =
        2, /* this and the next two are detectors of MediaPipe, in the order of mts_kit_ssd_kind */
    CLI_DECODE_PALM = 3,
    CLI_DECODE_POSE = 4,
    CLI_DECODE_ULTRAFACE = 5,
    CLI_DECODE_YOLO = 6,
    CLI_DECODE_LANDMARKS = 7,
    CLI_DECODE_MASK = 8
} cli_decode_kind;

/* What one task has found, in pixels of the picture. */
typedef struct cli_decoded {
    cli_decode_kind kind; /* NONE: the task is not decoded */
    uint32_t stride;      /* numbers of a landmark, 0: found from the output */
    mts_kit_detection *boxes;
    uint32_t box_count;
    mts_kit_landmark *points;
    uint32_t point_count;
    uint8_t *alpha; /* [height][width] of the picture */
    double share;   /* of the picture that the mask shows */
} cli_decoded;

typedef struct cli_decode_options {
    cli_list kinds;     /* [TASK=]KIND */
    double least_score; /* of boxes; negative: the usual one of the kind */
} cli_decode_options;

/* Rows of an option table. */
#define CLI_DECODE_OPTIONS(o)                                                                                \
    {"decode",                                                                                               \
     0,                                                                                                      \
     CLI_KIND_LIST,                                                                                          \
     &(o).kinds,                                                                                             \
     "[TASK=]KIND",                                                                                          \
     "classes, face, palm, pose, ultraface, yolo, landmarks[:N] or mask; may be repeated",                   \
     0,                                                                                                      \
     0},                                                                                                     \
    {                                                                                                        \
        "least-score", 0, CLI_KIND_NUMBER, &(o).least_score, "S",                                            \
            "boxes with a smaller score are none (default: that of the kind)", 0, 1                          \
    }

/* The kinds for the session's tasks, [cli_task_count], in their order; free it with
   cli_decoded_release. -1 to go on, else the exit status, with the message printed. */
int cli_decode_plan(const cli_open *app, const cli_decode_options *options, cli_decoded **out);
/* After a run on this frame. Likewise. */
int cli_decode_run(cli_open *app, const cli_decode_options *options, const mts_frame *frame,
                   cli_decoded *all);
/* NULL is fine. */
void cli_decoded_release(cli_decoded **all, uint32_t count);

/* Name of a box's class, or its number in `number`. */
const char *cli_decoded_label(const mts_task_desc *task, const cli_decoded *found, uint32_t label,
                              char *number, size_t size);
void cli_decoded_print(const mts_task_desc *task, const cli_decoded *found);
/* Adds "decoded" to a task's object. */
void cli_decoded_json(const mts_task_desc *task, const cli_decoded *found, cli_json *json);

#endif
