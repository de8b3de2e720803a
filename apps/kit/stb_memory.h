/*
 * stb_memory.h: memory of stb_image_write, whose compressor writes through NULL where there is none. A request that
 * cannot be met ends the call instead, and all that it took is freed.
 */
#ifndef MTS_KIT_STB_MEMORY_H
#define MTS_KIT_STB_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "image.h"

/* Of stb_image_write alone, within cli_stb_png. */
void *cli_stb_take(void *old, size_t size);
void cli_stb_give(void *memory);

/* A PNG of the image, handed to `write` once; false if memory is short. */
bool cli_stb_png(const cli_image *image, void (*write)(void *context, void *data, int size), void *context);

#endif
