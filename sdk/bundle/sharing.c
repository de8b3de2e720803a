/*
 * sharing.c: walks the aligned rows of every family and counts what they share.
 */
#include "bundle/sharing.h"

#include <string.h>

#include "base/check.h"

typedef struct counter {
    const mts_archive *archive;
    uint32_t *users; /* of each block: tasks that refer to it */
    bool *counted;   /* of each block: stands already in some row's stored bytes */
    uint8_t *marks;  /* of each output channel of one weight */
    size_t mark_capacity;
} counter;

static const mts_value *weight_of(const mts_graph *graph, const mts_node *node)
{
    if (node->input_count < 2 || node->inputs[1] == MTS_NONE) {
        return NULL;
    }
    const mts_value *value = &graph->values[node->inputs[1]];
    return value->kind == MTS_VALUE_CONST ? value : NULL;
}

/* Counts, for each block, the tasks that refer to it, and each task's bytes. */
static mts_status users_count(counter *count, mts_sharing *sharing, mts_error *error)
{
    const mts_archive *archive = count->archive;
    uint32_t *last = mts_arena_zero(&sharing->arena, archive->block_count, sizeof *last);
    if (!last) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        for (uint32_t v = 0; v < graph->value_count; v++) {
            for (uint32_t b = 0; b < graph->values[v].block_count; b++) {
                const uint32_t block = graph->values[v].blocks[b].block;
                sharing->task_bytes[t] += archive->blocks[block].size;
                if (last[block] != t + 1) {
                    last[block] = t + 1;
                    count->users[block] += 1;
                }
            }
        }
        sharing->bytes_unshared += sharing->task_bytes[t];
    }
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        for (uint32_t v = 0; v < graph->value_count; v++) {
            for (uint32_t b = 0; b < graph->values[v].block_count; b++) {
                const uint32_t block = graph->values[v].blocks[b].block;
                sharing->task_shared[t] += count->users[block] > 1 ? archive->blocks[block].size : 0;
            }
        }
    }
    for (uint32_t b = 0; b < archive->block_count; b++) {
        sharing->bytes_stored += archive->blocks[b].size;
    }
    return MTS_STATUS_OK;
}

/* Shared and exclusive output channels of one task's weight. */
static mts_status channels_count(counter *count, mts_sharing *sharing, const mts_node *node,
                                 const mts_value *weight, mts_sharing_part *part, mts_error *error)
{
    uint32_t out = 0;
    uint32_t in = 0;
    uint32_t inner = 0;
    mts_value_matrix(weight, &out, &in, &inner);
    /* a matrix product of higher rank has no common matrix */
    const bool columns =
        mts_op_weight_out(node->op) == 1 && (node->op != MTS_OP_MATMUL || weight->shape.rank == 2);
    const uint32_t channels = columns ? in : out;
    if (channels > count->mark_capacity) {
        count->marks = mts_arena_zero(&sharing->arena, channels, 1);
        count->mark_capacity = count->marks ? channels : 0;
        if (!count->marks) {
            return mts_fail_memory(error);
        }
    }
    if (channels > 0) {
        memset(count->marks, 0, channels);
    }
    for (uint32_t b = 0; b < weight->block_count; b++) {
        const mts_block_ref *ref = &weight->blocks[b];
        const uint32_t first = columns ? ref->in_first : ref->out_first;
        const uint32_t number = columns ? ref->in_count : ref->out_count;
        MTS_CHECK(first + number <= channels);
        if (count->users[ref->block] > 1) {
            memset(count->marks + first, 1, number);
        }
    }
    for (uint32_t c = 0; c < channels; c++) {
        part->shared += count->marks[c];
    }
    MTS_CHECK(part->shared <= channels);
    part->exclusive = channels - part->shared;
    return MTS_STATUS_OK;
}

static void bytes_count(counter *count, const mts_graph *graph, const mts_node *node, mts_sharing_row *row)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const mts_value *value = node->inputs[i] == MTS_NONE ? NULL : &graph->values[node->inputs[i]];
        for (uint32_t b = 0; value && b < value->block_count; b++) {
            const uint32_t block = value->blocks[b].block;
            const uint64_t size = count->archive->blocks[block].size;
            row->bytes_unshared += size;
            row->bytes_common += count->users[block] > 1 ? size : 0;
            row->bytes_stored += count->counted[block] ? 0 : size;
            count->counted[block] = true;
        }
    }
}

