/*
 * window_gst.c: appsrc ! videoconvert ! a sink of GStreamer. A window that is slow shows
 * fewer pictures: it never holds up the networks.
 */
#include <gst/app/gstappsrc.h>
#include <stdlib.h>
#include <string.h>

#include "gst.h"
#include "window.h"

struct window {
    GstElement *pipeline;
    GstAppSrc *source;
    GstBus *bus;
    uint32_t width, height;
    bool fed, closed;
    gsize stride; /* GStreamer's rows begin at multiples of 4 */
};

/* What the sink has to say. A sink whose window the user closes reports that it is no
   longer found. */
static camera_status trouble(window *shown, char *error)
{
    GError *failure = NULL;
    GstMessage *message = gst_bus_pop_filtered(shown->bus, GST_MESSAGE_ERROR);
    if (!message) {
        return CAMERA_OK;
    }
    gst_message_parse_error(message, &failure, NULL);
    shown->closed = shown->fed && g_error_matches(failure, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    const camera_status status =
        source_fail(error, shown->closed ? CAMERA_END : CAMERA_FAILURE, "the window: %s", failure->message);
    g_clear_error(&failure);
    gst_message_unref(message);
    return status;
}

static bool pipeline_make(window *shown, const char *sink, char *error)
{
    GstElement *feeder = gst_element_factory_make("appsrc", NULL);
    GstElement *convert = gst_element_factory_make("videoconvert", NULL);
    GstElement *end = gst_element_factory_make(sink ? sink : "autovideosink", NULL);
    shown->pipeline = gst_pipeline_new(NULL);
    if (!feeder || !convert || !end) {
        (void)source_fail(error, CAMERA_FAILURE, "--window: GStreamer has no element %s",
                          !feeder    ? "appsrc"
                          : !convert ? "videoconvert"
                          : sink     ? sink
                                     : "autovideosink");
        gst_clear_object(&feeder);
        gst_clear_object(&convert);
        gst_clear_object(&end);
        return false;
    }
    shown->source = GST_APP_SRC(gst_object_ref(feeder));
    gst_bin_add_many(GST_BIN(shown->pipeline), feeder, convert, end, NULL);
    if (!gst_element_link_many(feeder, convert, end, NULL)) {
        (void)source_fail(error, CAMERA_FAILURE, "--window: '%s' shows no pictures", sink);
        return false;
    }
    return true;
}

static void source_set(window *shown)
{
    GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "RGB", "width", G_TYPE_INT,
                                        (gint)shown->width, "height", G_TYPE_INT, (gint)shown->height,
                                        "framerate", GST_TYPE_FRACTION, 0, 1, NULL);
    gst_app_src_set_caps(shown->source, caps);
    gst_caps_unref(caps);
    g_object_set(shown->source, "is-live", TRUE, "format", GST_FORMAT_TIME, "do-timestamp", TRUE, "max-bytes",
                 (guint64)0, NULL);
}

window *window_open(const char *sink, const cli_image *picture, char *error)
{
    window *shown = calloc(1, sizeof *shown);
    if (!shown || !gst_begin(error)) {
        free(shown);
        return NULL;
    }
    shown->width = picture->width;
    shown->height = picture->height;
    shown->stride = ((gsize)3 * picture->width + 3) / 4 * 4;
    if (!pipeline_make(shown, sink, error)) {
        window_close(&shown);
        return NULL;
    }
    shown->bus = gst_element_get_bus(shown->pipeline);
    source_set(shown);
    if (gst_element_set_state(shown->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
        if (trouble(shown, error) == CAMERA_OK) {
            (void)source_fail(error, CAMERA_FAILURE, "--window: no window can be opened here");
        }
        window_close(&shown);
    }
    return shown;
}

camera_status window_show(window *shown, const cli_image *picture, char *error)
{
    GstMapInfo map;
    const camera_status status = shown->closed ? CAMERA_END : trouble(shown, error);
    if (status != CAMERA_OK) {
        return status;
    }
    if (picture->width != shown->width || picture->height != shown->height ||
        gst_app_src_get_current_level_bytes(shown->source) >= 2 * shown->stride * shown->height) {
        return CAMERA_OK; /* the window is behind: this one is not shown */
    }
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, shown->stride * shown->height, NULL);
    if (!buffer || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) {
        gst_clear_buffer(&buffer);
        return source_fail(error, CAMERA_FAILURE, "the window: no memory");
    }
    for (uint32_t y = 0; y < shown->height; y++) {
        memcpy(map.data + shown->stride * y, picture->pixels + (size_t)3 * shown->width * y,
               (size_t)3 * shown->width);
    }
    gst_buffer_unmap(buffer, &map);
    shown->fed = true;
    return gst_app_src_push_buffer(shown->source, buffer) == GST_FLOW_OK
               ? CAMERA_OK
               : source_fail(error, CAMERA_FAILURE, "the window takes no more pictures");
}

void window_close(window **shown)
{
    if (!*shown) {
        return;
    }
    if ((*shown)->pipeline) {
        (void)gst_element_set_state((*shown)->pipeline, GST_STATE_NULL);
    }
    gst_clear_object(&(*shown)->source);
    gst_clear_object(&(*shown)->bus);
    gst_clear_object(&(*shown)->pipeline);
    free(*shown);
    *shown = NULL;
}
