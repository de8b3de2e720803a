/*
 * exif.c: finds one number in a JPEG, PNG or WebP file, whatever its bytes are, and turns
 * pixels by it. Every offset is compared with the bytes that are left before it is used.
 */
#include "exif.h"

#include <stdlib.h>
#include <string.h>

#define TAG_ORIENTATION 0x0112u
#define TYPE_SHORT 3u
#define ENTRY_BYTES 12u
#define TIFF_LEAST 8u        /* a header */
#define TIFF_MOST (1u << 20) /* JPEG allows 64 KiB; more is not Exif data of a camera */
#define PNG_SIGNATURE "\x89PNG\r\n\x1a\n"
#define CRC_POLYNOMIAL 0xedb88320u /* ISO 3309, as PNG's specification has it, bits reversed */

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

static bool begins(const bytes *b, size_t place, const char *with, size_t length)
{
    return b->size >= length && place <= b->size - length && memcmp(b->at + place, with, length) == 0;
}

/* A JPEG: the content of the APP1 segment with Exif data is a TIFF file. */
static bool jpeg_find(const bytes *all, bytes *tiff)
{
    size_t place = 2;
    while (all->size - place >= 4 && all->at[place] == 0xff) {
        const unsigned char marker = all->at[place + 1];
        const size_t length = read16(all, place + 2); /* with its own two bytes */
        if (marker == 0xff) {                         /* a fill byte */
            place++;
            continue;
        }
        if (marker == 0xda || marker == 0xd9 || length < 2 || length > all->size - place - 2) {
            return false; /* the picture begins, or the segment is cut off */
        }
        if (marker == 0xe1 && length >= 8 && memcmp(all->at + place + 4, "Exif\0\0", 6) == 0) {
            *tiff = (bytes){.at = all->at + place + 10, .size = length - 8};
            return true;
        }
        place += 2 + length;
    }
    return false;
}

static uint32_t crc_of(const unsigned char *at, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        for (int k = 0; k < 8; k++) {
            crc = crc >> 1 ^ (crc & 1u ? CRC_POLYNOMIAL : 0u);
        }
    }
    return ~crc;
}

/* A PNG (third edition, 11.3.5.4): the chunk eXIf is a TIFF file. It counts with a right checksum. */
static bool png_find(const bytes *all, bytes *tiff)
{
    size_t place = sizeof PNG_SIGNATURE - 1;
    while (all->size - place >= 12) { /* length, kind and checksum */
        const size_t length = read32(all, place);
        if (length > all->size - place - 12) {
            return false;
        }
        if (begins(all, place + 4, "eXIf", 4)) {
            *tiff = (bytes){.at = all->at + place + 8, .size = length};
            return length <= TIFF_MOST &&
                   crc_of(all->at + place + 4, 4 + length) == read32(all, place + 8 + length);
        }
        place += 12 + length;
    }
    return false;
}

/* A WebP (RFC 9649, 2.7.1.5): the chunk EXIF is a TIFF file. Some programs begin it as JPEG does. */
static bool webp_find(const bytes *all, bytes *tiff)
{
    const bytes file = {.at = all->at, .size = all->size, .little = true};
    size_t place = 12;
    while (file.size - place >= 8) { /* kind and length */
        const size_t length = read32(&file, place + 4);
        if (length > file.size - place - 8) {
            return false;
        }
        if (begins(&file, place, "EXIF", 4)) {
            const size_t head = length >= 6 && memcmp(file.at + place + 8, "Exif\0\0", 6) == 0 ? 6 : 0;
            *tiff = (bytes){.at = file.at + place + 8 + head, .size = length - head};
            return length <= TIFF_MOST;
        }
        const size_t padded = length + length % 2;
        if (padded > file.size - place - 8) {
            return false;
        }
        place += 8 + padded;
    }
    return false;
}

/* By how a file begins. */
static bool tiff_find(const bytes *all, bytes *tiff)
{
    if (begins(all, 0, "\xff\xd8", 2)) {
        return jpeg_find(all, tiff);
    }
    if (begins(all, 0, PNG_SIGNATURE, sizeof PNG_SIGNATURE - 1)) {
        return png_find(all, tiff);
    }
    return begins(all, 0, "RIFF", 4) && begins(all, 8, "WEBP", 4) && webp_find(all, tiff);
}

uint32_t cli_exif_orientation(const unsigned char *file, size_t size)
{
    const bytes all = {.at = file, .size = size};
    bytes tiff;
    if (!tiff_find(&all, &tiff) || tiff.size < TIFF_LEAST) {
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
