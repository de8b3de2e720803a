/*
 * test_foreign.c: frames in memory of others on devices that do not read it: the processor copies what is
 * shown. A memfd stands for a dma-buf. Devices that do read it: tests/opencl/test_frames.c.
 */
#define _GNU_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/sealed_memory.h"
#include "support/api_fixture.h"
#include "support/frame_bundle.h"

#define SIDE 8
#define WIDTH 30
#define HEIGHT 20
#define STRIDE 36
#define LUMA 256 /* where the planes begin */
#define CHROMA 1200
#define BYTES 4096

typedef struct world {
    api_fixture fixture;
    mts_bundle_bytes bytes;
    mts_bundle *bundle;
    mts_session *session;
    int fd;
    uint8_t *memory;
} world;

static void world_open(world *w, const char *device, uint32_t places)
{
    const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    mts_session_options options;
    memset(w, 0, sizeof *w);
    frame_bundle_make(&task, 1, &w->bytes);
    api_open(&w->fixture, device);
    assert_int_equal(mts_bundle_open_memory(w->fixture.runtime, w->bytes.data, w->bytes.size, &w->bundle),
                     MTS_STATUS_OK);
    mts_session_options_default(&options);
    options.frames_in_flight = places;
    assert_int_equal(mts_session_create(w->fixture.runtime, w->bundle, &options, &w->session), MTS_STATUS_OK);
    w->fd = sealed_memory(BYTES);
    assert_true(w->fd >= 0);
    w->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    assert_true(w->memory != MAP_FAILED);
}

static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    mts_bundle_destroy(&w->bundle);
    api_close(&w->fixture);
    mts_bundle_bytes_release(&w->bytes);
    assert_int_equal(munmap(w->memory, BYTES), 0);
    assert_int_equal(close(w->fd), 0); /* still ours */
}

static void draw(world *w, uint32_t seed)
{
    for (uint32_t i = 0; i < BYTES; i++) {
        w->memory[i] = (uint8_t)(i * 7 + i / 97 * 13 + seed * 31);
    }
}

static mts_frame frame_of(const world *w, bool foreign)
{
    mts_frame frame;
    mts_frame_default(&frame);
    frame.width = WIDTH;
    frame.height = HEIGHT;
    frame.format = MTS_PIXEL_FORMAT_NV12;
    frame.stride = frame.chroma_stride[0] = STRIDE;
    if (foreign) {
        frame.memory = MTS_MEMORY_DMABUF;
        frame.fd = w->fd;
        frame.offsets[0] = LUMA;
        frame.offsets[1] = CHROMA;
    } else {
        frame.data = w->memory + LUMA;
        frame.chroma[0] = w->memory + CHROMA;
    }
    return frame;
}

static void run(world *w, const mts_frame *frame, float values[3 * SIDE * SIDE])
{
    mts_ticket ticket = 0;
    mts_tensor tensor;
    if (mts_session_submit(w->session, frame, &ticket) != MTS_STATUS_OK) {
        fail_msg("submission: %s", w->fixture.error);
    }
    assert_int_equal(mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    assert_int_equal(mts_session_output(w->session, "a", 0, &tensor), MTS_STATUS_OK);
    assert_int_equal(tensor.bytes, 3 * SIDE * SIDE * sizeof(float));
    memcpy(values, tensor.data, tensor.bytes);
}

static void a_frame_in_a_dma_buf_is_what_it_is_in_the_processs_memory(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < mts_device_count(); d++) {
        mts_device_desc device = {.size = sizeof device};
        world w;
        float expected[3 * SIDE * SIDE], found[3 * SIDE * SIDE];
        assert_int_equal(mts_device_describe(d, &device), MTS_STATUS_OK);
        assert_int_equal(device.reads >> MTS_MEMORY_DMABUF & 1u, 0);
        world_open(&w, device.id, 1 + d % 2);
        for (uint32_t seed = 0; seed < 5; seed++) {
            draw(&w, seed);
            for (uint32_t turns = 0; turns < 2; turns++) { /* packed, and whole */
                mts_frame here = frame_of(&w, false), there = frame_of(&w, true);
                here.region.rotation = there.region.rotation = turns ? MTS_ROTATION_90 : MTS_ROTATION_0;
                run(&w, &here, expected);
                run(&w, &there, found);
                assert_memory_equal(expected, found, sizeof expected);
            }
        }
        world_close(&w);
    }
}

