/*
 * test_plan_cache.c: what was measured is found again; files that are damaged, foreign or nonsense are not.
 *
 * The device computes nothing, so that planning takes no time.
 */
#include <dirent.h>
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
#include "tune/explain.h"
#include "tune/tune.h"
#include "tests/support/fault.h"
#include "support/net.h"
#include "support/synth.h"

enum { HEADER = 32, CHECKSUM_AT = 24, FORMAT_AT = 8 };

static mts_device *device;
static test_synth synth;
static char folder[64];
static mts_cache cache;
static const mts_cache_use *plans;
static mts_planning_options how;
static mts_planning_report report; /* of the last session */

static int open_all(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-plans-XXXXXX");
    assert_non_null(mkdtemp(folder));
    cache = (mts_cache){.directory = folder, .allocator = mts_allocator_default()};
    plans = &cache.counts[MTS_CACHE_PLANS];
    return 0;
}

static int close_all(void **state)
{
    char command[96];
    (void)state;
    mts_planning_report_release(&report);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static mts_engine_options usual(void)
{
    how = (mts_planning_options){.grouping = MTS_GROUPING_MEASURED, .cache = &cache};
    return (mts_engine_options){.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
}

static mts_engine *make(const mts_engine_options *options)
{
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_planning_report_release(&report);
    test_must(mts_planned_engine_create(device, synth.archive, options, &how, &engine, &report, &error),
              &error, "session");
    return engine;
}

/* Counts dry runs. */
static int count_footprints(void *context, float fraction, const char *what)
{
    (void)fraction;
    *(uint32_t *)context += strcmp(what, "estimating a plan's memory") == 0 ? 1 : 0;
    return 0;
}

/* What a person is shown is made of what lies in the file, too. */
static void explain(const mts_engine *engine)
{
    mts_text text;
    for (int json = 0; json < 2; json++) {
        mts_text_init(&text, mts_allocator_default());
        mts_explain(engine, &report, json != 0, &text);
        assert_false(text.failed);
        mts_text_release(&text);
    }
}

static void make_once(const mts_engine_options *options)
{
    mts_engine *engine = make(options);
    explain(engine);
    mts_engine_destroy(&engine);
}

/* The only file with this ending. */
static void find_file(const char *ending, char path[512])
{
    DIR *directory = opendir(folder);
    path[0] = '\0';
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (strstr(entry->d_name, ending)) {
            assert_int_equal(path[0], '\0');
            (void)snprintf(path, 512, "%s/%s", folder, entry->d_name);
        }
    }
    (void)closedir(directory);
    assert_true(path[0] != '\0');
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
    mts_engine_options options = usual();
    options.progress = count_footprints;
    options.context = &footprints;
    mts_engine *first = make(&options);
    assert_true(footprints > 0);
    footprints = 0;
    assert_int_equal(plans->misses, 1);
    assert_int_equal(plans->written, 1);
    mts_planning_report earlier = report;
    report = (mts_planning_report){0};
    mts_engine *second = make(&options);
    assert_int_equal(plans->hits, 1);
    assert_int_equal(plans->rejected, 0);
    assert_int_equal(plans->written, 1);
    assert_true(report.cached && !earlier.cached);
    assert_int_equal(footprints, 0);
    assert_true(report.planning_ms < 100.0);
    assert_int_equal(report.slice_bytes, earlier.slice_bytes);
    assert_int_equal(report.plan_count, earlier.plan_count);
    assert_int_equal(report.sample_count, earlier.sample_count);
    assert_true(report.predicted_ms == earlier.predicted_ms);
    for (uint32_t t = 0; t < first->tasks.count; t++) {
        assert_int_equal(second->tasks.items[t].group, first->tasks.items[t].group);
    }
    for (uint32_t i = 0; i < earlier.plan_count; i++) {
        assert_string_equal(report.plans[i].what, earlier.plans[i].what);
        assert_int_equal(report.plans[i].verdict, earlier.plans[i].verdict);
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
        options[i] = usual();
    }
    options[1].tasks = some;
    options[1].task_count = 2;
    options[2].strategy = MTS_STRATEGY_NETFUSE;
    options[3].memory_budget.bytes = UINT64_C(1) << 30;
    options[4].priorities = priorities;
    options[5].separate_inputs = false;
    options[7].precision = MTS_PRECISION_FLOAT16_STORAGE;
    for (uint32_t i = 0; i < 8; i++) {
        how.tuning_ms = i == 6 ? 60000 : 0; /* enough: a plan that is not tuned to the end is stored again */
        make_once(&options[i]);
        assert_int_equal(plans->misses, i + 1);
        assert_int_equal(plans->written, i + 1);
    }
    for (uint32_t i = 0; i < 8; i++) {
        how.tuning_ms = i == 6 ? 60000 : 0;
        make_once(&options[i]);
        assert_int_equal(plans->hits, i + 1);
    }
    assert_int_equal(plans->rejected, 0);
    const mts_engine_options family = usual();
    how.grouping = MTS_GROUPING_FAMILY; /* measures nothing, so there is nothing to keep */
    make_once(&family);
    assert_int_equal(plans->hits + plans->misses, 16);
}

/* What is asked for may be more than what is used: that is what was measured. */
static void float16_that_is_storage_has_the_plan_of_storage(void **state)
{
    (void)state;
    mts_engine_options options = usual();
    options.precision = MTS_PRECISION_FLOAT16_STORAGE;
    make_once(&options);
    options.precision = MTS_PRECISION_FLOAT16;
    make_once(&options);
    assert_int_equal(plans->written, 1);
    assert_int_equal(plans->hits, 1);
    device->info.half_products = true;
    make_once(&options);
    device->info.half_products = false;
    assert_int_equal(plans->written, 2);
    assert_int_equal(plans->hits, 1);
}

/* What was measured on one device, opened in one way, is not used on another or in another way. */
static void other_devices_and_settings_have_plans_of_their_own(void **state)
{
    const mts_engine_options options = usual();
    const mts_device_info info = device->info;
    mts_device_info others[4] = {info, info, info, info};
    (void)state;
    others[0].gemm = !info.gemm;
    others[1].imports = ~info.imports;
    others[2].local_bytes = info.local_bytes + 1024;
    others[3].buffer_bytes = info.buffer_bytes - 1024;
    make_once(&options);
    for (uint32_t i = 0; i < 4; i++) {
        device->info = others[i];
        make_once(&options);
        device->info = info;
        assert_int_equal(plans->written, i + 2);
    }
    (void)snprintf(cache.setting, sizeof cache.setting, "replay 2");
    make_once(&options);
    assert_int_equal(plans->written, 6);
    assert_int_equal(plans->hits + plans->rejected, 0);
}

static void a_damaged_file_is_a_miss_that_is_counted_and_mended(void **state)
{
    char path[512];
    size_t size = 0;
    (void)state;
    const mts_engine_options options = usual();
    make_once(&options);
    find_file(".plan", path);
    unsigned char *good = read_file(path, &size);
    uint32_t rejected = 0;
    for (size_t cut = 0; cut < size; cut += 1 + size / 40) {
        write_file(path, good, cut);
        make_once(&options);
        assert_int_equal(plans->rejected, ++rejected);
    }
    for (size_t at = 0; at < size; at += 1 + (at < HEADER ? 3 : size / 40)) {
        good[at] ^= 0x10;
        write_file(path, good, size);
        make_once(&options);
        assert_int_equal(plans->rejected, ++rejected);
        good[at] ^= 0x10;
    }
    assert_int_equal(plans->hits, 0);
    make_once(&options); /* the last one has written a good file again */
    assert_int_equal(plans->hits, 1);
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
    mts_engine_options options = usual();
    make_once(&options);
    find_file(".plan", path);
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
        make_once(&options);
        free(bad);
    }
    assert_true(plans->rejected > 0);
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
    find_file(".plan", f.path);
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
    const mts_engine_options options = usual();
    for (uint32_t i = 0; i < 2; i++) {
        mts_engine *engine = make(&options);
        char what[MTS_CONSIDERED_TEXT];
        memcpy(what, report.plans[0].what, sizeof what);
        mts_engine_destroy(&engine);
        plan_file f = plan_read();
        unsigned char *at = f.body;
        while (memcmp(at, what, sizeof what) != 0) {
            assert_true(++at + sizeof what + 4 <= f.body + f.body_size);
        }
        memcpy(at + sizeof what, &lacks[i], sizeof lacks[i]);
        plan_write(&f);
        mts_alloc_free(mts_allocator_default(), f.data);
        make_once(&options);
        assert_int_equal(plans->rejected, i + 1);
        assert_int_equal(plans->hits, 2 * i);
        make_once(&options); /* it was replaced */
        assert_int_equal(plans->hits, 2 * i + 1);
    }
}

