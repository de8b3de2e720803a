/*
 * source_gst.c: everything that GStreamer can read, through an appsink. Buffers are
 * mapped and handed out with the strides and offsets that their meta data says: no pixel
 * is copied here, unless a format has to be converted.
 */
#include <gst/app/gstappsink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gst.h"

#define SLICE_MS 50u /* how long a signal may wait for an answer */
#define RTSP_LATENCY_MS 200u

typedef struct gst_source {
    source base;
    char name[URI_PATH];
    gst_plan plan;
    GstElement *pipeline;
    GstAppSink *sink;
    GstBus *bus;
    GstSample *first; /* came while the source was opened */
    bool paused;      /* a clip, until the caller asks for its first frame */
    GstCaps *caps;    /* that `info` is of */
    GstVideoInfo info;
    int yuv; /* wanted, or -1 */
    gst_held *slots;
    uint32_t slot_count;
    uint64_t number;
    GstClockTime first_time;
} gst_source;

bool gst_begin(char *error)
{
    GError *failure = NULL;
    if (gst_init_check(NULL, NULL, &failure)) {
        return true;
    }
    (void)source_fail(error, CAMERA_FAILURE, "GStreamer does not start: %s",
                      failure ? failure->message : "it does not say why");
    g_clear_error(&failure);
    return false;
}

/* What a failure means while there was no frame yet. */
static camera_status failure_kind(const GError *failure)
{
    if (failure->domain == GST_RESOURCE_ERROR) {
        return CAMERA_ABSENT;
    }
    if (failure->domain == GST_CORE_ERROR) {
        return failure->code == GST_CORE_ERROR_MISSING_PLUGIN || failure->code == GST_CORE_ERROR_NEGOTIATION
                   ? CAMERA_FORMAT
                   : CAMERA_ABSENT;
    }
    return CAMERA_FORMAT; /* GST_STREAM_ERROR: it can be read and is not what is needed */
}

/* An error that lies on the bus becomes a sentence. OK: there is none. */
static camera_status bus_check(gst_source *gst, char *error)
{
    GError *failure = NULL;
    gchar *debug = NULL;
    GstMessage *message = gst_bus_pop_filtered(gst->bus, GST_MESSAGE_ERROR);
    if (!message) {
        return CAMERA_OK;
    }
    gst_message_parse_error(message, &failure, &debug);
    camera_status status = CAMERA_VANISHED;
    if (gst->number > 0) {
        (void)source_fail(error, status, "the source vanished after %llu frames: %s",
                          (unsigned long long)gst->number, failure->message);
    } else {
        const bool refused = debug && strstr(debug, "not-negotiated");
        status = refused ? CAMERA_FORMAT : failure_kind(failure);
        (void)source_fail(error, status, "'%s': %s%s", gst->name, failure->message,
                          refused ? " (the source does not have that size, rate or format)" : "");
    }
    g_clear_error(&failure);
    g_free(debug);
    gst_message_unref(message);
    return status;
}

/* OK with a sample, WAITING, or how the stream ended. */
static camera_status sample_pull(gst_source *gst, uint32_t timeout_ms, GstSample **out, char *error)
{
    if (gst->paused) { /* networks have been made meanwhile; now the clip may go on */
        gst->paused = false;
        (void)gst_element_set_state(gst->pipeline, GST_STATE_PLAYING);
    }
    *out = gst->first ? gst->first : gst_app_sink_try_pull_sample(gst->sink, timeout_ms * GST_MSECOND);
    gst->first = NULL;
    if (*out) {
        return CAMERA_OK;
    }
    const camera_status status = bus_check(gst, error);
    if (status != CAMERA_OK || !gst_app_sink_is_eos(gst->sink)) {
        return status != CAMERA_OK ? status : CAMERA_WAITING;
    }
    return gst->plan.live ? source_fail(error, CAMERA_VANISHED, "the source ended after %llu frames",
                                        (unsigned long long)gst->number)
                          : CAMERA_END;
}