static mts_status row_fill(counter *count, mts_sharing *sharing, const mts_sharing_family *family,
                           const uint32_t *nodes, mts_sharing_row *row, mts_error *error)
{
    row->parts = mts_arena_zero(&sharing->arena, family->task_count, sizeof *row->parts);
    if (!row->parts) {
        return mts_fail_memory(error);
    }
    for (uint32_t g = 0; g < family->task_count; g++) {
        if (nodes[g] == MTS_NONE) {
            continue;
        }
        mts_sharing_part *part = &row->parts[row->part_count++];
        part->task = family->tasks[g];
        part->node = nodes[g];
        const mts_graph *graph = count->archive->tasks[part->task].graph;
        const mts_node *node = &graph->nodes[part->node];
        const mts_value *weight = weight_of(graph, node);
        bytes_count(count, graph, node, row);
        if (weight) {
            const mts_status status = channels_count(count, sharing, node, weight, part, error);
            if (status != MTS_STATUS_OK) {
                return status;
            }
        }
    }
    return MTS_STATUS_OK;
}

static mts_status family_fill(counter *count, mts_sharing *sharing, uint32_t number, mts_error *error)
{
    mts_sharing_family *family = &sharing->families[number];
    const mts_archive *archive = sharing->archive;
    mts_alignment alignment = {0};
    const mts_graph **graphs =
        mts_arena_zero(&sharing->arena, archive->task_count, sizeof(const mts_graph *));
    family->tasks = mts_arena_zero(&sharing->arena, archive->task_count, sizeof *family->tasks);
    if (!graphs || !family->tasks) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < archive->task_count; t++) {
        if (sharing->family[t] == number) {
            graphs[family->task_count] = archive->tasks[t].graph;
            family->tasks[family->task_count++] = t;
        }
    }
    mts_status status = mts_graph_align(graphs, family->task_count, &sharing->arena, &alignment, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    family->row_count = alignment.row_count;
    family->rows = mts_arena_zero(&sharing->arena, alignment.row_count, sizeof *family->rows);
    if (!family->rows) {
        return mts_fail_memory(error);
    }
    for (uint32_t r = 0; r < alignment.row_count && status == MTS_STATUS_OK; r++) {
        status = row_fill(count, sharing, family, alignment.nodes + (size_t)r * family->task_count,
                          &family->rows[r], error);
    }
    return status;
}

mts_status mts_sharing_find(const mts_archive *archive, const mts_allocator *allocator, mts_sharing *out,
                            mts_error *error)
{
    counter count = {.archive = archive};
    memset(out, 0, sizeof *out);
    mts_arena_init(&out->arena, allocator);
    out->archive = archive;
    out->family = mts_arena_zero(&out->arena, archive->task_count, sizeof *out->family);
    out->task_bytes = mts_arena_zero(&out->arena, archive->task_count, sizeof *out->task_bytes);
    out->task_shared = mts_arena_zero(&out->arena, archive->task_count, sizeof *out->task_shared);
    count.users = mts_arena_zero(&out->arena, archive->block_count, sizeof *count.users);
    count.counted = mts_arena_zero(&out->arena, archive->block_count, sizeof *count.counted);
    const mts_graph **graphs = mts_arena_zero(&out->arena, archive->task_count, sizeof(const mts_graph *));
    mts_status status = MTS_STATUS_OK;
    if (!out->family || !out->task_bytes || !out->task_shared || !count.users || !count.counted || !graphs) {
        status = mts_fail_memory(error);
    }
    if (status == MTS_STATUS_OK) {
        for (uint32_t t = 0; t < archive->task_count; t++) {
            graphs[t] = archive->tasks[t].graph;
        }
        status = users_count(&count, out, error);
    }
    if (status == MTS_STATUS_OK && archive->task_count > 0) {
        status = mts_graph_families(graphs, archive->task_count, allocator, out->family, &out->family_count,
                                    error);
    }
    if (status == MTS_STATUS_OK) {
        out->families = mts_arena_zero(&out->arena, out->family_count, sizeof *out->families);
        if (!out->families) {
            status = mts_fail_memory(error);
        }
    }
    for (uint32_t f = 0; f < out->family_count && status == MTS_STATUS_OK; f++) {
        status = family_fill(&count, out, f, error);
    }
    if (status != MTS_STATUS_OK) {
        mts_sharing_release(out);
    }
    return status;
}

void mts_sharing_release(mts_sharing *sharing)
{
    mts_arena_release(&sharing->arena);
    memset(sharing, 0, sizeof *sharing);
}