/* Tasks of different priority never share a group, and the higher one runs first, whatever a file says. */
static void groups_that_contradict_the_priorities_are_refused(void **state)
{
    static const uint32_t priorities[3] = {0, 1, 0};
    static const uint32_t wrong[3][3] = {{0, 0, 0}, {0, 1, 0}, {0, 2, 1}};
    (void)state;
    mts_engine_options options = usual();
    options.priorities = priorities;
    make_once(&options);
    for (uint32_t i = 0; i < 3; i++) {
        plan_file f = plan_read();
        memcpy(f.body + 4, wrong[i], sizeof wrong[i]);
        plan_write(&f);
        mts_alloc_free(mts_allocator_default(), f.data);
        mts_engine *engine = make(&options);
        assert_int_equal(plans->rejected, i + 1);
        assert_int_equal(engine->tasks.items[1].group, 0);
        assert_true(engine->tasks.items[0].group > 0 && engine->tasks.items[2].group > 0);
        mts_engine_destroy(&engine);
    }
    assert_int_equal(plans->hits, 0);
}

/* Also one whose plan would break the memory budget. */
static void a_plan_that_cannot_be_made_is_measured_again(void **state)
{
    (void)state;
    mts_engine_options options = usual();
    mts_engine *whole = make(&options);
    options.memory_budget.bytes = whole->stats.peak_bytes - 1;
    mts_engine_destroy(&whole);
    char command[96];
    (void)snprintf(command, sizeof command, "rm -f '%s'/*", folder);
    assert_int_equal(system(command), 0);
    mts_engine *engine = make(&options);
    mts_engine_destroy(&engine);
    plan_file f = plan_read();
    memset(f.body + 4, 0, 4 * (size_t)synth.archive->task_count);     /* one group, */
    memset(f.body + 4 + 4 * (size_t)synth.archive->task_count, 0, 8); /* whole layers */
    plan_write(&f);
    const uint64_t start = mts_os_clock_ns();
    engine = make(&options);
    const double passed = (double)(mts_os_clock_ns() - start) * 1e-6;
    assert_true(engine->stats.peak_bytes <= options.memory_budget.bytes);
    assert_int_equal(plans->rejected, 1);
    assert_true(report.planning_ms > passed / 8); /* not that of reading the cache */
    mts_engine_destroy(&engine);
    mts_alloc_free(mts_allocator_default(), f.data);
}

