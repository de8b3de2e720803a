/*
 * api_bundle_compile.c: the demo's bundle, compiled. In builds with libmtsc; others have api_bundle_copy.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mts/mtsc.h"
#include "support/api_fixture.h"

void api_bundle_make(const char *path)
{
    char error[512] = "";
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    mtsc_options_default(&options);
    options.error_text = error;
    options.error_size = sizeof error;
    if (mtsc_compiler_create(&options, &compiler) != MTS_STATUS_OK ||
        mtsc_compiler_add_config(compiler, MTS_SOURCE_DIR "/apps/mts/demo/small.json") != MTS_STATUS_OK ||
        mtsc_compiler_write(compiler, path, NULL) != MTS_STATUS_OK) {
        fail_msg("cannot compile the demo's bundle: %s", error);
    }
    mtsc_compiler_destroy(&compiler);
}
