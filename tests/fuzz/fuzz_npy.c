/*
 * libFuzzer target: any bytes as a NumPy array; what is read is written and read again.
 */
#include <string.h>

#include "kit/files.h"
#include "fuzz/fuzz_bytes.h"

const char *const cli_program = "fuzz_npy";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(".npy"), *again = fuzz_path(".again.npy");
    char error[CLI_ERROR] = "";
    mts_tensor tensor, second;
    fuzz_put(path, data, size);
    if (!cli_npy_read(path, &tensor, error)) {
        return 0;
    }
    if (cli_npy_write(again, &tensor, error)) {
        if (!cli_npy_read(again, &second, error) || second.bytes != tensor.bytes ||
            memcmp(second.data, tensor.data, tensor.bytes) != 0) {
            abort(); /* a finding */
        }
        free(second.data);
    }
    free(tensor.data);
    return 0;
}
