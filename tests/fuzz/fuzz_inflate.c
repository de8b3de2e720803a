/*
 * libFuzzer target: any bytes as a deflate stream.
 */
#include "base/inflate.h"
#include "fuzz/fuzz_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    const size_t room = fuzz_u32(&in) % 65536;
    unsigned char *packed = malloc(in.left ? in.left : 1), *out = malloc(room ? room : 1);
    if (packed && out) {
        for (size_t i = 0; i < in.left; i++) {
            packed[i] = in.at[i]; /* of exactly its size, for the sanitizer */
        }
        (void)mts_inflate(packed, in.left, out, room);
    }
    free(packed);
    free(out);
    return 0;
}
