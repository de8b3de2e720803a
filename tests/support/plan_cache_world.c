#include "support/plan_cache_world.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/net.h"
#include "tune/explain.h"

void plan_cache_open(plan_cache_world *w)
{
    const double prune = 0.95;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 3, &prune, 1, 0.5);
    mts_error error = {0};
    test_synth_open(&w->synth, &o);
    test_must(net_device_open("null", NULL, &w->device, &error), &error, "null");
}

void plan_cache_close(plan_cache_world *w)
{
    mts_device_destroy(&w->device);
    test_synth_close(&w->synth);
}

void plan_cache_begin(plan_cache_world *w)
{
    (void)snprintf(w->folder, sizeof w->folder, "/tmp/mts-plans-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    w->cache = (mts_cache){.directory = w->folder, .allocator = mts_allocator_default()};
    w->plans = &w->cache.counts[MTS_CACHE_PLANS];
}

void plan_cache_end(plan_cache_world *w)
{
    char command[96];
    mts_planning_report_release(&w->report);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", w->folder);
    assert_int_equal(system(command), 0);
}

mts_engine_options plan_cache_options(plan_cache_world *w)
{
    w->how = (mts_planning_options){.grouping = MTS_GROUPING_MEASURED, .cache = &w->cache};
    return (mts_engine_options){.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
}

mts_engine *plan_cache_make(plan_cache_world *w, const mts_engine_options *options)
{
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_planning_report_release(&w->report);
    test_must(
        mts_planned_engine_create(w->device, w->synth.archive, options, &w->how, &engine, &w->report, &error),
        &error, "session");
    return engine;
}

void plan_cache_make_once(plan_cache_world *w, const mts_engine_options *options)
{
    mts_engine *engine = plan_cache_make(w, options);
    mts_text text;
    for (int json = 0; json < 2; json++) {
        mts_text_init(&text, mts_allocator_default());
        mts_explain(engine, &w->report, json != 0, &text);
        assert_false(text.failed);
        mts_text_release(&text);
    }
    mts_engine_destroy(&engine);
}

void plan_cache_find(const plan_cache_world *w, const char *ending, char path[512])
{
    DIR *directory = opendir(w->folder);
    path[0] = '\0';
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (strstr(entry->d_name, ending)) {
            assert_int_equal(path[0], '\0');
            (void)snprintf(path, 512, "%s/%s", w->folder, entry->d_name);
        }
    }
    (void)closedir(directory);
    assert_true(path[0] != '\0');
}
