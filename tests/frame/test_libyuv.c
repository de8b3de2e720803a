/*
 * test_libyuv.c: what frames become in inputs is within 1/255 of what libyuv's conversion, rotation and
 * mirror and a resize in double give: for every format, odd sizes, strides, crops, fits and filters.
 *
 * libyuv rounds every pixel to a byte before the resize, this library does not: that is half of a level.
 */
#include <stdio.h>

#ifndef MTS_LIBYUV
int main(void)
{
    printf("libyuv is not on this machine: nothing to compare with\n");
    return 77;
}
#else

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libyuv.h>

#include "mts/mts.h"
#include "support/frame_bundle.h"
#include "support/second_device.h"

#define LEVELS 1.0   /* that may differ, of 255 */
#define SIDE_MOST 90 /* of a frame */
#define CASES 24     /* of a format */
#define PLANE (SIDE_MOST * (SIDE_MOST * 4 + 16))

static const frame_task tasks[] = {
    {.color = MTS_COLOR_RGB, .batch = 1, .height = 24, .width = 24, .deviation = 1.0f},
    {.color = MTS_COLOR_BGR, .interleaved = 1, .batch = 1, .height = 17, .width = 40, .deviation = 1.0f}};
static const char *const task_names[] = {"a", "b"};
#define TASKS (sizeof tasks / sizeof tasks[0])

static uint32_t state = 12345;
static uint8_t planes[3][PLANE];
static uint8_t argb[3][SIDE_MOST * SIDE_MOST * 4]; /* converted; cropped and turned; mirrored */
static double worst;

static uint32_t pick(uint32_t low, uint32_t high)
{
    state = state * 1664525u + 1013904223u;
    return low + (state >> 8) % (high - low + 1);
}

/* Smooth with noise and flat extremes: all of the range, and colours that have to be clamped. */
static void fill(uint8_t *bytes, size_t count)
{
    const uint32_t step = pick(1, 9);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = pick(0, 15) == 0 ? (uint8_t)(pick(0, 1) * 255) : (uint8_t)(i * step + pick(0, 30));
    }
}

static const struct YuvConstants *constants_of(mts_yuv yuv)
{
    return yuv == MTS_YUV_BT601        ? &kYuvI601Constants
           : yuv == MTS_YUV_BT601_FULL ? &kYuvJPEGConstants
           : yuv == MTS_YUV_BT709      ? &kYuvH709Constants
                                       : &kYuvF709Constants;
}

static mts_frame random_frame(mts_pixel_format format)
{
    mts_frame f;
    mts_frame_default(&f);
    f.format = format;
    f.width = pick(1, SIDE_MOST);
    f.height = pick(1, SIDE_MOST);
    f.yuv = (mts_yuv)pick(0, 3);
    f.stride = f.width * 4 + 4 + pick(0, 9); /* enough for every format */
    f.data = planes[0];
    if (format == MTS_PIXEL_FORMAT_NV12 || format == MTS_PIXEL_FORMAT_NV21 ||
        format == MTS_PIXEL_FORMAT_I420) {
        for (int k = 0; k < 2; k++) {
            f.chroma[k] = planes[k + 1];
            f.chroma_stride[k] = f.width + 2 + pick(0, 9);
        }
    }
    for (int k = 0; k < 3; k++) {
        fill(planes[k], PLANE);
    }
    f.region.rotation = (mts_rotation)(pick(0, 3) * 90);
    f.region.mirror = pick(0, 1);
    f.region.fit = (mts_fit)pick(MTS_FIT_STRETCH, MTS_FIT_LETTERBOX);
    f.region.filter = (mts_filter)pick(MTS_FILTER_BILINEAR, MTS_FILTER_AREA);
    f.region.fill[0] = 10;
    f.region.fill[1] = 130;
    f.region.fill[2] = 250;
    if (pick(0, 2) > 0) {
        f.region.width = pick(1, f.width);
        f.region.height = pick(1, f.height);
        f.region.x = pick(0, f.width - f.region.width);
        f.region.y = pick(0, f.height - f.region.height);
    }
    return f;
}

