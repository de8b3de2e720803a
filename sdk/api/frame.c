/*
 * frame.c: the default of a frame. Checking one is sdk/frame's.
 */
#include <string.h>

#include "api/api.h"

void mts_frame_default(mts_frame *frame)
{
    if (frame) {
        memset(frame, 0, sizeof *frame);
        frame->size = sizeof *frame;
    }
}
