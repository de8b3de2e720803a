/*
 * utf8.h: which bytes are text that may be shown to people.
 */
#ifndef MTS_BASE_UTF8_H
#define MTS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at `at` (1 to 4), 0 if there is none within `left` > 0
   bytes. */
static inline size_t mts_utf8_length(const unsigned char *at, size_t left)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char lead = at[0];
    if (lead >= 0xf8 || (lead >= 0x80 && lead < 0xc0)) {
        return 0;
    }
    const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (length > left) {
        return 0;
    }
    uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0u) != 0x80u) {
            return 0;
        }
        point = point << 6 | (at[i] & 0x3fu);
    }
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[length] || point > 0x10ffff || surrogate ? 0 : length;
}

/* The same, and 0 if it is a control character, which terminals may obey: of ASCII, or of
   the second set, U+0080 to U+009F. */
static inline size_t mts_utf8_text(const unsigned char *at, size_t left)
{
    const bool second = at[0] == 0xc2 && left > 1 && at[1] < 0xa0;
    return at[0] < 0x20 || at[0] == 0x7f || second ? 0 : mts_utf8_length(at, left);
}

/* Replaces every byte that is no text by '?'. */
static inline void mts_utf8_clean(char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const size_t length = mts_utf8_text((const unsigned char *)text + i, size - i);
        if (length == 0) {
            text[i] = '?';
        }
        i += length ? length : 1;
    }
}

#endif
