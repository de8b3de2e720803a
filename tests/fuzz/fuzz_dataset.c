/*
 * libFuzzer target: any bytes as a data set: records of CIFAR-10, or an array.
 */
#include "kit/files.h"
#include "mts/dataset.h"
#include "fuzz/fuzz_bytes.h"

const char *const cli_program = "fuzz_dataset";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char rgb[3 * CLI_DATASET_SIDE * CLI_DATASET_SIDE];
    char error[CLI_ERROR] = "";
    fuzz_bytes in = {data, size};
    const char *path = fuzz_path(fuzz_u8(&in) % 2 ? ".bin" : ".npy");
    const uint32_t limit = fuzz_u8(&in) % 8;
    fuzz_put(path, in.at, in.left);
    cli_dataset *set = cli_dataset_open(path, limit, error);
    if (!set && !error[0]) {
        abort(); /* a finding */
    }
    for (uint32_t i = 0; set && cli_dataset_labelled(set) && i < cli_dataset_count(set); i++) {
        (void)cli_dataset_label(set, i);
        cli_dataset_pixels(set, i, rgb);
    }
    cli_dataset_close(set);
    return 0;
}
