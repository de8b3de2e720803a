/*
 * sized.c: reading and writing public structs of this size or a smaller one.
 */
#include "base/sized.h"

#include <inttypes.h>
#include <string.h>

static size_t size_of(const void *sized)
{
    size_t size = 0;
    memcpy(&size, sized, sizeof size);
    return size;
}

bool mts_sized_valid(const void *sized, size_t known)
{
    const size_t size = sized ? size_of(sized) : 0;
    return size >= sizeof size && size <= known && size % sizeof size == 0;
}

mts_status mts_sized_check(const void *sized, size_t known, const char *name, mts_error *error)
{
    if (!sized) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s is NULL", name);
    }
    if (!mts_sized_valid(sized, known)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "%s: size is %zu, and has to be sizeof(%s), which is at most %zu in this library",
                        name, size_of(sized), name, known);
    }
    return MTS_STATUS_OK;
}

mts_status mts_sized_read(void *options, size_t known, const void *given, const char *name, mts_error *error)
{
    const mts_status status = mts_sized_check(given, known, name, error);
    if (status == MTS_STATUS_OK) {
        memcpy((unsigned char *)options + sizeof known, (const unsigned char *)given + sizeof known,
               size_of(given) - sizeof known);
    }
    return status;
}

void mts_sized_default(void *out, size_t size, const void *defaults)
{
    if (!out || size < sizeof size) {
        return;
    }
    const size_t known = size_of(defaults);
    memset(out, 0, size);
    memcpy(out, defaults, size < known ? size : known);
    memcpy(out, &size, sizeof size);
}

mts_status mts_check_kind(const char *where, const char *field, int value, int most, mts_error *error)
{
    return value >= 0 && value <= most
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: unknown %s %d", where, field, value);
}

mts_status mts_check_flag(const char *where, const char *field, uint32_t value, mts_error *error)
{
    return value <= 1 ? MTS_STATUS_OK
                      : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: %s is 0 or 1, not %" PRIu32, where,
                                 field, value);
}

void mts_sized_write(void *out, const void *result)
{
    memcpy((unsigned char *)out + sizeof(size_t), (const unsigned char *)result + sizeof(size_t),
           size_of(out) - sizeof(size_t));
}
