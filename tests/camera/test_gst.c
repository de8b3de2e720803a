/*
 * test_gst.c: frames of GStreamer give what the same pixels give that are handed over directly: each format,
 * odd sizes, strides and offsets of meta data, colour standards; and what cannot be opened. Skips what needs
 * elements that are not on this machine.
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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "camera/gst_fixture.h"
#include "kit/frames.h"
#include "support/frame_bundle.h"

#define SIDE 24 /* of what the network sees */
#define VALUES (3 * SIDE * SIDE)

const char *const cli_program = "test_gst";

static mts_runtime *runtime;
static mts_bundle *bundle;
static mts_session *session;
static mts_bundle_bytes bytes;

/* A network that gives back what it sees. */
static int world_make(void **state)
{
    static const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    mts_runtime_options options;
    (void)state;
    mts_runtime_options_default(&options);
    options.device = "reference";
    options.error_text = gst_fixture_error;
    options.error_size = sizeof gst_fixture_error;
    frame_bundle_make(&task, 1, &bytes);
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open_memory(runtime, bytes.data, bytes.size, &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(runtime, bundle, NULL, &session), MTS_STATUS_OK);
    return 0;
}

static int world_destroy(void **state)
{
    (void)state;
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    mts_bundle_bytes_release(&bytes);
    return 0;
}

/* What the network says of a frame. */
static void answer(const mts_frame *frame, float values[VALUES])
{
    mts_ticket ticket;
    mts_tensor output;
    assert_int_equal(mts_session_submit(session, frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(session, "a", 0, &output), MTS_STATUS_OK);
    assert_int_equal(output.bytes, VALUES * sizeof(float));
    memcpy(values, output.data, output.bytes);
}

static void refused(const char *uri, camera_status status, const char *sentence)
{
    source *out = NULL;
    const camera_status got = gst_fixture_try(uri, &out);
    if (got != status || !strstr(gst_fixture_error, sentence)) {
        fail_msg("%s: status %d, '%s' (%s)", uri, (int)got, gst_fixture_error, sentence);
    }
    assert_null(out);
}

/* GStreamer's own layout of a format: rows begin at multiples of 4. */
static void default_layout(const char *name, uint32_t width, uint32_t height, GstVideoInfo *info)
{
    gst_video_info_init(info);
    assert_true(gst_video_info_set_format(info, gst_video_format_from_string(name), width, height));
}

/* Runs a pipeline to its end. */
static void launch(const char *text)
{
    GstElement *pipeline = gst_parse_launch(text, NULL);
    assert_non_null(pipeline);
    GstBus *bus = gst_element_get_bus(pipeline);
    (void)gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstMessage *message =
        gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    assert_non_null(message);
    assert_int_equal(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
    gst_message_unref(message);
    (void)gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(pipeline);
}

/* The first frame of the pattern as GStreamer writes it into a file, made dense by hand. */
static uint8_t *pixels_make(const char *name, mts_frame *frame)
{
    char path[] = "/tmp/mts_camera_gst_XXXXXX";
    char text[512];
    GstVideoInfo info;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)snprintf(text, sizeof text,
                   "videotestsrc num-buffers=1 ! video/x-raw,format=%s,width=%u,height=%u,framerate=30/1 ! "
                   "filesink location=%s",
                   name, frame->width, frame->height, path);
    launch(text);
    default_layout(name, frame->width, frame->height, &info);
    uint8_t *raw = malloc(info.size), *dense = malloc(cli_frame_bytes(frame)), *to = dense;
    assert_non_null(raw);
    assert_non_null(dense);
    assert_int_equal(read(file, raw, info.size), (ssize_t)info.size);
    for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); plane++) {
        const uint32_t rows = plane ? (frame->height + 1) / 2 : frame->height;
        const size_t row = plane ? cli_format_chroma_bytes(frame->format, frame->width)
                                 : cli_format_row_bytes(frame->format, frame->width);
        for (uint32_t y = 0; y < rows; y++, to += row) {
            memcpy(to, raw + info.offset[plane] + (size_t)info.stride[plane] * y, row);
        }
    }
    assert_int_equal(to - dense, cli_frame_bytes(frame));
    assert_int_equal(close(file), 0);
    assert_int_equal(unlink(path), 0);
    free(raw);
    frame->data = dense;
    return dense;
}

