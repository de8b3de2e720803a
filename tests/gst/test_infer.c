/*
 * test_infer.c: the element mtsinfer in pipelines: what buffers carry afterwards, and what happens to them
 * when slots are full, caps change, the stream is flushed, or something is not as it should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef MTS_GST_PLUGIN
int main(void)
{
    (void)printf("skipped: there is no plugin of GStreamer\n");
    return 77;
}
#else

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gst/fixture.h"

#define MTS "mtsinfer name=mts device=reference bundle=%s "
#define SINK " ! appsink name=sink sync=false"

static void every_buffer_carries_what_the_networks_say_of_it(void **state)
{
    static const char *const formats[] = {"NV12", "I420", "NV21", "YUY2", "UYVY", "RGB",
                                          "BGR",  "RGBA", "RGBx", "BGRA", "BGRx", "GRAY8"};
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        stream s;
        stream_make(&s,
                    "videotestsrc num-buffers=4 pattern=solid-color foreground-color=0xff204080 ! "
                    "video/x-raw,format=%s,width=62,height=46,colorimetry=bt601 ! " MTS SINK,
                    formats[f], gst_world_bundle());
        stream_play(&s);
        for (guint64 i = 0; i < 4; i++) {
            double values[3] = {0}, parts[12] = {0};
            guint64 number = 99, pts = 0;
            GstSample *sample = stream_pull(&s);
            GstBuffer *buffer = gst_sample_get_buffer(sample);
            assert_int_equal(values_of(buffer, "a", values, 3), 3);
            assert_int_equal(values_of(buffer, "b", parts, 12), 12);
            const bool grey = strcmp(formats[f], "GRAY8") == 0;
            for (int c = 0; c < 3; c++) {
                const double wanted = grey ? values[0] : 0x20 << c;
                if (values[c] < wanted - 4 || values[c] > wanted + 4) {
                    fail_msg("%s: channel %d is %g", formats[f], c, values[c]);
                }
                assert_true(parts[4 * c] > values[c] - 2 && parts[4 * c + 3] < values[c] + 2);
            }
            assert_true(gst_structure_get_uint64(results_of(buffer), "frame", &number));
            assert_true(gst_structure_get_uint64(results_of(buffer), "pts", &pts));
            assert_int_equal(number, i);
            assert_int_equal(pts, GST_BUFFER_PTS(buffer));
            gst_sample_unref(sample);
        }
        assert_null(stream_pull(&s));
        assert_int_equal(stream_stat(&s, "answered"), 4);
        stream_close(&s);
    }
}

/* ---- buffers of the test's own ---- */

#define APP "appsrc name=src format=time is-live=%s caps=\"%s\" ! "
#define GREY "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"

static GstBuffer *grey_buffer(guint8 level, guint64 number)
{
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, 64 * 48, NULL);
    (void)gst_buffer_memset(buffer, 0, level, 64 * 48);
    GST_BUFFER_PTS(buffer) = number * 40 * GST_MSECOND;
    GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
    return buffer;
}

static void push(stream *s, GstBuffer *buffer)
{
    assert_int_equal(gst_app_src_push_buffer(s->source, buffer), GST_FLOW_OK);
}

static void pixels_go_on_in_the_memory_that_they_came_in(void **state)
{
    static const char *const policies[] = {"block", "pass"};
    (void)state;
    for (int p = 0; p < 2; p++) {
        stream s;
        stream_make(&s, APP MTS "drop-policy=%s" SINK, "false", GREY, gst_world_bundle(), policies[p]);
        stream_play(&s);
        for (guint i = 0; i < 5; i++) {
            GstBuffer *sent = grey_buffer((guint8)(10 * i), i);
            const GstMemory *memory = gst_buffer_peek_memory(sent, 0);
            push(&s, sent);
            GstSample *sample = stream_pull(&s);
            assert_ptr_equal(gst_buffer_peek_memory(gst_sample_get_buffer(sample), 0), memory);
            gst_sample_unref(sample);
        }
        stream_close(&s);
    }
}

