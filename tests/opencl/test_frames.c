/*
 * Frames in dma-bufs and hardware buffers, through the public API, on an OpenCL device that reads them where
 * they lie (fake/fake.h), and where it refuses to. What poses as Android's library is fake/window.c.
 */
#define _GNU_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "mts/mts.h"
#include "opencl/fake/fake.h"
#include "platform/os/os.h"
#include "support/sealed_memory.h"
#include "support/frame_bundle.h"

#define ARM "cl_arm_import_memory cl_arm_import_memory_dma_buf cl_arm_import_memory_android_hardware_buffer"
#define KHR "cl_khr_external_memory cl_khr_external_memory_dma_buf"
#define QCOM "cl_qcom_ext_host_ptr cl_qcom_android_ahardwarebuffer_host_ptr"

#define SIDE 8
#define VALUES ((size_t)SIDE * SIDE)
#define WIDTH 64
#define HEIGHT 48
#define BYTES 4096
#define MEMORIES 3
#define PLACES 3

typedef struct world {
    mts_runtime *runtime;
    mts_bundle_bytes bytes;
    mts_bundle *bundle;
    mts_session *session;
    char error[512];
    int fds[MEMORIES];
    uint8_t *pixels[MEMORIES];
    fake_hardware_buffer hardware[MEMORIES];
    uint32_t descriptors;
} world;

static fake_opencl *fake;
static fake_window *window;

static uint32_t open_descriptors(void)
{
    uint32_t count = 0;
    for (int fd = 0; fd < 256; fd++) {
        struct stat about;
        count += fstat(fd, &about) == 0;
    }
    return count;
}

