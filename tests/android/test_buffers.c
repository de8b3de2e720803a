/*
 * The Android app's engine on an OpenCL device that reads hardware buffers (tests/opencl/fake): pictures go
 * there as such, and where the device refuses them the processor's view of them does. The two views hold
 * different greys here, so that the answer tells which one was read.
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "android/app/src/main/cpp/engine.h"
#include "android/app/src/main/cpp/frames.h"
#include "opencl/fake/fake.h"
#include "platform/os/os.h"
#include "support/frame_bundle.h"

#define ARM "cl_arm_import_memory cl_arm_import_memory_dma_buf cl_arm_import_memory_android_hardware_buffer"
#define SIDE 8
#define WIDTH 32
#define HEIGHT 24
#define BYTES ((size_t)WIDTH * HEIGHT * 3)
#define MEMORIES 5
#define PATIENCE 10000 /* of 2 ms */
#define IN_BUFFER 200
#define IN_VIEW 50

static fake_opencl *fake;
static fake_window *window;

typedef struct world {
    pthread_mutex_t lock;
    uint32_t offered, taken, imported, released;
    size_t short_by; /* bytes that buffers lack */
    bool refuse;     /* the driver does, and what locks buffers, too */
    fake_hardware_buffer hardware[MEMORIES];
    uint8_t pixels[BYTES];
    mts_bundle_bytes bytes;
    char warning[600];
    uint32_t warnings;
    view *view;
    engine *engine;
    engine_source source;
} world;

static void *take(void *context, mts_frame *frame)
{
    world *w = context;
    void *picture = NULL;
    (void)pthread_mutex_lock(&w->lock);
    if (w->taken < w->offered) {
        picture = &w->hardware[w->taken++ % MEMORIES];
    }
    (void)pthread_mutex_unlock(&w->lock);
    mts_frame_default(frame);
    frame->data = w->pixels;
    frame->width = WIDTH;
    frame->height = HEIGHT;
    return picture;
}

static bool import(void *context, void *picture, mts_frame *frame)
{
    world *w = context;
    (void)pthread_mutex_lock(&w->lock);
    w->imported++;
    (void)pthread_mutex_unlock(&w->lock);
    if (w->refuse) {
        fake->fail = -1001;
        window->fail = true;
    }
    return frame_to_buffer(picture, frame);
}

static void release(void *context, void *picture)
{
    world *w = context;
    (void)picture;
    (void)pthread_mutex_lock(&w->lock);
    w->released++;
    (void)pthread_mutex_unlock(&w->lock);
}

static mts_status bundle_open(void *context, mts_runtime *runtime, mts_bundle **out, const char **why)
{
    const world *w = context;
    (void)why;
    return mts_bundle_open_memory(runtime, w->bytes.data, w->bytes.size, out);
}

static void write_log(void *context, mts_log_severity severity, const char *text)
{
    world *w = context;
    if (severity == MTS_LOG_WARNING && strstr(text, "is copied")) {
        w->warnings++;
        (void)snprintf(w->warning, sizeof w->warning, "%s", text);
    }
}

static void world_open(world *w, const char *extensions, size_t short_by)
{
    static const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = SIDE, .width = SIDE, .deviation = 1.0f};
    uint8_t grey[BYTES];
    memset(w, 0, sizeof *w);
    memset(grey, IN_BUFFER, sizeof grey);
    *fake = (fake_opencl){.asked = fake->asked, .extensions = extensions};
    *window = (fake_window){.held = 0};
    (void)pthread_mutex_init(&w->lock, NULL);
    frame_bundle_make(&task, 1, &w->bytes);
    memset(w->pixels, IN_VIEW, BYTES);
    for (uint32_t i = 0; i < MEMORIES; i++) {
        const int fd = memfd_create("picture", MFD_CLOEXEC);
        assert_int_equal(write(fd, grey, BYTES - short_by), BYTES - short_by);
        w->hardware[i] = (fake_hardware_buffer){FAKE_HARDWARE_BUFFER, fd};
    }
    w->view = view_create();
    assert_non_null(w->view);
    w->source = (engine_source){.context = w, .take = take, .import = import, .release = release};
}

static uint32_t count_released(world *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const uint32_t released = w->released;
    (void)pthread_mutex_unlock(&w->lock);
    return released;
}

