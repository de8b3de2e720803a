/*
 * command_devices.c: mts devices.
 */
#include <stdio.h>

#include "kit/args.h"
#include "command.h"
#include "kit/json.h"
#include "kit/measure.h"
#include "mts/mts.h"

static void print_text(void)
{
    printf("%2s  %-12s %-5s %5s %6s %10s  %s\n", "n", "id", "kind", "units", "vector", "memory", "name");
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc device = {.size = sizeof device};
        char memory[32];
        if (mts_device_describe(i, &device) == MTS_STATUS_OK) {
            printf("%2u  %-12s %-5s %5u %6u %10s  %s\n", i, device.id, device.is_gpu ? "gpu" : "cpu",
                   device.compute_units, device.vector_floats,
                   cli_bytes_text(device.memory_bytes, memory, sizeof memory), device.name);
        }
    }
}

static int print_json(void)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("devices", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_array(&json, "devices");
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc device = {.size = sizeof device};
        if (mts_device_describe(i, &device) != MTS_STATUS_OK) {
            continue;
        }
        cli_json_object(&json, NULL);
        cli_json_string(&json, "id", device.id);
        cli_json_string(&json, "name", device.name);
        cli_json_string(&json, "driver", device.driver);
        cli_json_raw(&json, "is_gpu", device.is_gpu ? "true" : "false");
        cli_json_integer(&json, "compute_units", device.compute_units);
        cli_json_integer(&json, "vector_floats", device.vector_floats);
        cli_json_integer(&json, "memory_bytes", device.memory_bytes);
        cli_json_end(&json, '}');
    }
    cli_json_end(&json, ']');
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("devices", "no memory");
}

int cli_command_devices(int argc, char **argv)
{
    static const cli_usage usage = {
        .name = "devices",
        .positionals = "",
        .summary = "Lists the devices that can be opened now; a missing driver means fewer devices.",
    };
    cli_common common = {0};
    const int status = cli_parse(&usage, argc, argv, &common);
    if (status >= 0) {
        return status;
    }
    if (common.json) {
        return print_json();
    }
    print_text();
    return CLI_EXIT_OK;
}
