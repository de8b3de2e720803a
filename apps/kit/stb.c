/*
 * stb.c: the one place where the code of stb_image, stb_image_write and stb_easy_font is compiled.
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
#include <stb/stb_image_write.h>

#include <stb/stb_easy_font.h>

#include "stb.h"

int cli_stb_text(const char *text, void *quads, int size)
{
    /* the library takes a char * that it does not write to */
    return stb_easy_font_print(0.0f, 0.0f, (char *)text, NULL, quads, size);
}

int cli_stb_text_width(const char *text)
{
    return stb_easy_font_width((char *)text);
}