typedef struct format_case {
    const char *name;
    mts_pixel_format format;
} format_case;

static const format_case formats[] = {{"NV12", MTS_PIXEL_FORMAT_NV12}, {"NV21", MTS_PIXEL_FORMAT_NV21},
                                      {"I420", MTS_PIXEL_FORMAT_I420}, {"YUY2", MTS_PIXEL_FORMAT_YUYV},
                                      {"UYVY", MTS_PIXEL_FORMAT_UYVY}, {"RGB", MTS_PIXEL_FORMAT_RGB},
                                      {"BGR", MTS_PIXEL_FORMAT_BGR},   {"RGBA", MTS_PIXEL_FORMAT_RGBA},
                                      {"BGRA", MTS_PIXEL_FORMAT_BGRA}, {"GRAY8", MTS_PIXEL_FORMAT_GREY}};

static void format_check(const format_case *entry, uint32_t width, uint32_t height)
{
    float got[VALUES], want[VALUES];
    char uri[128];
    source_frame frame;
    mts_frame direct;
    mts_frame_default(&direct);
    direct.width = width;
    direct.height = height;
    direct.format = entry->format;
    uint8_t *dense = pixels_make(entry->name, &direct);
    (void)snprintf(uri, sizeof uri, "test://smpte?format=%s&width=%u&height=%u&frames=2",
                   cli_format_name(entry->format), width, height);
    source *out = gst_fixture_open(uri);
    assert_int_equal(out->info.format, entry->format);
    assert_int_equal(out->info.width, width);
    assert_int_equal(source_next(out, 5000, &frame, gst_fixture_error), CAMERA_OK);
    assert_int_equal(frame.frame.format, entry->format);
    direct.yuv = frame.frame.yuv;
    answer(&frame.frame, got);
    answer(&direct, want);
    assert_memory_equal(got, want, sizeof got);
    source_release(out, &frame);
    assert_int_equal(source_next(out, 5000, &frame, gst_fixture_error), CAMERA_OK);
    source_release(out, &frame);
    camera_status status = CAMERA_WAITING;
    for (int i = 0; i < 100 && status == CAMERA_WAITING; i++) {
        status = source_next(out, 50, &frame, gst_fixture_error);
    }
    assert_int_equal(status, CAMERA_END);
    source_close(&out);
    free(dense);
}

static void each_format_gives_the_same_as_the_same_pixels_fed_directly(void **state)
{
    (void)state;
    gst_fixture_needs(gst_test_elements);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        format_check(&formats[i], 64, 48);
        format_check(&formats[i], 61, 37);
    }
}

/* A buffer whose meta data says strides and offsets that cannot be guessed. */
static GstBuffer *odd_buffer(GstVideoInfo *info, const mts_frame *dense, gsize offsets[3], gint strides[3])
{
    const guint planes = GST_VIDEO_INFO_N_PLANES(info);
    const uint8_t *from = dense->data;
    gsize end = 100;
    for (guint plane = 0; plane < planes; plane++) {
        strides[plane] = info->stride[plane] + 20 + 4 * (gint)plane;
        offsets[plane] = end;
        end += (gsize)strides[plane] * dense->height + 52;
    }
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, end, NULL);
    GstMapInfo map;
    assert_true(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    memset(map.data, 0xee, map.size);
    for (guint plane = 0; plane < planes; plane++) {
        const uint32_t rows = plane ? (dense->height + 1) / 2 : dense->height;
        const size_t row = plane ? cli_format_chroma_bytes(dense->format, dense->width)
                                 : cli_format_row_bytes(dense->format, dense->width);
        for (uint32_t y = 0; y < rows; y++, from += row) {
            memcpy(map.data + offsets[plane] + (gsize)strides[plane] * y, from, row);
        }
    }
    gst_buffer_unmap(buffer, &map);
    return buffer;
}

