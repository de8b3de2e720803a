/*
 * subset.c: see subset.h.
 */
#include "support/subset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "compiler/passes/clone.h"
#include "platform/os/os.h"
#include "support/must.h"

/* Copies a block, every value times `factor`. */
static void scale_block(mts_archive *made, mts_block *block, float factor)
{
    float *values = mts_arena_zero(&made->arena, block->size / sizeof(float), sizeof *values);
    assert_non_null(values);
    assert_int_equal(block->dtype, MTS_TYPE_FLOAT32);
    memcpy(values, block->data, block->size);
    for (size_t i = 0; i < block->size / sizeof(float); i++) {
        values[i] *= factor;
    }
    block->data = values;
    block->hash = mts_hash(values, block->size, block->dtype);
}

/* Numbers the blocks of a graph; those that are new to the archive are scaled. */
static void take_blocks(mts_archive *made, const mts_archive *archive, mts_graph *graph, uint32_t *number,
                        float factor)
{
    for (uint32_t v = 0; v < graph->value_count; v++) {
        for (uint32_t b = 0; b < graph->values[v].block_count; b++) {
            mts_block_ref *ref = &graph->values[v].blocks[b];
            if (number[ref->block] == MTS_NONE) {
                mts_block *block = &made->blocks[made->block_count];
                *block = archive->blocks[ref->block];
                if (factor < 1.0f || factor > 1.0f) {
                    scale_block(made, block, factor);
                }
                number[ref->block] = made->block_count++;
            }
            ref->data = made->blocks[number[ref->block]].data;
            ref->block = number[ref->block];
        }
    }
}

void test_subset(const mts_archive *archive, const uint32_t *tasks, uint32_t count, float factor,
                 mts_bundle_bytes *out)
{
    mts_error error = {0};
    mts_archive *made = mts_archive_create(mts_allocator_default());
    assert_non_null(made);
    made->tasks = mts_arena_zero(&made->arena, count, sizeof *made->tasks);
    made->blocks = mts_arena_zero(&made->arena, archive->block_count, sizeof *made->blocks);
    uint32_t *number = mts_arena_zero(&made->arena, archive->block_count, sizeof *number);
    assert_true(made->tasks && made->blocks && number);
    memset(number, 0xff, archive->block_count * sizeof *number);
    for (uint32_t i = 0; i < count; i++) {
        made->tasks[i] = archive->tasks[tasks[i]];
        made->tasks[i].graph = mts_graph_clone(archive->tasks[tasks[i]].graph, &made->arena);
        assert_non_null(made->tasks[i].graph);
        take_blocks(made, archive, made->tasks[i].graph, number, i + 1 == count ? factor : 1.0f);
        made->task_count++;
    }
    test_must(mts_bundle_encode(made, mts_allocator_default(), out, &error), &error, "encode");
    mts_archive_destroy(&made);
}

void test_subset_write(const mts_archive *archive, const uint32_t *tasks, uint32_t count, float factor,
                       const char *path)
{
    mts_bundle_bytes bytes;
    mts_error error = {0};
    test_subset(archive, tasks, count, factor, &bytes);
    test_must(mts_os_file_write(path, bytes.data, bytes.size, &error), &error, "write");
    mts_bundle_bytes_release(&bytes);
}
