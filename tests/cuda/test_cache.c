/*
 * Programs of the CUDA backend: kept as binaries, made ahead of time as PTX, and made again whenever a file
 * does not fit.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda/cuda_fixture.h"
#include "platform/os/os.h"

#define KERNEL "scale_any__f32_planar"

static cuda_world w;
static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-cuda-XXXXXX");
    return mkdtemp(folder) && setenv("MTS_TEST_FOLDER", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[96];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Builds the kernel on a newly opened device, which has to work; what the cache did. */
static mts_program_counts build(int arch, int driver)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_program_counts counts = {0};
    cuda_world_init(&w, folder);
    w.base.options.programs = &counts;
    fake_cuda_device()->arch = arch;
    fake_cuda_device()->driver = driver;
    if (cuda_world_make(&w, &error) != MTS_STATUS_OK || cuda_world_set(&w, &error) != MTS_STATUS_OK ||
        mts_command_list_submit(w.list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    cuda_world_expect(&w, 1, 20, 300);
    cuda_world_close(&w);
    cuda_expect_clean();
    return counts;
}

/* The only file with that ending; how many there are. */
static size_t find_files(const char *ending, char path[512])
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot + 1, ending) == 0) {
            (void)snprintf(path, 512, "%s/%s", folder, entry->d_name);
            count++;
        }
    }
    (void)closedir(directory);
    return count;
}

static void a_binary_is_kept_and_found_by_the_next_start(void **state)
{
    char path[512];
    (void)state;
    mts_program_counts counts = build(87, 12020);
    assert_int_equal(counts.built, 1);
    assert_int_equal(counts.cache.misses, 1);
    assert_int_equal(counts.cache.written, 1);
    assert_int_equal(find_files("cubin", path), 1);
    counts = build(87, 12020);
    assert_int_equal(counts.cache.hits, 1);
    assert_int_equal(counts.built, 0);
    assert_int_equal(fake_cuda_called("nvrtcCompileProgram"), 0);
}

/* The scenario of a board without a compiler, in a folder that another program filled. */
static void a_start_without_a_compiler(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s", getenv("MTS_TEST_FOLDER"));
    const mts_program_counts counts = build(87, 12020);
    assert_int_equal(counts.cache.hits, 1);
    assert_int_equal(counts.built, 0);
}

static void a_start_with_kept_binaries_needs_no_compiler(void **state)
{
    (void)state;
    (void)build(87, 12020);
    cuda_scenario("a_start_without_a_compiler", "no_compiler", true, NULL);
}

static void another_device_or_driver_has_binaries_of_its_own(void **state)
{
    char path[512];
    (void)state;
    (void)build(87, 12020);
    assert_int_equal(build(72, 12020).cache.misses, 1);
    assert_int_equal(build(87, 11040).cache.misses, 1);
    assert_int_equal(find_files("cubin", path), 3);
    assert_int_equal(build(87, 12020).cache.hits, 1);
}

static void rewrite(const char *path, size_t keep, size_t flip)
{
    void *data = NULL;
    size_t size = 0;
    assert_int_equal(mts_os_file_read(mts_allocator_default(), path, SIZE_MAX, &data, &size, NULL),
                     MTS_STATUS_OK);
    if (flip < size) {
        ((unsigned char *)data)[flip] ^= 4;
    }
    assert_int_equal(mts_os_file_write(path, data, keep < size ? keep : size, NULL), MTS_STATUS_OK);
    mts_alloc_free(mts_allocator_default(), data);
}

static void a_damaged_file_is_made_again_without_a_word(void **state)
{
    static const size_t cuts[] = {0, 1, 40, 5000};
    static const size_t flips[] = {0, 9, 60, 200, 4000};
    char path[512];
    (void)state;
    (void)build(87, 12020);
    assert_int_equal(find_files("cubin", path), 1);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0] + sizeof flips / sizeof flips[0]; i++) {
        const size_t cut_count = sizeof cuts / sizeof cuts[0];
        rewrite(path, i < cut_count ? cuts[i] : SIZE_MAX, i < cut_count ? SIZE_MAX : flips[i - cut_count]);
        mts_program_counts counts = build(87, 12020);
        assert_int_equal(counts.cache.hits, 0);
        assert_int_equal(counts.built, 1);
        assert_int_equal(counts.cache.rejected, 1);
        assert_int_equal(build(87, 12020).cache.hits, 1);
    }
}

