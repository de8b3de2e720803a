/*
 * Sessions of the public API on the CUDA backend: the same bits as a graph and launch by launch, steady runs
 * that make nothing, too little memory, kernels that do not fit, and a device that is lost.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda/cuda_fixture.h"
#include "mts/mtsc.h"
#include "support/api_fixture.h"

#define PIXELS ((size_t)3 * 32 * 32)
#define CLASSES 8u
#define TASKS 2u
#define OUTPUTS (TASKS * CLASSES)
#define RUNS 3u

typedef struct session_world {
    api_fixture fixture;
    mts_bundle *bundle;
    mts_session *session;
} session_world;

static char bundle_path[64];
static session_world s;
static const char *cache_dir; /* of the runtimes that are made */
static uint32_t tuning_ms;    /* of the sessions that are made */

/* Two small networks with a common input that share most channels. */
static int make_bundle(void **state)
{
    static const double prune[] = {0.9, 0.85};
    mtsc_synth_options options;
    (void)state;
    mtsc_synth_options_default(&options);
    options.tasks = TASKS;
    options.prune = prune;
    options.prune_count = TASKS;
    options.input = 32;
    options.classes = CLASSES;
    (void)snprintf(bundle_path, sizeof bundle_path, "cuda-session-%ld.mtsb", (long)getpid());
    return mtsc_synth(&options, bundle_path, NULL, NULL) == MTS_STATUS_OK ? 0 : -1;
}

static int remove_bundle(void **state)
{
    (void)state;
    return unlink(bundle_path);
}

static void open_on(const char *device, mts_use replay)
{
    mts_runtime_options options = api_options(&s.fixture, device);
    options.replay = replay;
    options.cache_dir = cache_dir;
    s.bundle = NULL;
    s.session = NULL;
    if (mts_runtime_create(&options, &s.fixture.runtime) != MTS_STATUS_OK ||
        mts_bundle_open(s.fixture.runtime, bundle_path, &s.bundle) != MTS_STATUS_OK) {
        fail_msg("%s", s.fixture.error);
    }
}

static mts_precision precision; /* of the sessions that are made */

static mts_status make_session(mts_strategy strategy)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options.strategy = strategy;
    options.precision = precision;
    options.tuning_ms = tuning_ms;
    return mts_session_create(s.fixture.runtime, s.bundle, &options, &s.session);
}

static void need_session(mts_strategy strategy)
{
    if (make_session(strategy) != MTS_STATUS_OK) {
        fail_msg("%s", s.fixture.error);
    }
}

static mts_status run(uint32_t seed)
{
    uint8_t pixels[PIXELS];
    mts_ticket ticket = 0;
    api_pixels(pixels, seed);
    const mts_frame frame = api_frame(pixels);
    const mts_status status = mts_session_submit(s.session, &frame, &ticket);
    memset(pixels, 0, sizeof pixels); /* it is ours again */
    return status == MTS_STATUS_OK ? mts_session_wait(s.session, ticket, MTS_TIMEOUT_INFINITE) : status;
}

static void need_run(uint32_t seed)
{
    if (run(seed) != MTS_STATUS_OK) {
        fail_msg("%s", s.fixture.error);
    }
}

static void take_outputs(float out[OUTPUTS])
{
    for (uint32_t t = 0; t < TASKS; t++) {
        mts_task_desc task = {.size = sizeof task};
        mts_tensor tensor;
        assert_int_equal(mts_bundle_task(s.bundle, t, &task), MTS_STATUS_OK);
        assert_int_equal(mts_session_output(s.session, task.name, 0, &tensor), MTS_STATUS_OK);
        assert_int_equal(tensor.bytes, CLASSES * sizeof *out);
        memcpy(out + t * CLASSES, tensor.data, tensor.bytes);
    }
}

static void close_all(void)
{
    mts_session_destroy(&s.session);
    mts_bundle_destroy(&s.bundle);
    api_close(&s.fixture);
    cuda_expect_clean();
}

