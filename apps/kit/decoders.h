/*
 * decoders.h: the decoders behind image.h, for image.c and tests. Each makes RGB pixels of a
 * file in memory whose signature it knows, and checks the size that the file declares before
 * anything is decoded. On failure it says why in `reason`, CLI_REASON bytes, which follows
 * the file's name in a sentence, and leaves *image empty.
 */
#ifndef MTS_KIT_DECODERS_H
#define MTS_KIT_DECODERS_H

#include "image.h"

#define CLI_REASON 256
#define CLI_PIXELS_MOST ((uint64_t)64 << 20)
#define CLI_SIDE_MOST 16384u

typedef bool cli_decoder(const unsigned char *file, size_t size, cli_image *image, char *reason);

/* Those of libraries that resist hostile files; each is there if the build found its library
   (MTS_KIT_JPEG, MTS_KIT_PNG, MTS_KIT_WEBP). */
cli_decoder cli_jpeg_decode, cli_png_decode, cli_webp_decode;
/* stb_image, in this process: it reads and writes out of bounds if a file wants that. */
cli_decoder cli_stb_decode;
/*
 * stb_image in a child process of its own: what it breaks is the child. Memory and time of
 * the child are limited, and its results are checked as if they came from a file.
 */
cli_decoder cli_stb_decode_apart;

/* Whether an image may have this size; `reason` says why not. */
bool cli_image_size_check(uint32_t width, uint32_t height, char *reason);
/* Memory for the pixels; false: none, and `reason` says so. */
bool cli_image_make(cli_image *image, uint32_t width, uint32_t height, char *reason);

#endif
