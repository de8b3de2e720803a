/*
 * fixture.h: pipelines with the plugin in them for tests, read with GStreamer's own functions only:
 * nothing here knows how the plugin writes what it says.
 */
#ifndef MTS_TESTS_GST_FIXTURE_H
#define MTS_TESTS_GST_FIXTURE_H

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdbool.h>
#include <stdint.h>

/* Loads the plugin, and writes "colour.mtsb" into the build: task "a" gives back the mean red, green and
 * blue of a frame, "b" those of 2 x 2 parts. False: GStreamer lacks what the tests need. */
bool gst_world_begin(void);
/* Of that bundle. */
const char *gst_world_bundle(void);

typedef struct stream {
    GstElement *pipeline;
    GstAppSrc *source;   /* "src", or NULL */
    GstAppSink *sink;    /* "sink", or NULL */
    char sentence[1024]; /* of the last error or warning */
} stream;

/* printf of a pipeline; fails the test if it cannot be made. */
void stream_make(stream *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether it goes to the state. If it does not, `sentence` says why. */
bool stream_state(stream *s, GstState state);
/* Fails the test if it does not. */
void stream_play(stream *s);
/* The next sample, or NULL at the end; the caller unrefs. Fails the test at an error. */
GstSample *stream_pull(stream *s);
/* Whether an error lies on the bus, or comes within five seconds. */
bool stream_error(stream *s);
void stream_close(stream *s);

/* A property of the element "mts": its stats. */
guint64 stream_stat(const stream *s, const char *name);

/* The results on a buffer; NULL: none. */
const GstStructure *results_of(GstBuffer *buffer);
/* Its `json`; NULL: none. */
const char *json_of(GstBuffer *buffer);
/* The numbers of "values": [...] of a task in it; how many there are. */
uint32_t values_of(GstBuffer *buffer, const char *task, double *values, uint32_t most);

#endif
