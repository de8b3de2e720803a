/*
 * must.c: see must.h.
 */
#include "support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void test_must(mts_status code, const mts_error *error, const char *what)
{
    if (code != MTS_STATUS_OK) {
        print_error("%s: %s: %s\n", what, mts_status_text(code), error->text);
        fail();
    }
}