/* One picture after another, until each has come back. */
static void run_pictures(world *w, uint32_t count)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    const engine_options options = {.device = "opencl:0",
                                    .frames_in_flight = 3,
                                    .view = w->view,
                                    .context = w,
                                    .bundle_open = bundle_open,
                                    .log = write_log};
    w->engine = engine_create(&options);
    assert_non_null(w->engine);
    engine_resume(w->engine, &w->source);
    for (uint32_t i = 1; i <= count; i++) {
        int naps = 0;
        (void)pthread_mutex_lock(&w->lock);
        w->offered++;
        (void)pthread_mutex_unlock(&w->lock);
        engine_notify(w->engine);
        for (; count_released(w) < i && naps < PATIENCE; naps++) {
            (void)nanosleep(&nap, NULL);
        }
        assert_true(naps < PATIENCE);
    }
    engine_destroy(&w->engine);
}

static void check_answer(world *w, const char *answer)
{
    char text[RESULTS_TEXT + 256];
    view_text(w->view, text, sizeof text);
    if (!strstr(text, answer) || strstr(text, "buffer")) { /* a failure's sentence would still be there */
        fail_msg("not %s, but %s", answer, text);
    }
}

static void world_close(world *w)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    for (int naps = 0; fake->alive > 0 && naps < PATIENCE; naps++) {
        (void)nanosleep(&nap, NULL); /* drivers may release memory a little later */
    }
    assert_int_equal(fake->alive, 0);
    assert_int_equal(fake->misuses, 0);
    assert_int_equal(window->held, 0);
    assert_int_equal(window->locked, 0);
    assert_int_equal(w->taken, w->released);
    view_destroy(&w->view);
    mts_bundle_bytes_release(&w->bytes);
    for (uint32_t i = 0; i < MEMORIES; i++) {
        assert_int_equal(close(w->hardware[i].fd), 0);
    }
    (void)pthread_mutex_destroy(&w->lock);
}

static void pictures_go_to_the_device_as_hardware_buffers(void **state)
{
    world w;
    (void)state;
    world_open(&w, ARM, 0);
    run_pictures(&w, 3 * MEMORIES);
    check_answer(&w, "(200.000)");
    assert_int_equal(w.imported, 3 * MEMORIES);
    assert_int_equal(fake->imports, MEMORIES);
    assert_int_equal(window->locks, 0);
    assert_int_equal(w.warnings, 0);
    world_close(&w);
}

static void a_device_that_reads_no_buffers_is_not_asked(void **state)
{
    world w;
    (void)state;
    world_open(&w, NULL, 0);
    run_pictures(&w, 3);
    check_answer(&w, "(50.000)");
    assert_int_equal(w.imported, 0);
    world_close(&w);
}

static void a_device_that_cannot_take_them_gets_the_processors_view_from_then_on(void **state)
{
    world w;
    (void)state;
    world_open(&w, ARM, 0);
    w.refuse = true;
    run_pictures(&w, 6);
    check_answer(&w, "(50.000)");
    assert_int_equal(w.imported, 1);
    assert_int_equal(fake->imports, 0);
    assert_int_equal(w.warnings, 1);
    assert_non_null(strstr(w.warning, "AHardwareBuffer_lock"));
    world_close(&w);
}

/* The library says INVALID_ARGUMENT: it cannot know that another view of the picture would do. */
static void buffers_that_are_refused_for_any_reason_cost_no_picture_and_are_soon_not_tried(void **state)
{
    world w;
    (void)state;
    world_open(&w, ARM, 100);
    run_pictures(&w, 8);
    check_answer(&w, "(50.000)");
    assert_int_equal(w.imported, 3);
    assert_int_equal(fake->imports, 0);
    assert_int_equal(w.warnings, 1);
    assert_non_null(strstr(w.warning, "hardware buffer"));
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
        cmocka_unit_test(pictures_go_to_the_device_as_hardware_buffers),
        cmocka_unit_test(a_device_that_reads_no_buffers_is_not_asked),
        cmocka_unit_test(a_device_that_cannot_take_them_gets_the_processors_view_from_then_on),
        cmocka_unit_test(buffers_that_are_refused_for_any_reason_cost_no_picture_and_are_soon_not_tried),
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
