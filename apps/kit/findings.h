/*
 * findings.h: what networks find, drawn onto a photo at its size: boxes with words,
 * landmarks and the lines between them, masks. Widths and letters follow the picture's
 * size.
 */
#ifndef MTS_KIT_FINDINGS_H
#define MTS_KIT_FINDINGS_H

#include "mts/kit.h"
#include "stroke.h"

/* A box in pixels with its words above it, or inside where the picture ends. */
void cli_draw_detection(cli_image *image, const mts_kit_detection *found, const char *words, cli_color color);
/* Paths from landmark to landmark: of 468 of a face, 21 of a hand, 33 or 39 of a pose.
   NULL: unknown. */
const uint16_t *cli_skeleton_find(uint32_t count);
/* Those of a pose without its face. */
const uint16_t *cli_skeleton_body(void);
/* Landmarks that are probably hidden (visibility below 0.5) are left out, with their
   lines. */
void cli_draw_skeleton(cli_image *image, const mts_kit_landmark *points, const uint16_t *paths, double width,
                       cli_color color);
void cli_draw_landmarks(cli_image *image, const mts_kit_landmark *points, uint32_t count, double radius,
                        cli_color color);
/* alpha: [height][width]. What is outside of the mask becomes darker and bluer. */
void cli_draw_mask(cli_image *image, const uint8_t *alpha);

#endif
