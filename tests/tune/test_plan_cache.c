/*
 * test_plan_cache.c: what was measured is found again; files that are damaged, foreign or nonsense are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/state.h"
#include "support/plan_cache_world.h"

enum { HEADER = 32, CHECKSUM_AT = 24, FORMAT_AT = 8 };

static plan_cache_world world;

static int begin(void **state)
{
    (void)state;
    plan_cache_begin(&world);
    return 0;
}

static int end(void **state)
{
    (void)state;
    plan_cache_end(&world);
    return 0;
}

/* Counts dry runs. */
static int count_footprints(void *context, float fraction, const char *what)
{
    (void)fraction;
    *(uint32_t *)context += strcmp(what, "estimating a plan's memory") == 0 ? 1 : 0;
    return 0;
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

static void a_second_session_has_the_plan_of_the_first(void **state)
{
    (void)state;
    uint32_t footprints = 0;
    mts_engine_options options = plan_cache_options(&world);
    options.progress = count_footprints;
    options.context = &footprints;
    mts_engine *first = plan_cache_make(&world, &options);
    assert_true(footprints > 0);
    footprints = 0;
    assert_int_equal(world.plans->misses, 1);
    assert_int_equal(world.plans->written, 1);
    mts_planning_report earlier = world.report;
    world.report = (mts_planning_report){0};
    mts_engine *second = plan_cache_make(&world, &options);
    assert_int_equal(world.plans->hits, 1);
    assert_int_equal(world.plans->rejected, 0);
    assert_int_equal(world.plans->written, 1);
    assert_true(world.report.cached && !earlier.cached);
    assert_int_equal(footprints, 0);
    assert_true(world.report.planning_ms < 100.0);
    assert_int_equal(world.report.slice_bytes, earlier.slice_bytes);
    assert_int_equal(world.report.plan_count, earlier.plan_count);
    assert_int_equal(world.report.sample_count, earlier.sample_count);
    assert_true(world.report.predicted_ms == earlier.predicted_ms);
    for (uint32_t t = 0; t < first->tasks.count; t++) {
        assert_int_equal(second->tasks.items[t].group, first->tasks.items[t].group);
    }
    for (uint32_t i = 0; i < earlier.plan_count; i++) {
        assert_string_equal(world.report.plans[i].what, earlier.plans[i].what);
        assert_int_equal(world.report.plans[i].verdict, earlier.plans[i].verdict);
    }
    mts_planning_report_release(&earlier);
    mts_engine_destroy(&first);
    mts_engine_destroy(&second);
}

static void other_options_have_plans_of_their_own(void **state)
{
    static const uint32_t some[2] = {0, 1};
    static const uint32_t priorities[3] = {0, 1, 0};
    (void)state;
    mts_engine_options options[8];
    for (int i = 0; i < 8; i++) {
        options[i] = plan_cache_options(&world);
    }
    options[1].tasks = some;
    options[1].task_count = 2;
    options[2].strategy = MTS_STRATEGY_NETFUSE;
    options[3].memory_budget.bytes = UINT64_C(1) << 30;
    options[4].priorities = priorities;
    options[5].separate_inputs = false;
    options[7].precision = MTS_PRECISION_FLOAT16_STORAGE;
    for (uint32_t i = 0; i < 8; i++) {
        world.how.tuning_ms =
            i == 6 ? 60000 : 0; /* enough: a plan that is not tuned to the end is stored again */
        plan_cache_make_once(&world, &options[i]);
        assert_int_equal(world.plans->misses, i + 1);
        assert_int_equal(world.plans->written, i + 1);
    }
    for (uint32_t i = 0; i < 8; i++) {
        world.how.tuning_ms = i == 6 ? 60000 : 0;
        plan_cache_make_once(&world, &options[i]);
        assert_int_equal(world.plans->hits, i + 1);
    }
    assert_int_equal(world.plans->rejected, 0);
    const mts_engine_options family = plan_cache_options(&world);
    world.how.grouping = MTS_GROUPING_FAMILY; /* measures nothing, so there is nothing to keep */
    plan_cache_make_once(&world, &family);
    assert_int_equal(world.plans->hits + world.plans->misses, 16);
}

/* What is asked for may be more than what is used: that is what was measured. */
static void float16_that_is_storage_has_the_plan_of_storage(void **state)
{
    (void)state;
    mts_engine_options options = plan_cache_options(&world);
    options.precision = MTS_PRECISION_FLOAT16_STORAGE;
    plan_cache_make_once(&world, &options);
    options.precision = MTS_PRECISION_FLOAT16;
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->written, 1);
    assert_int_equal(world.plans->hits, 1);
    world.device->info.half_products = true;
    plan_cache_make_once(&world, &options);
    world.device->info.half_products = false;
    assert_int_equal(world.plans->written, 2);
    assert_int_equal(world.plans->hits, 1);
}

