/*
 * archive.c: creation, destruction and look-up of an archive, and its default limits.
 */
#include "bundle/archive.h"

#include <math.h>
#include <string.h>

mts_archive_limits mts_archive_limits_default(void)
{
    return (mts_archive_limits){.file_bytes = (uint64_t)1 << 36,
                                .tasks = 1024,
                                .nodes_per_task = 65536,
                                .values_per_task = 262144,
                                .blocks = 1048576};
}

mts_archive *mts_archive_create(const mts_allocator *allocator)
{
    mts_archive *archive = mts_alloc_zero(allocator, 1, sizeof(*archive));
    if (archive) {
        mts_arena_init(&archive->arena, allocator);
    }
    return archive;
}

void mts_archive_destroy(mts_archive **archive)
{
    if (!archive || !*archive) {
        return;
    }
    const mts_allocator *allocator = (*archive)->arena.allocator;
    mts_arena_release(&(*archive)->arena);
    mts_alloc_free(allocator, *archive);
    *archive = NULL;
}

uint32_t mts_archive_find(const mts_archive *archive, const char *name)
{
    for (uint32_t i = 0; i < archive->task_count; i++) {
        if (strcmp(archive->tasks[i].name, name) == 0) {
            return i;
        }
    }
    return MTS_NONE;
}

bool mts_preprocess_takes_frames(const mts_preprocess *preprocess, const mts_graph *graph)
{
    if (preprocess->color == MTS_COLOR_NONE || graph->input_count == 0) {
        return false;
    }
    const mts_shape *shape = &graph->inputs[0].shape;
    if (shape->rank != 4 || shape->dims[0] < 1) {
        return false;
    }
    const int64_t channels = shape->dims[preprocess->interleaved != 0 ? 3 : 1];
    return preprocess->color == MTS_COLOR_GREY ? channels == 1 : channels == 3;
}

bool mts_preprocess_crop_valid(const float crop[4])
{
    /* 0.4f + 0.6f is a little more than 1 */
    const double most = 1.0 + 1e-6;
    bool none = true;
    for (int i = 0; i < 4; i++) {
        if (!isfinite(crop[i]) || crop[i] < 0.0f) {
            return false;
        }
        none = none && crop[i] <= 0.0f;
    }
    return none || (crop[2] > 0.0f && crop[3] > 0.0f && crop[0] < 1.0f && crop[1] < 1.0f &&
                    (double)crop[0] + (double)crop[2] <= most && (double)crop[1] + (double)crop[3] <= most);
}

bool mts_preprocess_same(const mts_preprocess *a, const mts_preprocess *b)
{
    if (a->color != b->color || a->interleaved != b->interleaved || a->fit != b->fit ||
        a->filter != b->filter || memcmp(a->fill, b->fill, sizeof a->fill) != 0) {
        return false;
    }
    for (int c = 0; c < 4; c++) {
        if (a->mean[c] < b->mean[c] || a->mean[c] > b->mean[c] || a->std[c] < b->std[c] ||
            a->std[c] > b->std[c] || a->crop[c] < b->crop[c] || a->crop[c] > b->crop[c]) {
            return false;
        }
    }
    return true;
}

bool mts_archive_same_input(const mts_archive *archive, uint32_t one, uint32_t other, uint32_t input)
{
    const mts_task *a = &archive->tasks[one];
    const mts_task *b = &archive->tasks[other];
    if (input >= a->graph->input_count || input >= b->graph->input_count) {
        return false;
    }
    const mts_port *x = &a->graph->inputs[input];
    const mts_port *y = &b->graph->inputs[input];
    if (x->dtype != y->dtype || !mts_shape_equal(&x->shape, &y->shape) ||
        !mts_preprocess_same(&a->preprocess, &b->preprocess)) {
        return false;
    }
    return (input == 0 && mts_preprocess_takes_frames(&a->preprocess, a->graph)) ||
           strcmp(x->name, y->name) == 0;
}

uint64_t mts_archive_block_bytes(const mts_archive *archive, const mts_graph *graph, size_t size, bool stored,
                                 uint32_t *seen, uint32_t mark)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const mts_value *value = &graph->values[v];
        for (uint32_t i = 0; value->kind == MTS_VALUE_CONST && i < value->block_count; i++) {
            const uint32_t number = value->blocks[i].block;
            if (number < archive->block_count && seen[number] != mark) {
                const mts_block *block = &archive->blocks[number];
                const size_t own = mts_type_size(block->dtype);
                bytes += block->size / own * (stored && own < size ? own : size);
                seen[number] = mark;
            }
        }
    }
    return bytes;
}
