/*
 * svg.h: pictures (SVG) of mts bench, mts inspect and mts profile: their frame, texts and
 * axes.
 */
#ifndef MTS_APPS_SVG_H
#define MTS_APPS_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* A picture that is written to a file only when it is complete. */
typedef struct cli_svg {
    FILE *out; /* into `text` */
    char *text;
    size_t size;
} cli_svg;

/* False: no memory. */
bool cli_svg_begin(cli_svg *svg, double width, double height);
/* Writes the file and frees everything. Returns CLI_EXIT_OK, or the exit status with the
   message printed. */
int cli_svg_finish(cli_svg *svg, const char *command, const char *path);

/* The characters of a text, none of which SVG could take for its own. */
void cli_svg_escaped(FILE *out, const char *text);
/* anchor: start, middle or end. */
void cli_svg_text(FILE *out, double x, double y, const char *anchor, const char *text);
/* 1, 2 or 5 times a power of ten, and at least `least`; 1 where that is not above 0. */
double cli_svg_step(double least);

#endif
