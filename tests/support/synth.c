/*
 * synth.c: see synth.h.
 */
#include "support/synth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"

mtsc_synth_options test_synth_options(mtsc_arch arch, uint32_t tasks, const double *prune, uint32_t count,
                                      double share)
{
    mtsc_synth_options o;
    mtsc_synth_options_default(&o);
    o.arch = arch;
    o.tasks = tasks;
    o.prune = prune;
    o.prune_count = count;
    o.share = share;
    o.input = 32;
    return o;
}

void test_synth_open(test_synth *s, const mtsc_synth_options *options)
{
    static int number;
    mts_error error = {0};
    memset(s, 0, sizeof *s);
    (void)snprintf(s->path, sizeof s->path, "/tmp/mts-synth-%d-%d.mtsb", (int)getpid(), number++);
    s->summary.size = sizeof s->summary;
    assert_int_equal(mtsc_synth(options, s->path, NULL, &s->summary), MTS_STATUS_OK);
    test_must(mts_os_map_file(s->path, &s->map, &error), &error, "map");
    test_must(mts_archive_read(s->map.data, s->map.size, s->path, NULL, mts_allocator_default(), &s->archive,
                               &error),
              &error, "read");
}

void test_synth_close(test_synth *s)
{
    mts_archive_destroy(&s->archive);
    mts_os_unmap(&s->map);
    (void)unlink(s->path);
}

static void set_inputs(mts_engine *engine, const mts_archive *archive)
{
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const size_t count = mts_shape_count(&archive->tasks[t].graph->inputs[0].shape);
        float *data = calloc(count, sizeof *data);
        mts_error error = {0};
        assert_non_null(data);
        for (size_t k = 0; k < count; k++) {
            const size_t words[2] = {t, k};
            data[k] = (float)(mts_hash(words, sizeof words, 5) >> 40) / (float)(1u << 23) - 1.0f;
        }
        test_must(mts_engine_set_input(engine, t, 0, data, count * sizeof *data, &error), &error, "input");
        free(data);
    }
}

float *test_synth_run(mts_engine *engine, const mts_archive *archive, size_t *count)
{
    float *all = malloc(1);
    mts_error error = {0};
    *count = 0;
    set_inputs(engine, archive);
    test_must(mts_engine_submit(engine, &error), &error, "submit");
    test_must(mts_engine_wait(engine, &error), &error, "wait");
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const void *data = NULL;
        size_t size = 0;
        test_must(mts_engine_output(engine, t, 0, &data, &size, &error), &error, "output");
        all = realloc(all, *count * sizeof *all + size);
        assert_non_null(all);
        memcpy(all + *count, data, size);
        *count += size / sizeof *all;
    }
    return all;
}

double test_difference(const float *a, const float *b, size_t count)
{
    double most = 0.0;
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return largest > 0.0 ? most / largest : most;
}
