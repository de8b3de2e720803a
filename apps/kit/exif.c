/*
 * exif.c: finds one number in a JPEG file, whatever its bytes are, and turns pixels by
 * it. Every offset is compared with the bytes that are left before it is used.
 */
#include "exif.h"

#include <stdlib.h>
#include <string.h>

#define TAG_ORIENTATION 0x0112u
#define TYPE_SHORT 3u
#define ENTRY_BYTES 12u

/* Bytes of the file, and in which order numbers lie. */
typedef struct bytes {
    const unsigned char *at;
    size_t size;
    bool little;
} bytes;

static uint32_t read16(const bytes *b, size_t place)
{
    const uint32_t first = b->at[place];
    const uint32_t second = b->at[place + 1];
    return b->little ? second << 8 | first : first << 8 | second;
}

static uint32_t read32(const bytes *b, size_t place)
{
    const uint32_t first = read16(b, place);
    const uint32_t second = read16(b, place + 2);
    return b->little ? second << 16 | first : first << 16 | second;
}

/* The content of the APP1 segment with Exif data: a TIFF file. */
static bool tiff_find(const unsigned char *file, size_t size, bytes *out)
{
    const bytes all = {.at = file, .size = size};
    size_t place = 2;
    if (size < 4 || file[0] != 0xff || file[1] != 0xd8) {
        return false;
    }
    while (size - place >= 4 && file[place] == 0xff) {
        const unsigned char marker = file[place + 1];
        const size_t length = read16(&all, place + 2); /* with its own two bytes */
        if (marker == 0xff) {                          /* a fill byte */
            place++;
            continue;
        }
        if (marker == 0xda || marker == 0xd9 || length < 2 || length > size - place - 2) {
            return false; /* the picture begins, or the segment is cut off */
        }
        if (marker == 0xe1 && length >= 8 + 8 && memcmp(file + place + 4, "Exif\0\0", 6) == 0) {
            *out = (bytes){.at = file + place + 10, .size = length - 8};
            return true;
        }
        place += 2 + length;
    }
    return false;
}

uint32_t cli_exif_orientation(const unsigned char *file, size_t size)
{
    bytes tiff;
    if (!tiff_find(file, size, &tiff)) {
        return 1;
    }
    tiff.little = tiff.at[0] == 'I';
    if ((memcmp(tiff.at, "II", 2) != 0 && memcmp(tiff.at, "MM", 2) != 0) || read16(&tiff, 2) != 42) {
        return 1;
    }
    const size_t directory = read32(&tiff, 4);
    if (directory > tiff.size || tiff.size - directory < 2) {
        return 1;
    }
    const size_t room = (tiff.size - directory - 2) / ENTRY_BYTES;
    const size_t count = read16(&tiff, directory);
    for (size_t i = 0; i < count && i < room; i++) {
        const size_t entry = directory + 2 + i * ENTRY_BYTES;
        if (read16(&tiff, entry) == TAG_ORIENTATION) {
            const uint32_t value = read16(&tiff, entry + 8);
            return read16(&tiff, entry + 2) == TYPE_SHORT && value >= 1 && value <= 8 ? value : 1;
        }
    }
    return 1;
}

bool cli_image_upright(cli_image *image, uint32_t orientation)
{
    const size_t w = image->width;
    const size_t h = image->height;
    const bool turned = orientation >= 5;
    /* of the upright picture's first pixel, and whether columns and rows of the file are
       read backwards */
    const bool left = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool up = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (orientation < 2 || orientation > 8) {
        return true;
    }
    unsigned char *pixels = malloc(w * h * 3);
    if (!pixels) {
        return false;
    }
    unsigned char *to = pixels;
    for (size_t y = 0; y < (turned ? w : h); y++) {
        for (size_t x = 0; x < (turned ? h : w); x++, to += 3) {
            const size_t across = turned ? y : x;
            const size_t down = turned ? x : y;
            memcpy(to,
                   image->pixels + 3 * ((up ? h - 1 - down : down) * w + (left ? w - 1 - across : across)),
                   3);
        }
    }
    free(image->pixels);
    *image = (cli_image){pixels, (uint32_t)(turned ? h : w), (uint32_t)(turned ? w : h)};
    return true;
}
