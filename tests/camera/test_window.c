/*
 * test_window.c: the loop with a window, whose sink is played.
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

#include "camera/gst.h"
#include "camera/pipeline.h"

const char *const cli_program = "test_window";

static char error[CLI_ERROR];

static bool elements_there(const char *const *names)
{
    assert_true(gst_begin(error));
    for (; *names; names++) {
        GstElementFactory *factory = gst_element_factory_find(*names);
        if (!factory) {
            print_message("GStreamer has no %s here\n", *names);
            return false;
        }
        gst_object_unref(factory);
    }
    return true;
}

static source *opened(const char *uri)
{
    source *out = NULL;
    const source_request request = {.uri = uri, .format = -1, .yuv = -1, .held = 2, .timeout_ms = 5000};
    if (source_open(&request, &out, error) != CAMERA_OK) {
        fail_msg("%s: %s", uri, error);
    }
    return out;
}

/* The user closes the window when the second picture is there. */
static GstPadProbeReturn window_leave(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    uint32_t *pictures = data;
    (void)info;
    if (++*pictures == 2) {
        GstElement *sink = gst_pad_get_parent_element(pad);
        GST_ELEMENT_ERROR(sink, RESOURCE, NOT_FOUND, ("Output window was closed"), (NULL));
        gst_object_unref(sink);
    }
    return GST_PAD_PROBE_OK;
}

static uint32_t pictures_shown;

/* A sink with a window that is closed. */
static void closing_init(GTypeInstance *instance, gpointer class)
{
    GstElement *self = GST_ELEMENT(instance);
    GstElement *inner = gst_element_factory_make("fakesink", NULL);
    (void)class;
    assert_true(gst_bin_add(GST_BIN(self), inner));
    GstPad *in = gst_element_get_static_pad(inner, "sink");
    (void)gst_pad_add_probe(in, GST_PAD_PROBE_TYPE_BUFFER, window_leave, &pictures_shown, NULL);
    assert_true(gst_element_add_pad(self, gst_ghost_pad_new("sink", in)));
    gst_object_unref(in);
}

static void closing_class_init(gpointer class, gpointer data)
{
    (void)data;
    gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "closing", "Test", "window", "tests");
}

static void closing_a_window_ends_the_program_without_a_failure(void **state)
{
    static const char *const needed[] = {"videotestsrc", "videoconvert", "appsrc", "fakesink", NULL};
    static const GTypeInfo closing = {.class_size = sizeof(GstBinClass),
                                      .class_init = closing_class_init,
                                      .instance_size = sizeof(GstBin),
                                      .instance_init = closing_init};
    static volatile sig_atomic_t stop;
    (void)state;
    if (!elements_there(needed)) {
        skip();
    }
    assert_true(gst_element_register(NULL, "mtsclosing", GST_RANK_NONE,
                                     g_type_register_static(GST_TYPE_BIN, "MtsClosing", &closing, 0)));
    const pipeline_options options = {.uri = "test",
                                      .headless = true,
                                      .window = true,
                                      .sink = "mtsclosing",
                                      .png_every = 1,
                                      .frames = 20000,
                                      .timeout_ms = 5000,
                                      .stop = &stop};
    pipeline p = {.options = &options};
    p.source = opened("test://?width=32&height=16");
    assert_true(feed_make(&p.feed));
    const camera_status status = pipeline_run(&p);
    if (status != CAMERA_OK) {
        fail_msg("status %d: %s", (int)status, p.reason);
    }
    assert_true(p.count.came < 20000);
    assert_non_null(strstr(p.reason, "Output window was closed"));
    window_close(&p.window);
    cli_image_release(&p.picture);
    source_close(&p.source);
    feed_release(&p.feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_a_window_ends_the_program_without_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
