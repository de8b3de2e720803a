/*
 * notes.c: what the metadata of a TensorFlow Lite model say of its first input and its
 * first output: how pixels are normalised, and the names of classes. Field numbers are
 * those of the metadata schema.
 */
#include <math.h>
#include <string.h>

#include "compiler/import/tflite/archive.h"
#include "compiler/import/tflite/reader.h"
#include "compiler/import/tflite/tflite.h"

#define CHANNELS_MOST 4u
#define LABELS_MOST 1000000u

enum { NORMALIZATION = 1, AXIS_LABELS = 2, TYPE_UINT8 = 3, TYPE_INT8 = 9 };

typedef struct notes_reader {
    mts_flat file, metadata;
    mts_arena *arena;
    mts_import_notes *notes;
    mts_error *error;
} notes_reader;

static bool is_text(const mts_flat *flat, const mts_flat_vector *text, const char *wanted)
{
    return text->count == strlen(wanted) && memcmp(flat->data + text->at, wanted, text->count) == 0;
}

/* The first table of a list that passes a test; an absent table: none does. */
static mts_flat_table find_table(mts_flat *flat, const mts_flat_table *owner, uint32_t field,
                                 bool (*passes)(mts_flat *flat, const mts_flat_table *table))
{
    const mts_flat_vector list = mts_flat_list(flat, owner, field, 4);
    for (uint32_t i = 0; i < list.count && !flat->broken; i++) {
        const mts_flat_table table = mts_flat_table_at(flat, &list, i);
        if (passes(flat, &table)) {
            return table;
        }
    }
    return (mts_flat_table){0};
}

static bool is_metadata(mts_flat *flat, const mts_flat_table *entry)
{
    const mts_flat_vector name = mts_flat_list(flat, entry, 0, 1);
    return is_text(flat, &name, "TFLITE_METADATA");
}

/* The metadata's bytes; false: the model has none. */
static bool find_metadata(notes_reader *r)
{
    const mts_flat_table root = mts_flat_root(&r->file);
    const mts_flat_table entry = find_table(&r->file, &root, 6, is_metadata);
    const mts_flat_vector buffers = mts_flat_list(&r->file, &root, 4, 4);
    const int64_t buffer = mts_flat_int(&r->file, &entry, 1, MTS_FLAT_U32, 0);
    if (entry.at == 0 || buffer >= (int64_t)buffers.count) {
        return false;
    }
    const mts_flat_table holder = mts_flat_table_at(&r->file, &buffers, (uint32_t)buffer);
    const mts_flat_vector bytes = mts_flat_list(&r->file, &holder, 0, 1);
    r->metadata = (mts_flat){.data = r->file.data + bytes.at, .size = bytes.count};
    return bytes.count > 0;
}

/* The tensor of the model that is input 0; its quantisation turns normalised numbers into
   integers. */
static void count_in_codes(notes_reader *r)
{
    const mts_flat_table root = mts_flat_root(&r->file);
    const mts_flat_vector subgraphs = mts_flat_list(&r->file, &root, 2, 4);
    const mts_flat_table subgraph =
        subgraphs.count ? mts_flat_table_at(&r->file, &subgraphs, 0) : (mts_flat_table){0};
    const mts_flat_vector tensors = mts_flat_list(&r->file, &subgraph, 0, 4);
    const mts_flat_vector inputs = mts_flat_list(&r->file, &subgraph, 1, 4);
    const int64_t first = inputs.count ? mts_flat_at(&r->file, &inputs, MTS_FLAT_I32, 0) : -1;
    if (first < 0 || first >= (int64_t)tensors.count) {
        return;
    }
    const mts_flat_table tensor = mts_flat_table_at(&r->file, &tensors, (uint32_t)first);
    const int64_t type = mts_flat_int(&r->file, &tensor, 1, MTS_FLAT_I8, 0);
    const mts_flat_table quantization = mts_flat_child(&r->file, &tensor, 4);
    const mts_flat_vector scales = mts_flat_list(&r->file, &quantization, 2, 4);
    const mts_flat_vector zeros = mts_flat_list(&r->file, &quantization, 3, 8);
    if ((type != TYPE_UINT8 && type != TYPE_INT8) || scales.count != 1) {
        return;
    }
    const float scale = mts_flat_float_at(&r->file, &scales, 0);
    const float zero = zeros.count ? (float)mts_flat_at(&r->file, &zeros, MTS_FLAT_I64, 0) : 0.0f;
    for (uint32_t i = 0; i < CHANNELS_MOST; i++) {
        r->notes->std[i] *= scale;
        r->notes->mean[i] -= zero * r->notes->std[i];
    }
}

