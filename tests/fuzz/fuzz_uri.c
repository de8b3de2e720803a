/*
 * libFuzzer target: any text as the address of a camera.
 */
#include <string.h>

#include "camera/uri.h"
#include "fuzz/fuzz_bytes.h"

const char *const cli_program = "fuzz_uri";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[2000], path[URI_PATH], name[200], error[CLI_ERROR] = "";
    source_request wanted = {.format = -1, .yuv = -1};
    bool loop = false;
    const uri_key keys[] = {URI_COMMON(wanted), {"loop", URI_KIND_FLAG, &loop}};
    const size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    if (uri_read(text, path, keys, sizeof keys / sizeof keys[0], error) == CAMERA_OK) {
        (void)uri_size_check(&wanted, error);
    } else if (!error[0]) {
        abort(); /* a finding */
    }
    (void)source_live(text);
    if (strlen(source_name(text, name, sizeof name)) >= sizeof name) {
        abort(); /* a finding */
    }
    return 0;
}
