/*
 * file.c: see file.h.
 */
#include "compiler/emit/file.h"

#include "compiler/emit/bundle.h"
#include "platform/os/os.h"

static mts_status check_bytes(const mts_bundle_bytes *bytes, const char *path, const mts_allocator *allocator,
                              mts_error *error)
{
    mts_archive *archive = NULL;
    mts_status code = mts_archive_read(bytes->data, bytes->size, path, NULL, allocator, &archive, error);
    mts_archive_destroy(&archive);
    if (code == MTS_STATUS_MALFORMED) {
        code = mts_fail_prefix(error, MTS_STATUS_INTERNAL, "the compiler made a bundle that cannot be read");
    }
    return code;
}

mts_status mts_bundle_write(const mts_archive *archive, const char *path, const mts_allocator *allocator,
                            mts_error *error)
{
    mts_bundle_bytes bytes = {.allocator = allocator};
    mts_status code = mts_bundle_encode(archive, allocator, &bytes, error);
    MTS_TRY(code, check_bytes(&bytes, path, allocator, error));
    MTS_TRY(code, mts_os_file_write(path, bytes.data, bytes.size, error));
    mts_bundle_bytes_release(&bytes);
    return code;
}
