/*
 * sized.h: public structs that begin with their own size, which the caller sets.
 *
 * A program may be built with an older header, whose structs end earlier. The library
 * accepts these: fields that options lack keep their defaults, fields that a result lacks
 * are not written. So a public struct may grow at its end, and only there. A new field
 * has to make it larger: one that only fills the padding at the end of the old struct
 * cannot be told from it. Such a struct gets 8 bytes at once.
 *
 * A struct that is a part of another one, or an element of an array, cannot grow: what
 * follows it would move. Its new fields take reserved words, which have to be zeros until
 * then, or stand at the end of the struct around it. tests/header/parts.c holds the sizes
 * of all such structs.
 */
#ifndef MTS_BASE_SIZED_H
#define MTS_BASE_SIZED_H

#include <stdbool.h>

#include "base/status.h"

/*
 * True if the struct at `sized` has a size from that of its size field to `known`, the
 * size in this library. Such a struct is aligned to size_t, so a size that is no multiple
 * of it is refused too.
 */
bool mts_sized_valid(const void *sized, size_t known);

/* Refuses, with a sentence that begins with `name`, a struct that is NULL or has no valid
   size. */
mts_status mts_sized_check(const void *sized, size_t known, const char *name, mts_error *error);

/*
 * Copies the fields that `given` has over those of `options`. The caller fills `options`,
 * of `known` bytes and with their number in its size field, with the defaults before.
 * Fails as mts_sized_check, and changes nothing then.
 */
mts_status mts_sized_read(void *options, size_t known, const void *given, const char *name, mts_error *error);

/*
 * Fills a caller's struct of `size` bytes with `defaults`, which begin with their own
 * size: bytes that the caller's struct does not have are not written, those that this
 * library does not know become 0. The struct's size becomes `size`. `out` may be NULL.
 */
void mts_sized_default(void *out, size_t size, const void *defaults);

/* Refuses a value of an enumeration, or a flag, that this library does not know. The
 * sentence begins with `where` and names the field. */
mts_status mts_check_kind(const char *where, const char *field, int value, int most, mts_error *error);
mts_status mts_check_flag(const char *where, const char *field, uint32_t value, mts_error *error);

/* Copies the fields that `out` has from `result`; the size of `out`, checked before,
   stays. */
void mts_sized_write(void *out, const void *result);

#endif