/* What the caps say; they may change in the middle of a stream. */
static camera_status caps_read(gst_source *gst, GstSample *sample, char *error)
{
    GstCaps *caps = gst_sample_get_caps(sample);
    source_info *info = &gst->base.info;
    if (caps && caps == gst->caps) {
        return CAMERA_OK;
    }
    if (!caps || !gst_video_info_from_caps(&gst->info, caps) ||
        gst_format_of(GST_VIDEO_INFO_FORMAT(&gst->info)) < 0) {
        return source_fail(error, CAMERA_FORMAT, "the source gives no pixels that the library takes");
    }
    gst_caps_replace(&gst->caps, caps);
    info->format = (mts_pixel_format)gst_format_of(GST_VIDEO_INFO_FORMAT(&gst->info));
    info->yuv = gst->yuv < 0 ? gst_yuv_of(&gst->info.colorimetry) : (mts_yuv)gst->yuv;
    info->width = (uint32_t)GST_VIDEO_INFO_WIDTH(&gst->info);
    info->height = (uint32_t)GST_VIDEO_INFO_HEIGHT(&gst->info);
    info->fps = GST_VIDEO_INFO_FPS_N(&gst->info) > 0
                    ? (double)GST_VIDEO_INFO_FPS_N(&gst->info) / GST_VIDEO_INFO_FPS_D(&gst->info)
                    : 0;
    return CAMERA_OK;
}

/* Takes the sample. */
static camera_status hand_out(gst_source *gst, gst_held *slot, GstSample *sample, source_frame *frame,
                              char *error)
{
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    camera_status status = caps_read(gst, sample, error);
    if (status == CAMERA_OK) {
        status = buffer ? gst_held_take(slot, buffer, &gst->info, gst->base.imports, &frame->frame, error)
                        : source_fail(error, CAMERA_FAILURE, "the source gives no pixels");
    }
    const GstClockTime time = buffer ? GST_BUFFER_PTS(buffer) : GST_CLOCK_TIME_NONE;
    gst_sample_unref(sample);
    if (status != CAMERA_OK) {
        return status;
    }
    frame->frame.yuv = gst->base.info.yuv;
    frame->token = slot;
    if (gst->number == 0) {
        gst->first_time = time;
    }
    const bool timed =
        GST_CLOCK_TIME_IS_VALID(time) && GST_CLOCK_TIME_IS_VALID(gst->first_time) && time >= gst->first_time;
    frame->time_ms = timed ? (double)(time - gst->first_time) / (double)GST_MSECOND : 0;
    frame->number = gst->number++;
    return CAMERA_OK;
}

static camera_status gst_source_next(source *self, uint32_t timeout_ms, source_frame *frame, char *error)
{
    gst_source *gst = (gst_source *)self;
    gst_held *slot = NULL;
    GstSample *sample = NULL;
    for (uint32_t i = 0; i < gst->slot_count && !slot; i++) {
        slot = gst->slots[i].buffer ? NULL : &gst->slots[i];
    }
    if (!slot) {
        return source_fail(error, CAMERA_FAILURE, "all %u frames of the source are out", gst->slot_count);
    }
    const camera_status status = sample_pull(gst, timeout_ms, &sample, error);
    return status == CAMERA_OK ? hand_out(gst, slot, sample, frame, error) : status;
}

static void gst_source_release(source *self, source_frame *frame)
{
    (void)self;
    gst_buffer_unref(gst_held_give(frame->token));
}

static void gst_source_close(source *self)
{
    gst_source *gst = (gst_source *)self;
    for (uint32_t i = 0; gst->slots && i < gst->slot_count; i++) {
        if (gst->slots[i].buffer) {
            source_frame frame = {.token = &gst->slots[i]};
            gst_source_release(self, &frame);
        }
    }
    if (gst->first) {
        gst_sample_unref(gst->first);
    }
    if (gst->pipeline) {
        (void)gst_element_set_state(gst->pipeline, GST_STATE_NULL);
    }
    gst_clear_object(&gst->sink);
    gst_clear_object(&gst->bus);
    gst_clear_object(&gst->pipeline);
    gst_clear_caps(&gst->caps);
    free(gst->slots);
    free(gst);
}

static const source_class gst_class = {gst_source_next, gst_source_release, gst_source_close};

/* Tells the elements in front that strides and offsets may be any, so that nothing has to
   be copied to be dense, and how many frames will be out: cameras keep that many buffers
   more. */
