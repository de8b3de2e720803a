/*
 * main.c: the program `phone`: measures one bundle on one device with one setting, and compares
 * its outputs with those of the processor. It prints one JSON object, also if that fails;
 * toolchains/phone runs it on a phone for each setting in turn, so that a driver that crashes
 * costs one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"
#include "kit/precision.h"
#include "phone.h"

const char *const cli_program = "phone";

typedef struct arguments {
    const char *device, *setting, *cache, *expected;
    double seconds;
} arguments;

static const phone_setting *setting_find(const char *name)
{
    size_t i = 0;
    while (i < phone_setting_count && strcmp(phone_settings[i].name, name) != 0) {
        i++;
    }
    return i < phone_setting_count ? &phone_settings[i] : NULL;
}

/* What can be asked for. */
static int list(void)
{
    cli_json json = {0};
    mts_device_desc device = {.size = sizeof device};
    if (!cli_json_begin(&json)) {
        return cli_failure(NULL, "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "version", mts_version());
    cli_json_array(&json, "settings");
    for (size_t i = 0; i < phone_setting_count; i++) {
        cli_json_string(&json, NULL, phone_settings[i].name);
    }
    cli_json_end(&json, ']');
    cli_json_array(&json, "devices");
    for (uint32_t i = 0; mts_device_describe(i, &device) == MTS_STATUS_OK; i++) {
        cli_json_object(&json, NULL);
        cli_json_string(&json, "id", device.id);
        cli_json_string(&json, "name", device.name);
        cli_json_string(&json, "driver", device.driver);
        cli_json_integer(&json, "is_gpu", device.is_gpu);
        cli_json_integer(&json, "compute_units", device.compute_units);
        cli_json_integer(&json, "memory_bytes", device.memory_bytes);
        cli_json_integer(&json, "reads", device.reads);
        cli_json_end(&json, '}');
    }
    cli_json_end(&json, ']');
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure(NULL, "no memory");
}

static void result_json(cli_json *json, const phone_way *way, const phone_result *result,
                        const phone_result *expected)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "device_id", way->device);
    cli_json_string(json, "device", result->device);
    cli_json_string(json, "driver", result->driver);
    cli_json_string(json, "setting", way->setting->name);
    if (result->error[0] != '\0') {
        cli_json_string(json, "error", result->error);
    } else {
        cli_measure_json(json, &result->latency, &result->stats);
        cli_json_number(json, "create_ms", result->create_ms);
        cli_json_number(json, "first_run_ms", result->first_ms);
    }
    if (result->error[0] == '\0' && expected->error[0] == '\0') {
        cli_json_number(json, "difference", phone_difference(result, expected));
        cli_json_integer(json, "values", result->count);
    } else if (expected->error[0] != '\0') {
        cli_json_string(json, "not_compared", expected->error);
    }
    cli_json_end(json, '}');
}

static int measure(const arguments *args, const char *bundle)
{
    static const phone_setting plain = {.name = "base"};
    cli_json json = {0};
    phone_result result;
    phone_result expected;
    const phone_setting *setting = setting_find(args->setting ? args->setting : "base");
    if (!setting) {
        return cli_usage_error(NULL, "no setting '%s'; without a BUNDLE the settings are listed",
                               args->setting);
    }
    const phone_way way = {args->device, bundle, args->cache, setting, args->seconds};
    const phone_way other = {args->expected ? args->expected : "cpu", bundle, args->cache, &plain, 0.0};
    phone_measure(&way, &result);
    phone_measure(&other, &expected);
    const bool written = cli_json_begin(&json);
    if (written) {
        result_json(&json, &way, &result, &expected);
    }
    const bool failed = result.error[0] != '\0';
    phone_result_release(&result);
    phone_result_release(&expected);
    if (!written || !cli_json_finish(&json)) {
        return cli_failure(NULL, "no memory");
    }
    return failed ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

int main(int argc, char **argv)
{
    arguments args = {.seconds = 1.0};
    cli_common common = {0};
    const cli_option options[] = {
        {"device", 0, CLI_KIND_TEXT, &args.device, "ID", "device (default: auto)", 0, 0},
        {"setting", 0, CLI_KIND_TEXT, &args.setting, "NAME", "what the session is asked for (default: base)",
         0, 0},
        {"expected", 0, CLI_KIND_TEXT, &args.expected, "ID", "device of the outputs to compare with (cpu)", 0,
         0},
        {"cache", 0, CLI_KIND_TEXT, &args.cache, "DIR", "kernel binaries and plans (default: none)", 0, 0},
        {"seconds", 0, CLI_KIND_NUMBER, &args.seconds, "S", "of measured runs (default 1)", 0.001, 600},
    };
    const cli_usage usage = {
        .name = NULL,
        .positionals = "[BUNDLE]",
        .summary = "Measures a bundle on a device; without a BUNDLE lists devices and settings.",
        .positional_more = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    const int status = cli_parse(&usage, argc, argv, &common);
    if (status >= 0) {
        return status;
    }
    return common.positionals[0] ? measure(&args, common.positionals[0]) : list();
}
