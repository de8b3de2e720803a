/*
 * window_none.c: there is no window without GStreamer.
 */
#include "window.h"

#include <stdio.h>

window *window_open(const char *sink, const cli_image *picture, char *error)
{
    (void)sink;
    (void)picture;
    (void)snprintf(error, CLI_ERROR, "--window: this program was built without GStreamer");
    return NULL;
}

camera_status window_show(window *shown, const cli_image *picture, char *error)
{
    (void)shown;
    (void)picture;
    (void)error;
    return CAMERA_FAILURE;
}

void window_close(window **shown)
{
    (void)shown;
}