static mts_status read_normalisation(notes_reader *r, const mts_flat_table *options)
{
    const mts_flat_vector mean = mts_flat_list(&r->metadata, options, 0, 4);
    const mts_flat_vector std = mts_flat_list(&r->metadata, options, 1, 4);
    if (mean.count == 0 || mean.count > CHANNELS_MOST || mean.count != std.count) {
        return mts_fail(r->error, MTS_STATUS_MALFORMED, "the metadata have %u means and %u deviations",
                        mean.count, std.count);
    }
    for (uint32_t i = 0; i < CHANNELS_MOST; i++) {
        const uint32_t at = i < mean.count ? i : mean.count - 1;
        r->notes->mean[i] = mts_flat_float_at(&r->metadata, &mean, at);
        r->notes->std[i] = mts_flat_float_at(&r->metadata, &std, at);
    }
    count_in_codes(r);
    for (uint32_t i = 0; i < CHANNELS_MOST; i++) {
        if (!isfinite(r->notes->mean[i]) || !isfinite(r->notes->std[i]) ||
            !(fabsf(r->notes->std[i]) > 0.0f)) {
            return mts_fail(r->error, MTS_STATUS_MALFORMED,
                            "the metadata normalise with mean %g and deviation %g", (double)r->notes->mean[i],
                            (double)r->notes->std[i]);
        }
    }
    r->notes->normalises = true;
    return MTS_STATUS_OK;
}

static bool is_normalisation(mts_flat *flat, const mts_flat_table *unit)
{
    return mts_flat_int(flat, unit, 0, MTS_FLAT_U8, 0) == NORMALIZATION;
}

static mts_status read_input(notes_reader *r, const mts_flat_table *tensor)
{
    const mts_flat_table unit = find_table(&r->metadata, tensor, 4, is_normalisation);
    const mts_flat_table options = mts_flat_child(&r->metadata, &unit, 1);
    return unit.at == 0 || r->metadata.broken ? MTS_STATUS_OK : read_normalisation(r, &options);
}

/* One name a line; the last line may end without an end of line. */
static mts_status split_lines(notes_reader *r, const char *text, size_t size)
{
    uint32_t count = 0;
    for (size_t i = 0; i < size; i++) {
        count += text[i] == '\n' && count < LABELS_MOST;
    }
    count += size > 0 && text[size - 1] != '\n';
    if (count > LABELS_MOST) {
        return mts_fail(r->error, MTS_STATUS_LIMIT, "the metadata name more than %u classes", LABELS_MOST);
    }
    const char **labels = mts_arena_zero(r->arena, count, sizeof *labels);
    if (!labels) {
        return mts_fail_memory(r->error);
    }
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        const size_t kept = length > 0 && text[at + length - 1] == '\r' ? length - 1 : length;
        labels[i] = mts_arena_text(r->arena, text + at, kept);
        if (!labels[i]) {
            return mts_fail_memory(r->error);
        }
        at += length + 1;
    }
    r->notes->labels = labels;
    r->notes->label_count = count;
    return MTS_STATUS_OK;
}

/* A file of labels that is not for one language. */
static bool is_labels(mts_flat *flat, const mts_flat_table *file)
{
    return mts_flat_int(flat, file, 2, MTS_FLAT_I8, 0) == AXIS_LABELS &&
           mts_flat_list(flat, file, 3, 1).count == 0 && mts_flat_list(flat, file, 0, 1).count > 0;
}

static mts_status read_output(notes_reader *r, const mts_flat_table *tensor)
{
    const mts_flat_table file = find_table(&r->metadata, tensor, 6, is_labels);
    const mts_flat_vector name = mts_flat_list(&r->metadata, &file, 0, 1);
    const char *text = NULL;
    size_t bytes = 0;
    if (name.count == 0 || r->metadata.broken) {
        return MTS_STATUS_OK;
    }
    const mts_status status =
        mts_tflite_archive_find(r->file.data, r->file.size, (const char *)r->metadata.data + name.at,
                                name.count, r->arena, &text, &bytes, r->error);
    return status == MTS_STATUS_OK && text ? split_lines(r, text, bytes) : status;
}

mts_status mts_tflite_notes(const void *data, size_t size, mts_arena *arena, mts_import_notes *notes,
                            mts_error *error)
{
    notes_reader r = {.file = {.data = data, .size = size}, .arena = arena, .notes = notes, .error = error};
    *notes = (mts_import_notes){0};
    if (!find_metadata(&r)) {
        return MTS_STATUS_OK;
    }
    const mts_flat_table root = mts_flat_root(&r.metadata);
    const mts_flat_vector subgraphs = mts_flat_list(&r.metadata, &root, 3, 4);
    mts_status status = MTS_STATUS_OK;
    if (subgraphs.count > 0) {
        const mts_flat_table subgraph = mts_flat_table_at(&r.metadata, &subgraphs, 0);
        const mts_flat_vector inputs = mts_flat_list(&r.metadata, &subgraph, 2, 4);
        const mts_flat_vector outputs = mts_flat_list(&r.metadata, &subgraph, 3, 4);
        if (inputs.count > 0) {
            const mts_flat_table input = mts_flat_table_at(&r.metadata, &inputs, 0);
            status = read_input(&r, &input);
        }
        if (outputs.count > 0 && status == MTS_STATUS_OK) {
            const mts_flat_table output = mts_flat_table_at(&r.metadata, &outputs, 0);
            status = read_output(&r, &output);
        }
    }
    const char *broken = r.metadata.broken ? r.metadata.broken : r.file.broken;
    if (status == MTS_STATUS_OK && broken) {
        status = mts_fail(error, MTS_STATUS_MALFORMED, "%s of the metadata does not lie inside them", broken);
    }
    if (status != MTS_STATUS_OK) {
        *notes = (mts_import_notes){0};
    }
    return status;
}
