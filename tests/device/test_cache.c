/*
 * The program cache of the OpenCL backend: a hit when nothing changed, a silent miss whenever anything did.
 */
#include <stdio.h>
#include <stdlib.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/opencl/opencl.h"
#include "platform/os/os.h"
#include "support/device_fixture.h"

static device_fixture world;
static mts_cl_device *opencl;
static char folder[64];
static mts_program_counts opencl_counts; /* of the device that was closed last */

static const mts_kernel_source first_source = {
    .name = "first",
    .source =
        "kernel void first(global float *act, global const float *pool, global const uint *table, uint i)\n"
        "{ act[get_global_id(0)] = pool[0] + table[i]; }\n"};
static const mts_kernel_source second_source = {
    .name = "first",
    .source =
        "kernel void first(global float *act, global const float *pool, global const uint *table, uint i)\n"
        "{ act[get_global_id(0)] = pool[1] - table[i]; }\n"};

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-cache-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void open_with(const char *cache_dir)
{
    device_fixture_init(&world, cache_dir);
    if (mts_backend_opencl.count() == 0) {
        (void)printf("skipped: there is no OpenCL device\n");
        skip();
    }
    device_fixture_open(&world, &mts_backend_opencl, 0);
    opencl = (mts_cl_device *)world.device;
    if (opencl->quirks->no_binaries) {
        (void)printf("skipped: this driver's programs are not stored\n");
        device_fixture_close(&world);
        skip();
    }
}

/* Builds the kernel on a newly opened device; returns what the cache did. */
static mts_program_counts build_fresh(const mts_kernel_source *source, const char *defines,
                                      const char *cache_dir)
{
    mts_kernel *kernel = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    open_with(cache_dir);
    if (mts_cl_kernel_create_from(world.device, source, defines, &kernel, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    mts_cl_kernel_destroy(world.device, kernel);
    const mts_program_counts counts = opencl->built;
    device_fixture_close(&world);
    return counts;
}

/* Paths of the cache's files, at most two. */
static size_t list_files(char paths[2][512])
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (strstr(entry->d_name, ".bin")) {
            assert_true(count < 2);
            (void)snprintf(paths[count++], 512, "%s/%s", folder, entry->d_name);
        }
    }
    (void)closedir(directory);
    return count;
}

static unsigned char *read_file(const char *path, size_t *size)
{
    void *data = NULL;
    assert_int_equal(mts_os_file_read(mts_allocator_default(), path, SIZE_MAX, &data, size, NULL),
                     MTS_STATUS_OK);
    return data;
}

static void write_file(const char *path, const void *data, size_t size)
{
    assert_int_equal(mts_os_file_write(path, data, size, NULL), MTS_STATUS_OK);
}

static void a_program_is_stored_once_and_found_after_reopening(void **state)
{
    (void)state;
    mts_program_counts counts = build_fresh(&first_source, "", folder);
    assert_int_equal(counts.cache.hits, 0);
    assert_int_equal(counts.cache.misses, 1);
    assert_int_equal(counts.cache.written, 1);
    counts = build_fresh(&first_source, "", folder);
    assert_int_equal(counts.cache.hits, 1);
    assert_int_equal(counts.cache.misses, 0);
    assert_int_equal(counts.cache.written, 0);
}