static void world_open(world *w, const char *extensions)
{
    const frame_task task = {
        .color = MTS_COLOR_GREY, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    mts_runtime_options runtime;
    mts_session_options options;
    memset(w, 0, sizeof *w);
    *fake = (fake_opencl){.asked = fake->asked, .extensions = extensions};
    *window = (fake_window){.held = 0};
    mts_runtime_options_default(&runtime);
    runtime.device = "opencl:0";
    runtime.error_text = w->error;
    runtime.error_size = sizeof w->error;
    frame_bundle_make(&task, 1, &w->bytes);
    assert_int_equal(mts_runtime_create(&runtime, &w->runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open_memory(w->runtime, w->bytes.data, w->bytes.size, &w->bundle),
                     MTS_STATUS_OK);
    mts_session_options_default(&options);
    options.frames_in_flight = PLACES;
    assert_int_equal(mts_session_create(w->runtime, w->bundle, &options, &w->session), MTS_STATUS_OK);
    for (uint32_t i = 0; i < MEMORIES; i++) {
        w->fds[i] = sealed_memory(BYTES);
        assert_true(w->fds[i] >= 0);
        w->pixels[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w->fds[i], 0);
        assert_true(w->pixels[i] != MAP_FAILED);
        w->hardware[i] = (fake_hardware_buffer){FAKE_HARDWARE_BUFFER, w->fds[i]};
    }
    w->descriptors = open_descriptors();
}

/* Drivers may release memory a little after the call. */
static void expect_nothing_held(const world *w)
{
    for (int i = 0; i < 2000 && (fake->alive > 0 || open_descriptors() != w->descriptors); i++) {
        (void)usleep(1000);
    }
    assert_int_equal(fake->alive, 0);
    assert_int_equal(open_descriptors(), w->descriptors);
}

static void world_close(world *w)
{
    mts_session_destroy(&w->session);
    expect_nothing_held(w);
    mts_bundle_destroy(&w->bundle);
    mts_runtime_destroy(&w->runtime);
    mts_bundle_bytes_release(&w->bytes);
    for (uint32_t i = 0; i < MEMORIES; i++) {
        assert_int_equal(munmap(w->pixels[i], BYTES) | close(w->fds[i]), 0);
    }
    assert_int_equal(fake->acquired, 0);
    assert_int_equal(fake->misuses, 0);
    assert_int_equal(window->held, 0);
    assert_int_equal(window->locked, 0);
}

/* A grey frame of one level, which every value of the input then is. */
static void draw(const world *w, uint32_t memory, uint8_t level)
{
    memset(w->pixels[memory], level, BYTES);
}

static mts_frame frame_of(const world *w, uint32_t memory, mts_memory_kind kind)
{
    mts_frame frame;
    mts_frame_default(&frame);
    frame.width = WIDTH;
    frame.height = HEIGHT;
    frame.format = MTS_PIXEL_FORMAT_GREY;
    frame.memory = kind;
    frame.fd = w->fds[memory];
    frame.buffer = &w->hardware[memory];
    frame.offsets[0] = 512;
    return frame;
}

static void check_level(const world *w, uint8_t level)
{
    mts_tensor tensor;
    assert_int_equal(mts_session_output(w->session, "a", 0, &tensor), MTS_STATUS_OK);
    assert_int_equal(tensor.bytes, VALUES * sizeof(float));
    for (size_t i = 0; i < VALUES; i++) {
        const float value = ((const float *)tensor.data)[i];
        assert_true(value > (float)level - 0.01f && value < (float)level + 0.01f);
    }
}

/* A camera that fills its few memories in turns, as soon as each has been given back. */
static void stream(world *w, mts_memory_kind kind)
{
    for (uint32_t i = 0; i < 20 + PLACES; i++) {
        mts_ticket ticket = 0;
        if (i >= PLACES) {
            assert_int_equal(mts_session_wait(w->session, i - PLACES + 1, MTS_TIMEOUT_INFINITE),
                             MTS_STATUS_OK);
            check_level(w, (uint8_t)(10 * (i - PLACES + 1)));
        }
        if (i < 20) {
            draw(w, i % MEMORIES, (uint8_t)(10 * (i + 1)));
            const mts_frame frame = frame_of(w, i % MEMORIES, kind);
            if (mts_session_submit(w->session, &frame, &ticket) != MTS_STATUS_OK) {
                fail_msg("submission: %s", w->error);
            }
        }
    }
}

static uint32_t reads(const world *w)
{
    mts_device_desc device = {.size = sizeof device};
    assert_int_equal(mts_runtime_device(w->runtime, &device), MTS_STATUS_OK);
    return device.reads;
}

static void memories_of_a_stream_are_imported_once_each(void **state)
{
    static const struct {
        const char *extensions;
        mts_memory_kind kind;
    } cases[] = {{ARM, MTS_MEMORY_DMABUF},
                 {KHR, MTS_MEMORY_DMABUF},
                 {ARM, MTS_MEMORY_ANDROID},
                 {QCOM, MTS_MEMORY_ANDROID}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        world w;
        world_open(&w, cases[c].extensions);
        assert_int_not_equal(reads(&w) >> cases[c].kind & 1u, 0);
        stream(&w, cases[c].kind);
        assert_int_equal(fake->imports, MEMORIES);
        assert_int_equal(window->locks, 0);
        world_close(&w);
    }
}

static void what_the_device_does_not_read_the_processor_copies(void **state)
{
    static const mts_memory_kind kinds[] = {MTS_MEMORY_DMABUF, MTS_MEMORY_ANDROID};
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        world w;
        world_open(&w, k < 2 ? NULL : ARM);
        assert_int_equal(reads(&w) >> kinds[k % 2] & 1u, k < 2 ? 0 : 1);
        if (k < 2) {
            window->has_planes = true;
            stream(&w, kinds[k % 2]);
        } else { /* the driver says that it can, and does not take this one */
            mts_ticket ticket = 0;
            fake->fail = -1001;
            draw(&w, 0, 77);
            const mts_frame frame = frame_of(&w, 0, kinds[k % 2]);
            assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
            assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
            check_level(&w, 77);
        }
        assert_int_equal(fake->alive, 0);
        assert_int_equal(window->locks > 0, kinds[k % 2] == MTS_MEMORY_ANDROID);
        world_close(&w);
    }
}

static void a_buffer_that_cannot_be_locked_is_told(void **state)
{
    world w;
    mts_ticket ticket = 0;
    (void)state;
    world_open(&w, NULL);
    window->fail = true;
    const mts_frame frame = frame_of(&w, 0, MTS_MEMORY_ANDROID);
    assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(w.error, "AHardwareBuffer_lock"));
    world_close(&w);
}