/* What was measured on one device, opened in one way, is not used on another or in another way. */
static void other_devices_and_settings_have_plans_of_their_own(void **state)
{
    const mts_engine_options options = plan_cache_options(&world);
    const mts_device_info info = world.device->info;
    mts_device_info others[4] = {info, info, info, info};
    (void)state;
    others[0].gemm = !info.gemm;
    others[1].imports = ~info.imports;
    others[2].local_bytes = info.local_bytes + 1024;
    others[3].buffer_bytes = info.buffer_bytes - 1024;
    plan_cache_make_once(&world, &options);
    for (uint32_t i = 0; i < 4; i++) {
        world.device->info = others[i];
        plan_cache_make_once(&world, &options);
        world.device->info = info;
        assert_int_equal(world.plans->written, i + 2);
    }
    (void)snprintf(world.cache.setting, sizeof world.cache.setting, "replay 2");
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->written, 6);
    assert_int_equal(world.plans->hits + world.plans->rejected, 0);
}

static void a_damaged_file_is_a_miss_that_is_counted_and_mended(void **state)
{
    char path[512];
    size_t size = 0;
    (void)state;
    const mts_engine_options options = plan_cache_options(&world);
    plan_cache_make_once(&world, &options);
    plan_cache_find(&world, ".plan", path);
    unsigned char *good = read_file(path, &size);
    uint32_t rejected = 0;
    for (size_t cut = 0; cut < size; cut += 1 + size / 40) {
        write_file(path, good, cut);
        plan_cache_make_once(&world, &options);
        assert_int_equal(world.plans->rejected, ++rejected);
    }
    for (size_t at = 0; at < size; at += 1 + (at < HEADER ? 3 : size / 40)) {
        good[at] ^= 0x10;
        write_file(path, good, size);
        plan_cache_make_once(&world, &options);
        assert_int_equal(world.plans->rejected, ++rejected);
        good[at] ^= 0x10;
    }
    assert_int_equal(world.plans->hits, 0);
    plan_cache_make_once(&world, &options); /* the last one has written a good file again */
    assert_int_equal(world.plans->hits, 1);
    mts_alloc_free(mts_allocator_default(), good);
}

static void sign(unsigned char *file, size_t size)
{
    const uint64_t checksum = mts_hash(file + HEADER, size - HEADER, 1);
    memcpy(file + CHECKSUM_AT, &checksum, sizeof checksum);
}

/* With a right checksum whatever a body says is either harmless or refused. */
static void a_body_of_nonsense_under_a_right_checksum_does_no_harm(void **state)
{
    char path[512];
    size_t size = 0;
    uint32_t key_size = 0;
    (void)state;
    mts_engine_options options = plan_cache_options(&world);
    plan_cache_make_once(&world, &options);
    plan_cache_find(&world, ".plan", path);
    unsigned char *good = read_file(path, &size);
    memcpy(&key_size, good + 12, sizeof key_size);
    const size_t body = HEADER + key_size;
    for (uint32_t round = 0; round < 150; round++) {
        const uint64_t chance = mts_hash(&round, sizeof round, 9);
        const size_t at = body + (round < 40 ? round : (size_t)(chance % (size - body)));
        unsigned char *bad = malloc(size);
        assert_non_null(bad);
        memcpy(bad, good, size);
        bad[at] = round % 3 == 0 ? 0xff : (unsigned char)(chance >> 40);
        sign(bad, size);
        write_file(path, bad, size);
        plan_cache_make_once(&world, &options);
        free(bad);
    }
    assert_true(world.plans->rejected > 0);
    mts_alloc_free(mts_allocator_default(), good);
}

/* The file's body with a right checksum; tests change it and write it back. */
typedef struct plan_file {
    char path[512];
    unsigned char *data, *body;
    size_t size, body_size;
} plan_file;

