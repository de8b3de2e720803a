/*
 * A program for a device: the run-time only. Prints its version and whether the plain C device can be opened;
 * as C and, through runtime.cpp, as C++.
 */
#include <mts/mts.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char version[32];
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_runtime_options_default(&options);
    options.device = "reference";
    const int opened = mts_runtime_create(&options, &runtime) == MTS_STATUS_OK;
    mts_runtime_destroy(&runtime);
    snprintf(version, sizeof version, "%d.%d.%d", MTS_VERSION_MAJOR, MTS_VERSION_MINOR, MTS_VERSION_PATCH);
    printf("%s %d\n", mts_version(), opened);
    return strcmp(version, mts_version()) == 0 && !runtime ? 0 : 1;
}
