/*
 * Writes the seeds of the fuzzers into a folder: a bundle with a bit of everything. Usage: fuzz_seed FOLDER
 */
#include <stdio.h>

#include "compiler/models/bundle.h"
#include "compiler/passes/discover.h"
#include "platform/os/os.h"
#include "support/sample_archive.h"

int main(int count, char **arguments)
{
    char path[512];
    mts_discover_options options = {0};
    mts_discover_report report;
    mts_bundle_bytes bytes = {.allocator = mts_allocator_default()};
    mts_archive *archive = count == 2 ? mts_sample_archive(mts_allocator_default()) : NULL;
    if (!archive || mts_discover(archive, &options, &report, NULL) != MTS_STATUS_OK ||
        mts_bundle_encode(archive, mts_allocator_default(), &bytes, NULL) != MTS_STATUS_OK) {
        fprintf(stderr, "usage: fuzz_seed FOLDER\n");
        mts_archive_destroy(&archive);
        return 2;
    }
    (void)snprintf(path, sizeof(path), "%s/sample.mtsb", arguments[1]);
    mts_error error = {0};
    const mts_status code = mts_os_file_write(path, bytes.data, bytes.size, &error);
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
    return code == MTS_STATUS_OK ? 0 : 1;
}
