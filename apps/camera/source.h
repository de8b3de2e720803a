/*
 * source.h: where frames come from. One file per kind implements source_class; source.c
 * picks the one that an address names. A source knows nothing of networks.
 */
#ifndef MTS_CAMERA_SOURCE_H
#define MTS_CAMERA_SOURCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/files.h"
#include "mts/mts.h"
#include "sentence.h"
#include "status.h"

/* A frame that is valid until it is released. */
typedef struct source_frame {
    mts_frame frame; /* region is empty, zero_copy is 0: the caller's business */
    void *token;     /* of the source */
    uint64_t number; /* from 0 */
    double time_ms;  /* of the source's own clock, 0: that of the first frame */
} source_frame;

/* What is wanted; 0 (or a negative format or yuv) leaves the choice to the source. */
typedef struct source_request {
    const char *uri;
    uint32_t width, height;
    double fps;
    int format;                        /* mts_pixel_format, or -1 */
    int yuv;                           /* mts_yuv that replaces what the source says, or -1 */
    uint32_t held;                     /* frames that are out at the same time at most */
    bool paced;                        /* clips give frames at their rate, not as fast as they can be read */
    uint32_t timeout_ms;               /* for a source that has to be asked for its first frame */
    const volatile sig_atomic_t *stop; /* ends the opening; may be NULL */
} source_request;

/* What was agreed. */
typedef struct source_info {
    mts_pixel_format format;
    mts_yuv yuv;
    uint32_t width, height;
    double fps;     /* 0: unknown */
    bool live;      /* a camera, which has no end */
    char note[160]; /* a remark: a conversion, another size than asked for. Or "" */
} source_info;

typedef struct source source;

typedef struct source_class {
    /* OK, WAITING, END, VANISHED, FORMAT or FAILURE, the last three with a sentence of
       CLI_ERROR bytes. Returns early when a signal comes. */
    camera_status (*next)(source *self, uint32_t timeout_ms, source_frame *frame, char *error);
    void (*release)(source *self, source_frame *frame);
    void (*close)(source *self); /* frees it; frames that are out are lost */
} source_class;

struct source {
    const source_class *type;
    source_info info;
    bool imports; /* the receiver's to set: it takes dma-bufs by their descriptors, without `data` */
};

/* Whether the address is that of a camera, which has no end and does not wait. */
bool source_live(const char *uri);
/*
 * Opens "KIND://..." (docs/CAMERA.md). A failure leaves *out NULL and a sentence in
 * `error`, CLI_ERROR bytes: USAGE, ABSENT, FORMAT, STALLED, FAILURE; END if `stop` was
 * set.
 */
camera_status source_open(const source_request *request, source **out, char *error);
camera_status source_next(source *self, uint32_t timeout_ms, source_frame *frame, char *error);
/* Nulls the token; a frame without one is fine. */
void source_release(source *self, source_frame *frame);
void source_close(source **self);

/* One per kind; `rest` is what follows "KIND://". */
camera_status source_raw_open(const source_request *request, const char *rest, source **out, char *error);
camera_status source_v4l2_open(const source_request *request, const char *rest, source **out, char *error);
/* All kinds of GStreamer, by the scheme. */
camera_status source_gst_open(const source_request *request, const char *scheme, const char *rest,
                              source **out, char *error);

#endif
