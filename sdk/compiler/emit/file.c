/*
 * file.c: see file.h.
 */
#include "compiler/emit/file.h"

#include "compiler/emit/bundle.h"
#include "platform/os/os.h"

static mts_code check_bytes(const mts_bundle_bytes *bytes, const char *path, const mts_allocator *allocator,
                            mts_error *error)
{
    mts_archive *archive = NULL;
    mts_code code = mts_archive_read(bytes->data, bytes->size, path, NULL, allocator, &archive, error);
    mts_archive_destroy(&archive);
    if (code == MTS_CODE_MALFORMED) {
        code = mts_fail_prefix(error, MTS_CODE_INTERNAL, "the compiler made a bundle that cannot be read");
    }
    return code;
}

mts_code mts_bundle_write(const mts_archive *archive, const char *path, const mts_allocator *allocator,
                          mts_error *error)
{
    mts_bundle_bytes bytes = {.allocator = allocator};
    mts_code code = mts_bundle_encode(archive, allocator, &bytes, error);
    if (code == MTS_CODE_OK) {
        code = check_bytes(&bytes, path, allocator, error);
    }
    if (code == MTS_CODE_OK) {
        code = mts_os_file_write(path, bytes.data, bytes.size, error);
    }
    mts_bundle_bytes_release(&bytes);
    return code;
}
