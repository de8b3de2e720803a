/*
 * Two archives as one: blocks of equal bytes are one, tasks keep their numbers, and two tasks are equal only
 * where nothing of them differs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bundle/join.h"
#include "compiler/models/bundle.h"
#include "compiler/passes/discover.h"
#include "support/fault_each.h"
#include "support/sample_archive.h"

static mts_bundle_bytes sample;

static int write_sample(void **state)
{
    const mts_discover_options options = {.tolerance = 0};
    mts_discover_report report;
    mts_archive *archive = mts_sample_archive(mts_allocator_default());
    (void)state;
    const bool written = archive && mts_discover(archive, &options, &report, NULL) == MTS_STATUS_OK &&
                         mts_bundle_encode(archive, mts_allocator_default(), &sample, NULL) == MTS_STATUS_OK;
    mts_archive_destroy(&archive);
    return written ? 0 : -1;
}

static int free_sample(void **state)
{
    (void)state;
    mts_bundle_bytes_release(&sample);
    return 0;
}

/* An archive of its own over the sample's bytes. */
static mts_archive *open_sample(const char *const *names)
{
    mts_archive *archive = NULL;
    assert_int_equal(
        mts_archive_read(sample.data, sample.size, "sample", NULL, mts_allocator_default(), &archive, NULL),
        MTS_STATUS_OK);
    for (uint32_t t = 0; names && t < archive->task_count; t++) {
        archive->tasks[t].name = names[t];
    }
    return archive;
}

static mts_status join(const mts_archive *base, const mts_archive *extra, mts_join_same same,
                       mts_archive **joined, mts_error *error)
{
    return mts_archive_join(base, extra, same, mts_allocator_default(), joined, error);
}

static void equal_blocks_become_one_and_graphs_name_them(void **state)
{
    static const char *const names[] = {"eyes", "mouth", "nose"};
    mts_archive *base = open_sample(NULL);
    mts_archive *extra = open_sample(names);
    mts_archive *joined = NULL;
    (void)state;
    assert_int_equal(join(base, extra, MTS_JOIN_REFUSE, &joined, NULL), MTS_STATUS_OK);
    assert_int_equal(joined->task_count, 6);
    assert_int_equal(joined->block_count, base->block_count);
    assert_memory_equal(joined->blocks, base->blocks, base->block_count * sizeof *base->blocks);
    for (uint32_t t = 0; t < 3; t++) {
        assert_int_equal(mts_archive_find(joined, base->tasks[t].name), t);
        assert_int_equal(mts_archive_find(joined, names[t]), 3 + t);
        assert_ptr_equal(joined->tasks[t].graph, base->tasks[t].graph);
        assert_true(mts_task_equal(&joined->tasks[3 + t], &base->tasks[t]));
        const mts_graph *graph = joined->tasks[3 + t].graph;
        for (uint32_t v = 0; v < graph->value_count; v++) {
            for (uint32_t b = 0; b < graph->values[v].block_count; b++) {
                const mts_block_ref *ref = &graph->values[v].blocks[b];
                assert_ptr_equal(ref->data, joined->blocks[ref->block].data);
            }
        }
    }
    assert_true(joined->hash != base->hash);
    mts_archive_destroy(&joined);
    mts_archive_destroy(&extra);
    mts_archive_destroy(&base);
}

/* One number of a block that some bundle could have made: then it is another block. */
typedef struct other_block {
    const char *what;
    void (*make)(mts_block *block);
} other_block;

static void other_bytes(mts_block *block)
{
    unsigned char *bytes = malloc(block->size);
    assert_non_null(bytes);
    memcpy(bytes, block->data, block->size);
    bytes[block->size - 1] ^= 1;
    block->data = bytes; /* the hash stays: a crafted bundle may say any */
}

static void other_size(mts_block *block)
{
    block->size -= 4;
}

static void other_type(mts_block *block)
{
    block->dtype = block->dtype == MTS_TYPE_FLOAT32 ? MTS_TYPE_INT32 : MTS_TYPE_FLOAT32;
}

static void other_hash(mts_block *block)
{
    block->hash++;
}

static void blocks_that_differ_in_anything_stay_apart(void **state)
{
    static const char *const names[] = {"eyes", "mouth", "nose"};
    static const other_block others[] = {
        {"bytes", other_bytes}, {"size", other_size}, {"type", other_type}, {"hash", other_hash}};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        mts_archive *base = open_sample(NULL);
        mts_archive *extra = open_sample(names);
        mts_archive *joined = NULL;
        const void *before = extra->blocks[0].data;
        others[i].make(&extra->blocks[0]);
        assert_int_equal(join(base, extra, MTS_JOIN_REFUSE, &joined, NULL), MTS_STATUS_OK);
        assert_int_equal(joined->block_count, base->block_count + 1);
        assert_memory_equal(&joined->blocks[base->block_count], &extra->blocks[0], sizeof(mts_block));
        assert_false(mts_task_equal(&joined->tasks[3], &joined->tasks[0]));
        if (extra->blocks[0].data != before) {
            free((void *)(uintptr_t)extra->blocks[0].data);
        }
        mts_archive_destroy(&joined);
        mts_archive_destroy(&extra);
        mts_archive_destroy(&base);
    }
}

