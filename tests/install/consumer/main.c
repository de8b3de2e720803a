/*
 * A program that knows the installed headers and libraries only: prints the version and whether a compiler
 * can be made.
 */
#include <stdio.h>

#include <mts/mts.h>
#include <mts/mtsc.h>

int main(void)
{
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    mtsc_options_default(&options);
    const int made = mtsc_compiler_create(&options, &compiler) == MTS_STATUS_OK;
    mtsc_compiler_destroy(&compiler);
    printf("%s %d\n", mts_version(), made);
    return mts_device_count() > 0 ? 0 : 1;
}
