/*
 * frame.c: the default of a frame. Checking one is sdk/frame's.
 */
#include <string.h>

#include "api/api.h"

void mts_frame_default_sized(mts_frame *frame, size_t size)
{
    const mts_frame defaults = {.size = sizeof(mts_frame)};
    mts_sized_default(frame, size, &defaults);
}