static GstPadProbeReturn allocation_answer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const gst_source *gst = data;
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
    GstCaps *caps = NULL;
    GstVideoInfo video;
    (void)pad;
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) {
        return GST_PAD_PROBE_OK;
    }
    gst_query_parse_allocation(query, &caps, NULL);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    if (caps && gst_video_info_from_caps(&video, caps)) {
        gst_query_add_allocation_pool(query, NULL, (guint)GST_VIDEO_INFO_SIZE(&video), gst->slot_count + 1,
                                      0);
    }
    return GST_PAD_PROBE_HANDLED;
}

/* A network camera's buffer against jitter is two seconds by default. */
static void source_setup(GstElement *bin, GstElement *element, gpointer data)
{
    (void)bin;
    (void)data;
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "latency")) {
        g_object_set(element, "latency", RTSP_LATENCY_MS, NULL);
    }
}

static void sink_set(gst_source *gst, const source_request *wanted)
{
    GstCaps *caps = gst_formats_caps(wanted->format);
    GstPad *pad = gst_element_get_static_pad(GST_ELEMENT(gst->sink), "sink");
    gst_app_sink_set_caps(gst->sink, caps);
    gst_app_sink_set_max_buffers(gst->sink, 2);
    gst_app_sink_set_drop(gst->sink, gst->plan.live);
    g_object_set(gst->sink, "sync", (gboolean)(wanted->paced && !gst->plan.live), NULL);
    (void)gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, allocation_answer, gst, NULL);
    gst_object_unref(pad);
    gst_caps_unref(caps);
}

/* What it means that a pipeline cannot be made. */
static camera_status parse_kind(const GError *failure)
{
    if (!failure || failure->domain != GST_PARSE_ERROR) {
        return CAMERA_USAGE;
    }
    return failure->code == GST_PARSE_ERROR_NO_SUCH_ELEMENT ? CAMERA_ABSENT
           : failure->code == GST_PARSE_ERROR_LINK          ? CAMERA_FORMAT
                                                            : CAMERA_USAGE;
}

static camera_status pipeline_make(gst_source *gst, const source_request *wanted, char *error)
{
    GError *failure = NULL;
    gst->pipeline = gst_parse_launch_full(gst->plan.text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);
    if (!gst->pipeline || failure) {
        const camera_status status = source_fail(error, parse_kind(failure), "'%s': %s", gst->name,
                                                 failure ? failure->message : "it is no pipeline");
        g_clear_error(&failure);
        return status;
    }
    GstElement *src = gst_bin_get_by_name(GST_BIN(gst->pipeline), "src");
    if (src && strcmp(gst->plan.property, "uri") == 0) {
        gchar *address =
            gst->plan.live ? g_strdup(gst->plan.value) : gst_filename_to_uri(gst->plan.value, NULL);
        g_object_set(src, "uri", address, NULL);
        (void)g_signal_connect(src, "source-setup", G_CALLBACK(source_setup), NULL);
        g_free(address);
    } else if (src && gst->plan.property[0]) {
        g_object_set(src, gst->plan.property, gst->plan.value, NULL);
    }
    gst_clear_object(&src);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(gst->pipeline), "sink");
    if (!sink) {
        return source_fail(error, CAMERA_USAGE, "'%s' is no pipeline", gst->name);
    }
    gst->sink = GST_APP_SINK(sink);
    gst->bus = gst_element_get_bus(gst->pipeline);
    sink_set(gst, wanted);
    return CAMERA_OK;
}

/* A pipeline that the user wrote says only when it begins whether it is a camera: those
   have nothing to show while they pause. */
static camera_status pipeline_start(gst_source *gst, char *error)
{
    GstStateChangeReturn change = gst_element_set_state(gst->pipeline, GST_STATE_PAUSED);
    if (change == GST_STATE_CHANGE_NO_PREROLL && gst->plan.foreign) {
        gst->plan.live = true;
        gst->base.info.live = true;
        gst_app_sink_set_drop(gst->sink, TRUE);
        g_object_set(gst->sink, "sync", FALSE, NULL);
    }
    if (change != GST_STATE_CHANGE_FAILURE) {
        change = gst_element_set_state(gst->pipeline, GST_STATE_PLAYING);
    }
    if (change != GST_STATE_CHANGE_FAILURE) {
        return CAMERA_OK;
    }
    const camera_status status = bus_check(gst, error);
    return status == CAMERA_OK ? source_fail(error, CAMERA_ABSENT, "'%s' does not start", gst->name) : status;
}

