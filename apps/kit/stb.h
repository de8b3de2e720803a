/*
 * stb.h: what draw.c needs of stb_easy_font, without its unused static functions in a second file.
 */
#ifndef MTS_KIT_STB_H
#define MTS_KIT_STB_H

/* Fills `quads` with quads of four corners (float x, y, z; 4 bytes of color); returns the number of quads. */
int cli_stb_text(const char *text, void *quads, int size);
int cli_stb_text_width(const char *text);

#endif