static void frames_in_flight_keep_their_order_and_their_results(void **state)
{
    enum { MANY = 40 };
    (void)state;
    for (guint slots = 1; slots <= 15; slots += 7) {
        stream s;
        guint came = 0;
        stream_make(&s, APP MTS "in-flight=%u" SINK, "false", GREY, gst_world_bundle(), slots);
        stream_play(&s);
        for (guint i = 0; i < MANY; i++) {
            push(&s, grey_buffer((guint8)(5 * i), i));
        }
        assert_int_equal(gst_app_src_end_of_stream(s.source), GST_FLOW_OK);
        for (GstSample *sample = stream_pull(&s); sample; sample = stream_pull(&s), came++) {
            double value = -1;
            GstBuffer *buffer = gst_sample_get_buffer(sample);
            assert_int_equal(GST_BUFFER_PTS(buffer), came * 40 * GST_MSECOND);
            assert_int_equal(values_of(buffer, "a", &value, 1), 1);
            assert_true(value > 5 * (double)came - 1 && value < 5 * (double)came + 1);
            gst_sample_unref(sample);
        }
        assert_int_equal(came, MANY);
        stream_close(&s);
    }
}

static void what_is_dropped_goes_nowhere_and_is_counted(void **state)
{
    enum { MANY = 200 };
    stream s;
    guint64 came = 0;
    double last = -1;
    (void)state;
    stream_make(&s, APP MTS "in-flight=2 drop-policy=drop" SINK, "false", GREY, gst_world_bundle());
    stream_play(&s);
    for (guint i = 0; i < MANY; i++) {
        push(&s, grey_buffer((guint8)i, i));
    }
    assert_int_equal(gst_app_src_end_of_stream(s.source), GST_FLOW_OK);
    for (GstSample *sample = stream_pull(&s); sample; sample = stream_pull(&s), came++) {
        double value = -1;
        GstBuffer *buffer = gst_sample_get_buffer(sample);
        const double level = (double)(GST_BUFFER_PTS(buffer) / (40 * GST_MSECOND));
        assert_int_equal(values_of(buffer, "a", &value, 1), 1);
        assert_true(value > level - 1 && value < level + 1);
        assert_true(level < last + 1.5 || GST_BUFFER_IS_DISCONT(buffer)); /* some are missing */
        last = level;
        gst_sample_unref(sample);
    }
    assert_int_equal(stream_stat(&s, "frames"), MANY);
    assert_int_equal(stream_stat(&s, "answered"), came);
    assert_int_equal(stream_stat(&s, "dropped"), MANY - came);
    stream_close(&s);
}

static void buffers_that_pass_carry_the_newest_results(void **state)
{
    enum { MANY = 30 };
    stream s;
    guint with = 0;
    (void)state;
    stream_make(&s, APP MTS "drop-policy=pass" SINK, "false", GREY, gst_world_bundle());
    stream_play(&s);
    for (guint i = 0; i < MANY; i++) {
        push(&s, grey_buffer((guint8)(5 * i), i));
        GstSample *sample = stream_pull(&s);
        GstBuffer *buffer = gst_sample_get_buffer(sample);
        guint64 of = 0;
        double value = -1;
        assert_int_equal(GST_BUFFER_PTS(buffer), i * 40 * GST_MSECOND);
        if (results_of(buffer)) {
            with++;
            assert_true(gst_structure_get_uint64(results_of(buffer), "frame", &of));
            assert_true(of < i);
            assert_int_equal(values_of(buffer, "a", &value, 1), 1);
            assert_true(value > 5 * (double)of - 1 && value < 5 * (double)of + 1);
        }
        gst_sample_unref(sample);
        g_usleep(1000); /* a run takes less */
    }
    assert_true(with > 0);
    assert_int_equal(stream_stat(&s, "passed") + stream_stat(&s, "answered") + 1 >= MANY, 1);
    stream_close(&s);
}

/* ---- events and queries ---- */

static void caps_change_in_the_middle_of_the_stream(void **state)
{
    static const char *const caps[] = {GREY, "video/x-raw,format=I420,width=33,height=21,framerate=25/1",
                                       "video/x-raw,format=RGBA,width=16,height=200,framerate=0/1"};
    static const gsize bytes[] = {64 * 48, 36 * 22 + 2 * 20 * 11, 16 * 200 * 4};
    stream s;
    (void)state;
    stream_make(&s, APP MTS "in-flight=4" SINK, "false", GREY, gst_world_bundle());
    stream_play(&s);
    for (guint i = 0; i < 12; i++) {
        GstCaps *now = gst_caps_from_string(caps[i % 3]);
        GstBuffer *buffer = gst_buffer_new_allocate(NULL, bytes[i % 3], NULL);
        (void)gst_buffer_memset(buffer, 0, 128, bytes[i % 3]);
        gst_app_src_set_caps(s.source, now);
        push(&s, buffer);
        gst_caps_unref(now);
    }
    assert_int_equal(gst_app_src_end_of_stream(s.source), GST_FLOW_OK);
    for (guint i = 0; i < 12; i++) {
        GstSample *sample = stream_pull(&s);
        double value = 0;
        GstCaps *wanted = gst_caps_from_string(caps[i % 3]);
        assert_non_null(sample);
        assert_true(gst_caps_is_subset(gst_sample_get_caps(sample), wanted));
        assert_int_equal(values_of(gst_sample_get_buffer(sample), "a", &value, 1), 1);
        gst_caps_unref(wanted);
        gst_sample_unref(sample);
    }
    stream_close(&s);
}