static void a_name_that_both_have_is_refused_or_replaced(void **state)
{
    static const char *const names[] = {"eyes", "gender", "nose"};
    mts_archive *base = open_sample(NULL);
    mts_archive *extra = open_sample(names);
    mts_archive *joined = NULL;
    mts_archive *again = NULL;
    mts_error error = {0};
    (void)state;
    assert_int_equal(join(base, extra, MTS_JOIN_REFUSE, &joined, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(joined);
    assert_string_equal(error.text, "both bundles have a task 'gender'");
    assert_int_equal(join(base, extra, MTS_JOIN_REPLACE, &joined, NULL), MTS_STATUS_OK);
    assert_int_equal(joined->task_count, 5);
    assert_int_equal(mts_archive_find(joined, "gender"), 1);
    assert_ptr_not_equal(joined->tasks[1].graph, base->tasks[1].graph);
    assert_ptr_equal(joined->tasks[2].graph, base->tasks[2].graph);
    assert_int_equal(mts_archive_find(joined, "nose"), 4);
    extra->tasks[1].name = "mouth";
    assert_int_equal(join(base, extra, MTS_JOIN_REFUSE, &again, NULL), MTS_STATUS_OK);
    assert_true(again->hash != joined->hash);
    mts_archive_destroy(&again);
    mts_archive_destroy(&joined);
    mts_archive_destroy(&extra);
    mts_archive_destroy(&base);
}

static void more_tasks_or_blocks_than_an_archive_may_have_are_refused(void **state)
{
    static const char *const names[] = {"eyes", "mouth", "nose"};
    const mts_archive_limits limits = mts_archive_limits_default();
    mts_archive *base = open_sample(NULL);
    mts_archive *extra = open_sample(names);
    mts_archive many = {.block_count = limits.blocks - extra->block_count + 1};
    mts_archive *joined = NULL;
    mts_error error = {0};
    (void)state;
    assert_int_equal(join(&many, extra, MTS_JOIN_REFUSE, &joined, &error), MTS_STATUS_LIMIT);
    assert_string_equal(error.text, "together the bundles have 1048577 blocks, at most 1048576 are allowed");
    many.block_count = 0;
    many.tasks = calloc(limits.tasks, sizeof *many.tasks);
    assert_non_null(many.tasks);
    for (many.task_count = 0; many.task_count < limits.tasks - 2; many.task_count++) {
        many.tasks[many.task_count] = base->tasks[0];
    }
    assert_int_equal(join(&many, extra, MTS_JOIN_REFUSE, &joined, &error), MTS_STATUS_LIMIT);
    assert_string_equal(error.text, "together the bundles have 1025 tasks, at most 1024 are allowed");
    assert_null(joined);
    many.task_count--; /* exactly as many as are allowed */
    assert_int_equal(join(&many, extra, MTS_JOIN_REFUSE, &joined, &error), MTS_STATUS_OK);
    assert_int_equal(joined->task_count, limits.tasks);
    mts_archive_destroy(&joined);
    free(many.tasks);
    mts_archive_destroy(&extra);
    mts_archive_destroy(&base);
}

static mts_status join_with(const mts_allocator *allocator, void *data)
{
    mts_archive *const *both = data;
    mts_archive *joined = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_archive_join(both[0], both[1], MTS_JOIN_REPLACE, allocator, &joined, &error);
    assert_true((status == MTS_STATUS_OK) == (joined != NULL));
    mts_archive_destroy(&joined);
    return status;
}

static void short_memory_is_told_and_leaks_nothing(void **state)
{
    mts_archive *both[] = {open_sample(NULL), open_sample(NULL)};
    (void)state;
    mts_fault_each(join_with, both);
    mts_archive_destroy(&both[1]);
    mts_archive_destroy(&both[0]);
}

/* ---- equal tasks ---- */

/* Changes one thing of the first task. */
typedef void change(mts_task *task);

static mts_value *constant_of(mts_task *task)
{
    return &task->graph->values[task->graph->nodes[0].inputs[1]];
}

static void color(mts_task *task)
{
    task->preprocess.color = MTS_COLOR_BGR;
}
static void interleaved(mts_task *task)
{
    task->preprocess.interleaved = 1;
}
static void fit(mts_task *task)
{
    task->preprocess.fit = MTS_FIT_CROP;
}
static void filter(mts_task *task)
{
    task->preprocess.filter = MTS_FILTER_AREA;
}
static void fill(mts_task *task)
{
    task->preprocess.fill[2] = 1;
}
static void mean_below(mts_task *task)
{
    task->preprocess.mean[0] -= 1.0f;
}
static void mean_above(mts_task *task)
{
    task->preprocess.mean[3] += 1.0f;
}
static void std_below(mts_task *task)
{
    task->preprocess.std[1] -= 1.0f;
}
static void std_above(mts_task *task)
{
    task->preprocess.std[2] += 1.0f;
}
static void crop_below(mts_task *task)
{
    task->preprocess.crop[0] -= 1.0f;
}
static void crop_above(mts_task *task)
{
    task->preprocess.crop[3] += 1.0f;
}
static void labels(mts_task *task)
{
    task->label_count--;
}
static void label(mts_task *task)
{
    task->labels[4] = "dog";
}
static void first_label(mts_task *task)
{
    task->labels[0] = NULL;
}
static void classes(mts_task *task)
{
    task->class_count--;
}
static void class_of(mts_task *task)
{
    task->class_map[3] = 0;
}
static void values(mts_task *task)
{
    task->graph->value_count--;
}
static void nodes(mts_task *task)
{
    task->graph->node_count--;
}
static void inputs(mts_task *task)
{
    task->graph->input_count = 0;
}
static void outputs(mts_task *task)
{
    task->graph->output_count = 0;
}
static void kind(mts_task *task)
{
    task->graph->values[0].kind = MTS_VALUE_NODE;
}
static void type(mts_task *task)
{
    task->graph->values[0].dtype = MTS_TYPE_FLOAT16;
}
static void shape(mts_task *task)
{
    task->graph->values[0].shape.dims[3]++;
}
static void blocks(mts_task *task)
{
    constant_of(task)->block_count--;
}
static void block(mts_task *task)
{
    constant_of(task)->blocks[0].block++;
}
static void out_first(mts_task *task)
{
    constant_of(task)->blocks[0].out_first++;
}
static void out_count(mts_task *task)
{
    constant_of(task)->blocks[0].out_count--;
}
static void in_first(mts_task *task)
{
    constant_of(task)->blocks[0].in_first++;
}
static void in_count(mts_task *task)
{
    constant_of(task)->blocks[0].in_count--;
}
static void op(mts_task *task)
{
    task->graph->nodes[2].op = MTS_OP_SOFTMAX;
}
static void node_inputs(mts_task *task)
{
    task->graph->nodes[0].input_count--;
}
static void node_input(mts_task *task)
{
    task->graph->nodes[0].inputs[3]++;
}
static void node_output(mts_task *task)
{
    task->graph->nodes[0].output++;
}
static void attribute(mts_task *task)
{
    task->graph->nodes[0].attrs.conv.act.fn++;
}
static void no_scatter(mts_task *task)
{
    task->graph->nodes[1].scatter = NULL;
}
static void scatter(mts_task *task)
{
    ((uint32_t *)(uintptr_t)task->graph->nodes[1].scatter)[3]++;
}
static void port_name(mts_task *task)
{
    task->graph->inputs[0].name = "picture";
}
static void port_value(mts_task *task)
{
    task->graph->outputs[0].value--;
}
static void port_type(mts_task *task)
{
    task->graph->outputs[0].dtype = MTS_TYPE_FLOAT16;
}
static void port_shape(mts_task *task)
{
    task->graph->outputs[0].shape.dims[0]++;
}

static void tasks_are_equal_only_where_nothing_differs(void **state)
{
    static change *const changes[] = {
        color,       interleaved, fit,        filter,   fill,      mean_below,  mean_above,  std_below,
        std_above,   crop_below,  crop_above, labels,   label,     first_label, classes,     class_of,
        values,      nodes,       inputs,     outputs,  kind,      type,        shape,       blocks,
        block,       out_first,   out_count,  in_first, in_count,  op,          node_inputs, node_input,
        node_output, attribute,   no_scatter, scatter,  port_name, port_value,  port_type,   port_shape};
    mts_archive *base = open_sample(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        mts_archive *other = open_sample(NULL);
        assert_true(mts_task_equal(&base->tasks[0], &other->tasks[0]));
        changes[i](&other->tasks[0]);
        if (mts_task_equal(&base->tasks[0], &other->tasks[0])) {
            fail_msg("change %zu is not noticed", i);
        }
        if (mts_task_equal(&other->tasks[0], &base->tasks[0])) {
            fail_msg("change %zu is not noticed the other way round", i);
        }
        mts_archive_destroy(&other);
    }
    mts_archive_destroy(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_blocks_become_one_and_graphs_name_them),
        cmocka_unit_test(blocks_that_differ_in_anything_stay_apart),
        cmocka_unit_test(a_name_that_both_have_is_refused_or_replaced),
        cmocka_unit_test(more_tasks_or_blocks_than_an_archive_may_have_are_refused),
        cmocka_unit_test(short_memory_is_told_and_leaks_nothing),
        cmocka_unit_test(tasks_are_equal_only_where_nothing_differs),
    };
    return cmocka_run_group_tests(tests, write_sample, free_sample);
}
