/*
 * gst.h: what the files that use GStreamer share.
 */
#ifndef MTS_CAMERA_GST_H
#define MTS_CAMERA_GST_H

#include <gst/gst.h>
#include <gst/video/video.h>

#include "source.h"
#include "uri.h"

#define GST_DESCRIPTION 2048

/* Starts GStreamer once; false with a sentence of CLI_ERROR bytes. */
bool gst_begin(char *error);

/* ---- gst_formats.c ---- */

/* The caps that the library takes; format -1: all of them. */
GstCaps *gst_formats_caps(int format);
/* The library's format; -1: none. */
int gst_format_of(GstVideoFormat format);
mts_yuv gst_yuv_of(const GstVideoColorimetry *colorimetry);
/* A mapped frame as the library wants it. False: its format is none of the library's, or
   its meta data says strides, offsets or planes that do not lie in what is mapped. */
bool gst_frame_view(const GstVideoFrame *video, mts_frame *out);

/* A buffer whose pixels are in use. */
typedef struct gst_held {
    GstBuffer *buffer; /* a reference; NULL: none */
    GstVideoFrame video;
    bool mapped; /* for the processor; else a dma-buf that is named by its descriptor */
} gst_held;

/*
 * Holds a buffer and says where its pixels lie; nothing is copied. `imports`: a dma-buf is
 * named by its descriptor, for devices that read it (mts_device_desc.reads). OK, or FAILURE
 * or FORMAT with a sentence, and nothing is held.
 */
camera_status gst_held_take(gst_held *held, GstBuffer *buffer, const GstVideoInfo *info, bool imports,
                            mts_frame *out, char *error);
/* Ends the use of the pixels; the reference is the caller's. */
GstBuffer *gst_held_give(gst_held *held);

/* ---- gst_describe.c ---- */

/* A pipeline for gst_parse_launch, with a source named "src" and a sink named "sink". */
typedef struct gst_plan {
    char text[GST_DESCRIPTION];
    char property[16]; /* of "src": "uri", "device" or "" */
    char value[URI_PATH + 16];
    bool live;    /* has no end */
    bool foreign; /* a pipeline that the user wrote; it may be live, too */
} gst_plan;

/* Reads what follows "SCHEME://"; `request` receives what a query says. OK or USAGE.
   Needs no GStreamer. */
camera_status gst_describe(const char *scheme, const char *rest, source_request *request, gst_plan *plan,
                           char *error);

#endif