/* libyuv names formats by the order of bits in a word: its ARGB is B, G, R, A in memory. */
static int convert(const mts_frame *f, uint8_t *to)
{
    const int w = (int)f->width;
    const int h = (int)f->height;
    const int stride = (int)f->stride;
    const int chroma[2] = {(int)f->chroma_stride[0], (int)f->chroma_stride[1]};
    static uint8_t split[3][SIDE_MOST * SIDE_MOST];
    const struct YuvConstants *k = constants_of(f->yuv);
    switch (f->format) {
    case MTS_PIXEL_FORMAT_RGB:
        return RAWToARGB(planes[0], stride, to, 4 * w, w, h);
    case MTS_PIXEL_FORMAT_BGR:
        return RGB24ToARGB(planes[0], stride, to, 4 * w, w, h);
    case MTS_PIXEL_FORMAT_RGBA:
        return ABGRToARGB(planes[0], stride, to, 4 * w, w, h);
    case MTS_PIXEL_FORMAT_BGRA:
        return ARGBCopy(planes[0], stride, to, 4 * w, w, h);
    case MTS_PIXEL_FORMAT_GREY:
        return J400ToARGB(planes[0], stride, to, 4 * w, w, h);
    case MTS_PIXEL_FORMAT_NV12:
        return NV12ToARGBMatrix(planes[0], stride, planes[1], chroma[0], to, 4 * w, k, w, h);
    case MTS_PIXEL_FORMAT_NV21:
        return NV21ToARGBMatrix(planes[0], stride, planes[1], chroma[0], to, 4 * w, k, w, h);
    case MTS_PIXEL_FORMAT_I420:
        return I420ToARGBMatrix(planes[0], stride, planes[1], chroma[0], planes[2], chroma[1], to, 4 * w, k,
                                w, h);
    default:
        break;
    }
    const int half = (w + 1) / 2;
    const int code = f->format == MTS_PIXEL_FORMAT_YUYV
                         ? YUY2ToI422(planes[0], stride, split[0], w, split[1], half, split[2], half, w, h)
                         : UYVYToI422(planes[0], stride, split[0], w, split[1], half, split[2], half, w, h);
    return code ? code : I422ToARGBMatrix(split[0], w, split[1], half, split[2], half, to, 4 * w, k, w, h);
}

/* What the weights of a direction are: of pixel i for position `at` of `out`, in a source of `size`. */
static double weight(bool area, uint32_t at, uint32_t out, uint32_t size, uint32_t i)
{
    const double ratio = (double)size / out;
    if (area && ratio > 1.0) {
        return fmax(0.0, fmin((at + 1) * ratio, i + 1.0) - fmax(at * ratio, i)) / ratio;
    }
    const double middle = fmin(fmax((at + 0.5) * ratio - 0.5, 0.0), size - 1.0);
    return fmax(0.0, 1.0 - fabs(middle - i));
}

/* Channel c (0 red) of position (i, j) of a resize of libyuv's result, w x h, to columns x rows. */
static double resized(const uint8_t *image, const int size[2], const uint32_t out[2], uint32_t i, uint32_t j,
                      uint32_t c, bool area)
{
    double sum = 0.0;
    for (uint32_t y = 0; y < (uint32_t)size[0]; y++) {
        const double row = weight(area, i, out[0], (uint32_t)size[0], y);
        for (uint32_t x = 0; row > 0.0 && x < (uint32_t)size[1]; x++) {
            sum += row * weight(area, j, out[1], (uint32_t)size[1], x) *
                   image[((size_t)y * (size_t)size[1] + x) * 4 + 2 - c];
        }
    }
    return sum;
}

