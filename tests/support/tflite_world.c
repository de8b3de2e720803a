#include "support/tflite_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "compiler/passes/fold.h"
#include "support/net.h"

#define NAME "hand.tflite"

int tflite_world_open(tflite_world *w)
{
    mts_arena_init(&w->arena, mts_allocator_default());
    w->error = (mts_error){0};
    tflite_begin(&w->model);
    return net_device_open("reference", NULL, &w->device, &w->error) == MTS_STATUS_OK ? 0 : -1;
}

int tflite_world_close(tflite_world *w)
{
    tflite_end(&w->model);
    mts_device_destroy(&w->device);
    mts_arena_release(&w->arena);
    return 0;
}

mts_status tflite_world_import(tflite_world *w, mts_graph **graph)
{
    const tflite_bytes *file = tflite_file(&w->model);
    *graph = (mts_graph *)w; /* a failure has to clear it */
    const mts_status status =
        mts_import_memory(file->data, file->size, NAME, NULL, &w->arena, graph, &w->error);
    assert_true((status == MTS_STATUS_OK) == (*graph != NULL));
    return status;
}

mts_graph *tflite_world_folded(tflite_world *w)
{
    mts_graph *graph = NULL, *folded = NULL;
    mts_status status = tflite_world_import(w, &graph);
    MTS_TRY(status, mts_fold(graph, &w->arena, &folded, &w->error));
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", w->error.text);
    }
    return folded;
}

void tflite_world_refuses(tflite_world *w, mts_status status, const char *part)
{
    mts_graph *graph = NULL;
    const mts_status found = tflite_world_import(w, &graph);
    if (found != status || !strstr(w->error.text, part) ||
        strncmp(w->error.text, NAME ": ", sizeof NAME + 1) != 0) {
        fail_msg("%s: '%s' is not %s: '%s'", mts_status_text(found), w->error.text, mts_status_text(status),
                 part);
    }
    tflite_end(&w->model);
    tflite_begin(&w->model);
}
