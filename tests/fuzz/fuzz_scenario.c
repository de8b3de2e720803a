/*
 * libFuzzer target: any bytes as a scenario of mts bench.
 */
#include "kit/files.h"
#include "mts/bench_scenario.h"
#include "fuzz/fuzz_bytes.h"

const char *const cli_program = "fuzz_scenario";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(".json");
    char error[CLI_ERROR] = "", name[CLI_SCENARIO_TASK];
    cli_scenario scenario;
    fuzz_put(path, data, size);
    if (cli_scenario_read(path, &scenario, error)) {
        for (size_t i = 0; i < scenario.count; i++) {
            cli_scenario_task(&scenario.networks[i], scenario.networks[i].times, name);
        }
    } else if (!error[0]) {
        abort(); /* a finding: refused without a sentence */
    }
    cli_scenario_release(&scenario);
    return 0;
}