static void compare(const mts_frame *f, const frame_task *task, const float *found, const uint8_t *image,
                    const int size[2])
{
    uint32_t out[2] = {task->height, task->width};
    if (f->region.fit == MTS_FIT_LETTERBOX) {
        const double scale = fmin((double)out[0] / size[0], (double)out[1] / size[1]);
        for (int d = 0; d < 2; d++) {
            const double wanted = floor(size[d] * scale + 0.5);
            out[d] = wanted < 1.0 ? 1 : (uint32_t)wanted;
        }
    }
    const uint32_t top = (task->height - out[0]) / 2;
    const uint32_t left = (task->width - out[1]) / 2;
    for (uint32_t i = 0; i < task->height; i++) {
        for (uint32_t j = 0; j < task->width; j++) {
            for (uint32_t c = 0; c < 3; c++) {
                const bool bar = i < top || i >= top + out[0] || j < left || j >= left + out[1];
                const double expected = bar ? f->region.fill[c]
                                            : resized(image, size, out, i - top, j - left, c,
                                                      f->region.filter == MTS_FILTER_AREA);
                const size_t at = task->interleaved ? (i * task->width + j) * 3 + (2 - c)
                                                    : (c * task->height + i) * task->width + j;
                const double off = fabs((double)found[at] - expected);
                worst = off > worst ? off : worst;
                if (!(off <= LEVELS)) {
                    fail_msg(
                        "format %d, %ux%u, region %ux%u at %u,%u, rotation %d, mirror %u, fit %d, filter "
                        "%d, yuv %d: colour %u of (%u, %u) is %g, libyuv's %g",
                        (int)f->format, f->width, f->height, f->region.width, f->region.height, f->region.x,
                        f->region.y, (int)f->region.rotation, f->region.mirror, (int)f->region.fit,
                        (int)f->region.filter, (int)f->yuv, c, i, j, (double)found[at], expected);
                }
            }
        }
    }
}

/* libyuv's part: converted, cropped, turned, mirrored. size: rows and columns. */
static const uint8_t *by_libyuv(const mts_frame *f, int size[2])
{
    const mts_region *r = &f->region;
    const int w = (int)(r->width ? r->width : f->width);
    const int h = (int)(r->width ? r->height : f->height);
    const bool turned = r->rotation == MTS_ROTATION_90 || r->rotation == MTS_ROTATION_270;
    const size_t first = r->width ? ((size_t)r->y * f->width + r->x) * 4 : 0;
    size[0] = turned ? w : h;
    size[1] = turned ? h : w;
    assert_int_equal(convert(f, argb[0]), 0);
    assert_int_equal(ARGBRotate(argb[0] + first, (int)f->width * 4, argb[1], size[1] * 4, w, h,
                                (enum RotationMode)r->rotation),
                     0);
    if (!r->mirror) {
        return argb[1];
    }
    assert_int_equal(ARGBMirror(argb[1], size[1] * 4, argb[2], size[1] * 4, size[1], size[0]), 0);
    return argb[2];
}

static void compare_device(const char *id)
{
    mts_bundle_bytes bytes;
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_runtime_options options;
    mts_runtime_options_default(&options);
    options.device = id;
    if (mts_runtime_create(&options, &runtime) != MTS_STATUS_OK) {
        print_message("no device %s\n", id);
        skip();
    }
    frame_bundle_make(tasks, TASKS, &bytes);
    assert_int_equal(mts_bundle_open_memory(runtime, bytes.data, bytes.size, &bundle), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(runtime, bundle, NULL, &session), MTS_STATUS_OK);
    worst = 0.0;
    for (uint32_t n = 0; n < 10 * CASES; n++) {
        mts_ticket ticket = 0;
        mts_frame frame = random_frame((mts_pixel_format)(n % 10));
        int size[2];
        const uint8_t *image = by_libyuv(&frame, size);
        frame.zero_copy = n / 10 % 2;
        assert_int_equal(mts_session_submit(session, &frame, &ticket), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        for (size_t t = 0; t < TASKS; t++) {
            mts_tensor tensor;
            assert_int_equal(mts_session_output(session, task_names[t], 0, &tensor), MTS_STATUS_OK);
            compare(&frame, &tasks[t], tensor.data, image, size);
        }
    }
    print_message("%s: at most %.3f of 255 levels from libyuv\n", id, worst);
    assert_true(worst > 0.0); /* it has been compared */
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    mts_bundle_bytes_release(&bytes);
}

static void frames_are_as_libyuv_has_them_in_plain_c(void **unused)
{
    (void)unused;
    compare_device("reference");
}

static void frames_are_as_libyuv_has_them_on_the_second_device(void **unused)
{
    (void)unused;
    compare_device(second_device_id("opencl:0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_as_libyuv_has_them_in_plain_c),
        cmocka_unit_test(frames_are_as_libyuv_has_them_on_the_second_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
