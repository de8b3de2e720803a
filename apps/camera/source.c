/*
 * source.c: from an address to the source that it names.
 */
#include "source.h"

#include <string.h>

#define SCHEME_SIZE 16

#ifndef CAMERA_GSTREAMER
camera_status source_gst_open(const source_request *request, const char *scheme, const char *rest,
                              source **out, char *error)
{
    (void)rest;
    *out = NULL;
    return source_fail(error, CAMERA_USAGE,
                       "'%s': this program was built without GStreamer, which %s:// needs (v4l2-raw:// and "
                       "raw:// do not)",
                       request->uri, scheme);
}
#endif

bool source_live(const char *uri)
{
    static const char *const live[] = {"v4l2://", "v4l2-raw://", "csi://", "rtsp://"};
    for (size_t i = 0; i < sizeof live / sizeof live[0]; i++) {
        if (strncmp(uri, live[i], strlen(live[i])) == 0) {
            return true;
        }
    }
    return false;
}

camera_status source_open(const source_request *request, source **out, char *error)
{
    static const char *const gst[] = {"v4l2", "csi", "file", "rtsp", "test", "gst"};
    char scheme[SCHEME_SIZE];
    const char *colon = strstr(request->uri, "://");
    const size_t length = colon ? (size_t)(colon - request->uri) : 0;
    *out = NULL;
    if (length == 0 || length >= sizeof scheme) {
        return source_fail(error, CAMERA_USAGE, "'%s' is no source: it takes KIND://..., for example %s",
                           request->uri, "v4l2:///dev/video0");
    }
    memcpy(scheme, request->uri, length);
    scheme[length] = '\0';
    if (strcmp(scheme, "raw") == 0) {
        return source_raw_open(request, colon + 3, out, error);
    }
    if (strcmp(scheme, "v4l2-raw") == 0) {
        return source_v4l2_open(request, colon + 3, out, error);
    }
    for (size_t i = 0; i < sizeof gst / sizeof gst[0]; i++) {
        if (strcmp(scheme, gst[i]) == 0) {
            return source_gst_open(request, scheme, colon + 3, out, error);
        }
    }
    return source_fail(error, CAMERA_USAGE,
                       "'%s': no source of the kind '%s'; there are v4l2, csi, file, rtsp, test, gst, "
                       "v4l2-raw and raw",
                       request->uri, scheme);
}

camera_status source_next(source *self, uint32_t timeout_ms, source_frame *frame, char *error)
{
    *frame = (source_frame){0};
    return self->type->next(self, timeout_ms, frame, error);
}

void source_release(source *self, source_frame *frame)
{
    if (frame->token) {
        self->type->release(self, frame);
        frame->token = NULL;
    }
}

void source_close(source **self)
{
    if (self && *self) {
        (*self)->type->close(*self);
        *self = NULL;
    }
}