static void a_program_from_the_cache_computes_the_same(void **state)
{
    (void)state;
    (void)build_fresh(&first_source, "", folder);
    open_with(folder);
    mts_kernel *kernel = NULL;
    mts_buffer *buffer = NULL;
    mts_buffer *act = NULL;
    mts_command_list *list = NULL;
    const uint32_t words[2] = {0x3fc00000u /* 1.5f */, 4};
    float result = 0.0f;
    assert_int_equal(mts_cl_kernel_create_from(world.device, &first_source, "", &kernel, NULL),
                     MTS_STATUS_OK);
    assert_int_equal(opencl->built.cache.hits, 1);
    assert_int_equal(mts_buffer_create(world.device, 8, &buffer, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_create(world.device, 8, &act, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_write(buffer, 0, words, sizeof words, NULL), MTS_STATUS_OK);
    const mts_launch launch = {.kernel = kernel,
                               .act = act,
                               .pool = buffer,
                               .params = buffer,
                               .first = 1,
                               .global = {1, 1, 1},
                               .local = {1, 1, 1},
                               .label = "first"};
    assert_int_equal(mts_command_list_create(world.device, &launch, 1, &list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_command_list_submit(list, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_buffer_read(act, 0, &result, 4, NULL), MTS_STATUS_OK);
    assert_true(result == 5.5f);
    mts_command_list_destroy(&list);
    mts_buffer_destroy(&act);
    mts_buffer_destroy(&buffer);
    mts_cl_kernel_destroy(world.device, kernel);
    device_fixture_close(&world);
}

static void other_options_or_another_source_are_other_programs(void **state)
{
    (void)state;
    char paths[2][512];
    (void)build_fresh(&first_source, "", folder);
    assert_int_equal(build_fresh(&first_source, "-DX=1", folder).cache.misses, 1);
    assert_int_equal(list_files(paths), 2);
    assert_int_equal(unlink(paths[0]), 0);
    assert_int_equal(unlink(paths[1]), 0);
    (void)build_fresh(&first_source, "", folder);
    assert_int_equal(build_fresh(&second_source, "", folder).cache.misses, 1);
    assert_int_equal(list_files(paths), 2);
}

static void assert_miss_and_repair(const char *path, const void *data, size_t size)
{
    write_file(path, data, size);
    mts_program_counts counts = build_fresh(&first_source, "", folder);
    assert_int_equal(counts.cache.hits, 0);
    assert_int_equal(counts.cache.misses, 1);
    assert_int_equal(counts.cache.rejected, 1);
    assert_int_equal(counts.cache.written, 1);
    assert_true(device_fixture_logged(&world, "cache: "));
    counts = build_fresh(&first_source, "", folder);
    assert_int_equal(counts.cache.hits, 1);
}

static void a_truncated_file_is_a_miss_and_is_replaced(void **state)
{
    (void)state;
    char paths[2][512];
    size_t size = 0;
    (void)build_fresh(&first_source, "", folder);
    assert_int_equal(list_files(paths), 1);
    unsigned char *good = read_file(paths[0], &size);
    const size_t cuts[] = {0, 1, 8, 31, 32, 33, 200, size / 2, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        assert_miss_and_repair(paths[0], good, cuts[i]);
    }
    unsigned char *longer = mts_alloc_zero(mts_allocator_default(), size + 1, 1);
    memcpy(longer, good, size);
    assert_miss_and_repair(paths[0], longer, size + 1);
    mts_alloc_free(mts_allocator_default(), longer);
    mts_alloc_free(mts_allocator_default(), good);
}

/* Through the loader alone: building again for every bit would take minutes. */
static void a_flipped_bit_anywhere_is_a_miss(void **state)
{
    (void)state;
    char paths[2][512];
    size_t size = 0;
    (void)build_fresh(&first_source, "", folder);
    assert_int_equal(list_files(paths), 1);
    unsigned char *data = read_file(paths[0], &size);
    open_with(folder);
    mts_os_cache_file binary;
    mts_kernel *kernel = NULL;
    assert_int_equal(mts_cl_kernel_create_from(world.device, &first_source, "", &kernel, NULL),
                     MTS_STATUS_OK);
    char *key = mts_cl_cache_key(opencl, &first_source, ((mts_cl_kernel *)kernel)->program->options);
    assert_true(mts_cl_cache_load(opencl, key, &binary));
    mts_cl_cache_release(opencl, &binary);
    for (size_t at = 0; at < size; at += at < 600 ? 1 : 97) { /* header and key byte by byte */
        data[at] ^= (unsigned char)(1u << at % 8);
        FILE *file = fopen(paths[0], "wb");
        assert_non_null(file);
        assert_true(fwrite(data, 1, size, file) == size);
        assert_int_equal(fclose(file), 0);
        assert_false(mts_cl_cache_load(opencl, key, &binary));
        assert_null(binary.file);
        data[at] ^= (unsigned char)(1u << at % 8);
    }
    mts_alloc_free(&world.allocator.base, key);
    mts_cl_kernel_destroy(world.device, kernel);
    device_fixture_close(&world);
    mts_alloc_free(mts_allocator_default(), data);
}

static void a_valid_file_of_another_program_is_a_miss(void **state)
{
    (void)state;
    char paths[2][512];
    char both[2][512];
    size_t size = 0;
    (void)build_fresh(&first_source, "", folder);
    assert_int_equal(list_files(paths), 1);
    (void)build_fresh(&second_source, "", folder);
    assert_int_equal(list_files(both), 2);
    const char *foreign = strcmp(both[0], paths[0]) == 0 ? both[1] : both[0];
    unsigned char *data = read_file(foreign, &size);
    assert_miss_and_repair(paths[0], data, size);
    mts_alloc_free(mts_allocator_default(), data);
}

static void another_driver_version_is_another_key(void **state)
{
    (void)state;
    open_with(folder);
    char *key = mts_cl_cache_key(opencl, &first_source, "");
    opencl->driver_hash ^= 1;
    char *other = mts_cl_cache_key(opencl, &first_source, "");
    assert_string_not_equal(key, other);
    assert_non_null(strstr(key, world.device->info.name));
    mts_alloc_free(&world.allocator.base, key);
    mts_alloc_free(&world.allocator.base, other);
    device_fixture_close(&world);
}

static cl_program refuse_binary(cl_context context, cl_uint count, const cl_device_id *ids,
                                const size_t *sizes, const unsigned char **data, cl_int *status,
                                cl_int *result)
{
    (void)context;
    (void)count;
    (void)ids;
    (void)sizes;
    (void)data;
    *status = -42; /* CL_INVALID_BINARY */
    *result = -42;
    return NULL;
}

static void a_driver_that_refuses_its_binary_gets_the_source(void **state)
{
    (void)state;
    mts_kernel *kernel = NULL;
    (void)build_fresh(&first_source, "", folder);
    open_with(folder);
    opencl->cl.clCreateProgramWithBinary = refuse_binary;
    assert_int_equal(mts_cl_kernel_create_from(world.device, &first_source, "", &kernel, NULL),
                     MTS_STATUS_OK);
    assert_int_equal(opencl->built.cache.hits, 0);
    assert_int_equal(opencl->built.cache.rejected, 1);
    assert_int_equal(opencl->built.cache.misses, 1);
    mts_cl_kernel_destroy(world.device, kernel);
    device_fixture_close(&world);
}

static void a_driver_without_the_functions_for_binaries_works_without_a_cache(void **state)
{
    (void)state;
    mts_kernel *kernel = NULL;
    char paths[2][512];
    open_with(folder);
    opencl->cl.clCreateProgramWithBinary = NULL;
    opencl->cl.clGetProgramInfo = NULL;
    assert_int_equal(mts_cl_kernel_create_from(world.device, &first_source, "", &kernel, NULL),
                     MTS_STATUS_OK);
    assert_int_equal(list_files(paths), 0);
    mts_cl_kernel_destroy(world.device, kernel);
    device_fixture_close(&world);
}

static void a_folder_that_cannot_be_written_fails_nothing(void **state)
{
    (void)state;
    char inside[128];
    (void)snprintf(inside, sizeof inside, "%s/file", folder);
    write_file(inside, "x", 1);
    (void)snprintf(inside, sizeof inside, "%s/file/cache", folder); /* below a file: not even root can */
    const mts_program_counts counts = build_fresh(&first_source, "", inside);
    assert_int_equal(counts.cache.misses, 1);
    assert_int_equal(counts.cache.written, 0);
    assert_int_equal(counts.cache.failed, 1);
}

static void a_missing_folder_is_made(void **state)
{
    (void)state;
    char inside[128];
    (void)snprintf(inside, sizeof inside, "%s/a/b", folder);
    assert_int_equal(build_fresh(&first_source, "", inside).cache.written, 1);
    assert_int_equal(build_fresh(&first_source, "", inside).cache.hits, 1);
}

/* A kernel on a newly opened device where the nth allocation from then on fails; how many failed. */
static uint32_t build_starved(uint32_t nth, mts_status *code)
{
    mts_kernel *kernel = NULL;
    open_with(folder);
    world.allocator.nth = world.allocator.calls + nth;
    *code = mts_cl_kernel_create_from(world.device, &first_source, "", &kernel, NULL);
    assert_true(*code == MTS_STATUS_OK || *code == MTS_STATUS_OUT_OF_MEMORY);
    if (*code == MTS_STATUS_OK) {
        mts_cl_kernel_destroy(world.device, kernel);
    }
    const uint32_t failed = world.allocator.failed;
    opencl_counts = opencl->built;
    device_fixture_close(&world);
    return failed;
}

static void lack_of_memory_rejects_no_program(void **state)
{
    (void)state;
    uint32_t nth = 0;
    uint32_t from_source = 0;
    mts_status status = MTS_STATUS_OK;
    (void)build_fresh(&first_source, "", folder);
    while (build_starved(++nth, &status) > 0) {
        assert_true(nth < 100);
        assert_int_equal(opencl_counts.cache.rejected, 0);
        from_source += status == MTS_STATUS_OK && opencl_counts.built == 1;
    }
    assert_int_equal(opencl_counts.cache.hits, 1);
    assert_true(from_source > 0); /* where the file did not fit into memory */
}

static void lack_of_memory_stores_no_half_a_program(void **state)
{
    (void)state;
    uint32_t nth = 0;
    uint32_t not_stored = 0;
    char paths[2][512];
    mts_status status = MTS_STATUS_OK;
    while (build_starved(++nth, &status) > 0) {
        assert_true(nth < 100);
        assert_int_equal(list_files(paths), opencl_counts.cache.written);
        not_stored += status == MTS_STATUS_OK && opencl_counts.cache.failed == 1;
        if (opencl_counts.cache.written == 1) {
            assert_int_equal(unlink(paths[0]), 0);
        }
    }
    assert_int_equal(opencl_counts.cache.written, 1);
    assert_true(not_stored > 0);
}

#define CACHE_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(a_program_is_stored_once_and_found_after_reopening),
        CACHE_TEST(a_program_from_the_cache_computes_the_same),
        CACHE_TEST(other_options_or_another_source_are_other_programs),
        CACHE_TEST(a_truncated_file_is_a_miss_and_is_replaced),
        CACHE_TEST(a_flipped_bit_anywhere_is_a_miss),
        CACHE_TEST(a_valid_file_of_another_program_is_a_miss),
        CACHE_TEST(another_driver_version_is_another_key),
        CACHE_TEST(a_driver_that_refuses_its_binary_gets_the_source),
        CACHE_TEST(a_driver_without_the_functions_for_binaries_works_without_a_cache),
        CACHE_TEST(a_folder_that_cannot_be_written_fails_nothing),
        CACHE_TEST(a_missing_folder_is_made),
        CACHE_TEST(lack_of_memory_rejects_no_program),
        CACHE_TEST(lack_of_memory_stores_no_half_a_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
