/*
 * finite.c: see finite.h.
 */
#include "finite.h"

#include <math.h>
#include <stdio.h>

#include "mts/kit.h"
#include "mts/profile.h"
#include "precision.h"

size_t cli_not_finite(const cli_open *app, const mts_task_desc *task, size_t *all)
{
    size_t found = 0;
    *all = 0;
    for (uint32_t o = 0; o < task->output_count; o++) {
        mts_tensor output;
        if (mts_session_output(app->session, task->name, o, &output) != MTS_STATUS_OK) {
            return 0;
        }
        const size_t count = mts_kit_count(&output);
        for (size_t i = 0; i < count; i++) {
            found += isfinite(mts_kit_value(&output, i)) ? 0 : 1;
        }
        *all += count;
    }
    return found;
}

void cli_not_finite_print(const char *name, const char *task, size_t count, size_t all, const char *what,
                          const char *layer, mts_precision precision)
{
    (void)fprintf(stderr, "%s %s: warning: task '%s': %zu of %zu %s are infinite or NaN%s%s%s\n", cli_program,
                  name, task, count, all, what, layer ? "; the first to be so is layer " : "",
                  layer ? layer : "",
                  precision == MTS_PRECISION_FLOAT32
                      ? "; check the input's range (mean, std) and the model"
                      : "; numbers beyond 65504 do not fit float16: use --precision float32");
}

const char *cli_overflow_layer(const cli_open *app)
{
    const char *label = NULL;
    if (mts_session_find_overflow(app->session, &label) != MTS_STATUS_OK) {
        return NULL; /* the warning itself matters more */
    }
    return label;
}

void cli_warn_not_finite(const cli_open *app, const char *name, mts_precision precision)
{
    const char *layer = NULL;
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        size_t all = 0;
        const size_t found = cli_not_finite(app, &task, &all);
        if (found > 0) {
            layer = layer ? layer : cli_overflow_layer(app);
            cli_not_finite_print(name, task.name, found, all, "output values", layer, precision);
        }
    }
}