static void another_version_is_a_miss(void **state)
{
    char path[512];
    size_t size = 0;
    (void)state;
    const mts_engine_options options = usual();
    make_once(&options);
    find_file(".plan", path);
    unsigned char *file = read_file(path, &size);
    file[FORMAT_AT] ^= 3;
    write_file(path, file, size);
    make_once(&options);
    assert_int_equal(plans->rejected, 1);
    file[FORMAT_AT] ^= 3;
    file[HEADER] ^= 1; /* the key begins with the version of what lies in it */
    sign(file, size);
    write_file(path, file, size);
    make_once(&options);
    assert_int_equal(plans->rejected, 2);
    assert_int_equal(plans->hits, 0);
    mts_alloc_free(mts_allocator_default(), file);
}

static void what_cannot_be_read_or_written_costs_the_cache_only(void **state)
{
    char path[512];
    (void)state;
    const mts_engine_options options = usual();
    make_once(&options);
    find_file(".plan", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0); /* a directory where the file belongs */
    make_once(&options);
    assert_int_equal(plans->rejected, 1);
    assert_int_equal(plans->failed, 1);
    assert_int_equal(rmdir(path), 0);
    write_file(path, "", 0);
    cache.directory = path; /* a file where the directory belongs */
    make_once(&options);
    assert_int_equal(plans->failed, 2);
    cache.directory = "/proc/self/no-place-to-write";
    make_once(&options);
    assert_int_equal(plans->failed, 3);
    cache.directory = NULL;
    make_once(&options);
    assert_int_equal(plans->failed, 3);
}

static void tunings_are_found_again_and_damaged_ones_are_not(void **state)
{
    char path[512];
    size_t size = 0;
    (void)state;
    mts_engine_options options = usual();
    const mts_cache_use *tunings = &cache.counts[MTS_CACHE_TUNINGS];
    how.grouping = MTS_GROUPING_FAMILY;
    how.tuning_ms = 20000;
    mts_engine *engine = make(&options);
    const uint32_t candidates = report.candidates;
    assert_true(candidates > 5);
    assert_true(tunings->written > 0);
    mts_engine_destroy(&engine);
    how.tuning_ms = 20001; /* a plan of its own, with the same layers */
    engine = make(&options);
    assert_int_equal(tunings->hits, 1);
    assert_int_equal(report.candidates, 0);
    mts_engine_destroy(&engine);
    find_file(".tune", path);
    unsigned char *file = read_file(path, &size);
    file[size - 1] ^= 1;
    write_file(path, file, size);
    how.tuning_ms = 20002;
    engine = make(&options);
    assert_int_equal(tunings->rejected, 1);
    assert_int_equal(report.candidates, candidates);
    mts_engine_destroy(&engine);
    mts_alloc_free(mts_allocator_default(), file);
}