/* Two tasks, each on a device of its own, or one behind the other: each device gets the frame, of whatever kind. */
static void open_several(world *w, const char *const *devices, uint32_t count, mts_placement placement)
{
    const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    const frame_task tasks[] = {task, task};
    mts_session_options options;
    memset(w, 0, sizeof *w);
    frame_bundle_make(tasks, 2, &w->bytes);
    mts_runtime_options runtime = api_options(&w->fixture, devices[0]);
    runtime.device = count == 1 ? devices[0] : NULL;
    runtime.devices = count == 1 ? NULL : devices;
    runtime.device_count = count == 1 ? 0 : count;
    assert_int_equal(mts_runtime_create(&runtime, &w->fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open_memory(w->fixture.runtime, w->bytes.data, w->bytes.size, &w->bundle),
                     MTS_STATUS_OK);
    mts_session_options_default(&options);
    options.frames_in_flight = 2;
    options.separate_inputs = 1;
    options.placement = placement;
    if (mts_session_create(w->fixture.runtime, w->bundle, &options, &w->session) != MTS_STATUS_OK) {
        fail_msg("session: %s", w->fixture.error);
    }
    w->fd = sealed_memory(BYTES);
    assert_true(w->fd >= 0);
    w->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    assert_true(w->memory != MAP_FAILED);
}

enum { KINDS = 5 };

/* NV12 in the process' memory, copied or not, and in a dma-buf; RGB, turned; a task's own frame. */
static void run_kind(world *w, int kind, float values[2][3 * SIDE * SIDE])
{
    mts_frame frame = frame_of(w, kind == 2);
    mts_ticket ticket = 0;
    frame.zero_copy = kind == 1 ? 1 : 0;
    if (kind >= 3) {
        mts_frame_default(&frame);
        frame.width = WIDTH;
        frame.height = HEIGHT;
        frame.format = MTS_PIXEL_FORMAT_RGB;
        frame.data = w->memory;
        frame.region.rotation = MTS_ROTATION_90;
    }
    if (kind == 4) {
        if (mts_session_input_frame(w->session, "b", &frame) != MTS_STATUS_OK) {
            fail_msg("input: %s", w->fixture.error);
        }
        frame.data = w->memory + 64;
        assert_int_equal(mts_session_input_frame(w->session, "a", &frame), MTS_STATUS_OK);
    }
    if (mts_session_submit(w->session, kind == 4 ? NULL : &frame, &ticket) != MTS_STATUS_OK) {
        fail_msg("submission: %s", w->fixture.error);
    }
    assert_int_equal(mts_session_wait(w->session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    for (int t = 0; t < 2; t++) {
        mts_tensor tensor;
        assert_int_equal(mts_session_output(w->session, t == 0 ? "a" : "b", 0, &tensor), MTS_STATUS_OK);
        memcpy(values[t], tensor.data, tensor.bytes);
    }
}

static void several_devices_see_what_one_sees_of_each_kind(void **state)
{
    (void)state;
    static const char *const devices[] = {"reference", "reference"};
    static const mts_placement placements[] = {MTS_PLACEMENT_GROUPS, MTS_PLACEMENT_STAGES};
    for (int p = 0; p < 2; p++) {
        float want[2][3 * SIDE * SIDE], got[2][3 * SIDE * SIDE];
        world one, several;
        open_several(&one, devices, 1, MTS_PLACEMENT_AUTO);
        open_several(&several, devices, 2, placements[p]);
        for (uint32_t i = 0; i < 3 * KINDS; i++) {
            draw(&one, i);
            draw(&several, i);
            run_kind(&one, (int)(i % KINDS), want);
            run_kind(&several, (int)(i % KINDS), got);
            assert_memory_equal(want, got, sizeof want);
            assert_true((memcmp(want[0], want[1], sizeof want[0]) != 0) == (i % KINDS == 4));
        }
        world_close(&one);
        world_close(&several);
    }
}

static void planes_without_an_offset_lie_one_behind_the_other(void **state)
{
    world w;
    float expected[3 * SIDE * SIDE], found[3 * SIDE * SIDE];
    (void)state;
    world_open(&w, "reference", 1);
    draw(&w, 3);
    mts_frame here = frame_of(&w, false), there = frame_of(&w, true);
    here.chroma[0] = NULL;
    there.offsets[1] = 0;
    run(&w, &here, expected);
    run(&w, &there, found);
    assert_memory_equal(expected, found, sizeof expected);
    world_close(&w);
}

static void the_descriptor_may_be_closed_and_the_memory_drawn_anew(void **state)
{
    world w;
    float expected[3 * SIDE * SIDE], found[3 * SIDE * SIDE];
    (void)state;
    world_open(&w, "reference", 2);
    for (uint32_t i = 0; i < 40; i++) {
        draw(&w, i);
        mts_frame here = frame_of(&w, false), there = frame_of(&w, true);
        run(&w, &here, expected);
        there.fd = dup(w.fd); /* another number for the same memory */
        mts_ticket ticket = 0;
        mts_tensor tensor;
        assert_int_equal(mts_session_submit(w.session, &there, &ticket), MTS_STATUS_OK);
        assert_int_equal(close(there.fd), 0);
        assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        assert_int_equal(mts_session_output(w.session, "a", 0, &tensor), MTS_STATUS_OK);
        memcpy(found, tensor.data, sizeof found);
        assert_memory_equal(expected, found, sizeof expected);
    }
    world_close(&w);
}

static void refuse(world *w, const mts_frame *frame, mts_status status, const char *word)
{
    mts_ticket ticket = 0;
    w->fixture.error[0] = '\0';
    assert_int_equal(mts_session_submit(w->session, frame, &ticket), status);
    if (!strstr(w->fixture.error, word)) {
        fail_msg("'%s' is not in: %s", word, w->fixture.error);
    }
}

static void what_cannot_be_read_is_refused_and_changes_nothing(void **state)
{
    world w;
    float expected[3 * SIDE * SIDE], found[3 * SIDE * SIDE];
    int ends[2];
    (void)state;
    world_open(&w, "reference", 1);
    draw(&w, 1);
    mts_frame here = frame_of(&w, false);
    run(&w, &here, expected);
    mts_frame bad = frame_of(&w, true);
    bad.memory = (mts_memory_kind)3;
    refuse(&w, &bad, MTS_STATUS_INVALID_ARGUMENT, "unknown kind of memory");
    bad = frame_of(&w, true);
    bad.fd = -1;
    refuse(&w, &bad, MTS_STATUS_INVALID_ARGUMENT, "not open");
    bad = frame_of(&w, true);
    bad.offsets[1] = BYTES - STRIDE * (HEIGHT / 2) + (STRIDE - WIDTH) + 1;
    refuse(&w, &bad, MTS_STATUS_INVALID_ARGUMENT, "4097 bytes");
    bad = frame_of(&w, true);
    bad.offsets[1] = UINT32_MAX;
    refuse(&w, &bad, MTS_STATUS_LIMIT, "limit");
    bad = frame_of(&w, true);
    bad.stride = WIDTH - 1;
    refuse(&w, &bad, MTS_STATUS_INVALID_ARGUMENT, "stride");
    bad = frame_of(&w, true);
    assert_int_equal(pipe(ends), 0);
    bad.fd = ends[0];
    refuse(&w, &bad, MTS_STATUS_UNSUPPORTED, "neither a dma-buf");
    assert_int_equal(close(ends[0]) | close(ends[1]), 0);
    bad = frame_of(&w, true);
    bad.fd =
        memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* as long as no process makes it shorter */
    assert_int_equal(ftruncate(bad.fd, BYTES), 0);
    refuse(&w, &bad, MTS_STATUS_UNSUPPORTED, "sealed against shrinking");
    assert_int_equal(close(bad.fd), 0);
    bad = frame_of(&w, true);
    bad.fd = memfd_create("empty", MFD_CLOEXEC); /* reading it would be a signal */
    refuse(&w, &bad, MTS_STATUS_INVALID_ARGUMENT, " has 0");
    assert_int_equal(close(bad.fd), 0);
    bad = frame_of(&w, true);
    bad.memory = MTS_MEMORY_ANDROID;
    refuse(&w, &bad, MTS_STATUS_INVALID_ARGUMENT, "buffer is NULL");
    bad.buffer = &w;
    refuse(&w, &bad, MTS_STATUS_UNSUPPORTED, "hardware buffers");
    mts_frame good = frame_of(&w, true);
    run(&w, &good, found);
    assert_memory_equal(expected, found, sizeof expected);
    world_close(&w);
}

/* The tasks here give back their inputs. */
static void an_input_that_is_an_output_stays_when_nothing_runs(void **state)
{
    world w;
    float expected[3 * SIDE * SIDE], found[3 * SIDE * SIDE];
    (void)state;
    world_open(&w, "reference", 3);
    draw(&w, 1);
    mts_frame frame = frame_of(&w, false);
    run(&w, &frame, expected);
    assert_int_equal(mts_session_enable(w.session, "a", 0), MTS_STATUS_OK);
    for (uint32_t i = 2; i < 5; i++) {
        draw(&w, i);
        run(&w, &frame, found);
        assert_memory_equal(expected, found, sizeof expected);
    }
    world_close(&w);
}

static void planes_that_overlap_count_each(void **state)
{
    world w;
    (void)state;
    world_open(&w, "reference", 1);
    mts_frame frame = frame_of(&w, true);
    frame.height = 16384;
    frame.stride = frame.chroma_stride[0] = 100000;
    frame.offsets[0] = frame.offsets[1] = 1;
    refuse(&w, &frame, MTS_STATUS_LIMIT, "limit");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_in_a_dma_buf_is_what_it_is_in_the_processs_memory),
        cmocka_unit_test(several_devices_see_what_one_sees_of_each_kind),
        cmocka_unit_test(planes_without_an_offset_lie_one_behind_the_other),
        cmocka_unit_test(the_descriptor_may_be_closed_and_the_memory_drawn_anew),
        cmocka_unit_test(what_cannot_be_read_is_refused_and_changes_nothing),
        cmocka_unit_test(an_input_that_is_an_output_stays_when_nothing_runs),
        cmocka_unit_test(planes_that_overlap_count_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
