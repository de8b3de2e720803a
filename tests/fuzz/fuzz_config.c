/*
 * libFuzzer target: any bytes as a task list.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mts/mtsc.h"
#include "platform/os/os.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], text[512];
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    mtsc_options_default(&options);
    options.error_text = text;
    options.error_size = sizeof(text);
    (void)snprintf(path, sizeof(path), "/tmp/mts_fuzz_%ld.json", (long)getpid());
    if (mts_os_file_write(path, data, size, NULL) == MTS_STATUS_OK &&
        mtsc_compiler_create(&options, &compiler) == MTS_STATUS_OK) {
        (void)mtsc_compiler_add_config(compiler, path);
    }
    mtsc_compiler_destroy(&compiler);
    (void)unlink(path);
    return 0;
}
