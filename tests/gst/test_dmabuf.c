/*
 * test_dmabuf.c: dma-bufs through mtsinfer on an OpenCL device that reads them where they lie
 * (opencl/fake/fake.h): each memory is imported once, and no byte of a frame is copied. Memfds stand for
 * dma-bufs.
 */
#define _GNU_SOURCE

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

#include <dlfcn.h>
#include <gst/allocators/gstdmabuf.h>
#include <string.h>

#include <cmocka.h>

#include "gst/fixture.h"
#include "mts/mts.h"
#include "opencl/fake/fake.h"
#include "support/sealed_memory.h"

#define WIDTH 64
#define HEIGHT 48
#define STRIDE 96
#define OFFSET 256
#define CHROMA (OFFSET + STRIDE * HEIGHT)
#define BYTES (CHROMA + STRIDE * HEIGHT / 2)
#define MEMORIES 5 /* one more than the element holds: three under way, one that waits */
#define ARM "cl_arm_import_memory cl_arm_import_memory_dma_buf"
#define CAPS "video/x-raw%s,format=NV12,width=64,height=48,framerate=25/1"

static fake_opencl *fake;

typedef struct camera {
    int fds[MEMORIES];
    GstAllocator *allocator;
    stream s;
} camera;

static void camera_open(camera *c, const char *extensions, const char *feature, const char *settings)
{
    *fake = (fake_opencl){.asked = fake->asked, .extensions = extensions};
    gchar *caps = g_strdup_printf(CAPS, feature);
    c->allocator = gst_dmabuf_allocator_new();
    for (int i = 0; i < MEMORIES; i++) {
        c->fds[i] = sealed_memory(BYTES);
        assert_true(c->fds[i] >= 0);
    }
    stream_make(&c->s,
                "appsrc name=src format=time caps=\"%s\" ! mtsinfer name=mts device=opencl:0 bundle=%s %s ! "
                "appsink name=sink sync=false",
                caps, gst_world_bundle(), settings);
    stream_play(&c->s);
    g_free(caps);
}

static void camera_close(camera *c)
{
    stream_close(&c->s);
    assert_int_equal(fake->misuses, 0);
    for (int i = 0; i < MEMORIES; i++) {
        assert_int_equal(close(c->fds[i]), 0);
    }
    gst_object_unref(c->allocator);
}

/* A buffer that a camera has written: grey of that level, in rows and planes of its own places. */
static GstBuffer *shoot(camera *c, guint number, guint8 level, gint stride, gsize chroma)
{
    const int fd = c->fds[number % MEMORIES];
    gsize offsets[GST_VIDEO_MAX_PLANES] = {OFFSET, chroma};
    gint strides[GST_VIDEO_MAX_PLANES] = {stride, stride};
    uint8_t *pixels = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(pixels != MAP_FAILED);
    memset(pixels, level, CHROMA);
    memset(pixels + CHROMA, 128, BYTES - CHROMA);
    assert_int_equal(munmap(pixels, BYTES), 0);
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_append_memory(buffer, gst_dmabuf_allocator_alloc_with_flags(c->allocator, fd, BYTES,
                                                                           GST_FD_MEMORY_FLAG_DONT_CLOSE));
    assert_non_null(gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12,
                                                   WIDTH, HEIGHT, 2, offsets, strides));
    GST_BUFFER_PTS(buffer) = number * 40 * GST_MSECOND;
    return buffer;
}

static void expect_level(GstSample *sample, guint8 level)
{
    double value = -1;
    const double wanted = (level - 16) * 255.0 / 219.0; /* BT.601, Y from 16 to 235 */
    assert_non_null(sample);
    assert_int_equal(values_of(gst_sample_get_buffer(sample), "a", &value, 1), 1);
    if (value < wanted - 3 || value > wanted + 3) {
        fail_msg("level %d gave %g, not %g", level, value, wanted);
    }
    gst_sample_unref(sample);
}

