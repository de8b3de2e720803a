/*
 * read.c: mts_archive_read: the frame, the blocks, then one task after another.
 */
#include <string.h>

#include "bundle/check.h"
#include "bundle/reader.h"

static mts_status read_labels(mts_reader *reader, uint32_t count, mts_task *task)
{
    const unsigned char *records = NULL;
    mts_status status = mts_reader_take(reader, &reader->labels, count, sizeof *task->labels, &records,
                                        (void **)&task->labels);
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        status = mts_section_string(&reader->sections, mts_load_u32(records + 4u * (size_t)i),
                                    &task->labels[i], reader->error);
    }
    task->label_count = count;
    return status;
}

/* `has_crop`: the record is one of version 2. */
static void read_preprocess(const unsigned char *record, bool has_crop, mts_preprocess *out)
{
    out->color = mts_load_u32(record + MTS_TASK_COLOR);
    out->interleaved = mts_load_u32(record + MTS_TASK_INTERLEAVED);
    for (size_t i = 0; i < 4; i++) {
        out->mean[i] = mts_load_f32(record + MTS_TASK_MEAN + 4 * i);
        out->std[i] = mts_load_f32(record + MTS_TASK_STD + 4 * i);
    }
    out->fit = record[MTS_TASK_FIT];
    out->filter = record[MTS_TASK_FILTER];
    memcpy(out->fill, record + MTS_TASK_FILL, sizeof out->fill);
    for (size_t i = 0; has_crop && i < 4; i++) {
        out->crop[i] = mts_load_f32(record + MTS_TASK_CROP + 4 * i);
    }
}

static mts_status read_task_name(mts_reader *reader, const unsigned char *record, mts_task *task)
{
    const mts_archive *archive = reader->archive;
    mts_status status = mts_section_string(&reader->sections, mts_load_u32(record + MTS_TASK_NAME),
                                           &task->name, reader->error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!mts_task_name_valid(task->name)) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED,
                        "its name is empty or has characters beyond "
                        "A-Z a-z 0-9 _ . -");
    }
    if (mts_archive_find(archive, task->name) != MTS_NONE) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "its name '%s' is taken", task->name);
    }
    return MTS_STATUS_OK;
}

static mts_status read_task_graph(mts_reader *reader, const unsigned char *record, mts_task *task)
{
    const mts_reader_counts counts = {.values = mts_load_u32(record + MTS_TASK_VALUES),
                                      .nodes = mts_load_u32(record + MTS_TASK_NODES),
                                      .inputs = mts_load_u32(record + MTS_TASK_INPUTS),
                                      .outputs = mts_load_u32(record + MTS_TASK_OUTPUTS)};
    if (counts.nodes > reader->limits->nodes_per_task || counts.values > reader->limits->values_per_task) {
        return mts_fail(reader->error, MTS_STATUS_LIMIT, "%u nodes and %u values, the limits are %u and %u",
                        counts.nodes, counts.values, reader->limits->nodes_per_task,
                        reader->limits->values_per_task);
    }
    const char *name = NULL;
    mts_status status =
        mts_section_string(&reader->sections, mts_load_u32(record + MTS_TASK_GRAPH), &name, reader->error);
    return status == MTS_STATUS_OK ? mts_reader_graph(reader, name, &counts, &task->graph) : status;
}

static mts_status read_task(mts_reader *reader, const unsigned char *record, mts_task *task)
{
    if (record[MTS_TASK_RESERVED] != 0 || record[MTS_TASK_RESERVED + 1] != 0) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "a reserved field is not zero");
    }
    read_preprocess(record, reader->sections.at[MTS_FORMAT_TASKS].stride > MTS_TASK_CROP, &task->preprocess);
    mts_status status = read_task_name(reader, record, task);
    MTS_TRY(status, read_task_graph(reader, record, task));
    MTS_TRY(status, read_labels(reader, mts_load_u32(record + MTS_TASK_LABELS), task));
    task->class_count = mts_load_u32(record + MTS_TASK_CLASSES);
    MTS_TRY(status, mts_reader_numbers(reader, &reader->classes, task->class_count, &task->class_map));
    return status == MTS_STATUS_OK ? mts_task_check(task, reader->error) : status;
}

