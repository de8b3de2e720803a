/*
 * What the CUDA backend makes of drivers and compilers that are missing, too old, or have less than others.
 *
 * Which libraries there are is decided when a process starts, so each case runs in one of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/cuda_fixture.h"
#include "mts/mts.h"

static cuda_world w;

static void expect_refused(mts_status status, const char *reason)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_device_info info;
    cuda_world_init(&w, NULL);
    assert_int_equal(mts_backend_cuda.count(), 0);
    assert_int_not_equal(mts_backend_cuda.describe(0, &info, NULL), MTS_STATUS_OK);
    const mts_status found = mts_backend_cuda.open(0, &w.base.options, &w.base.device, &error);
    if (found != status || !strstr(error.text, reason)) {
        fail_msg("%s: %s", mts_status_text(found), error.text);
    }
    assert_null(w.base.device);
    cuda_world_close(&w);
    cuda_expect_clean();
}

static void no_driver(void **state)
{
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    char text[256] = "";
    (void)state;
    expect_refused(MTS_STATUS_NOT_FOUND, "no NVIDIA driver");
    mts_runtime_options_default(&options);
    options.device = "cuda:0";
    options.error_text = text;
    options.error_size = sizeof text;
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(text, "NVIDIA"));
    options.device = "auto"; /* another one */
    assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_OK);
    mts_runtime_destroy(&runtime);
}

static void incomplete(void **state)
{
    (void)state;
    expect_refused(MTS_STATUS_NOT_FOUND, "cuStreamSynchronize");
}

static void too_old(void **state)
{
    (void)state;
    expect_refused(MTS_STATUS_UNSUPPORTED, "too old: it knows CUDA 9.2");
}

static void no_device(void **state)
{
    (void)state;
    expect_refused(MTS_STATUS_NOT_FOUND, "CUDA_ERROR_NO_DEVICE");
}

/* No graphs, no linker, no names of errors. */
static void bare(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    cuda_world_open(&w, NULL);
    assert_int_equal(cuda_world_set(&w, &error), MTS_STATUS_OK);
    w.launches[1].first = 3;
    assert_int_equal(mts_command_list_update(w.list, w.launches, CUDA_LAUNCHES, &error), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(w.list, &error), MTS_STATUS_OK);
    assert_int_equal(fake_cuda_called("cuLaunchKernel"), CUDA_LAUNCHES);
    cuda_world_expect(&w, 1, 7, 300);
    fake_cuda_fail_named("cuMemsetD32Async", 1, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(mts_buffer_fill(w.act, 0, 4, 0, &error), MTS_STATUS_DEVICE);
    assert_non_null(strstr(error.text, "cuMemsetD32Async"));
    assert_non_null(strstr(error.text, "(1)"));
    cuda_world_close(&w);
    cuda_expect_clean();
}

static void no_compiler(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    cuda_world_init(&w, NULL);
    assert_int_equal(cuda_world_make(&w, &error), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(error.text, "kernel 'advance'"));
    assert_non_null(strstr(error.text, "mts kernels"));
    assert_non_null(strstr(error.text, "libnvrtc"));
    cuda_world_close(&w);
    cuda_expect_clean();
}

/* PTX from a compiler of CUDA 10.2, which the driver makes a binary of. */
static void old_compiler(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    cuda_world_open(&w, NULL);
    assert_int_equal(fake_cuda_called("cuLinkComplete"), 1);
    assert_int_equal(fake_cuda_called("nvrtcGetPTX"), 1);
    assert_int_equal(cuda_world_set(&w, &error), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(w.list, &error), MTS_STATUS_OK);
    cuda_world_expect(&w, 1, 20, 300);
    cuda_world_close(&w);
    cuda_expect_clean();
}

/* A machine without a GPU makes programs for a board. */
static void offline(void **state)
{
    const mts_kernel_desc desc = {.name = "scale_any__f32_planar", .defines = "-DVEC=1"};
    mts_error error = {MTS_STATUS_OK, ""};
    mts_kernel *kernel = NULL;
    (void)state;
    cuda_world_init(&w, NULL);
    assert_int_equal(mts_backend_cuda.count(), 0);
    if (mts_backend_cuda.open_named("sm_62", &w.base.options, &w.base.device, &error) != MTS_STATUS_OK ||
        mts_kernel_create(w.base.device, &desc, &kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(w.base.device->info.arch, 62);
    assert_int_equal(fake_cuda_called("nvrtcGetPTX"), 1);
    mts_kernel_destroy(&kernel);
    cuda_world_close(&w);
    cuda_expect_clean();
}

static void each_case_in_a_process_of_its_own(void **state)
{
    (void)state;
    cuda_scenario("no_driver", "no_driver", true, NULL);
    cuda_scenario("incomplete", "incomplete", true, NULL);
    cuda_scenario("too_old", "", true, "MTS_FAKE_CUDA_DRIVER=9020");
    cuda_scenario("no_device", "", true, "MTS_FAKE_CUDA_DEVICES=0");
    cuda_scenario("bare", "bare", true, NULL);
    cuda_scenario("no_compiler", "no_compiler", true, NULL);
    cuda_scenario("old_compiler", "old", true, NULL);
    cuda_scenario("old_compiler", "old", true, "MTS_FAKE_CUDA_NVRTC=10020");
    cuda_scenario("offline", "no_driver", true, NULL);
}

static void two_devices_are_counted_and_a_third_is_not_found(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_device_info info;
    (void)state;
    cuda_world_init(&w, NULL);
    fake_cuda_device()->devices = 2;
    fake_cuda_device()->arch = 72;
    assert_int_equal(mts_backend_cuda.count(), 2);
    assert_int_equal(mts_backend_cuda.describe(1, &info, &error), MTS_STATUS_OK);
    assert_string_equal(info.backend, "cuda");
    assert_string_equal(info.name, "Emulated GPU 1");
    assert_int_equal(info.arch, 72);
    assert_true(info.is_gpu && info.half_products && info.matrix_units);
    assert_int_equal(mts_backend_cuda.open(2, &w.base.options, &w.base.device, &error), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(error.text, "2 were found"));
    cuda_world_close(&w);
    cuda_expect_clean();
}

static const struct CMUnitTest scenarios[] = {
    cmocka_unit_test(no_driver),    cmocka_unit_test(incomplete), cmocka_unit_test(too_old),
    cmocka_unit_test(no_device),    cmocka_unit_test(bare),       cmocka_unit_test(no_compiler),
    cmocka_unit_test(old_compiler), cmocka_unit_test(offline),
};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_in_a_process_of_its_own),
        cmocka_unit_test(two_devices_are_counted_and_a_third_is_not_found),
    };
    const int skipped = cuda_machine_check();
    if (skipped) {
        return skipped;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
        return cmocka_run_group_tests(scenarios, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
