/*
 * test_gst_meta.c: meta data of buffers that does not tell the truth: nothing outside of a buffer is read.
 */
#include <stdio.h>

#ifndef CAMERA_GSTREAMER
int main(void)
{
    printf("the camera is built without GStreamer\n");
    return 77;
}
#else

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "camera/gst_fixture.h"

const char *const cli_program = "test_gst_meta";

/* How meta data may lie: what it says of one plane instead of the truth. */
typedef struct lie {
    guint plane;
    gint stride; /* 0: as it is */
    gsize offset;
} lie;

static void meta_data_that_does_not_fit_the_buffer_is_refused(void **state)
{
    static const lie lies[] = {{0, 4096, 0},     {0, -64, 0},  {0, 8, 0},    {0, 63, 0},  {0, 98, 0},
                               {1, 8, 0},        {1, 4096, 0}, {1, -64, 0},  {1, 66, 0},  {2, 31, 0},
                               {2, G_MAXINT, 0}, {2, 33, 0},   {0, 0, 3100}, {1, 0, 900}, {2, 0, 1}};
    static const gsize sound[3] = {0, 64 * 48, 64 * 48 + 32 * 24};
    GstVideoInfo info;
    GstVideoFrame video;
    mts_frame view;
    (void)state;
    assert_true(gst_begin(gst_fixture_error));
    gst_video_info_init(&info);
    assert_true(gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, 64, 48));
    for (size_t i = 0; i <= sizeof lies / sizeof lies[0]; i++) {
        gsize offsets[GST_VIDEO_MAX_PLANES] = {sound[0], sound[1], sound[2]};
        gint strides[GST_VIDEO_MAX_PLANES] = {64, 32, 32};
        if (i > 0) {
            const lie *told = &lies[i - 1];
            strides[told->plane] = told->stride ? told->stride : strides[told->plane];
            offsets[told->plane] += told->offset;
        }
        GstBuffer *buffer = gst_buffer_new_allocate(NULL, 64 * 48 * 3 / 2, NULL);
        assert_non_null(gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                                       GST_VIDEO_FORMAT_I420, 64, 48, 3, offsets, strides));
        if (gst_video_frame_map(&video, &info, buffer, GST_MAP_READ)) {
            if (gst_frame_view(&video, &view) != (i == 0)) {
                fail_msg("lie %zu", i);
            }
            gst_video_frame_unmap(&video);
        } else {
            assert_int_not_equal(i, 0);
        }
        gst_buffer_unref(buffer);
    }
}

/* Answers for a pad's buffers, whose rows then begin where no memory is. */
static GstPadProbeReturn stride_spoil(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
    GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    (void)pad;
    (void)data;
    meta = meta
               ? meta
               : gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 64, 48);
    meta->stride[0] = 1 << 20;
    GST_PAD_PROBE_INFO_DATA(info) = buffer;
    return GST_PAD_PROBE_OK;
}

/* An element that spoils what it passes on. */
static void spoiler_init(GTypeInstance *instance, gpointer class)
{
    GstElement *self = GST_ELEMENT(instance);
    GstElement *inner = gst_element_factory_make("identity", NULL);
    (void)class;
    assert_true(gst_bin_add(GST_BIN(self), inner));
    GstPad *in = gst_element_get_static_pad(inner, "sink"), *out = gst_element_get_static_pad(inner, "src");
    (void)gst_pad_add_probe(out, GST_PAD_PROBE_TYPE_BUFFER, stride_spoil, NULL, NULL);
    assert_true(gst_element_add_pad(self, gst_ghost_pad_new("sink", in)));
    assert_true(gst_element_add_pad(self, gst_ghost_pad_new("src", out)));
    gst_object_unref(in);
    gst_object_unref(out);
}

static void spoiler_class_init(gpointer class, gpointer data)
{
    (void)data;
    gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "spoiler", "Test", "strides", "tests");
}

static void a_source_whose_strides_do_not_fit_has_no_format(void **state)
{
    static const char *const needed[] = {"videotestsrc", "identity", NULL};
    static const GTypeInfo spoiler = {.class_size = sizeof(GstBinClass),
                                      .class_init = spoiler_class_init,
                                      .instance_size = sizeof(GstBin),
                                      .instance_init = spoiler_init};
    source_frame frame;
    (void)state;
    if (!gst_fixture_has(needed)) {
        skip();
    }
    assert_true(gst_element_register(NULL, "mtsspoiler", GST_RANK_NONE,
                                     g_type_register_static(GST_TYPE_BIN, "MtsSpoiler", &spoiler, 0)));
    source *out =
        gst_fixture_open("gst://videotestsrc ! video/x-raw,format=GRAY8,width=64,height=48 ! mtsspoiler");
    assert_int_equal(source_next(out, 5000, &frame, gst_fixture_error), CAMERA_FORMAT);
    assert_non_null(strstr(gst_fixture_error, "strides or offsets that do not fit"));
    assert_null(frame.token);
    source_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meta_data_that_does_not_fit_the_buffer_is_refused),
        cmocka_unit_test(a_source_whose_strides_do_not_fit_has_no_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
