/*
 * fixture.c: see fixture.h.
 */
#include "gst/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/frame_bundle.h"

#define WAIT (5 * GST_SECOND)

static char bundle[4096];

static bool bundle_write(void)
{
    static const frame_task tasks[2] = {
        {.color = MTS_COLOR_RGB, .batch = 1, .height = 1, .width = 1, .deviation = 1.0f},
        {.color = MTS_COLOR_RGB, .batch = 1, .height = 2, .width = 2, .deviation = 1.0f}};
    mts_bundle_bytes bytes;
    frame_bundle_make(tasks, 2, &bytes);
    (void)snprintf(bundle, sizeof bundle, "%s/colour.%d.mtsb", MTS_BINARY_DIR, (int)getpid());
    const bool written = g_file_set_contents(bundle, (const gchar *)bytes.data, (gssize)bytes.size, NULL);
    mts_bundle_bytes_release(&bytes);
    return written;
}

static void bundle_remove(void)
{
    (void)remove(bundle);
}

bool gst_world_begin(void)
{
    static const char *const names[] = {"videotestsrc", "appsrc",   "appsink",
                                        "videoconvert", "mtsinfer", NULL};
    GError *failure = NULL;
    if (!gst_init_check(NULL, NULL, &failure)) {
        g_clear_error(&failure);
        return false;
    }
    GstPlugin *plugin = gst_plugin_load_file(MTS_GST_PLUGIN, &failure);
    if (!plugin) {
        (void)printf("%s\n", failure->message);
        g_clear_error(&failure);
        exit(1);
    }
    gst_object_unref(plugin);
    for (size_t i = 0; names[i]; i++) {
        GstElementFactory *factory = gst_element_factory_find(names[i]);
        if (!factory) {
            (void)printf("skipped: GStreamer has no %s here\n", names[i]);
            return false;
        }
        gst_object_unref(factory);
    }
    (void)atexit(bundle_remove);
    return bundle_write();
}

const char *gst_world_bundle(void)
{
    return bundle;
}

void stream_make(stream *s, const char *format, ...)
{
    GError *failure = NULL;
    va_list arguments;
    va_start(arguments, format);
    gchar *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    memset(s, 0, sizeof *s);
    s->pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);
    if (!s->pipeline) {
        fail_msg("%s: %s", text, failure->message);
    }
    GstElement *source = gst_bin_get_by_name(GST_BIN(s->pipeline), "src");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(s->pipeline), "sink");
    s->source = source && GST_IS_APP_SRC(source) ? GST_APP_SRC(source) : NULL;
    s->sink = sink && GST_IS_APP_SINK(sink) ? GST_APP_SINK(sink) : NULL;
    if (source && !s->source) {
        gst_object_unref(source);
    }
    if (sink && !s->sink) {
        gst_object_unref(sink);
    }
    g_free(text);
}

/* Keeps what an error or a warning on the bus says; false: there is none within that time. */
static bool sentence_take(stream *s, GstClockTime patience, GstMessageType kinds)
{
    GstBus *bus = gst_element_get_bus(s->pipeline);
    GstMessage *message = gst_bus_timed_pop_filtered(bus, patience, kinds);
    gst_object_unref(bus);
    if (!message) {
        return false;
    }
    GError *failure = NULL;
    gchar *debug = NULL;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        gst_message_parse_error(message, &failure, &debug);
    } else {
        gst_message_parse_warning(message, &failure, &debug);
    }
    (void)snprintf(s->sentence, sizeof s->sentence, "%s (%s)", failure->message, debug ? debug : "");
    g_clear_error(&failure);
    g_free(debug);
    gst_message_unref(message);
    return true;
}

bool stream_error(stream *s)
{
    return sentence_take(s, WAIT, GST_MESSAGE_ERROR);
}

bool stream_state(stream *s, GstState state)
{
    if (gst_element_set_state(s->pipeline, state) == GST_STATE_CHANGE_FAILURE) {
        (void)sentence_take(s, 0, GST_MESSAGE_ERROR);
        return false;
    }
    return true;
}

void stream_play(stream *s)
{
    if (!stream_state(s, GST_STATE_PLAYING)) {
        fail_msg("%s", s->sentence);
    }
}

GstSample *stream_pull(stream *s)
{
    GstSample *sample = gst_app_sink_try_pull_sample(s->sink, WAIT);
    if (!sample && !gst_app_sink_is_eos(s->sink)) {
        fail_msg("%s", sentence_take(s, 0, GST_MESSAGE_ERROR) ? s->sentence : "no sample came");
    }
    return sample;
}

void stream_close(stream *s)
{
    (void)gst_element_set_state(s->pipeline, GST_STATE_NULL);
    gst_clear_object(&s->source);
    gst_clear_object(&s->sink);
    gst_clear_object(&s->pipeline);
}

guint64 stream_stat(const stream *s, const char *name)
{
    GstStructure *stats = NULL;
    guint64 value = 0;
    GstElement *element = gst_bin_get_by_name(GST_BIN(s->pipeline), "mts");
    assert_non_null(element);
    g_object_get(element, "stats", &stats, NULL);
    assert_true(gst_structure_get_uint64(stats, name, &value));
    gst_structure_free(stats);
    gst_object_unref(element);
    return value;
}

const GstStructure *results_of(GstBuffer *buffer)
{
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, "MtsResultsMeta");
    return meta ? gst_custom_meta_get_structure(meta) : NULL;
}

const char *json_of(GstBuffer *buffer)
{
    const GstStructure *results = results_of(buffer);
    return results ? gst_structure_get_string(results, "json") : NULL;
}

uint32_t values_of(GstBuffer *buffer, const char *task, double *values, uint32_t most)
{
    char name[64];
    uint32_t count = 0;
    const char *at = json_of(buffer);
    (void)snprintf(name, sizeof name, "\"name\": \"%s\"", task);
    at = at ? strstr(at, name) : NULL;
    at = at ? strstr(at, "\"values\": [") : NULL;
    at = at ? strchr(at, '[') : NULL;
    while (at && count < most && *at != ']') {
        char *end = NULL;
        values[count] = strtod(at + 1, &end);
        if (end == at + 1) {
            break;
        }
        at = end;
        count++;
    }
    return count;
}
