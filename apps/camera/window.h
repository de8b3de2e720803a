/*
 * window.h: pictures in a window, where GStreamer has one.
 */
#ifndef MTS_CAMERA_WINDOW_H
#define MTS_CAMERA_WINDOW_H

#include "kit/image.h"
#include "status.h"

typedef struct window window;

/* `sink`: an element of GStreamer, NULL: what it finds best. NULL with a sentence of
   CLI_ERROR bytes. */
window *window_open(const char *sink, const cli_image *picture, char *error);
/* Shows a picture, which is copied; one of another size is left out. END: the user closed
   the window; FAILURE. Both with a sentence. */
camera_status window_show(window *shown, const cli_image *picture, char *error);
void window_close(window **shown);

#endif