/* A session whose nth allocation fails; how many failed. Other failures than lack of memory fail the test. */
static uint32_t make_starved(const mts_engine_options *options, uint32_t nth, mts_status *code)
{
    const mts_allocator *usual_allocator = device->allocator;
    mts_wrap_allocator fault;
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_planning_report_release(&report);
    mts_wrap_allocator_init(&fault, usual_allocator, nth);
    device->allocator = &fault.base;
    cache.allocator = &fault.base;
    *code = mts_planned_engine_create(device, synth.archive, options, &how, &engine, &report, &error);
    mts_engine_destroy(&engine);
    mts_planning_report_release(&report);
    device->allocator = usual_allocator;
    cache.allocator = usual_allocator;
    if (*code != MTS_STATUS_OK && *code != MTS_STATUS_OUT_OF_MEMORY) {
        fail_msg("allocation %u: %s", nth, error.text);
    }
    assert_int_equal(fault.alive, 0);
    return fault.failed;
}

/* A file is as good as it was: lack of memory is no defect of it, and does not replace it by half of one. */
static void lack_of_memory_rejects_no_plan(void **state)
{
    uint32_t nth = 0;
    uint32_t planned_anew = 0;
    mts_status status = MTS_STATUS_OK;
    (void)state;
    const mts_engine_options options = usual();
    make_once(&options);
    do {
        const uint32_t misses = plans->misses;
        if (make_starved(&options, ++nth, &status) == 0) {
            break;
        }
        planned_anew += status == MTS_STATUS_OK && plans->misses > misses;
        assert_int_equal(plans->rejected, 0);
    } while (nth < 100000);
    assert_int_equal(status, MTS_STATUS_OK);
    assert_true(nth > 20);
    assert_true(planned_anew > 0);
    const uint32_t hits = plans->hits;
    make_once(&options);
    assert_int_equal(plans->hits, hits + 1);
}

static void lack_of_memory_stores_no_half_a_plan(void **state)
{
    char path[512];
    (void)state;
    const mts_engine_options options = usual();
    const mts_allocator *usual_allocator = cache.allocator;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, usual_allocator, 1); /* there is no file to read: that of storing */
    cache.allocator = &fault.base;
    make_once(&options);
    cache.allocator = usual_allocator;
    assert_int_equal(fault.failed, 1);
    assert_int_equal(plans->failed, 1);
    assert_int_equal(plans->written, 0);
    make_once(&options);
    assert_int_equal(plans->written, 1);
    find_file(".plan", path);
}

static void lack_of_memory_rejects_no_tuning(void **state)
{
    char path[512];
    mts_status status = MTS_STATUS_OK;
    (void)state;
    const mts_cache_use *tunings = &cache.counts[MTS_CACHE_TUNINGS];
    mts_engine_options options = usual();
    how.grouping = MTS_GROUPING_FAMILY;
    how.tuning_ms = 20000;
    make_once(&options);
    for (uint32_t nth = 1; nth <= 60; nth++) { /* what is read before anything is tuned */
        find_file(".plan", path);
        assert_int_equal(unlink(path), 0);
        (void)make_starved(&options, nth, &status);
        assert_int_equal(tunings->rejected, 0);
        make_once(&options); /* so that there is a plan */
    }
    assert_true(tunings->hits > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_session_has_the_plan_of_the_first, open_all, close_all),
        cmocka_unit_test_setup_teardown(other_options_have_plans_of_their_own, open_all, close_all),
        cmocka_unit_test_setup_teardown(float16_that_is_storage_has_the_plan_of_storage, open_all, close_all),
        cmocka_unit_test_setup_teardown(other_devices_and_settings_have_plans_of_their_own, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_a_miss_that_is_counted_and_mended, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_body_of_nonsense_under_a_right_checksum_does_no_harm, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_plan_of_a_class_that_the_session_lacks_is_refused, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(groups_that_contradict_the_priorities_are_refused, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_plan_that_cannot_be_made_is_measured_again, open_all, close_all),
        cmocka_unit_test_setup_teardown(another_version_is_a_miss, open_all, close_all),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_or_written_costs_the_cache_only, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(lack_of_memory_rejects_no_plan, open_all, close_all),
        cmocka_unit_test_setup_teardown(lack_of_memory_stores_no_half_a_plan, open_all, close_all),
        cmocka_unit_test_setup_teardown(lack_of_memory_rejects_no_tuning, open_all, close_all),
        cmocka_unit_test_setup_teardown(tunings_are_found_again_and_damaged_ones_are_not, open_all,
                                        close_all),
    };
    const double prune = 0.95;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, &prune, 1, 0.5);
    mts_error error = {0};
    test_synth_open(&synth, &o);
    test_must(net_device_open("null", NULL, &device, &error), &error, "null");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&device);
    test_synth_close(&synth);
    return failed;
}