static void a_seek_forgets_what_was_under_way(void **state)
{
    stream s;
    (void)state;
    stream_make(
        &s,
        "videotestsrc num-buffers=100 ! video/x-raw,format=NV12,width=64,height=48,framerate=25/1 ! " MTS
        "in-flight=5" SINK " max-buffers=1",
        gst_world_bundle());
    stream_play(&s);
    gst_sample_unref(stream_pull(&s));
    for (gint64 second = 2; second >= 0; second--) {
        assert_true(gst_element_seek_simple(s.pipeline, GST_FORMAT_TIME,
                                            (GstSeekFlags)(GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE),
                                            second * (gint64)GST_SECOND));
        GstSample *sample = stream_pull(&s);
        assert_int_equal(GST_BUFFER_PTS(gst_sample_get_buffer(sample)), (guint64)second * GST_SECOND);
        assert_non_null(json_of(gst_sample_get_buffer(sample)));
        gst_sample_unref(sample);
    }
    assert_true(stream_state(&s, GST_STATE_READY)); /* and again, with what was made then gone */
    stream_play(&s);
    gst_sample_unref(stream_pull(&s));
    stream_close(&s);
}

/* An appsink answers once its buffers have been taken. */
static gpointer drain_ask(gpointer pad)
{
    GstQuery *query = gst_query_new_drain();
    (void)gst_pad_query(pad, query);
    gst_query_unref(query);
    return NULL;
}

static void a_source_that_asks_gets_all_its_buffers_back(void **state)
{
    stream s;
    (void)state;
    stream_make(&s, APP MTS "in-flight=4" SINK, "false", GREY, gst_world_bundle());
    stream_play(&s);
    for (guint i = 0; i < 3; i++) {
        push(&s, grey_buffer((guint8)(50 * i), i));
    }
    for (int waited = 0; stream_stat(&s, "frames") < 3 && waited < 5000; waited++) {
        g_usleep(1000);
    }
    GstElement *element = gst_bin_get_by_name(GST_BIN(s.pipeline), "mts");
    GstPad *pad = gst_element_get_static_pad(element, "sink");
    GThread *asks = g_thread_new("drain", drain_ask, pad);
    for (guint i = 0; i < 3; i++) { /* without another buffer, nor the end */
        GstSample *sample = stream_pull(&s);
        assert_int_equal(GST_BUFFER_PTS(gst_sample_get_buffer(sample)), i * 40 * GST_MSECOND);
        gst_sample_unref(sample);
    }
    (void)g_thread_join(asks);
    gst_object_unref(pad);
    gst_object_unref(element);
    stream_close(&s);
}

/* Milliseconds that the element tells of itself and what comes before it. */
static guint64 latency_of(const stream *s)
{
    GstElement *element = gst_bin_get_by_name(GST_BIN(s->pipeline), "mts");
    GstPad *pad = gst_element_get_static_pad(element, "src");
    GstQuery *query = gst_query_new_latency();
    GstClockTime least = 0, most = 0;
    gboolean live = FALSE;
    assert_true(gst_pad_query(pad, query));
    gst_query_parse_latency(query, &live, &least, &most);
    gst_query_unref(query);
    gst_object_unref(pad);
    gst_object_unref(element);
    assert_true(live);
    assert_true(most == GST_CLOCK_TIME_NONE || most >= least);
    return least / GST_MSECOND;
}

