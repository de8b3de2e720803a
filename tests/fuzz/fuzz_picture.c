/*
 * libFuzzer target: any bytes as a JPEG, PNG or WebP file, with the library that decodes it in this process, and its
 * Exif data. stb_image, which works in a child, is not ours to fuzz.
 */
#include "kit/decoders.h"
#include "kit/exif.h"
#include "fuzz/fuzz_bytes.h"

const char *const cli_program = "fuzz_picture";

static void try_decoder(cli_decoder *decoder, const uint8_t *data, size_t size)
{
    char reason[CLI_REASON] = "";
    cli_image image = {0};
    if (decoder(data, size, &image, reason)) {
        volatile unsigned char any = 0;
        for (size_t i = 0; i < (size_t)3 * image.width * image.height; i++) {
            any = (unsigned char)(any ^ image.pixels[i]);
        }
        (void)cli_image_upright(&image, cli_exif_orientation(data, size));
    } else if (image.pixels || !reason[0]) {
        abort(); /* a finding */
    }
    cli_image_release(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)cli_exif_orientation(data, size);
#ifdef MTS_KIT_JPEG
    if (size > 2 && data[0] == 0xff) {
        try_decoder(cli_jpeg_decode, data, size);
    }
#endif
#ifdef MTS_KIT_PNG
    if (size > 8 && data[0] == 0x89) {
        try_decoder(cli_png_decode, data, size);
    }
#endif
#ifdef MTS_KIT_WEBP
    if (size > 12 && data[0] == 'R') {
        try_decoder(cli_webp_decode, data, size);
    }
#endif
    return 0;
}
