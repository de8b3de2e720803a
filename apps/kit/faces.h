/*
 * faces.h: from the numbers of an UltraFace detector to faces, and from a face to the
 * part of the frame that a network for faces wants to see. Pure: no device, no memory of
 * its own.
 */
#ifndef MTS_KIT_FACES_H
#define MTS_KIT_FACES_H

#include <stdint.h>

#include "mts/kit.h"
#include "mts/mts.h"

/* A box in parts of the width and height of what the frame shows (its region, turned and
   mirrored); may reach beyond 0..1. */
typedef mts_kit_detection cli_face_box;

typedef struct cli_face_rule {
    float least_score; /* candidates below are none */
    float overlap; /* of two candidates with more intersection over union than this the better one stays */
} cli_face_rule;

/* A square or, where the frame is too small for it, a rectangle, in pixels of what the
   frame shows. */
typedef struct cli_face_crop {
    uint32_t x, y, width, height;
} cli_face_crop;

/* The usual one of these detectors: 0.7 and 0.4. */
cli_face_rule cli_face_rule_default(void);
/*
 * scores: [count][2], the second one is that of a face; boxes: [count][4], left, top,
 * right, bottom in 0..1. `faces` has room for `count`. Returns how many remain, the best
 * first; of equal scores the first candidate. A candidate whose score or box is no finite
 * number, whose box is empty, or none of which lies inside the frame, is none.
 */
uint32_t cli_faces_decode(const cli_face_rule *rule, const float *scores, const float *boxes, uint32_t count,
                          cli_face_box *faces);
/* Sorts by area, the largest first; of equal ones the order remains. */
void cli_faces_sort(cli_face_box *faces, uint32_t count);
/*
 * The square around the middle of a box whose side is `factor` times the box's longer
 * side, rounded to whole pixels, and moved so that it lies inside. A side longer than the
 * frame is cut to the frame's.
 */
cli_face_crop cli_face_crop_of(const mts_frame *frame, const cli_face_box *box, double factor);
/* The same pixels where they lie in memory, turned and mirrored as the frame is: for
   mts_session_regions. */
mts_region cli_face_region(const mts_frame *frame, const cli_face_crop *crop);

#endif
