/*
 * precision.c: see precision.h.
 */
#include "precision.h"

#include <string.h>

static const char *const names[] = {[MTS_PRECISION_FLOAT32] = "float32",
                                    [MTS_PRECISION_FLOAT16_STORAGE] = "float16-storage",
                                    [MTS_PRECISION_FLOAT16] = "float16"};

#define COUNT (sizeof names / sizeof names[0])

bool cli_precision_find(const char *name, mts_precision *out)
{
    *out = MTS_PRECISION_FLOAT32;
    for (size_t i = 0; name && i < COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (mts_precision)i;
            return true;
        }
    }
    return !name;
}

const char *cli_precision_name(mts_precision precision)
{
    return (size_t)precision < COUNT ? names[precision] : "unknown";
}

const char *cli_precision_list(void)
{
    return "float32, float16-storage, float16";
}