static void strides_and_offsets_come_from_the_meta_data(void **state)
{
    (void)state;
    gst_fixture_needs(gst_test_elements);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        float got[VALUES], want[VALUES];
        GstVideoInfo info;
        GstVideoFrame video;
        gsize offsets[GST_VIDEO_MAX_PLANES] = {0};
        gint strides[GST_VIDEO_MAX_PLANES] = {0};
        mts_frame view, direct;
        mts_frame_default(&direct);
        direct.width = 61;
        direct.height = 37;
        direct.format = formats[i].format;
        uint8_t *dense = pixels_make(formats[i].name, &direct);
        default_layout(formats[i].name, 61, 37, &info);
        GstBuffer *buffer = odd_buffer(&info, &direct, offsets, strides);
        assert_non_null(gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                                       GST_VIDEO_INFO_FORMAT(&info), 61, 37,
                                                       GST_VIDEO_INFO_N_PLANES(&info), offsets, strides));
        assert_true(gst_video_frame_map(&video, &info, buffer, GST_MAP_READ));
        assert_true(gst_frame_view(&video, &view));
        assert_int_equal(view.stride, strides[0]);
        direct.yuv = view.yuv;
        answer(&view, got);
        answer(&direct, want);
        assert_memory_equal(got, want, sizeof got);
        gst_video_frame_unmap(&video);
        gst_buffer_unref(buffer);
        free(dense);
    }
}

static void a_picture_that_an_element_crops_is_the_region_of_the_whole(void **state)
{
    static const char *const needed[] = {"videotestsrc", "videocrop", NULL};
    float got[VALUES], want[VALUES];
    source_frame frame;
    mts_frame direct;
    (void)state;
    gst_fixture_needs(needed);
    mts_frame_default(&direct);
    direct.width = 64;
    direct.height = 48;
    direct.format = MTS_PIXEL_FORMAT_NV12;
    uint8_t *dense = pixels_make("NV12", &direct);
    direct.region = (mts_region){.x = 4, .y = 2, .width = 50, .height = 40};
    source *out =
        gst_fixture_open("gst://videotestsrc num-buffers=1 ! video/x-raw,format=NV12,width=64,height=48 ! "
                         "videocrop left=4 top=2 right=10 bottom=6");
    assert_int_equal(out->info.width, 50);
    assert_int_equal(source_next(out, 5000, &frame, gst_fixture_error), CAMERA_OK);
    direct.yuv = frame.frame.yuv;
    answer(&frame.frame, got);
    answer(&direct, want);
    assert_memory_equal(got, want, sizeof got);
    source_release(out, &frame);
    source_close(&out);
    free(dense);
}

static void colorimetry_becomes_the_nearest_standard(void **state)
{
    static const struct {
        const char *text;
        mts_yuv yuv;
    } rows[] = {{"bt601", MTS_YUV_BT601},        {"bt709", MTS_YUV_BT709},  {"1:4:0:0", MTS_YUV_BT601_FULL},
                {"1:3:5:1", MTS_YUV_BT709_FULL}, {"bt2020", MTS_YUV_BT709}, {"smpte240m", MTS_YUV_BT709}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        GstVideoColorimetry colours;
        assert_true(gst_video_colorimetry_from_string(&colours, rows[i].text));
        assert_int_equal(gst_yuv_of(&colours), rows[i].yuv);
    }
}

static void a_colour_standard_that_is_asked_for_replaces_the_sources(void **state)
{
    (void)state;
    gst_fixture_needs(gst_test_elements);
    source *out = gst_fixture_open("test://?frames=1&yuv=bt709-full");
    assert_int_equal(out->info.yuv, MTS_YUV_BT709_FULL);
    assert_int_equal(out->info.width, 640);
    source_close(&out);
}

