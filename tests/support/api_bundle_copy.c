/*
 * api_bundle_copy.c: the demo's bundle in a build without libmtsc: a copy of the one that MTS_TEST_BUNDLE
 * names, which a build with libmtsc has made. Without that the test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/api_fixture.h"

void api_bundle_make(const char *path)
{
    const char *from = getenv("MTS_TEST_BUNDLE");
    if (!from) {
        print_message("MTS_TEST_BUNDLE names no bundle of the demo: skipped\n");
        exit(77);
    }
    FILE *in = fopen(from, "rb"), *out = fopen(path, "wb");
    char block[4096];
    size_t bytes = 0;
    while (in && out && (bytes = fread(block, 1, sizeof block, in)) > 0 &&
           fwrite(block, 1, bytes, out) == bytes) {
    }
    const int good = in && out && !ferror(in) && bytes == 0;
    if (in) {
        (void)fclose(in);
    }
    if ((out && fclose(out) != 0) || !good) {
        fail_msg("cannot copy %s to %s", from, path);
    }
}
