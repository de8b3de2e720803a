/*
 * meta.h: results on a buffer, for elements that are not ours, too: a custom meta of
 * GStreamer named MtsResultsMeta, and the standard metas for what was found. docs/GSTREAMER.md
 */
#ifndef MTS_GST_META_H
#define MTS_GST_META_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

#include "camera/faces.h"
#include "camera/results.h"
#include "kit/face_show.h"
#include "track.h"

#define RESULTS_META "MtsResultsMeta"
#define RESULTS_VERSION 1u

/* Makes the meta known; again and again is fine. */
void results_meta_register(void);
/* What the structure of a frame is made of. */
typedef struct results_parts {
    const feed_frame *frame;
    GstClockTime pts;
    double latency_ms;
    const results *all;
    const faces *people;
    tracker *tracks; /* of faces; this frame is the next one */
    bool tensors;    /* also what tasks without labels computed, copied */
} results_parts;

/*
 * What is known of a frame, as the structure that its meta holds: `json`, one line as
 * mts_camera writes them, and the same as fields. NULL: no memory. The caller frees it.
 */
GstStructure *results_structure_make(const results_parts *parts);
/* Onto a writable buffer, whose frame has that size. */
void results_attach(GstBuffer *buffer, const GstStructure *found, guint width, guint height);

/* ---- read.c: for those who draw ---- */

/* Goes through the metas of a buffer; `state` is NULL at first. NULL: no more. */
const GstStructure *results_next(GstBuffer *buffer, gpointer *state);
/* Up to `most` lines of the panel, whose texts are the structure's. Returns how many. */
uint32_t results_lines(const GstStructure *found, cli_line *lines, uint32_t most);
uint32_t results_face_count(const GstStructure *found);
/* False: what another element wrote there is no face. */
bool results_face(const GstStructure *found, uint32_t index, cli_face_mark *mark);
/* The number of its track, and the time stamp of the frame that the track began on; 0: it has
   none. */
guint64 results_face_track(const GstStructure *found, uint32_t index, GstClockTime *first);

/* ---- tensors.c ---- */

/* Appends "tensors" to a structure: outputs of tasks without labels that ran on this frame. */
void tensors_write(GstStructure *out, const results *all);
/* As a GstTensorMeta, where this GStreamer has it; the numbers are not copied again. */
void tensors_attach(GstBuffer *buffer, const GstStructure *found);

/* ---- standard.c ---- */

/* Regions of interest, and GstAnalytics where this GStreamer has it. */
void standard_attach(GstBuffer *buffer, const GstStructure *found, guint width, guint height);

#endif