static void outputs_of(const char *device, mts_use replay, mts_strategy strategy, float out[RUNS * OUTPUTS])
{
    open_on(device, replay);
    need_session(strategy);
    for (uint32_t i = 0; i < RUNS; i++) {
        need_run(i + 1);
        take_outputs(out + i * OUTPUTS);
    }
    close_all();
}

static void expect_close(const float *expected, const float *found, size_t count, float tolerance)
{
    float most = 0.0f;
    for (size_t i = 0; i < count; i++) {
        const float size = expected[i] < 0.0f ? -expected[i] : expected[i];
        most = size > most ? size : most;
    }
    for (size_t i = 0; i < count; i++) {
        const float difference = expected[i] > found[i] ? expected[i] - found[i] : found[i] - expected[i];
        if (!(difference <= tolerance * most)) {
            fail_msg("output %zu: %.9g instead of %.9g", i, (double)found[i], (double)expected[i]);
        }
    }
}

static void a_graph_gives_the_bits_of_plain_launches_and_the_reference_agrees(void **state)
{
    static const mts_strategy strategies[] = {MTS_STRATEGY_SEQUENTIAL, MTS_STRATEGY_COMPACT,
                                              MTS_STRATEGY_NETFUSE, MTS_STRATEGY_DENSE};
    float reference[RUNS * OUTPUTS], plain[RUNS * OUTPUTS], recorded[RUNS * OUTPUTS];
    (void)state;
    fake_cuda_reset();
    outputs_of("reference", MTS_USE_AUTO, MTS_STRATEGY_SEQUENTIAL, reference);
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        outputs_of("cuda:0", MTS_USE_OFF, strategies[i], plain);
        outputs_of("cuda:0", MTS_USE_ON, strategies[i], recorded);
        assert_memory_equal(plain, recorded, sizeof plain);
        expect_close(reference, plain, RUNS * OUTPUTS, 1e-4f);
    }
}

static void so_it_is_in_float16(void **state)
{
    static const mts_precision precisions[] = {MTS_PRECISION_FLOAT16_STORAGE, MTS_PRECISION_FLOAT16};
    float reference[RUNS * OUTPUTS], plain[RUNS * OUTPUTS], recorded[RUNS * OUTPUTS];
    (void)state;
    fake_cuda_reset();
    outputs_of("reference", MTS_USE_AUTO, MTS_STRATEGY_SEQUENTIAL, reference);
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++) {
        precision = precisions[i];
        outputs_of("cuda:0", MTS_USE_OFF, MTS_STRATEGY_COMPACT, plain);
        outputs_of("cuda:0", MTS_USE_ON, MTS_STRATEGY_COMPACT, recorded);
        precision = MTS_PRECISION_FLOAT32;
        assert_memory_equal(plain, recorded, sizeof plain);
        assert_memory_not_equal(plain, reference, sizeof plain);
        expect_close(reference, plain, RUNS * OUTPUTS, 2e-2f);
    }
}

