/*
 * stb.c: the one place where the code of stb_image and stb_image_write is compiled.
 */
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_PIC
#define STBI_NO_PSD
#define STBI_NO_GIF
#include <stb/stb_image.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include "stb_memory.h"
#define STBIW_MALLOC(size) cli_stb_take(NULL, (size))
#define STBIW_REALLOC(old, size) cli_stb_take((old), (size))
#define STBIW_FREE(memory) cli_stb_give(memory)
#include <stb/stb_image_write.h>