static void a_format_that_the_library_does_not_take_is_converted_and_told(void **state)
{
    (void)state;
    gst_fixture_needs(gst_test_elements);
    source *out =
        gst_fixture_open("gst://videotestsrc num-buffers=2 ! video/x-raw,format=Y444,width=32,height=16");
    assert_non_null(strstr(out->info.note, "converted from Y444"));
    source_close(&out);
    out = gst_fixture_open("gst://videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=32,height=16");
    assert_string_equal(out->info.note, "");
    assert_int_equal(out->info.format, MTS_PIXEL_FORMAT_I420);
    source_close(&out);
}

/* Without a converter there is no conversion. */
static void formats_that_cannot_be_agreed_on_are_refused(void **state)
{
    (void)state;
    gst_fixture_needs(gst_test_elements);
    refused("gst://videotestsrc num-buffers=2 ! video/x-bayer,format=bggr,width=32,height=16", CAMERA_FORMAT,
            "");
}

static void sources_that_are_not_there_are_absent(void **state)
{
    static const char *const needed[] = {"v4l2src", "uridecodebin", NULL};
    (void)state;
    gst_fixture_needs(needed);
    refused("v4l2:///dev/video_that_is_not_there", CAMERA_ABSENT, "");
    refused("file:///no/such/video.mp4", CAMERA_ABSENT, "");
    refused("gst://no_such_element_of_all ! identity", CAMERA_ABSENT, "no_such_element_of_all");
}

static void a_jetsons_camera_needs_its_elements(void **state)
{
    (void)state;
    assert_true(gst_begin(gst_fixture_error));
    GstElementFactory *factory = gst_element_factory_find("nvarguscamerasrc");
    if (factory) {
        gst_object_unref(factory);
        skip();
    }
    refused("csi://0", CAMERA_ABSENT, "nvarguscamerasrc");
}

static void a_file_that_is_no_video_is_no_format(void **state)
{
    static const char *const needed[] = {"uridecodebin", "filesrc", NULL};
    char path[] = "/tmp/mts_camera_text_XXXXXX";
    char uri[128];
    const int file = mkstemp(path);
    (void)state;
    gst_fixture_needs(needed);
    assert_true(file >= 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(write(file, "This is no video. ", 18), 18);
    }
    assert_int_equal(close(file), 0);
    (void)snprintf(uri, sizeof uri, "file://%s", path);
    refused(uri, CAMERA_FORMAT, "");
    assert_true(strlen(gst_fixture_error) > 10);
    assert_int_equal(unlink(path), 0);
}

static void a_video_file_is_decoded_to_its_last_frame(void **state)
{
    static const char *const needed[] = {"videotestsrc", "jpegenc",  "jpegdec",      "avimux",
                                         "avidemux",     "filesink", "uridecodebin", NULL};
    char path[] = "/tmp/mts_camera_video_XXXXXX";
    char text[512];
    source_frame frame;
    camera_status status = CAMERA_WAITING;
    uint32_t frames = 0;
    (void)state;
    gst_fixture_needs(needed);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    (void)snprintf(text, sizeof text,
                   "videotestsrc num-buffers=9 ! video/x-raw,format=I420,width=90,height=62,framerate=25/1 ! "
                   "jpegenc ! avimux ! filesink location=%s",
                   path);
    launch(text);
    (void)snprintf(text, sizeof text, "file://%s", path);
    source *out = gst_fixture_open(text);
    assert_int_equal(out->info.width, 90);
    assert_int_equal(out->info.height, 62);
    assert_int_equal(out->info.yuv, MTS_YUV_BT601_FULL); /* as in every JPEG */
    assert_true(out->info.fps > 24.9 && out->info.fps < 25.1);
    while (status == CAMERA_OK || status == CAMERA_WAITING) {
        status = source_next(out, 1000, &frame, gst_fixture_error);
        frames += status == CAMERA_OK ? 1 : 0;
        source_release(out, &frame);
    }
    assert_int_equal(status, CAMERA_END);
    assert_int_equal(frames, 9);
    source_close(&out);
    assert_int_equal(unlink(path), 0);
}