static plan_file plan_read(void)
{
    plan_file f;
    uint32_t key_size = 0;
    plan_cache_find(&world, ".plan", f.path);
    f.data = read_file(f.path, &f.size);
    memcpy(&key_size, f.data + 12, sizeof key_size);
    f.body = f.data + HEADER + key_size;
    f.body_size = f.size - HEADER - key_size;
    return f;
}

static void plan_write(const plan_file *f)
{
    sign(f->data, f->size);
    write_file(f->path, f->data, f->size);
}

/* 4294967294 is what a loop over all classes up to it would not come back from. */
static void a_plan_of_a_class_that_the_session_lacks_is_refused(void **state)
{
    static const uint32_t lacks[] = {1, 4294967294u};
    (void)state;
    const mts_engine_options options = plan_cache_options(&world);
    for (uint32_t i = 0; i < 2; i++) {
        mts_engine *engine = plan_cache_make(&world, &options);
        char what[MTS_CONSIDERED_TEXT];
        memcpy(what, world.report.plans[0].what, sizeof what);
        mts_engine_destroy(&engine);
        plan_file f = plan_read();
        unsigned char *at = f.body;
        while (memcmp(at, what, sizeof what) != 0) {
            assert_true(++at + sizeof what + 4 <= f.body + f.body_size);
        }
        memcpy(at + sizeof what, &lacks[i], sizeof lacks[i]);
        plan_write(&f);
        mts_alloc_free(mts_allocator_default(), f.data);
        plan_cache_make_once(&world, &options);
        assert_int_equal(world.plans->rejected, i + 1);
        assert_int_equal(world.plans->hits, 2 * i);
        plan_cache_make_once(&world, &options); /* it was replaced */
        assert_int_equal(world.plans->hits, 2 * i + 1);
    }
}

/* Tasks of different priority never share a group, and the higher one runs first, whatever a file says. */
static void groups_that_contradict_the_priorities_are_refused(void **state)
{
    static const uint32_t priorities[3] = {0, 1, 0};
    static const uint32_t wrong[3][3] = {{0, 0, 0}, {0, 1, 0}, {0, 2, 1}};
    (void)state;
    mts_engine_options options = plan_cache_options(&world);
    options.priorities = priorities;
    plan_cache_make_once(&world, &options);
    for (uint32_t i = 0; i < 3; i++) {
        plan_file f = plan_read();
        memcpy(f.body + 4, wrong[i], sizeof wrong[i]);
        plan_write(&f);
        mts_alloc_free(mts_allocator_default(), f.data);
        mts_engine *engine = plan_cache_make(&world, &options);
        assert_int_equal(world.plans->rejected, i + 1);
        assert_int_equal(engine->tasks.items[1].group, 0);
        assert_true(engine->tasks.items[0].group > 0 && engine->tasks.items[2].group > 0);
        mts_engine_destroy(&engine);
    }
    assert_int_equal(world.plans->hits, 0);
}

/* Also one whose plan would break the memory budget. */
static void a_plan_that_cannot_be_made_is_measured_again(void **state)
{
    (void)state;
    mts_engine_options options = plan_cache_options(&world);
    const uint32_t one_group[16] = {0};
    const mts_decision whole = {.group_of = one_group};
    mts_session_stats stats = {0};
    mts_error error = {0};
    assert_true(world.synth.archive->task_count <= 16);
    options.in_order = true; /* as sessions with a budget are, where more does not fit */
    test_must(mts_engine_footprint(world.device, world.synth.archive, &options, &whole, &stats, &error),
              &error, "one group");
    options.in_order = false;
    options.memory_budget.bytes = stats.peak_bytes - 1;
    mts_engine *engine = plan_cache_make(&world, &options);
    mts_engine_destroy(&engine);
    plan_file f = plan_read();
    memset(f.body + 4, 0, 4 * (size_t)world.synth.archive->task_count);     /* one group, */
    memset(f.body + 4 + 4 * (size_t)world.synth.archive->task_count, 0, 8); /* whole layers */
    plan_write(&f);
    const uint64_t start = mts_os_clock_ns();
    engine = plan_cache_make(&world, &options);
    const double passed = (double)(mts_os_clock_ns() - start) * 1e-6;
    assert_true(engine->stats.peak_bytes <= options.memory_budget.bytes);
    assert_int_equal(world.plans->rejected, 1);
    assert_true(world.report.planning_ms > passed / 8); /* not that of reading the cache */
    mts_engine_destroy(&engine);
    mts_alloc_free(mts_allocator_default(), f.data);
}

