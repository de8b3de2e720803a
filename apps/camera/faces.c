/*
 * faces.c: from the cascade to a frame that is under way.
 */
#include "faces.h"

#include <stdio.h>
#include <string.h>

#include "kit/face_show.h"
#include "kit/frames.h"

bool faces_find(faces *all, feed_frame *frame, char *error)
{
    const cli_face *found = NULL;
    uint32_t count = 0;
    if (!all->cascade) {
        return true;
    }
    if (!cli_cascade_run(all->cascade, &frame->source.frame, &found, &count, error)) {
        return false;
    }
    frame->face_count = count < FEED_FACES_MOST ? count : FEED_FACES_MOST;
    if (frame->face_count > 0) {
        memcpy(frame->faces, found, frame->face_count * sizeof *found);
    }
    const cli_cascade_times times = cli_cascade_last(all->cascade);
    (void)snprintf(all->text, sizeof all->text, "%u face%s; detector %.2f ms, tasks of faces %.2f ms", count,
                   count == 1 ? "" : "s", times.detector_ms, times.tasks_ms);
    return true;
}

void faces_draw(const faces *all, const feed_frame *frame, cli_image *picture)
{
    for (uint32_t i = 0; i < frame->face_count; i++) {
        cli_face_draw(all->cascade, &frame->faces[i], picture);
    }
}

void faces_json(const faces *all, const feed_frame *frame, cli_json *json)
{
    uint32_t width = 0, height = 0;
    if (!all->cascade) {
        return;
    }
    cli_frame_shown(&frame->source.frame, &width, &height);
    cli_json_array(json, "faces");
    for (uint32_t i = 0; i < frame->face_count; i++) {
        cli_face_json(all->cascade, &frame->faces[i], width, height, json);
    }
    cli_json_end(json, ']');
}