static void a_frame_that_its_buffer_cannot_hold_is_refused(void **state)
{
    world w;
    mts_ticket ticket = 0;
    (void)state;
    for (int is_frame = 0; is_frame < 2; is_frame++) {
        world_open(&w, is_frame ? ARM : NULL);
        if (is_frame) {
            window->width = WIDTH;
            window->height = HEIGHT;
            window->stride = 2 * WIDTH;
        }
        draw(&w, 0, 33);
        mts_frame frame = frame_of(&w, 0, MTS_MEMORY_ANDROID);
        frame.height = 16384;
        frame.stride = 4096;
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(w.error, "of a hardware buffer"));
        frame = frame_of(&w, 0, MTS_MEMORY_ANDROID);
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        check_level(&w, 33);
        world_close(&w);
    }
}

/* The sanitizers see the queue write into what the session freed, if it still does. */
static void a_session_of_a_lost_device_goes_while_its_runs_are_under_way(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        world w;
        world_open(&w, NULL);
        draw(&w, 0, 5);
        for (int run = 0; run < PLACES; run++) {
            mts_ticket ticket = 0;
            const mts_frame frame = frame_of(&w, 0, MTS_MEMORY_DMABUF);
            assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        }
        w.runtime->device->lost = true; /* as a backend does when a call tells it so */
        world_close(&w);
    }
}

static void only_the_last_memories_are_kept(void **state)
{
    enum { MANY = 60 };
    world w;
    int fds[MANY];
    (void)state;
    world_open(&w, ARM);
    for (uint32_t i = 0; i < MANY; i++) {
        mts_ticket ticket = 0;
        fds[i] = sealed_memory(BYTES);
        assert_int_equal(pwrite(fds[i], w.pixels[0], BYTES, 0), BYTES);
        mts_frame frame = frame_of(&w, 0, MTS_MEMORY_DMABUF);
        frame.fd = fds[i];
        assert_int_equal(mts_session_submit(w.session, &frame, &ticket), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(w.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        check_level(&w, 0);
    }
    assert_int_equal(fake->imports, MANY);
    assert_true(fake->alive < MANY / 2);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(close(fds[i]), 0);
    }
    world_close(&w);
}

static void *find(const char *library, const char *name)
{
    mts_os_library *found = mts_os_library_open(library, NULL, 0);
    return found ? mts_os_library_symbol(found, name) : NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memories_of_a_stream_are_imported_once_each),
        cmocka_unit_test(what_the_device_does_not_read_the_processor_copies),
        cmocka_unit_test(a_buffer_that_cannot_be_locked_is_told),
        cmocka_unit_test(a_frame_that_its_buffer_cannot_hold_is_refused),
        cmocka_unit_test(a_session_of_a_lost_device_goes_while_its_runs_are_under_way),
        cmocka_unit_test(only_the_last_memories_are_kept),
    };
    void *const opencl = find("libOpenCL.so.1", "fake_opencl_state");
    void *const android = find("libnativewindow.so", "fake_window_state");
    fake_opencl_state_fn opencl_state = NULL;
    fake_window_state_fn window_state = NULL;
    if (!opencl || !android) {
        (void)printf("skipped: the libraries in front of the system's are not there\n");
        return 77;
    }
    memcpy(&opencl_state, &opencl, sizeof opencl);
    memcpy(&window_state, &android, sizeof android);
    fake = opencl_state();
    window = window_state();
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc device = {.size = sizeof device};
        if (mts_device_describe(i, &device) == MTS_STATUS_OK && strcmp(device.id, "opencl:0") == 0) {
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    }
    (void)printf("skipped: there is no OpenCL device\n");
    return 77;
}
