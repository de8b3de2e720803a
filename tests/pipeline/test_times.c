/*
 * What was measured for a placement is kept: a second session measures nothing and places alike. A file that is
 * damaged, or holds what cannot be, is measured anew and written again.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "pipeline/pipeline.h"
#include "support/must.h"
#include "support/pipeline_world.h"
#include "support/plan_cache_world.h"

#define DEVICES 2u

static uint32_t profiles; /* of the devices */
static mts_device_ops counting;
static const mts_device_ops *inner;

static mts_status count_profile(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                size_t count, mts_error *error)
{
    profiles++;
    return inner->command_list_profile(device, list, times, count, error);
}

/* Creates a session's pipeline; returns the unit behind its first stage. */
static uint32_t place(pipeline_world *w, mts_cache *cache)
{
    mts_pipeline_options options = w->options;
    mts_pipeline *p = NULL;
    mts_error error = {0};
    uint32_t end = 0;
    options.device_count = DEVICES;
    options.groups = false;
    options.how.cache = cache;
    test_must(mts_pipeline_create(w->net.archive, &options, &p, &error), &error, "pipeline");
    mts_text text;
    mts_text_init(&text, mts_allocator_default());
    mts_pipeline_explain(p, true, &text);
    const char *at = strstr(mts_text_get(&text), "\"end\": ");
    assert_non_null(at);
    end = (uint32_t)strtoul(at + 7, NULL, 10);
    mts_text_release(&text);
    mts_pipeline_destroy(&p);
    return end;
}

/* Places again, with the number of profiles that it takes. */
static uint32_t count_profiles(pipeline_world *w, mts_cache *cache)
{
    const uint32_t before = profiles;
    (void)place(w, cache);
    return profiles - before;
}

static void a_second_session_measures_nothing(void **state)
{
    (void)state;
    const random_family family = {.seed = 12, .tasks = 2, .steps = 5};
    plan_cache_world cached = {.device = NULL};
    pipeline_world w;
    pipeline_world_make(&w, &family);
    plan_cache_begin(&cached);
    const uint32_t without = count_profiles(&w, NULL);
    assert_true(without > 0);
    assert_int_equal(count_profiles(&w, NULL), without);
    uint32_t before = profiles;
    const uint32_t first = place(&w, &cached.cache);
    assert_int_equal(profiles - before, without); /* the second device is equal to the first one */
    before = profiles;
    assert_int_equal(place(&w, &cached.cache), first);
    assert_int_equal(profiles, before);
    /* what times depend on: others are measured */
    w.options.engine.strategy = MTS_STRATEGY_NETFUSE;
    assert_true(count_profiles(&w, &cached.cache) > 0);
    assert_int_equal(count_profiles(&w, &cached.cache), 0);
    w.options.engine.strategy = MTS_STRATEGY_SEQUENTIAL;
    (void)snprintf(pipeline_devices[0]->info.driver, sizeof pipeline_devices[0]->info.driver, "another");
    (void)snprintf(pipeline_devices[1]->info.driver, sizeof pipeline_devices[1]->info.driver, "another");
    assert_true(count_profiles(&w, &cached.cache) > 0);
    plan_cache_end(&cached);
    pipeline_world_release(&w);
}

/* Writes bytes that begin `at` bytes before the end of a file of a cache (platform/os/cache_file.c); sealed: the
   checksum is that of what it has then. */
static void rewrite(const char *path, size_t at, const void *bytes, size_t size, bool sealed)
{
    unsigned char file[4096];
    const size_t head = 8 + 4 + 4 + 8 + 8;
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    const size_t whole = fread(file, 1, sizeof file, in);
    assert_int_equal(fclose(in), 0);
    assert_true(whole > head && whole < sizeof file && at <= whole && size <= at);
    memcpy(file + whole - at, bytes, size);
    if (sealed) {
        const uint64_t sum = mts_hash(file + head, whole - head, 1);
        memcpy(file + head - sizeof sum, &sum, sizeof sum);
    }
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file, 1, whole, out), whole);
    assert_int_equal(fclose(out), 0);
}

/* The last value of the body is a copy's time, the 5th from the end that of the last unit. */
static void strange_files_are_measured_anew(void **state)
{
    (void)state;
    const random_family family = {.seed = 12, .tasks = 2, .steps = 5};
    const double strange[] = {-1.0, 1e300, (double)NAN, (double)INFINITY};
    plan_cache_world cached = {.device = NULL};
    pipeline_world w;
    char path[512];
    pipeline_world_make(&w, &family);
    plan_cache_begin(&cached);
    (void)place(&w, &cached.cache);
    plan_cache_find(&cached, ".plan", path);
    for (uint32_t i = 0; i < 2 * sizeof strange / sizeof strange[0]; i++) {
        const uint64_t rejected = cached.plans->rejected;
        rewrite(path, (i % 2 == 0 ? 1 : 5) * sizeof(double), &strange[i / 2], sizeof(double), true);
        assert_true(count_profiles(&w, &cached.cache) > 0);
        assert_int_equal(cached.plans->rejected, rejected + 1);
        assert_int_equal(count_profiles(&w, &cached.cache), 0); /* it was written again */
    }
    rewrite(path, sizeof(double), &(double){1.0}, sizeof(double), false); /* and no checksum */
    assert_true(count_profiles(&w, &cached.cache) > 0);
    FILE *cut = fopen(path, "wb");
    assert_non_null(cut);
    assert_int_equal(fclose(cut), 0);
    assert_true(count_profiles(&w, &cached.cache) > 0);
    assert_int_equal(count_profiles(&w, &cached.cache), 0);
    plan_cache_end(&cached);
    pipeline_world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strange_files_are_measured_anew),
        cmocka_unit_test(a_second_session_measures_nothing),
    };
    mts_error error = {0};
    for (uint32_t d = 0; d < DEVICES; d++) {
        if (net_device_open("reference", NULL, &pipeline_devices[d], &error) != MTS_STATUS_OK) {
            print_error("%s\n", error.text);
            return 77;
        }
        inner = pipeline_devices[d]->ops;
        counting = *inner;
        counting.command_list_profile = count_profile;
    }
    for (uint32_t d = 0; d < DEVICES; d++) {
        pipeline_devices[d]->ops = &counting;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (uint32_t d = 0; d < DEVICES; d++) {
        mts_device_destroy(&pipeline_devices[d]);
    }
    return failed;
}
