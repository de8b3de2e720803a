/*
 * file_write.c: mtsc_file_write: the writer of bundles and models for the files of a program.
 */
#include "compiler/compiler.h"
#include "platform/os/os.h"

mts_status mtsc_file_write(const char *path, const void *data, size_t size, const mtsc_options *options)
{
    mtsc_options defaults;
    mts_error error = {0};
    mtsc_options_default(&defaults);
    options = options ? options : &defaults;
    if (options->size != sizeof(*options)) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    const char *defect = mts_compiler_options_defect(options);
    if (!defect && (!path || !*path || (!data && size > 0))) {
        defect = "file: the path or the data is missing";
    }
    const mts_status code = defect ? mts_fail(&error, MTS_STATUS_INVALID_ARGUMENT, "%s", defect)
                                   : mts_os_file_write(path, data, size, &error);
    return mts_compiler_report(options, code, &error);
}
