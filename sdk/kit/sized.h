/*
 * sized.h: options of a program that was built with an older header, whose structs end
 * earlier. The kit uses types.h alone, so it has its own form of sdk/base/sized.h.
 */
#ifndef MTS_KIT_SIZED_H
#define MTS_KIT_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Copies the fields that `given` has over those of `options`, which the caller has filled
 * with defaults; `known`: sizeof *options. Both begin with their size. False: `given` is
 * NULL, has no valid size or is larger than this library's; nothing changes then.
 */
static inline bool mts_kit_sized_read(void *options, size_t known, const void *given)
{
    size_t size = 0;
    if (given) {
        memcpy(&size, given, sizeof size);
    }
    if (size < sizeof size || size > known || size % sizeof size != 0) {
        return false;
    }
    memcpy((unsigned char *)options + sizeof size, (const unsigned char *)given + sizeof size,
           size - sizeof size);
    return true;
}

/*
 * Fills a caller's struct of `size` bytes with `defaults`, which begin with their own
 * size: bytes that the caller's struct does not have are not written, those that this
 * library does not know become 0. The struct's size becomes `size`. `out` may be NULL.
 */
static inline void mts_kit_sized_default(void *out, size_t size, const void *defaults)
{
    size_t known = 0;
    memcpy(&known, defaults, sizeof known);
    if (!out || size < sizeof size) {
        return;
    }
    memset(out, 0, size);
    memcpy(out, defaults, size < known ? size : known);
    memcpy(out, &size, sizeof size);
}

#endif
