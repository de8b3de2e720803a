/*
 * labels.c: whether labels make sense, which images are held out, and the rows that training
 * sees.
 */
#include <math.h>
#include <string.h>

#include "compress/learn/learn.h"
#include "compress/train/random.h"

#define CLASSES_MOST 4096u
#define SHIFT_MOST 2 /* pixels that forms of an image are moved by */

static const char *class_name(const mtsz_train_options *wanted, uint32_t number)
{
    return wanted->class_names[number];
}

static mts_status classes_check(const mtsz_train_options *wanted, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    if (!wanted->class_names || wanted->class_count < 2 || wanted->class_count > CLASSES_MOST) {
        return mts_fail(error, bad, "train: a task has from 2 to %u classes, not %u", CLASSES_MOST,
                        wanted->class_names ? wanted->class_count : 0);
    }
    for (uint32_t c = 0; c < wanted->class_count; c++) {
        if (!class_name(wanted, c) || !*class_name(wanted, c)) {
            return mts_fail(error, bad, "train: class %u has no name", c);
        }
        for (uint32_t k = 0; k < c; k++) {
            if (strcmp(class_name(wanted, k), class_name(wanted, c)) == 0) {
                return mts_fail(error, bad, "train: classes %u and %u are both called '%.200s'", k, c,
                                class_name(wanted, c));
            }
        }
    }
    if (wanted->class_map_count > 0 && !wanted->class_map) {
        return mts_fail(error, bad, "train: class_map is NULL, and class_map_count is %u",
                        wanted->class_map_count);
    }
    for (uint32_t i = 0; i < wanted->class_map_count; i++) {
        if (wanted->class_map[i] >= wanted->class_count) {
            return mts_fail(error, bad, "train: class_map[%u] is %u, but there are %u classes", i,
                            wanted->class_map[i], wanted->class_count);
        }
    }
    return MTS_STATUS_OK;
}

static uint32_t images_of(const mtsz_train_options *wanted, uint32_t class)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < wanted->label_count; i++) {
        count += wanted->labels[i] == class ? 1 : 0;
    }
    return count;
}

mts_status mts_labels_check(const mtsz_train_options *wanted, uint32_t images, mts_error *error)
{
    const mts_status status = classes_check(wanted, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!wanted->labels || wanted->label_count != images) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "train: there are %u labels for %u images",
                        wanted->labels ? wanted->label_count : 0, images);
    }
    for (uint32_t i = 0; i < images; i++) {
        if (wanted->labels[i] >= wanted->class_count) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "train: image %u has label %u, but there are %u classes", i, wanted->labels[i],
                            wanted->class_count);
        }
    }
    for (uint32_t c = 0; c < wanted->class_count; c++) {
        const uint32_t count = images_of(wanted, c);
        if (count < 2) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "train: class '%.200s' has %u image%s: it needs two, of which one is held out",
                            class_name(wanted, c), count, count == 1 ? "" : "s");
        }
    }
    return MTS_STATUS_OK;
}

/* At least one image of a class is held out, and one is not. */
static uint32_t held_of(const mtsz_train_options *wanted, uint32_t count)
{
    const uint32_t held = (uint32_t)lround(wanted->held_out * count);
    return held < 1 ? 1 : held >= count ? count - 1 : held;
}

/* Sets held[image] for a part of each class. */
static bool hold_out(const mtsz_train_options *wanted, mts_arena *arena, bool *held)
{
    uint64_t state = wanted->seed;
    uint32_t *members = mts_arena_zero(arena, wanted->label_count, sizeof *members);
    for (uint32_t c = 0; members && c < wanted->class_count; c++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < wanted->label_count; i++) {
            if (wanted->labels[i] == c) {
                members[count++] = i;
            }
        }
        mts_random_shuffle(&state, members, count);
        for (uint32_t i = 0; i < held_of(wanted, count); i++) {
            held[members[i]] = true;
        }
    }
    return members;
}

/* Form 0 is the image, 1 its mirror image, and others are moved too. */
static mts_data_change change_of(uint32_t form, uint64_t *state)
{
    mts_data_change change = {.mirror = form % 2 == 1};
    if (form >= 2) {
        change.right = (int32_t)mts_random_below(state, 2 * SHIFT_MOST + 1) - SHIFT_MOST;
        change.down = (int32_t)mts_random_below(state, 2 * SHIFT_MOST + 1) - SHIFT_MOST;
    }
    return change;
}

static void rows_fill(const mtsz_train_options *wanted, const bool *held, uint32_t forms, mts_rows *rows)
{
    uint64_t state = ~wanted->seed;
    uint32_t at = 0;
    for (uint32_t form = 0; form <= forms; form++) { /* the last one stands for what is held out */
        rows->trained = at;
        for (uint32_t i = 0; i < wanted->label_count; i++) {
            if (held[i] == (form == forms)) {
                rows->images[at] = i;
                rows->labels[at] = wanted->labels[i];
                rows->changes[at++] = form == forms ? (mts_data_change){0} : change_of(form, &state);
            }
        }
    }
    rows->count = at;
}

mts_status mts_rows_make(const mtsz_train_options *wanted, bool changes, mts_arena *arena, mts_rows *rows,
                         mts_error *error)
{
    const uint32_t forms = changes ? wanted->forms : 1;
    const size_t most = (size_t)wanted->label_count * forms;
    bool *held = mts_arena_zero(arena, wanted->label_count, sizeof *held);
    *rows = (mts_rows){.images = mts_arena_zero(arena, most, sizeof *rows->images),
                       .changes = mts_arena_zero(arena, most, sizeof *rows->changes),
                       .labels = mts_arena_zero(arena, most, sizeof *rows->labels)};
    if (most > UINT32_MAX || !held || !rows->images || !rows->changes || !rows->labels ||
        !hold_out(wanted, arena, held)) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %u images in %u forms",
                        wanted->label_count, forms);
    }
    rows_fill(wanted, held, forms, rows);
    return MTS_STATUS_OK;
}