static void memories_of_a_camera_are_read_where_they_lie(void **state)
{
    static const char *const features[] = {"", "(memory:DMABuf)"};
    static const char *const settings[] = {"in-flight=1", "in-flight=3"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        enum { MANY = 24 };
        camera c;
        uint64_t written = 0;
        camera_open(&c, ARM, features[i % 2], settings[i / 2]);
        for (guint n = 0; n < MANY; n++) {
            if (n == MEMORIES) {
                written = fake->written;
            }
            assert_int_equal(
                gst_app_src_push_buffer(c.s.source, shoot(&c, n, (guint8)(20 + 8 * n), STRIDE, CHROMA)),
                GST_FLOW_OK);
            if (i < 2) {
                expect_level(stream_pull(&c.s), (guint8)(20 + 8 * n));
            } else if (n >= MEMORIES - 1) { /* its memory comes back before it is written again */
                expect_level(stream_pull(&c.s), (guint8)(20 + 8 * (n - MEMORIES + 1)));
            }
        }
        assert_int_equal(gst_app_src_end_of_stream(c.s.source), GST_FLOW_OK);
        for (GstSample *sample = stream_pull(&c.s); sample; sample = stream_pull(&c.s)) {
            gst_sample_unref(sample);
        }
        print_message("%d buffers: %u imports, %llu bytes written to the device\n", MANY, fake->imports,
                      (unsigned long long)(fake->written - written));
        assert_int_equal(stream_stat(&c.s, "imported"), MANY);
        assert_int_equal(fake->imports, MEMORIES);
        assert_true(fake->written - written < MANY * 1024); /* parameters, but no frame of 4608 */
        camera_close(&c);
    }
}

static void what_the_device_does_not_read_the_processor_reads(void **state)
{
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        camera c;
        camera_open(&c, refused ? ARM : NULL, "", "in-flight=1");
        for (guint n = 0; n < 4; n++) {
            fake->fail = refused && n == 0 ? -1001 : 0; /* the driver says that it can, and does not */
            assert_int_equal(
                gst_app_src_push_buffer(c.s.source, shoot(&c, n, (guint8)(60 + n), STRIDE, CHROMA)),
                GST_FLOW_OK);
            expect_level(stream_pull(&c.s), (guint8)(60 + n));
        }
        if (!refused) {
            assert_int_equal(stream_stat(&c.s, "imported"), 0);
            assert_int_equal(fake->imports, 0);
        }
        camera_close(&c);
    }
}

static void planes_outside_of_their_memory_are_refused(void **state)
{
    static const struct {
        gint stride;
        gsize chroma;
    } lies[] = {{STRIDE, BYTES}, {STRIDE, CHROMA + 33},   {STRIDE + 60, CHROMA}, {-STRIDE, CHROMA},
                {8, CHROMA},     {STRIDE, SIZE_MAX - 64}, {G_MAXINT, CHROMA}};
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        camera c;
        camera_open(&c, ARM, "", "in-flight=1");
        GstBuffer *buffer = shoot(&c, 0, 9, lies[i].stride, lies[i].chroma);
        (void)gst_app_src_push_buffer(c.s.source, buffer);
        if (!stream_error(&c.s)) {
            fail_msg("lie %zu is believed", i);
        }
        assert_int_equal(fake->imports, 0);
        camera_close(&c);
    }
}

static bool fake_find(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "fake_opencl_state") : NULL;
    fake_opencl_state_fn function = NULL;
    memcpy(&function, &symbol, sizeof function);
    fake = function ? function() : NULL;
    return fake;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memories_of_a_camera_are_read_where_they_lie),
        cmocka_unit_test(what_the_device_does_not_read_the_processor_reads),
        cmocka_unit_test(planes_outside_of_their_memory_are_refused),
    };
    if (!fake_find()) {
        (void)printf("skipped: the library in front of OpenCL's is not there\n");
        return 77;
    }
    if (!gst_world_begin()) {
        return 77;
    }
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc device = {.size = sizeof device};
        if (mts_device_describe(i, &device) == MTS_STATUS_OK && strcmp(device.id, "opencl:0") == 0) {
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    }
    (void)printf("skipped: there is no OpenCL device\n");
    return 77;
}
#endif