/* A camera shows what it delivers with its first frame only. */
static camera_status first_wait(gst_source *gst, const source_request *wanted, char *error)
{
    const double end_ms = cli_now_ms() + wanted->timeout_ms;
    const camera_status begun = pipeline_start(gst, error);
    if (begun != CAMERA_OK) {
        return begun;
    }
    for (;;) {
        GstSample *sample = NULL;
        const camera_status status = sample_pull(gst, SLICE_MS, &sample, error);
        if (status == CAMERA_OK) {
            gst->first = sample;
            gst->paused = !gst->plan.live && wanted->paced;
            if (gst->paused) {
                (void)gst_element_set_state(gst->pipeline, GST_STATE_PAUSED);
            }
            return caps_read(gst, sample, error);
        }
        if (status == CAMERA_END || status == CAMERA_VANISHED) {
            return source_fail(error, CAMERA_FORMAT, "'%s' has no picture in it", gst->name);
        }
        if (status != CAMERA_WAITING) {
            return status;
        }
        if (wanted->stop && *wanted->stop) {
            return CAMERA_END;
        }
        if (cli_now_ms() >= end_ms) {
            return source_fail(error, CAMERA_STALLED, "'%s' gave no frame within %.1f s", gst->name,
                               wanted->timeout_ms / 1e3);
        }
    }
}

/* Says so if the CPU has to convert every frame. */
static void conversion_note(gst_source *gst)
{
    GstElement *convert = gst_bin_get_by_name(GST_BIN(gst->pipeline), "convert");
    GstPad *pad = convert ? gst_element_get_static_pad(convert, "sink") : NULL;
    GstCaps *caps = pad ? gst_pad_get_current_caps(pad) : NULL;
    GstVideoInfo info;
    if (caps && gst_video_info_from_caps(&info, caps) &&
        GST_VIDEO_INFO_FORMAT(&info) != GST_VIDEO_INFO_FORMAT(&gst->info)) {
        (void)snprintf(gst->base.info.note, sizeof gst->base.info.note,
                       "every frame is converted from %s on the processor",
                       gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)));
    }
    gst_clear_caps(&caps);
    gst_clear_object(&pad);
    gst_clear_object(&convert);
}

static camera_status gst_source_make(gst_source *gst, const char *scheme, const char *rest, char *error,
                                     source_request *wanted)
{
    camera_status status = gst_describe(scheme, rest, wanted, &gst->plan, error);
    if (status != CAMERA_OK) {
        return status;
    }
    if (!gst_begin(error)) {
        return CAMERA_FAILURE;
    }
    gst->base.info.live = gst->plan.live;
    gst->yuv = wanted->yuv;
    gst->slot_count = wanted->held + 1;
    gst->slots = calloc(gst->slot_count, sizeof *gst->slots);
    if (!gst->slots) {
        return source_fail(error, CAMERA_FAILURE, "no memory");
    }
    status = pipeline_make(gst, wanted, error);
    status = status == CAMERA_OK ? first_wait(gst, wanted, error) : status;
    if (status == CAMERA_OK) {
        conversion_note(gst);
    }
    return status;
}

camera_status source_gst_open(const source_request *request, const char *scheme, const char *rest,
                              source **out, char *error)
{
    source_request wanted = *request;
    gst_source *gst = calloc(1, sizeof *gst);
    *out = NULL;
    if (!gst) {
        return source_fail(error, CAMERA_FAILURE, "no memory");
    }
    gst->base.type = &gst_class;
    (void)source_name(request->uri, gst->name, sizeof gst->name);
    const camera_status status = gst_source_make(gst, scheme, rest, error, &wanted);
    if (status != CAMERA_OK) {
        gst_source_close(&gst->base);
        return status;
    }
    *out = &gst->base;
    return CAMERA_OK;
}