/* Every record belongs to a task. */
static mts_status check_ends(const mts_reader *reader)
{
    const mts_section_cursor *cursors[] = {&reader->ports,  &reader->values, &reader->nodes,
                                           &reader->inputs, &reader->attrs,  &reader->scatter,
                                           &reader->refs,   &reader->labels, &reader->classes};
    mts_status status = MTS_STATUS_OK;
    for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]) && status == MTS_STATUS_OK; i++) {
        status = mts_section_end(cursors[i], reader->error);
    }
    return status;
}

static mts_status read_tasks(mts_reader *reader)
{
    mts_archive *archive = reader->archive;
    const mts_section *section = &reader->sections.at[MTS_FORMAT_TASKS];
    if (section->count == 0 || section->count > reader->limits->tasks) {
        return mts_fail(reader->error, section->count ? MTS_STATUS_LIMIT : MTS_STATUS_MALFORMED,
                        "%zu tasks, 1 to %u are possible", section->count, reader->limits->tasks);
    }
    archive->tasks = mts_arena_zero(&archive->arena, section->count, sizeof(*archive->tasks));
    if (!archive->tasks) {
        return mts_fail_memory(reader->error);
    }
    for (size_t i = 0; i < section->count; i++) {
        mts_status status = read_task(reader, section->data + i * section->stride, &archive->tasks[i]);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(reader->error, status, "task %zu", i);
        }
        archive->task_count = (uint32_t)(i + 1);
    }
    return check_ends(reader);
}

/* Names point into the strings: those are copied, so that a file that is changed in place
   later, whatever for, has no other ones than were verified. */
static mts_status keep_strings(mts_reader *reader)
{
    mts_section *strings = &reader->sections.at[MTS_FORMAT_STRINGS];
    unsigned char *copy = mts_arena_zero(&reader->archive->arena, strings->count + 1, 1);
    if (!copy) {
        return mts_fail_memory(reader->error);
    }
    memcpy(copy, strings->data, strings->count);
    strings->data = copy;
    return MTS_STATUS_OK;
}

static mts_status read_all(mts_reader *reader, const unsigned char *bytes, size_t size)
{
    mts_status status = mts_sections_open(bytes, size, &reader->sections, reader->error);
    MTS_TRY(status, keep_strings(reader));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    reader->ports = mts_section_walk(&reader->sections, MTS_FORMAT_PORTS);
    reader->values = mts_section_walk(&reader->sections, MTS_FORMAT_VALUES);
    reader->nodes = mts_section_walk(&reader->sections, MTS_FORMAT_NODES);
    reader->inputs = mts_section_walk(&reader->sections, MTS_FORMAT_INPUTS);
    reader->attrs = mts_section_walk(&reader->sections, MTS_FORMAT_ATTRS);
    reader->scatter = mts_section_walk(&reader->sections, MTS_FORMAT_SCATTER);
    reader->refs = mts_section_walk(&reader->sections, MTS_FORMAT_REFS);
    reader->labels = mts_section_walk(&reader->sections, MTS_FORMAT_LABELS);
    reader->classes = mts_section_walk(&reader->sections, MTS_FORMAT_CLASSES);
    status = mts_reader_blocks(reader);
    return status == MTS_STATUS_OK ? read_tasks(reader) : status;
}

mts_status mts_archive_read(const void *bytes, size_t size, const char *name,
                            const mts_archive_limits *limits, const mts_allocator *allocator,
                            mts_archive **out, mts_error *error)
{
    const mts_archive_limits defaults = mts_archive_limits_default();
    *out = NULL;
    if (size > 0 && (!bytes || (uintptr_t)bytes % MTS_FORMAT_ALIGN != 0)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s: the bytes are not 64-byte aligned", name);
    }
    mts_reader reader = {.limits = limits ? limits : &defaults, .error = error};
    if (size > reader.limits->file_bytes) {
        return mts_fail(error, MTS_STATUS_LIMIT, "%s: %zu bytes, the limit is %llu", name, size,
                        (unsigned long long)reader.limits->file_bytes);
    }
    reader.archive = mts_archive_create(allocator);
    if (!reader.archive) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "%s: out of memory", name);
    }
    mts_status status = read_all(&reader, bytes, size);
    if (status != MTS_STATUS_OK) {
        mts_archive_destroy(&reader.archive);
        return mts_fail_prefix(error, status, "%s", name);
    }
    reader.archive->hash = reader.sections.hash;
    *out = reader.archive;
    return MTS_STATUS_OK;
}