static void a_binary_that_the_driver_refuses_is_made_again(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_program_counts counts = {0};
    (void)state;
    (void)build(87, 12020);
    cuda_world_init(&w, folder);
    w.base.options.programs = &counts;
    fake_cuda_fail_named("cuModuleLoadData", 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_int_equal(cuda_world_make(&w, &error), MTS_STATUS_OK);
    assert_int_equal(counts.cache.rejected, 1);
    assert_int_equal(counts.built, 1);
    cuda_world_close(&w);
    cuda_expect_clean();
}

/* ---- ahead of time ---- */

static const mts_kernel_desc desc = {.name = KERNEL, .defines = "-DVEC=1"};

static void make_ahead(const char *board)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_kernel *kernel = NULL;
    cuda_world_init(&w, folder);
    if (mts_backend_cuda.open_named(board, &w.base.options, &w.base.device, &error) != MTS_STATUS_OK ||
        mts_kernel_create(w.base.device, &desc, &kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    mts_kernel_destroy(&kernel);
    cuda_world_close(&w);
    cuda_expect_clean();
}

static mts_status create_on_board(mts_program_counts *counts, mts_error *error)
{
    mts_kernel *kernel = NULL;
    (void)snprintf(folder, sizeof folder, "%s", getenv("MTS_TEST_FOLDER"));
    cuda_world_init(&w, folder);
    w.base.options.programs = counts;
    fake_cuda_device()->arch = 62;
    fake_cuda_device()->driver = 10020;
    assert_int_equal(mts_backend_cuda.open(0, &w.base.options, &w.base.device, error), MTS_STATUS_OK);
    const mts_status status = mts_kernel_create(w.base.device, &desc, &kernel, error);
    mts_kernel_destroy(&kernel);
    cuda_world_close(&w);
    cuda_expect_clean();
    return status;
}

/* The first start compiles the PTX, the second one finds the binary. */
static void a_board_with_programs_made_ahead(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_program_counts counts = {0};
    char path[512];
    (void)state;
    assert_int_equal(create_on_board(&counts, &error), MTS_STATUS_OK);
    assert_int_equal(counts.built, 0);
    assert_int_equal(fake_cuda_called("cuLinkComplete"), 1);
    assert_int_equal(find_files("cubin", path), 1);
    assert_int_equal(create_on_board(&counts, &error), MTS_STATUS_OK);
    assert_int_equal(fake_cuda_called("cuLinkComplete"), 0);
    assert_int_equal(counts.cache.hits, 1);
}

static void a_board_without_programs(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_program_counts counts = {0};
    (void)state;
    assert_int_equal(create_on_board(&counts, &error), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(error.text, "mts kernels"));
    assert_non_null(strstr(error.text, KERNEL));
}

static void programs_made_ahead_serve_a_board_without_a_compiler(void **state)
{
    char path[512];
    (void)state;
    make_ahead("sm_62");
    assert_int_equal(find_files("ptx", path), 1);
    cuda_scenario("a_board_with_programs_made_ahead", "no_compiler", true, NULL);
}

static void damaged_or_foreign_programs_made_ahead_are_none(void **state)
{
    char path[512];
    (void)state;
    make_ahead("sm_72");
    cuda_scenario("a_board_without_programs", "no_compiler", true, NULL);
    assert_int_equal(find_files("ptx", path), 1);
    assert_int_equal(unlink(path), 0);
    make_ahead("sm_62");
    assert_int_equal(find_files("ptx", path), 1);
    rewrite(path, SIZE_MAX, 3000);
    cuda_scenario("a_board_without_programs", "no_compiler", true, NULL);
}

static void a_compiler_that_is_older_than_the_device_serves_it(void **state)
{
    mts_error error = {MTS_STATUS_OK, ""};
    (void)state;
    cuda_world_init(&w, NULL);
    fake_cuda_device()->arch = 110;
    if (cuda_world_make(&w, &error) != MTS_STATUS_OK || cuda_world_set(&w, &error) != MTS_STATUS_OK ||
        mts_command_list_submit(w.list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(fake_cuda_called("cuLinkComplete"), 1);
    cuda_world_expect(&w, 1, 20, 300);
    cuda_world_close(&w);
    cuda_expect_clean();
}

static void expect_works(void)
{
    mts_error error = {MTS_STATUS_OK, ""};
    if (cuda_world_make(&w, &error) != MTS_STATUS_OK || cuda_world_set(&w, &error) != MTS_STATUS_OK ||
        mts_command_list_submit(w.list, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    cuda_world_expect(&w, 1, 20, 300);
    cuda_world_close(&w);
    cuda_expect_clean();
}

/* The driver of CUDA 12 would refuse a binary of CUDA 13. */
static void a_compiler_that_is_newer_than_the_driver_makes_ptx(void **state)
{
    (void)state;
    cuda_world_init(&w, folder);
    fake_cuda_device()->nvrtc = 13000;
    fake_cuda_device()->driver = 12020;
    expect_works();
    assert_int_equal(fake_cuda_called("nvrtcGetCUBIN"), 0);
    assert_int_equal(fake_cuda_called("cuLinkComplete"), 1);
    cuda_world_init(&w, folder);
    expect_works();
    assert_int_equal(fake_cuda_called("nvrtcCompileProgram"), 0);
}

static void a_new_binary_that_the_driver_refuses_becomes_ptx(void **state)
{
    static const int refusals[] = {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cuda_world_init(&w, NULL);
        fake_cuda_fail_named("cuModuleLoadData", 1, refusals[i]);
        expect_works();
        assert_int_equal(fake_cuda_called("nvrtcGetCUBIN"), 1);
        assert_int_equal(fake_cuda_called("cuLinkComplete"), 1);
    }
}

/* The file is whole, its content is none that a driver could be given. */
static void a_kept_file_that_holds_no_binary_is_made_again(void **state)
{
    static const char texts[][72] = {"no program",
                                     "\177ELF\2\1\1 and then something else altogether, for long enough"};
    mts_program_counts counts = {0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cuda_world_open(&w, folder);
        mts_cu_builder *builder = &((mts_cu_device *)w.base.device)->builder;
        char *options = mts_cu_options_make(builder, "-DX=1");
        char *key = mts_cu_cache_key(builder, false, &cuda_advance, options);
        const mts_cu_image image = {.data = (char *)(uintptr_t)texts[i],
                                    .size = i == 0 ? 10 : sizeof texts[i]};
        assert_int_equal(mts_cu_cache_store(builder, key, &image), MTS_STATUS_OK);
        mts_alloc_free(builder->allocator, options);
        mts_alloc_free(builder->allocator, key);
        cuda_world_close(&w);
        counts = build(87, 12020);
        assert_int_equal(counts.cache.rejected, 1);
        assert_int_equal(counts.built, 1);
        assert_int_equal(fake_cuda_called("cuModuleLoadData"), 1);
    }
}

static void a_kernel_that_does_not_compile_is_told_with_its_name_and_the_compilers_log(void **state)
{
    static const mts_kernel_source broken = {.name = "broken",
                                             .source = "extern \"C\" __global__ void broken(float *act)\n"
                                                       "{\n    act[0] = undeclared_thing;\n}\n"};
    mts_error error = {MTS_STATUS_OK, ""};
    mts_kernel *kernel = NULL;
    (void)state;
    cuda_world_open(&w, folder);
    assert_int_equal(mts_cu_kernel_create_from(w.base.device, &broken, "", &kernel, &error),
                     MTS_STATUS_DEVICE);
    assert_null(kernel);
    assert_non_null(strstr(error.text, "kernel 'broken'"));
    assert_non_null(strstr(error.text, "NVRTC_ERROR_COMPILATION"));
    assert_non_null(strstr(error.text, "undeclared_thing"));
    assert_true(device_fixture_logged(&w.base, "undeclared_thing"));
    assert_false(w.base.device->lost);
    cuda_world_close(&w);
    cuda_expect_clean();
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

static const struct CMUnitTest scenarios[] = {
    cmocka_unit_test(a_start_without_a_compiler),
    cmocka_unit_test(a_board_with_programs_made_ahead),
    cmocka_unit_test(a_board_without_programs),
};

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_binary_is_kept_and_found_by_the_next_start),
        FOLDER_TEST(a_start_with_kept_binaries_needs_no_compiler),
        FOLDER_TEST(another_device_or_driver_has_binaries_of_its_own),
        FOLDER_TEST(a_damaged_file_is_made_again_without_a_word),
        FOLDER_TEST(a_binary_that_the_driver_refuses_is_made_again),
        FOLDER_TEST(programs_made_ahead_serve_a_board_without_a_compiler),
        FOLDER_TEST(damaged_or_foreign_programs_made_ahead_are_none),
        FOLDER_TEST(a_compiler_that_is_older_than_the_device_serves_it),
        FOLDER_TEST(a_compiler_that_is_newer_than_the_driver_makes_ptx),
        FOLDER_TEST(a_new_binary_that_the_driver_refuses_becomes_ptx),
        FOLDER_TEST(a_kept_file_that_holds_no_binary_is_made_again),
        FOLDER_TEST(a_kernel_that_does_not_compile_is_told_with_its_name_and_the_compilers_log),
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
