/*
 * font.h: a font of 5 x 8 pixels for words on pictures: printable ASCII.
 */
#ifndef MTS_KIT_FONT_H
#define MTS_KIT_FONT_H

#include <stdint.h>

#define CLI_FONT_WIDTH 5   /* of a letter; the next one begins a pixel further */
#define CLI_FONT_HEIGHT 8  /* 7, and one below the line */
#define CLI_FONT_ADVANCE 6 /* from letter to letter */

/* CLI_FONT_HEIGHT rows from the top, bit 4 of each is the leftmost pixel. '?' for what is
 * not printable ASCII. */
const uint8_t *cli_font_glyph(char letter);

#endif
