/*
 * failure.c: the first failure of an import, which every later one leaves as it is.
 */
#include "compiler/import/lower.h"

#include <stdarg.h>
#include <stdio.h>

void mts_import_fail(mts_import *import, mts_status status, const char *format, ...)
{
    if (import->status != MTS_STATUS_OK) {
        return;
    }
    char text[MTS_ERROR_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    import->status = mts_fail(import->error, status, "%s", text);
}

bool mts_import_ok(const mts_import *import)
{
    return import->status == MTS_STATUS_OK;
}
