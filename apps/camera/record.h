/*
 * record.h: what happened as JSON lines: an object for each answered frame, one for each
 * dropped one, and a summary. Each line is written when it is complete.
 */
#ifndef MTS_CAMERA_RECORD_H
#define MTS_CAMERA_RECORD_H

#include <stdio.h>

#include "faces.h"
#include "feed.h"
#include "table.h"

typedef struct record {
    FILE *file; /* NULL: nothing is recorded */
    const char *path;
} record;

/* "-": standard output. False with a sentence. */
bool record_open(record *out, const char *path, char *error);
/* The members of an answered frame's object, which is open. */
void record_frame_json(const feed_frame *frame, double latency_ms, const results *all, const faces *people,
                       cli_json *json);
bool record_frame(record *out, const feed_frame *frame, double latency_ms, const results *all,
                  const faces *people, char *error);
bool record_dropped(record *out, const feed_frame *frame, char *error);
/* `reason`: the sentence that ended it, or NULL; `status`: the exit status. */
bool record_summary(record *out, const table_facts *facts, const char *reason, int status, char *error);
bool record_close(record *out, char *error);

#endif
