/*
 * Numbers of frames and regions at their limits: each one beyond is refused with a sentence that has it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frame/layout.h"

static unsigned char pixels[64];
static mts_error error;

static mts_frame frame_of(uint32_t width, uint32_t height)
{
    return (mts_frame){.size = sizeof(mts_frame), .data = pixels, .width = width, .height = height};
}

static mts_status view(const mts_frame *frame)
{
    mts_frame_view out;
    error.text[0] = '\0';
    return mts_frame_view_make(frame, &out, &error);
}

#define REFUSED(change, sentence)                                                                            \
    do {                                                                                                     \
        mts_frame f = frame_of(4, 4);                                                                        \
        mts_region *r = &f.region;                                                                           \
        (void)r;                                                                                             \
        assert_int_equal(view(&f), MTS_STATUS_OK);                                                           \
        change;                                                                                              \
        assert_int_equal(view(&f), MTS_STATUS_INVALID_ARGUMENT);                                             \
        if (!strstr(error.text, sentence)) {                                                                 \
            fail_msg("%s: '%s'", #change, error.text);                                                       \
        }                                                                                                    \
    } while (0)

static void frames_have_memory_sides_and_kinds(void **state)
{
    (void)state;
    REFUSED(f.data = NULL, "frame: data is NULL");
    REFUSED(f.memory = MTS_MEMORY_ANDROID, "frame: buffer is NULL");
    REFUSED(f.memory = (mts_memory_kind)(MTS_MEMORY_ANDROID + 1), "unknown kind of memory 3");
    REFUSED(f.format = (mts_pixel_format)(MTS_PIXEL_FORMAT_UYVY + 1), "unknown pixel format");
    REFUSED(f.yuv = (mts_yuv)(MTS_YUV_BT709_FULL + 1), "unknown yuv");
    REFUSED(f.zero_copy = 2, "zero_copy is 0 or 1, not 2");
    REFUSED(f.width = 0, "frame: 0x4 pixels; sides are 1..16384");
    REFUSED(f.height = 0, "frame: 4x0 pixels; sides are 1..16384");
    REFUSED(f.width = 16385, "frame: 16385x4 pixels; sides are 1..16384");
    REFUSED(f.height = 16385, "frame: 4x16385 pixels; sides are 1..16384");
    REFUSED(f.stride = 3, "frame: stride 3 is less than the ");
    REFUSED(f.format = MTS_PIXEL_FORMAT_NV12;
            f.chroma_stride[0] = 1, "frame: chroma_stride 1 is less than the 4 bytes");
}

static void regions_lie_inside_and_have_all_of_their_numbers(void **state)
{
    (void)state;
    REFUSED(r->rotation = (mts_rotation)45, "rotation 45 is not 0, 90, 180 or 270 degrees");
    REFUSED(r->mirror = 2, "mirror is 0 or 1, not 2");
    REFUSED(r->fit = (mts_fit)(MTS_FIT_CROP + 1), "unknown fit");
    REFUSED(r->filter = (mts_filter)(MTS_FILTER_AREA + 1), "unknown filter");
    REFUSED(r->outside = (mts_outside)(MTS_OUTSIDE_EDGE + 1), "unknown outside");
    REFUSED(r->width = 2, "the region has a width of 2 and no height");
    REFUSED(r->width = 2; r->height = 2; r->x = 4, "the region 2x2 at 4,0 is not inside 4x4");
    REFUSED(r->width = 2; r->height = 2; r->y = 4, "the region 2x2 at 0,4 is not inside 4x4");
    REFUSED(r->width = 2; r->height = 2; r->x = 3, "the region 2x2 at 3,0 is not inside 4x4");
    REFUSED(r->width = 2; r->height = 2; r->y = 3, "the region 2x2 at 0,3 is not inside 4x4");
    REFUSED(r->reserved[0] = 1, "reserved[0] is 1, and has to be 0 in this version");
    const mts_region flat = {.width = 1};
    assert_int_equal(mts_region_check_inside(&flat, 4, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
}

/* A rectangle at any angle, of which one number is wrong. */
#define TURNED(change, sentence) REFUSED(r->sides[0] = r->sides[1] = 2.0f; change, sentence)

static void turned_rectangles_have_sides_a_middle_and_an_angle(void **state)
{
    mts_frame good = frame_of(4, 4);
    (void)state;
    good.region.sides[0] = good.region.sides[1] = 65536.0f;
    good.region.middle[0] = -1048576.0f;
    good.region.angle = 65536.0f;
    assert_int_equal(view(&good), MTS_STATUS_OK);
    TURNED(r->sides[0] = -1.0f, "sides of -1 and 2 pixels");
    TURNED(r->sides[1] = 0.0f, "sides of 2 and 0 pixels");
    TURNED(r->sides[0] = 65537.0f, "sides of 65537 and 2 pixels");
    TURNED(r->sides[1] = 65537.0f, "sides of 2 and 65537 pixels");
    TURNED(r->sides[0] = NAN, "and 2 pixels");
    TURNED(r->middle[0] = 2e6f, "a middle of 2e+06, 0");
    TURNED(r->middle[1] = -2e6f, "a middle of 0, -2e+06");
    TURNED(r->angle = 1e5f, "an angle of 100000");
    TURNED(r->x = 1, "x, y, width and height are 0 where sides are given");
    TURNED(r->y = 1, "x, y, width and height are 0 where sides are given");
    TURNED(r->width = r->height = 1, "x, y, width and height are 0 where sides are given");
    TURNED(r->height = 1, "x, y, width and height are 0 where sides are given");
}

static void frames_beyond_two_gigabytes_are_a_limit(void **state)
{
    mts_frame wide = frame_of(4, 16384);
    mts_frame apart = frame_of(4, 2);
    mts_frame other = frame_of(4, 4);
    (void)state;
    wide.stride = 1u << 20;
    assert_int_equal(view(&wide), MTS_STATUS_LIMIT);
    apart.format = MTS_PIXEL_FORMAT_NV12;
    apart.stride = 0x7fffff00u;
    assert_int_equal(view(&apart), MTS_STATUS_LIMIT);
    other.memory = MTS_MEMORY_DMABUF;
    other.data = NULL;
    assert_int_equal(view(&other), MTS_STATUS_OK);
    other.offsets[0] = 0x7fffffffu;
    assert_int_equal(view(&other), MTS_STATUS_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_have_memory_sides_and_kinds),
        cmocka_unit_test(regions_lie_inside_and_have_all_of_their_numbers),
        cmocka_unit_test(turned_rectangles_have_sides_a_middle_and_an_angle),
        cmocka_unit_test(frames_beyond_two_gigabytes_are_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
