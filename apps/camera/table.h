/*
 * table.h: the table in the terminal: source, rate, latency, drops, and a line per task.
 * Drawn in place where standard output is a terminal, else once at the end.
 */
#ifndef MTS_CAMERA_TABLE_H
#define MTS_CAMERA_TABLE_H

#include "results.h"
#include "source.h"
#include "tally.h"

typedef struct table {
    bool live;              /* standard output is a terminal */
    uint32_t columns, rows; /* that fit; rows 0: any number */
    uint32_t lines;         /* drawn last */
    double drawn_ms;
} table;

typedef struct table_facts {
    const char *uri, *device;
    const source_info *source;
    const tally *count;
    const results *results;
    const char *faces; /* "2 faces: 4.1 ms", or NULL: faces are not looked for */
} table_facts;

void table_begin(table *screen, bool wanted);
/* Whether it is time to draw: a few times a second at most. */
bool table_due(const table *screen);
void table_draw(table *screen, const table_facts *facts);
/* The last state, on any output. */
void table_end(table *screen, const table_facts *facts);

#endif