static void the_latency_that_is_told_is_what_buffers_wait(void **state)
{
    static const struct {
        const char *settings;
        guint64 least, most; /* more than a source alone */
    } cases[] = {{"drop-policy=pass", 0, 0},
                 {"in-flight=3", 120, 160},
                 {"in-flight=2 drop-policy=drop", 80, 110},
                 {"in-flight=1", 1, 1000}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stream s;
        stream_make(
            &s,
            "videotestsrc is-live=true ! video/x-raw,format=NV12,width=320,height=240,framerate=25/1 ! " MTS
            "%s" SINK,
            gst_world_bundle(), cases[i].settings);
        stream_play(&s);
        for (int n = 0; n < 4; n++) {
            gst_sample_unref(stream_pull(&s));
        }
        const guint64 told = latency_of(&s) - 40; /* a live videotestsrc itself has one frame */
        if (told < cases[i].least || told > cases[i].most) {
            fail_msg("%s: %d ms", cases[i].settings, (int)told);
        }
        stream_close(&s);
    }
}

/* Whether a task ran on this buffer's frame. */
static bool ran(GstBuffer *buffer, const char *task)
{
    char text[64];
    const char *json = json_of(buffer);
    (void)snprintf(text, sizeof text, "\"name\": \"%s\", \"ran\": true", task);
    return json && strstr(json, text);
}

static void rates_hold_from_the_beginning_and_can_be_changed(void **state)
{
    stream s;
    (void)state;
    stream_make(&s, APP MTS "rates=a=2" SINK, "false", GREY, gst_world_bundle());
    stream_play(&s);
    GstElement *element = gst_bin_get_by_name(GST_BIN(s.pipeline), "mts");
    for (guint i = 0; i < 16; i++) {
        if (i == 4) {
            g_object_set(element, "rates", "a=1,b=3", NULL);
        } else if (i == 12) {
            g_object_set(element, "rates", "", NULL); /* none: every frame */
        } else if (i == 14) {
            g_object_set(element, "rates", "b=2", NULL); /* what is not named: every frame */
        } else if (i == 10 || i == 11) {
            /* a mistake changes nothing, behind what is right either */
            g_object_set(element, "rates", i == 10 ? "b=1,nobody=2" : "b=1,a=bananas", NULL);
        }
        push(&s, grey_buffer((guint8)i, i));
        GstSample *sample = stream_pull(&s);
        GstBuffer *buffer = gst_sample_get_buffer(sample);
        assert_int_equal(ran(buffer, "a"), i >= 4 || i % 2 == 0);
        assert_int_equal(ran(buffer, "b"),
                         i < 4 || i == 12 || i == 13 || i == 14 || (i < 12 && (i - 4) % 3 == 0));
        gst_sample_unref(sample);
    }
    gst_object_unref(element);
    stream_close(&s);
}

static void sources_are_asked_for_as_many_buffers_as_are_held(void **state)
{
    static const char *const sinks[] = {"appsink name=sink", "fakesink", "videoconvert ! fakesink"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        stream s;
        guint size = 0, least = 0, most = 0;
        stream_make(&s, APP MTS "in-flight=5 ! %s", "true", GREY, gst_world_bundle(), sinks[i]);
        stream_play(&s);
        push(&s, grey_buffer(1, 0));
        GstElement *element = gst_bin_get_by_name(GST_BIN(s.pipeline), "mts");
        GstPad *pad = gst_element_get_static_pad(element, "sink");
        GstCaps *caps = NULL;
        for (int waited = 0; !caps && waited < 5000; waited++) {
            caps = gst_pad_get_current_caps(pad);
            g_usleep(1000);
        }
        GstQuery *query = gst_query_new_allocation(caps, TRUE);
        assert_true(gst_pad_query(pad, query));
        assert_int_equal(gst_query_get_n_allocation_pools(query), 1);
        gst_query_parse_nth_allocation_pool(query, 0, NULL, &size, &least, &most);
        assert_int_equal(size, 64 * 48);
        assert_true(least >= 6 && (most == 0 || most >= least));
        gst_query_unref(query);
        gst_caps_unref(caps);
        gst_object_unref(pad);
        gst_object_unref(element);
        stream_close(&s);
    }
}

/* ---- what is not as it should be ---- */

