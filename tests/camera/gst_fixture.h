/*
 * gst_fixture.h: sources of GStreamer for tests.
 */
#ifndef MTS_TESTS_CAMERA_GST_FIXTURE_H
#define MTS_TESTS_CAMERA_GST_FIXTURE_H

#include "camera/gst.h"

/* Of the last call that failed. */
extern char gst_fixture_error[CLI_ERROR];
/* What a test source takes. */
extern const char *const gst_test_elements[];

/* Whether GStreamer has all these elements here; says which one it has not. */
bool gst_fixture_has(const char *const *names);
/* Skips the test if it has not. */
void gst_fixture_needs(const char *const *names);
camera_status gst_fixture_try(const char *uri, source **out);
/* Fails the test if the source cannot be opened. */
source *gst_fixture_open(const char *uri);

#endif
