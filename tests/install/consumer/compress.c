/*
 * A program that knows the installed headers and libraries only: prints the version and whether a bundle that
 * does not exist is refused, by the libraries of compression and of compiling.
 */
#include <mts/mts.h>
#include <mts/mtsz.h>
#include <stdio.h>

int main(void)
{
    char error[256] = "";
    mtsc_options options;
    mtsz_prune_options prune;
    mtsc_options_default(&options);
    mtsz_prune_options_default(&prune);
    options.error_text = error;
    options.error_size = sizeof error;
    prune.refit = 0;
    const mts_status status = mtsz_prune("missing.mtsb", NULL, &prune, "out.mtsb", &options, NULL);
    printf("%s %d\n", mts_version(), status != MTS_STATUS_OK && error[0] != 0);
    return 0;
}
