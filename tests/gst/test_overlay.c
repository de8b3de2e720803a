/*
 * test_overlay.c: the element mtsoverlay: what mtsinfer says is on the picture, in every format and nowhere
 * else; and results that another element wrote, sound or not.
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

#include <string.h>

#include <cmocka.h>

#include "gst/fixture.h"

#define WIDTH 160
#define HEIGHT 120

/* Pixels of a sample that are not of the grey that all were. */
static guint changed(GstSample *sample, guint left, guint top, guint right, guint bottom)
{
    GstVideoInfo info;
    GstVideoFrame frame;
    guint count = 0;
    assert_true(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
    assert_true(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
    const guint8 *pixels = GST_VIDEO_FRAME_PLANE_DATA(&frame, 0);
    const guint stride = (guint)GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
    for (guint y = top; y < bottom; y++) {
        for (guint x = left; x < right; x++) {
            const guint8 *pixel = pixels + (gsize)y * stride + (gsize)x * 3;
            for (int c = 0; c < 3; c++) {
                if (pixel[c] < 0x80 - 6 || pixel[c] > 0x80 + 6) {
                    count++;
                    break;
                }
            }
        }
    }
    gst_video_frame_unmap(&frame);
    return count;
}

static void the_panel_is_drawn_onto_frames_of_every_format(void **state)
{
    static const char *const formats[] = {"NV12", "I420", "YUY2", "RGB", "BGRx", "GRAY8", "RGBA"};
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        stream s;
        stream_make(&s,
                    "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xff808080 ! "
                    "video/x-raw,format=%s,width=160,height=120 ! mtsinfer device=reference bundle=%s ! "
                    "mtsoverlay ! videoconvert ! video/x-raw,format=RGB ! appsink name=sink sync=false",
                    formats[f], gst_world_bundle());
        stream_play(&s);
        for (int i = 0; i < 3; i++) {
            GstSample *sample = stream_pull(&s);
            if (changed(sample, 0, 0, WIDTH, 40) < 400) {
                fail_msg("%s: no panel", formats[f]);
            }
            assert_int_equal(changed(sample, 0, 60, WIDTH, HEIGHT), 0);
            gst_sample_unref(sample);
        }
        stream_close(&s);
    }
}

/* ---- results of others ---- */

#define RGB "video/x-raw,format=RGB,width=160,height=120,framerate=25/1"

static GstStructure *attach(GstBuffer *buffer)
{
    GstCustomMeta *meta = gst_buffer_add_custom_meta(buffer, "MtsResultsMeta");
    assert_non_null(meta);
    return gst_custom_meta_get_structure(meta);
}

/* Structures as texts, with '|' between them; what is no structure becomes a number. */
static void field_set(GstStructure *results, const char *name, const char *text, GType type)
{
    gchar **items = g_strsplit(text, "|", -1);
    GValue array = G_VALUE_INIT;
    (void)g_value_init(&array, type);
    for (guint i = 0; items[i] && type == GST_TYPE_ARRAY; i++) {
        GValue value = G_VALUE_INIT;
        GstStructure *item = gst_structure_from_string(items[i], NULL);
        (void)g_value_init(&value, item ? GST_TYPE_STRUCTURE : G_TYPE_INT);
        if (item) {
            g_value_take_boxed(&value, item);
        }
        gst_value_array_append_and_take_value(&array, &value);
    }
    gst_structure_take_value(results, name, &array);
    g_strfreev(items);
}

/* One frame of grey with results as texts; NULL: none. */
static GstSample *drawn(const char *tasks, const char *faces, GType type)
{
    stream s;
    stream_make(&s,
                "appsrc name=src format=time caps=\"" RGB "\" ! mtsoverlay ! appsink name=sink sync=false");
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, WIDTH * HEIGHT * 3, NULL);
    (void)gst_buffer_memset(buffer, 0, 0x80, WIDTH * HEIGHT * 3);
    if (tasks) {
        field_set(attach(buffer), "tasks", tasks, type);
    }
    if (faces) {
        field_set(attach(buffer), "faces", faces, type);
    }
    stream_play(&s);
    assert_int_equal(gst_app_src_push_buffer(s.source, buffer), GST_FLOW_OK);
    GstSample *sample = stream_pull(&s);
    assert_non_null(sample);
    stream_close(&s);
    return sample;
}

static void frames_without_results_stay_as_they_are(void **state)
{
    (void)state;
    GstSample *sample = drawn(NULL, NULL, G_TYPE_INVALID);
    assert_int_equal(changed(sample, 0, 0, WIDTH, HEIGHT), 0);
    gst_sample_unref(sample);
}

static void a_face_is_framed_where_it_is(void **state)
{
    (void)state;
    GstSample *sample = drawn(NULL,
                              "face, score=(float)0.9, box=(float)<0.5,0.5,0.75,0.75>, "
                              "points=(float)<0.6,0.6>, lines=(string)<\"a\">",
                              GST_TYPE_ARRAY);
    assert_true(changed(sample, 78, 58, 122, 110) > 100);
    assert_true(changed(sample, 95, 71, 98, 74) > 0); /* the point */
    assert_int_equal(changed(sample, 0, 0, 78, HEIGHT), 0);
    assert_int_equal(changed(sample, 0, 0, WIDTH, 58), 0);
    gst_sample_unref(sample);
}

static void results_that_make_no_sense_harm_nothing(void **state)
{
    static const char *const tasks[] = {"",
                                        "1|2",
                                        "task, name=(string)a",
                                        "task, name=(int)4, text=(string)b",
                                        "task, name=(string)\"\", text=(string)\"\", score=(double)1e300|7",
                                        "task, name=(string)a, text=(string)b, score=(string)much"};
    static const char *const faces[] = {
        "",
        "1",
        "face, box=(float)<0.1,0.2,0.3>",
        "face, box=(int)<1,2,3,4>",
        "face, box=(float)<-1e30,-1e30,1e30,1e30>",
        "face, box=(float)<0.9,0.9,0.1,0.1>, points=(float)<1e30,-1e30,0.5>, lines=(int)<1,2>",
        "face, score=(string)x, box=(float)<0.1,0.1,0.2,0.2>, lines=(string)<a,b,c,d,e,f>"};
    (void)state;
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        gst_sample_unref(drawn(tasks[i], NULL, GST_TYPE_ARRAY));
    }
    for (size_t i = 0; i < sizeof faces / sizeof faces[0]; i++) {
        gst_sample_unref(drawn(NULL, faces[i], GST_TYPE_ARRAY));
    }
    gst_sample_unref(drawn("text", "text", G_TYPE_STRING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_panel_is_drawn_onto_frames_of_every_format),
        cmocka_unit_test(frames_without_results_stay_as_they_are),
        cmocka_unit_test(a_face_is_framed_where_it_is),
        cmocka_unit_test(results_that_make_no_sense_harm_nothing),
    };
    return gst_world_begin() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
#endif