static void a_mistake_in_the_properties_is_told_before_anything_flows(void **state)
{
    static const struct {
        const char *settings, *sentence;
    } cases[] = {
        {"", "set the property bundle"},
        {"bundle=/nowhere/x.mtsb", "/nowhere/x.mtsb"},
        {"bundle=/dev/null", "/dev/null"},
        {"bundle=BUNDLE tasks=nobody", "no task 'nobody'"},
        {"bundle=BUNDLE tasks=a,,b", "separated by commas"},
        {"bundle=BUNDLE rates=a=0", "a=0"},
        {"bundle=BUNDLE rates=c=2", "c=2"},
        {"bundle=BUNDLE rates=a=2bananas", "2bananas"},
        {"bundle=BUNDLE rates=,", "rates are"},
        {"bundle=BUNDLE device=nothing:7", "nothing:7"},
        {"bundle=BUNDLE precision=float9", "float9"},
        {"bundle=BUNDLE drop-policy=drop", "in-flight"},
        {"tasks=a", "bundle"},
        {"bundle=BUNDLE detector=BUNDLE", "belong together"},
        {"detector=/nowhere/d.mtsb faces=BUNDLE", "/nowhere/d.mtsb"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stream s;
        gchar **parts = g_strsplit(cases[i].settings, "BUNDLE", -1);
        gchar *settings = g_strjoinv(gst_world_bundle(), parts);
        stream_make(&s, "videotestsrc ! mtsinfer name=mts %s ! fakesink", settings);
        for (int again = 0; again < 2; again++) {
            if (stream_state(&s, GST_STATE_PAUSED)) {
                fail_msg("%s: no error", settings);
            }
            if (!strstr(s.sentence, cases[i].sentence) || strstr(s.sentence, "--")) {
                fail_msg("%s: %s", settings, s.sentence); /* properties, not options of a program */
            }
            assert_true(stream_state(&s, GST_STATE_NULL));
        }
        g_strfreev(parts);
        g_free(settings);
        stream_close(&s);
    }
}

static GstFlowReturn refuse(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
    (void)pad;
    (void)parent;
    gst_buffer_unref(buffer);
    return GST_FLOW_EOS;
}

/* What an event pushes on is refused: the source is told with its next buffer. */
static void a_source_is_told_that_buffers_before_an_event_were_refused(void **state)
{
    (void)state;
    GstElement *element = gst_element_factory_make("mtsinfer", NULL);
    g_object_set(element, "bundle", gst_world_bundle(), "in-flight", 3, NULL);
    GstPad *sink = gst_element_get_static_pad(element, "sink");
    GstPad *src = gst_element_get_static_pad(element, "src");
    GstPad *behind = gst_pad_new("behind", GST_PAD_SINK);
    gst_pad_set_chain_function(behind, refuse);
    assert_true(gst_pad_set_active(behind, TRUE));
    assert_int_equal(gst_pad_link(src, behind), GST_PAD_LINK_OK);
    /* a device that works beside the caller, where there is one */
    g_object_set(element, "device", "opencl:0", NULL);
    if (gst_element_set_state(element, GST_STATE_PLAYING) != GST_STATE_CHANGE_SUCCESS) {
        (void)gst_element_set_state(element, GST_STATE_NULL);
        g_object_set(element, "device", "reference", NULL);
        assert_int_equal(gst_element_set_state(element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    }
    GstCaps *caps = gst_caps_from_string(GREY);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    for (int again = 0; again < 20; again++) { /* each new stream begins anew */
        assert_true(gst_pad_send_event(sink, gst_event_new_stream_start("s")));
        assert_true(gst_pad_send_event(sink, gst_event_new_caps(caps)));
        assert_true(gst_pad_send_event(sink, gst_event_new_segment(&segment)));
        GstFlowReturn flow = gst_pad_chain(sink, grey_buffer(1, 0));
        if (flow == GST_FLOW_OK) { /* it is under way; else it went on with this call */
            (void)gst_pad_send_event(sink, gst_event_new_tag(gst_tag_list_new_empty()));
            flow = gst_pad_chain(sink, grey_buffer(2, 1));
        }
        assert_int_equal(flow, GST_FLOW_EOS);
    }
    gst_caps_unref(caps);
    (void)gst_element_set_state(element, GST_STATE_NULL);
    (void)gst_pad_unlink(src, behind);
    (void)gst_pad_set_active(behind, FALSE);
    gst_object_unref(behind);
    gst_object_unref(src);
    gst_object_unref(sink);
    gst_object_unref(element);
}

static void caps_that_are_none_of_the_elements_are_refused(void **state)
{
    static const char *const caps[] = {
        "video/x-raw,format=P010_10LE,width=64,height=48",
        "video/x-raw,format=GRAY8,width=0,height=48",
        "video/x-raw,format=GRAY8,width=64,height=-1",
        "video/x-raw,format=GRAY8,width=100000,height=48",
        "video/x-raw,format=GRAY8",
        "video/x-raw,width=64,height=48",
        "video/x-raw(memory:NVMM),format=NV12,width=64,height=48",
        "video/x-h264,width=64,height=48",
        "audio/x-raw,format=S16LE,rate=48000,channels=2",
    };
    (void)state;
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        stream s;
        stream_make(&s, APP MTS SINK, "false", caps[i], gst_world_bundle());
        stream_play(&s);
        push(&s, grey_buffer(1, 0));
        if (!stream_error(&s)) {
            fail_msg("%s: no error", caps[i]);
        }
        stream_close(&s);
    }
}

static void buffers_that_do_not_hold_what_they_say_are_refused(void **state)
{
    (void)state;
    for (int lie = 0; lie < 5; lie++) {
        gsize offset[GST_VIDEO_MAX_PLANES] = {0};
        gint stride[GST_VIDEO_MAX_PLANES] = {64};
        GstBuffer *buffer = gst_buffer_new_allocate(NULL, lie == 0 ? 10 : 64 * 48, NULL);
        stream s;
        offset[0] = lie == 1 ? 100 : lie == 2 ? SIZE_MAX - 8 : 0;
        stride[0] = lie == 3 ? 65 : lie == 4 ? -64 : 64;
        if (lie > 0) {
            assert_non_null(gst_buffer_add_video_meta_full(
                buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 64, 48, 1, offset, stride));
        }
        stream_make(&s, APP MTS SINK, "false", GREY, gst_world_bundle());
        stream_play(&s);
        push(&s, grey_buffer(7, 0));
        gst_sample_unref(stream_pull(&s));
        push(&s, buffer);
        assert_true(stream_error(&s));
        stream_close(&s);
    }
}

/* ---- long runs ---- */

static long resident_kb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
    (void)fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

#ifdef __SANITIZE_ADDRESS__
#define MANY_DEFAULT 100u
#else
#define MANY_DEFAULT 600u
#endif

/* MTS_TEST_GST_BUFFERS: how many, 10,000 say. */
static void many_buffers_take_no_more_memory_than_few(void **state)
{
    const char *given = getenv("MTS_TEST_GST_BUFFERS");
    const guint many = given ? (guint)strtoul(given, NULL, 10) : MANY_DEFAULT;
    static const char *const settings[] = {"in-flight=1", "in-flight=4", "in-flight=3 drop-policy=drop",
                                           "drop-policy=pass"};
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        stream s;
        long before = 0;
        stream_make(&s,
                    "videotestsrc num-buffers=%u ! video/x-raw,format=NV12,width=64,height=48 ! " MTS
                    "%s ! mtsoverlay" SINK " max-buffers=4",
                    many, gst_world_bundle(), settings[i]);
        stream_play(&s);
        guint came = 0;
        for (GstSample *sample = stream_pull(&s); sample; sample = stream_pull(&s)) {
            gst_sample_unref(sample);
            before = ++came == many / 4 ? resident_kb() : before;
        }
        const long grown = resident_kb() - before;
        print_message("%s: %u of %u buffers, resident memory %+ld kB since a quarter of them\n", settings[i],
                      came, many, before ? grown : 0);
        assert_int_equal(stream_stat(&s, "frames"), many);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
        assert_true(!before || grown < 1024);
#endif
        stream_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_buffer_carries_what_the_networks_say_of_it),
        cmocka_unit_test(pixels_go_on_in_the_memory_that_they_came_in),
        cmocka_unit_test(frames_in_flight_keep_their_order_and_their_results),
        cmocka_unit_test(what_is_dropped_goes_nowhere_and_is_counted),
        cmocka_unit_test(buffers_that_pass_carry_the_newest_results),
        cmocka_unit_test(caps_change_in_the_middle_of_the_stream),
        cmocka_unit_test(a_seek_forgets_what_was_under_way),
        cmocka_unit_test(a_source_that_asks_gets_all_its_buffers_back),
        cmocka_unit_test(the_latency_that_is_told_is_what_buffers_wait),
        cmocka_unit_test(rates_hold_from_the_beginning_and_can_be_changed),
        cmocka_unit_test(sources_are_asked_for_as_many_buffers_as_are_held),
        cmocka_unit_test(a_mistake_in_the_properties_is_told_before_anything_flows),
        cmocka_unit_test(a_source_is_told_that_buffers_before_an_event_were_refused),
        cmocka_unit_test(caps_that_are_none_of_the_elements_are_refused),
        cmocka_unit_test(buffers_that_do_not_hold_what_they_say_are_refused),
        cmocka_unit_test(many_buffers_take_no_more_memory_than_few),
    };
    return gst_world_begin() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
#endif
