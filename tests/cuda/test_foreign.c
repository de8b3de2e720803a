/*
 * The caller's CUDA context and stream: everything runs there, nothing of the caller's is destroyed, and the
 * context that is current in the caller's thread stays what it was after every call.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/cuda_fixture.h"

/* What a program that uses CUDA itself calls. */
static struct {
    CUresult (*cuInit)(unsigned int);
    CUresult (*cuCtxCreate_v2)(CUcontext *, unsigned int, CUdevice);
    CUresult (*cuCtxDestroy_v2)(CUcontext);
    CUresult (*cuCtxPushCurrent_v2)(CUcontext);
    CUresult (*cuCtxPopCurrent_v2)(CUcontext *);
    CUresult (*cuStreamCreate)(CUstream *, unsigned int);
    CUresult (*cuStreamDestroy_v2)(CUstream);
} own;

static cuda_world w;
static CUcontext context, elsewhere; /* the one that is given, and the one that is current all the time */
static CUstream stream;

static void look_up(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(out, &symbol, sizeof symbol);
}

static int make_own(void **state)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    (void)state;
    if (!library) {
        return -1;
    }
    look_up(library, "cuInit", &own.cuInit);
    look_up(library, "cuCtxCreate_v2", &own.cuCtxCreate_v2);
    look_up(library, "cuCtxDestroy_v2", &own.cuCtxDestroy_v2);
    look_up(library, "cuCtxPushCurrent_v2", &own.cuCtxPushCurrent_v2);
    look_up(library, "cuCtxPopCurrent_v2", &own.cuCtxPopCurrent_v2);
    look_up(library, "cuStreamCreate", &own.cuStreamCreate);
    look_up(library, "cuStreamDestroy_v2", &own.cuStreamDestroy_v2);
    cuda_world_init(&w, NULL);
    return own.cuInit(0) == CUDA_SUCCESS && own.cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS &&
                   own.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
                   own.cuCtxPopCurrent_v2(NULL) == CUDA_SUCCESS &&
                   own.cuCtxCreate_v2(&elsewhere, 0, 0) == CUDA_SUCCESS
               ? 0
               : -1;
}

static int destroy_own(void **state)
{
    (void)state;
    assert_int_equal(own.cuCtxDestroy_v2(elsewhere), CUDA_SUCCESS);
    assert_int_equal(own.cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    (void)own.cuStreamDestroy_v2(stream);
    assert_int_equal(own.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    cuda_expect_clean();
    return 0;
}

static void expect_undisturbed(void)
{
    assert_ptr_equal(fake_cuda_current(), elsewhere);
    assert_int_equal(fake_cuda_depth(), 1);
}

static void make_world(void *given_context, void *given_stream)
{
    mts_error error = {MTS_STATUS_OK, ""};
    w.base.options.external_context = given_context;
    w.base.options.external_queue = given_stream;
    if (cuda_world_make(&w, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    expect_undisturbed();
}

/* Every entry of the vtable; the caller's thread is looked at after each. */
static void use_everything(void)
{
    mts_launch_time times[CUDA_LAUNCHES];
    assert_int_equal(cuda_world_set(&w, NULL), MTS_STATUS_OK);
    expect_undisturbed();
    assert_int_equal(mts_command_list_submit(w.list, NULL), MTS_STATUS_OK);
    expect_undisturbed();
    assert_int_equal(mts_device_wait(w.base.device, NULL), MTS_STATUS_OK);
    expect_undisturbed();
    cuda_world_expect(&w, 1, 20, 300);
    expect_undisturbed();
    assert_int_equal(mts_buffer_fill(w.act, 0, 64, 0, NULL), MTS_STATUS_OK);
    expect_undisturbed();
    w.launches[0].first = 3;
    assert_int_equal(mts_command_list_update(w.list, w.launches, CUDA_LAUNCHES, NULL), MTS_STATUS_OK);
    expect_undisturbed();
    assert_int_equal(mts_command_list_profile(w.list, times, CUDA_LAUNCHES, NULL), MTS_STATUS_OK);
    expect_undisturbed();
}

static void the_callers_context_and_stream_are_used_and_left(void **state)
{
    (void)state;
    const uint32_t streams = fake_cuda_called("cuStreamCreate");
    make_world(context, stream);
    use_everything();
    assert_int_equal(fake_cuda_called("cuStreamCreate"), streams);
    assert_int_equal(fake_cuda_called("cuDevicePrimaryCtxRetain"), 0);
    cuda_world_close(&w);
    expect_undisturbed();
    const fake_cuda_counts counts = fake_cuda_count();
    assert_int_equal(counts.contexts, 2);
    assert_int_equal(counts.streams, 1);
    assert_int_equal(
        counts.events + counts.modules + counts.device_blocks + counts.host_blocks + counts.graphs, 0);
    assert_int_equal(counts.orphans + counts.misuses, 0);
}

static void in_the_callers_context_a_stream_of_our_own_is_made_and_destroyed(void **state)
{
    (void)state;
    make_world(context, NULL);
    assert_int_equal(fake_cuda_count().streams, 2);
    use_everything();
    cuda_world_close(&w);
    assert_int_equal(fake_cuda_count().streams, 1);
    expect_undisturbed();
}

static void without_the_callers_the_primary_context_is_held_and_let_go(void **state)
{
    (void)state;
    make_world(NULL, NULL);
    assert_int_equal(fake_cuda_count().contexts, 3);
    use_everything();
    cuda_world_close(&w);
    assert_int_equal(fake_cuda_count().contexts, 2);
    expect_undisturbed();
}

static void a_stream_without_its_context_is_refused(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    w.base.options.external_queue = stream;
    assert_int_equal(mts_backend_cuda.open(0, &w.base.options, &w.base.device, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_null(w.base.device);
    cuda_world_close(&w);
    expect_undisturbed();
}

static void a_device_that_is_lost_in_the_callers_context_resets_nothing(void **state)
{
    (void)state;
    make_world(context, stream);
    fake_cuda_fail_named("cuStreamSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(mts_device_wait(w.base.device, NULL), MTS_STATUS_DEVICE_LOST);
    cuda_world_close(&w);
    expect_undisturbed();
    assert_int_equal(fake_cuda_called("cuDevicePrimaryCtxReset"), 0);
    assert_int_equal(fake_cuda_count().contexts, 2);
    assert_int_equal(fake_cuda_count().orphans, 0);
}

#define OWN_TEST(name) cmocka_unit_test_setup_teardown(name, make_own, destroy_own)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_TEST(the_callers_context_and_stream_are_used_and_left),
        OWN_TEST(in_the_callers_context_a_stream_of_our_own_is_made_and_destroyed),
        OWN_TEST(without_the_callers_the_primary_context_is_held_and_let_go),
        OWN_TEST(a_stream_without_its_context_is_refused),
        OWN_TEST(a_device_that_is_lost_in_the_callers_context_resets_nothing),
    };
    const int skipped = cuda_machine_check();
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