static void another_version_is_a_miss(void **state)
{
    char path[512];
    size_t size = 0;
    (void)state;
    const mts_engine_options options = plan_cache_options(&world);
    plan_cache_make_once(&world, &options);
    plan_cache_find(&world, ".plan", path);
    unsigned char *file = read_file(path, &size);
    file[FORMAT_AT] ^= 3;
    write_file(path, file, size);
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->rejected, 1);
    file[FORMAT_AT] ^= 3;
    file[HEADER] ^= 1; /* the key begins with the version of what lies in it */
    sign(file, size);
    write_file(path, file, size);
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->rejected, 2);
    assert_int_equal(world.plans->hits, 0);
    mts_alloc_free(mts_allocator_default(), file);
}

static void what_cannot_be_read_or_written_costs_the_cache_only(void **state)
{
    char path[512];
    (void)state;
    const mts_engine_options options = plan_cache_options(&world);
    plan_cache_make_once(&world, &options);
    plan_cache_find(&world, ".plan", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0); /* a directory where the file belongs */
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->rejected, 1);
    assert_int_equal(world.plans->failed, 1);
    assert_int_equal(rmdir(path), 0);
    write_file(path, "", 0);
    world.cache.directory = path; /* a file where the directory belongs */
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->failed, 2);
    world.cache.directory = "/proc/self/no-place-to-write";
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->failed, 3);
    world.cache.directory = NULL;
    plan_cache_make_once(&world, &options);
    assert_int_equal(world.plans->failed, 3);
}

static void tunings_are_found_again_and_damaged_ones_are_not(void **state)
{
    char path[512];
    size_t size = 0;
    (void)state;
    mts_engine_options options = plan_cache_options(&world);
    const mts_cache_use *tunings = &world.cache.counts[MTS_CACHE_TUNINGS];
    world.how.grouping = MTS_GROUPING_FAMILY;
    world.how.tuning_ms = 20000;
    mts_engine *engine = plan_cache_make(&world, &options);
    const uint32_t candidates = world.report.candidates;
    assert_true(candidates > 5);
    assert_true(tunings->written > 0);
    mts_engine_destroy(&engine);
    world.how.tuning_ms = 20001; /* a plan of its own, with the same layers */
    engine = plan_cache_make(&world, &options);
    assert_int_equal(tunings->hits, 1);
    assert_int_equal(world.report.candidates, 0);
    mts_engine_destroy(&engine);
    plan_cache_find(&world, ".tune", path);
    unsigned char *file = read_file(path, &size);
    file[size - 1] ^= 1;
    write_file(path, file, size);
    world.how.tuning_ms = 20002;
    engine = plan_cache_make(&world, &options);
    assert_int_equal(tunings->rejected, 1);
    assert_int_equal(world.report.candidates, candidates);
    mts_engine_destroy(&engine);
    mts_alloc_free(mts_allocator_default(), file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_session_has_the_plan_of_the_first, begin, end),
        cmocka_unit_test_setup_teardown(other_options_have_plans_of_their_own, begin, end),
        cmocka_unit_test_setup_teardown(float16_that_is_storage_has_the_plan_of_storage, begin, end),
        cmocka_unit_test_setup_teardown(other_devices_and_settings_have_plans_of_their_own, begin, end),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_a_miss_that_is_counted_and_mended, begin, end),
        cmocka_unit_test_setup_teardown(a_body_of_nonsense_under_a_right_checksum_does_no_harm, begin, end),
        cmocka_unit_test_setup_teardown(a_plan_of_a_class_that_the_session_lacks_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(groups_that_contradict_the_priorities_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_plan_that_cannot_be_made_is_measured_again, begin, end),
        cmocka_unit_test_setup_teardown(another_version_is_a_miss, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_or_written_costs_the_cache_only, begin, end),
        cmocka_unit_test_setup_teardown(tunings_are_found_again_and_damaged_ones_are_not, begin, end),
    };
    plan_cache_open(&world);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_cache_close(&world);
    return failed;
}