static void a_wait_with_a_limit_is_done_by_another_thread(void **state)
{
    float expected[OUTPUTS], found[OUTPUTS];
    uint8_t pixels[PIXELS];
    mts_ticket ticket = 0;
    (void)state;
    fake_cuda_reset();
    open_on("cuda:0", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_COMPACT);
    need_run(7);
    take_outputs(expected);
    need_run(8);
    api_pixels(pixels, 7);
    const mts_frame frame = api_frame(pixels);
    assert_int_equal(mts_session_submit(s.session, &frame, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(s.session, ticket, 60000), MTS_STATUS_OK);
    take_outputs(found);
    assert_memory_equal(expected, found, sizeof expected);
    close_all();
}

/* Calls that make something, or wait for more than the run. */
static bool makes_something(const char *name)
{
    static const char *const makers[] = {"cuMemAlloc", "cuMemFree", "cuMemHost",   "cuModule", "cuStreamC",
                                         "cuStreamD",  "cuEventC",  "cuEventD",    "cuGraphC", "cuGraphA",
                                         "cuGraphI",   "cuGraphD",  "cuGraphExec", "cuLink",   "nvrtc",
                                         "cuDevice",   "cuInit",    NULL};
    for (const char *const *maker = makers; *maker; maker++) {
        if (strncmp(name, *maker, strlen(*maker)) == 0) {
            return true;
        }
    }
    return false;
}

static void a_steady_run_makes_nothing_and_submits_one_graph(void **state)
{
    (void)state;
    fake_cuda_reset();
    open_on("cuda:0", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_DENSE);
    need_run(1);
    for (uint32_t i = 0; i < RUNS; i++) {
        const uint32_t before = fake_cuda_calls();
        const uint32_t graphs = fake_cuda_called("cuGraphLaunch");
        const size_t allocations = s.fixture.calls;
        need_run(i + 2);
        for (uint32_t k = before + 1; k <= fake_cuda_calls(); k++) {
            if (makes_something(fake_cuda_call(k))) {
                fail_msg("a steady run calls %s", fake_cuda_call(k));
            }
        }
        assert_int_equal(fake_cuda_called("cuGraphLaunch"), graphs + 1);
        assert_int_equal(s.fixture.calls, allocations);
    }
    assert_int_equal(fake_cuda_called("cuStreamCreate"), 1);
    assert_int_equal(fake_cuda_count().streams, 1);
    close_all();
}

/* From pageable memory the driver copies while the call waits. */
static void kernel_parameters_of_some_tasks_come_from_pinned_memory(void **state)
{
    (void)state;
    fake_cuda_reset();
    open_on("cuda:0", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_COMPACT);
    need_run(1);
    const uint32_t pageable = fake_cuda_count().pageable;
    const uint32_t copies = fake_cuda_called("cuMemcpyHtoDAsync_v2");
    mts_task_desc task = {.size = sizeof task};
    assert_int_equal(mts_bundle_task(s.bundle, 0, &task), MTS_STATUS_OK);
    assert_int_equal(mts_session_enable(s.session, task.name, 0), MTS_STATUS_OK);
    need_run(2);
    assert_true(fake_cuda_called("cuMemcpyHtoDAsync_v2") >= copies + 2); /* all parameters, and a region */
    assert_int_equal(fake_cuda_count().pageable, pageable);
    close_all();
}

static void the_emulated_gpu_is_chosen_by_itself(void **state)
{
    mts_device_desc desc = {.size = sizeof desc};
    (void)state;
    fake_cuda_reset();
    open_on("auto", MTS_USE_AUTO);
    assert_int_equal(mts_runtime_device(s.fixture.runtime, &desc), MTS_STATUS_OK);
    assert_string_equal(desc.id, "cuda:0");
    assert_int_equal(desc.is_gpu, 1);
    close_all();
}

static void too_little_memory_is_said_and_what_fits_still_runs(void **state)
{
    float expected[OUTPUTS], found[OUTPUTS];
    (void)state;
    fake_cuda_reset();
    open_on("cuda:0", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_DENSE);
    need_run(1);
    take_outputs(expected);
    mts_session_destroy(&s.session);
    fake_cuda_device()->memory = 65536;
    const mts_status status = make_session(MTS_STRATEGY_DENSE);
    assert_true(status == MTS_STATUS_OUT_OF_MEMORY || status == MTS_STATUS_LIMIT);
    assert_null(s.session);
    assert_int_equal(fake_cuda_count().device_blocks, 0);
    fake_cuda_device()->memory = (uint64_t)1 << 30;
    need_session(MTS_STRATEGY_DENSE);
    need_run(1);
    take_outputs(found);
    assert_memory_equal(expected, found, sizeof expected);
    close_all();
}

static bool explains(const char *text)
{
    static char buffer[65536];
    size_t needed = 0;
    assert_int_equal(mts_session_explain(s.session, MTS_REPORT_TEXT, buffer, sizeof buffer, &needed),
                     MTS_STATUS_OK);
    return strstr(buffer, text);
}

/* Registers, shared memory: the driver says so when a program is loaded. */
static void a_kernel_that_does_not_fit_is_replaced_by_a_smaller_one(void **state)
{
    float expected[OUTPUTS], found[OUTPUTS];
    (void)state;
    fake_cuda_reset();
    open_on("reference", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_DENSE);
    need_run(1);
    take_outputs(expected);
    close_all();
    open_on("cuda:0", MTS_USE_AUTO);
    fake_cuda_fail_named("cuModuleLoadData", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    need_session(MTS_STRATEGY_DENSE);
    assert_true(fake_cuda_failed());
    assert_true(explains("kernels as planned cannot be used on this device"));
    need_run(1);
    take_outputs(found);
    expect_close(expected, found, OUTPUTS, 1e-4f);
    close_all();
}

static void a_lost_device_is_told_and_a_new_runtime_works(void **state)
{
    static const char *const calls[] = {"cuEventSynchronize", "cuGraphLaunch", "cuMemcpyHtoDAsync_v2"};
    float expected[OUTPUTS], found[OUTPUTS];
    (void)state;
    fake_cuda_reset();
    open_on("cuda:0", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_DENSE);
    need_run(1);
    take_outputs(expected);
    close_all();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        open_on("cuda:0", MTS_USE_AUTO);
        need_session(MTS_STRATEGY_DENSE);
        need_run(1);
        fake_cuda_fail_named(calls[i], 1, CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_int_equal(run(2), MTS_STATUS_DEVICE_LOST);
        assert_true(fake_cuda_failed());
        assert_int_equal(run(3), MTS_STATUS_DEVICE_LOST);
        close_all();
        open_on("cuda:0", MTS_USE_AUTO);
        need_session(MTS_STRATEGY_DENSE);
        need_run(1);
        take_outputs(found);
        assert_memory_equal(expected, found, sizeof expected);
        close_all();
    }
}

/* Every call of a session's first frames fails once; the runtime goes on where the device does. */
static void each_call_of_a_run_that_fails_is_told_and_the_next_run_is_right(void **state)
{
    float expected[OUTPUTS], found[OUTPUTS];
    (void)state;
    fake_cuda_reset();
    open_on("cuda:0", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_DENSE);
    need_run(1);
    take_outputs(expected);
    for (uint32_t at = 1;; at++) {
        fake_cuda_fail(at, CUDA_ERROR_INVALID_VALUE);
        const mts_status status = run(1);
        const bool failed = fake_cuda_failed();
        fake_cuda_fail(0, 0);
        assert_true(status == MTS_STATUS_OK || (failed && status == MTS_STATUS_DEVICE));
        need_run(1);
        take_outputs(found);
        assert_memory_equal(expected, found, sizeof expected);
        assert_int_equal(fake_cuda_depth(), 0);
        if (!failed) {
            assert_true(at > 5);
            break;
        }
    }
    close_all();
}

/* Another address for every run: the graph's launches change, and no graph is made. */
static void borrowed_inputs_move_without_another_graph(void **state)
{
    static float frames[3][PIXELS];
    float copied[OUTPUTS], in_place[OUTPUTS];
    mts_session_options options;
    mts_ticket ticket = 0;
    (void)state;
    fake_cuda_reset();
    fake_cuda_device()->integrated = true;
    open_on("cuda:0", MTS_USE_AUTO);
    mts_session_options_default(&options);
    options.zero_copy_inputs = 1;
    assert_int_equal(mts_session_create(s.fixture.runtime, s.bundle, &options, &s.session), MTS_STATUS_OK);
    for (uint32_t i = 0; i < 3; i++) {
        mts_tensor tensor = {.data = frames[i],
                             .bytes = sizeof frames[i],
                             .type = MTS_TYPE_FLOAT32,
                             .rank = 4,
                             .dims = {1, 3, 32, 32}};
        for (size_t k = 0; k < PIXELS; k++) {
            frames[i][k] = (float)((k * (i + 3) * 37) % 251) / 125.0f - 1.0f;
        }
        assert_int_equal(mts_session_input(s.session, "t0", 0, &tensor), MTS_STATUS_OK);
        assert_int_equal(mts_session_submit(s.session, NULL, &ticket), MTS_STATUS_OK);
        assert_int_equal(mts_session_wait(s.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
        take_outputs(in_place);
        if (i == 0) {
            fake_cuda_reset(); /* counts from here on */
            fake_cuda_device()->integrated = true;
        }
    }
    assert_true(fake_cuda_called("cuGraphExecKernelNodeSetParams") > 0);
    assert_int_equal(fake_cuda_called("cuGraphCreate"), 0);
    assert_int_equal(fake_cuda_called("cuGraphLaunch"), 2);
    assert_int_equal(fake_cuda_called("cuLaunchKernel"), 0);
    close_all();
    open_on("reference", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_COMPACT);
    mts_tensor last = {.data = frames[2],
                       .bytes = sizeof frames[2],
                       .type = MTS_TYPE_FLOAT32,
                       .rank = 4,
                       .dims = {1, 3, 32, 32}};
    assert_int_equal(mts_session_input(s.session, "t0", 0, &last), MTS_STATUS_OK);
    assert_int_equal(mts_session_submit(s.session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(s.session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    take_outputs(copied);
    expect_close(copied, in_place, OUTPUTS, 1e-4f);
    close_all();
}

static void a_program_with_a_context_of_its_own_hands_it_over(void **state)
{
    float expected[RUNS * OUTPUTS], found[RUNS * OUTPUTS];
    CUcontext context = NULL;
    CUresult (*create)(CUcontext *, unsigned int, CUdevice) = NULL;
    CUresult (*destroy)(CUcontext) = NULL;
    CUresult (*init)(unsigned int) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    (void)state;
    fake_cuda_reset();
    outputs_of("cuda:0", MTS_USE_AUTO, MTS_STRATEGY_COMPACT, expected);
    assert_non_null(library);
    void *symbols[] = {dlsym(library, "cuCtxCreate_v2"), dlsym(library, "cuCtxDestroy_v2"),
                       dlsym(library, "cuInit")};
    memcpy(&create, &symbols[0], sizeof symbols[0]);
    memcpy(&destroy, &symbols[1], sizeof symbols[1]);
    memcpy(&init, &symbols[2], sizeof symbols[2]);
    assert_int_equal(init(0), CUDA_SUCCESS);
    assert_int_equal(create(&context, 0, 0), CUDA_SUCCESS);
    const uint32_t retained = fake_cuda_called("cuDevicePrimaryCtxRetain");
    mts_runtime_options options = api_options(&s.fixture, "auto");
    options.cuda_context = context;
    assert_int_equal(mts_runtime_create(&options, &s.fixture.runtime), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_open(s.fixture.runtime, bundle_path, &s.bundle), MTS_STATUS_OK);
    need_session(MTS_STRATEGY_COMPACT);
    for (uint32_t i = 0; i < RUNS; i++) {
        need_run(i + 1);
        take_outputs(found + i * OUTPUTS);
        assert_ptr_equal(fake_cuda_current(), context);
        assert_int_equal(fake_cuda_depth(), 1);
    }
    mts_session_destroy(&s.session);
    mts_bundle_destroy(&s.bundle);
    api_close(&s.fixture);
    assert_int_equal(fake_cuda_called("cuDevicePrimaryCtxRetain"), retained);
    assert_int_equal(fake_cuda_count().contexts, 1);
    assert_int_equal(destroy(context), CUDA_SUCCESS);
    cuda_expect_clean();
    assert_memory_equal(expected, found, sizeof expected);
}

static void a_context_names_the_device_that_it_belongs_to(void **state)
{
    static const char *const ids[] = {"auto", "cuda:0", "cuda:1"};
    CUcontext context = NULL;
    CUresult (*create)(CUcontext *, unsigned int, CUdevice) = NULL;
    CUresult (*destroy)(CUcontext) = NULL;
    CUresult (*init)(unsigned int) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    (void)state;
    fake_cuda_reset();
    fake_cuda_device()->devices = 2;
    assert_non_null(library);
    void *symbols[] = {dlsym(library, "cuCtxCreate_v2"), dlsym(library, "cuCtxDestroy_v2"),
                       dlsym(library, "cuInit")};
    memcpy(&create, &symbols[0], sizeof symbols[0]);
    memcpy(&destroy, &symbols[1], sizeof symbols[1]);
    memcpy(&init, &symbols[2], sizeof symbols[2]);
    assert_int_equal(init(0), CUDA_SUCCESS);
    assert_int_equal(create(&context, 0, 1), CUDA_SUCCESS);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        mts_device_desc desc = {.size = sizeof desc};
        mts_runtime_options options = api_options(&s.fixture, ids[i]);
        options.cuda_context = context;
        assert_int_equal(mts_runtime_create(&options, &s.fixture.runtime), MTS_STATUS_OK);
        assert_int_equal(mts_runtime_device(s.fixture.runtime, &desc), MTS_STATUS_OK);
        assert_string_equal(desc.id, "cuda:1");
        assert_string_equal(desc.name, "Emulated GPU 1");
        api_close(&s.fixture);
    }
    assert_int_equal(destroy(context), CUDA_SUCCESS);
    cuda_expect_clean();
}

/* ---- a board without a compiler ---- */

static void run_on_board(uint32_t tuning, float out[OUTPUTS])
{
    tuning_ms = tuning;
    open_on("cuda:0", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_DENSE);
    need_run(1);
    take_outputs(out);
    assert_false(explains("kernels as planned cannot be used on this device"));
    close_all();
    tuning_ms = 0;
}

/* Most of what a tuning tries was not made ahead of time. That is no failure of those kernels: sessions after
 * it use what they used before. */
static void a_board_without_a_compiler_is_tuned(void **state)
{
    float expected[OUTPUTS], found[OUTPUTS];
    (void)state;
    fake_cuda_reset();
    cache_dir = getenv("MTS_TEST_FOLDER");
    run_on_board(0, expected);
    for (uint32_t i = 0; i < 3; i++) {
        run_on_board(i == 0 ? 20000 : 0, found);
        expect_close(expected, found, OUTPUTS, 1e-4f);
    }
}

static void tuning_without_a_compiler_spoils_nothing(void **state)
{
    char folder[] = "/tmp/mts-cuda-session-XXXXXX";
    char command[96];
    (void)state;
    fake_cuda_reset();
    assert_non_null(mkdtemp(folder));
    cache_dir = folder;
    open_on("cuda:sm_87", MTS_USE_AUTO);
    need_session(MTS_STRATEGY_DENSE);
    need_run(1); /* frames have a kernel too */
    close_all();
    cache_dir = NULL;
    assert_int_equal(setenv("MTS_TEST_FOLDER", folder, 1), 0);
    cuda_scenario("a_board_without_a_compiler_is_tuned", "no_compiler", true, NULL);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static const struct CMUnitTest scenarios[] = {
    cmocka_unit_test(a_board_without_a_compiler_is_tuned),
};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_gives_the_bits_of_plain_launches_and_the_reference_agrees),
        cmocka_unit_test(so_it_is_in_float16),
        cmocka_unit_test(a_wait_with_a_limit_is_done_by_another_thread),
        cmocka_unit_test(a_steady_run_makes_nothing_and_submits_one_graph),
        cmocka_unit_test(kernel_parameters_of_some_tasks_come_from_pinned_memory),
        cmocka_unit_test(the_emulated_gpu_is_chosen_by_itself),
        cmocka_unit_test(too_little_memory_is_said_and_what_fits_still_runs),
        cmocka_unit_test(a_kernel_that_does_not_fit_is_replaced_by_a_smaller_one),
        cmocka_unit_test(a_lost_device_is_told_and_a_new_runtime_works),
        cmocka_unit_test(borrowed_inputs_move_without_another_graph),
        cmocka_unit_test(a_program_with_a_context_of_its_own_hands_it_over),
        cmocka_unit_test(a_context_names_the_device_that_it_belongs_to),
        cmocka_unit_test(tuning_without_a_compiler_spoils_nothing),
        cmocka_unit_test(each_call_of_a_run_that_fails_is_told_and_the_next_run_is_right),
    };
    const int skipped = cuda_machine_check();
    if (skipped) {
        return skipped;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
        return cmocka_run_group_tests(scenarios, make_bundle, remove_bundle);
    }
    return cmocka_run_group_tests(tests, make_bundle, remove_bundle);
}
