/*
 * calibration.c: see calibration.h.
 */
#include "calibration.h"

#include <string.h>

#include "command.h"

int cli_calibration_open(cli_calibration *calibration, const char *name, const char *bundle,
                         const char *tasks, const char *data, uint32_t limit)
{
    memset(calibration, 0, sizeof *calibration);
    mtsz_data_default(&calibration->data);
    cli_open *app = &calibration->app;
    const cli_open_options options = {.device = "reference", .no_cache = true, .tasks = tasks};
    const int status = cli_open_bundle(app, name, &options, bundle);
    if (status >= 0 || !data) {
        return status;
    }
    calibration->dataset = cli_dataset_open(data, limit, app->error);
    if (!calibration->dataset || !cli_dataset_fit(calibration->dataset, app->bundle, app->tasks.items,
                                                  (uint32_t)app->tasks.count, app->error)) {
        return cli_failure(name, "%s", app->error);
    }
    calibration->data = cli_dataset_data(calibration->dataset);
    return -1;
}

void cli_calibration_close(cli_calibration *calibration)
{
    cli_dataset_close(calibration->dataset);
    calibration->dataset = NULL;
    cli_close(&calibration->app);
}

int cli_calibration_failure(const cli_calibration *calibration, const char *name, const char *error)
{
    const char *reason = calibration->dataset ? cli_dataset_reason(calibration->dataset) : "";
    return cli_failure(name, "%s%s%s", error, *reason ? ": " : "", reason);
}
