/*
 * gst_fixture.c: see gst_fixture.h.
 */
#ifdef CAMERA_GSTREAMER
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "camera/gst_fixture.h"

char gst_fixture_error[CLI_ERROR];
const char *const gst_test_elements[] = {"videotestsrc", "appsink", "videoconvert", NULL};

bool gst_fixture_has(const char *const *names)
{
    assert_true(gst_begin(gst_fixture_error));
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

void gst_fixture_needs(const char *const *names)
{
    if (!gst_fixture_has(names)) {
        skip();
    }
}

camera_status gst_fixture_try(const char *uri, source **out)
{
    const source_request request = {.uri = uri, .format = -1, .yuv = -1, .held = 2, .timeout_ms = 5000};
    gst_fixture_error[0] = '\0';
    return source_open(&request, out, gst_fixture_error);
}

source *gst_fixture_open(const char *uri)
{
    source *out = NULL;
    if (gst_fixture_try(uri, &out) != CAMERA_OK) {
        fail_msg("%s: %s", uri, gst_fixture_error);
    }
    return out;
}
#else
typedef int gst_fixture_empty; /* a translation unit holds something */
#endif