static void mistakes_in_the_address_are_named(void **state)
{
    (void)state;
    refused("test://smpte?width=64", CAMERA_USAGE, "a width goes with a height");
    refused("test://smpte?shape=round", CAMERA_USAGE, "no key 'shape'");
    refused("test://smpte ! filesink location=x", CAMERA_USAGE, "no pattern");
    refused("test://no-such-pattern", CAMERA_USAGE, "");
    refused("csi://front", CAMERA_USAGE, "number of a sensor");
    refused("csi://0?format=yuyv", CAMERA_USAGE, "gives nv12");
    refused("gst://videotestsrc ! ! identity", CAMERA_USAGE, "");
}

/* What would be launched on machines that are not here. */
static void pipelines_are_what_the_page_says(void **state)
{
    static const struct {
        const char *scheme, *rest, *text, *property, *value;
    } rows[] = {
        {"csi", "1?width=1280&height=720&fps=30",
         "nvarguscamerasrc name=src sensor-id=1 ! "
         "video/x-raw(memory:NVMM),format=NV12,width=1280,height=720,framerate=30/1 ! nvvidconv ! "
         "video/x-raw,format=NV12 ! appsink name=sink",
         "", ""},
        {"v4l2", "/dev/video2",
         "v4l2src name=src ! decodebin ! videoconvert name=convert ! appsink name=sink", "device",
         "/dev/video2"},
        {"v4l2", "/dev/video0?width=640&height=480&fps=29.97",
         "v4l2src name=src ! video/x-raw,width=640,height=480,framerate=29970/1000;"
         "image/jpeg,width=640,height=480,framerate=29970/1000;"
         "video/x-h264,width=640,height=480,framerate=29970/1000 ! decodebin ! "
         "videoconvert name=convert ! appsink name=sink",
         "device", "/dev/video0"},
        {"rtsp", "user:secret@host/stream?channel=1",
         "uridecodebin name=src caps=\"video/x-raw(ANY)\" expose-all-streams=false ! "
         "videoconvert name=convert ! appsink name=sink",
         "uri", "rtsp://user:secret@host/stream?channel=1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        source_request request = {.uri = "", .format = -1, .yuv = -1};
        gst_plan plan;
        assert_int_equal(gst_describe(rows[i].scheme, rows[i].rest, &request, &plan, gst_fixture_error),
                         CAMERA_OK);
        assert_string_equal(plan.text, rows[i].text);
        assert_string_equal(plan.property, rows[i].property);
        assert_string_equal(plan.value, rows[i].value);
        assert_true(plan.live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format_gives_the_same_as_the_same_pixels_fed_directly),
        cmocka_unit_test(strides_and_offsets_come_from_the_meta_data),
        cmocka_unit_test(a_picture_that_an_element_crops_is_the_region_of_the_whole),
        cmocka_unit_test(colorimetry_becomes_the_nearest_standard),
        cmocka_unit_test(a_colour_standard_that_is_asked_for_replaces_the_sources),
        cmocka_unit_test(a_format_that_the_library_does_not_take_is_converted_and_told),
        cmocka_unit_test(formats_that_cannot_be_agreed_on_are_refused),
        cmocka_unit_test(sources_that_are_not_there_are_absent),
        cmocka_unit_test(a_jetsons_camera_needs_its_elements),
        cmocka_unit_test(a_file_that_is_no_video_is_no_format),
        cmocka_unit_test(a_video_file_is_decoded_to_its_last_frame),
        cmocka_unit_test(mistakes_in_the_address_are_named),
        cmocka_unit_test(pipelines_are_what_the_page_says),
    };
    return cmocka_run_group_tests(tests, world_make, world_destroy);
}
#endif
