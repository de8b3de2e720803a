/*
 * group.c: which classes go together: those whose images look alike to the network
 * (k-means of the classes' mean features), or any, to compare with.
 *
 * A class that no image of the data is answered with has no mean of its own images; it
 * takes the mean of all images, each as much as it was thought to be of that class.
 */
#include "compiler/models/options.h"
#include "compress/solve/cluster.h"
#include "compress/split/narrow.h"
#include "compress/split/split.h"
#include "compress/train/random.h"

#include <stdio.h>

/* Mean feature of a class; false: no image has it. */
static bool class_mean(const mts_split *split, uint32_t number, double *mean)
{
    const uint32_t size = split->head.features;
    double total = 0;
    for (uint32_t i = 0; i < split->images; i++) {
        if (split->class_of[i] == number) {
            total += 1.0;
            for (uint32_t k = 0; k < size; k++) {
                mean[k] += (double)split->features[(size_t)i * size + k];
            }
        }
    }
    for (uint32_t k = 0; total > 0.0 && k < size; k++) {
        mean[k] /= total;
    }
    return total > 0.0;
}

/* Mean feature of the images, weighted by the class's probability. */
static void likely_mean(const mts_split *split, uint32_t number, double *mean)
{
    const uint32_t size = split->head.features;
    double total = 1e-30;
    for (uint32_t i = 0; i < split->images; i++) {
        const double weight = (double)split->answers[(size_t)i * split->head.classes + number];
        total += weight;
        for (uint32_t k = 0; k < size; k++) {
            mean[k] += weight * (double)split->features[(size_t)i * size + k];
        }
    }
    for (uint32_t k = 0; k < size; k++) {
        mean[k] /= total;
    }
}

static void warn(const mts_split *split, uint32_t number)
{
    char name[64];
    char text[256];
    if (split->options->log) {
        (void)snprintf(text, sizeof text,
                       "task '%.64s': no image is answered with class '%s'; it is grouped by the images that "
                       "come nearest",
                       mts_split_task(split)->name, mts_split_class(split, number, name, sizeof name));
        split->options->log(split->options->context, MTS_LOG_WARNING, text);
    }
}

/* Without any image, a subnet cannot learn what its channels are good for; while the threshold is
   searched, those that are held out are not there to learn from. */
static mts_status groups_check(const mts_split *split, mts_error *error)
{
    const bool search = split->wanted->search != 0;
    for (uint32_t g = 0; g < split->wanted->groups; g++) {
        uint32_t images = 0;
        uint32_t first = MTS_NONE;
        for (uint32_t i = 0; i < split->images; i++) {
            const bool own = split->group_of[split->class_of[i]] == g;
            images += own && !(search && mts_split_holds_out(i)) ? 1 : 0;
        }
        for (uint32_t c = split->head.classes; c-- > 0;) {
            first = split->group_of[c] == g ? c : first;
        }
        if (images == 0) {
            char name[64];
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "task '%s': no image%s is answered with a class of group %u (of '%s'): give "
                            "more images, or fewer groups",
                            mts_split_task(split)->name, search ? " that the search does not hold out" : "",
                            g + 1, mts_split_class(split, first, name, sizeof name));
        }
    }
    return MTS_STATUS_OK;
}

/* Classes in any order, dealt out to the groups in turn. */
static mts_status group_at_random(mts_split *split, mts_error *error)
{
    uint64_t state = split->wanted->seed;
    const uint32_t classes = split->head.classes;
    uint32_t *order = mts_alloc_zero(split->allocator, classes, sizeof *order);
    if (!order) {
        return mts_fail_memory(error);
    }
    for (uint32_t c = 0; c < classes; c++) {
        order[c] = c;
    }
    mts_random_shuffle(&state, order, classes);
    for (uint32_t c = 0; c < classes; c++) {
        split->group_of[order[c]] = c % split->wanted->groups;
    }
    mts_alloc_free(split->allocator, order);
    return groups_check(split, error);
}

mts_status mts_split_group(mts_split *split, mts_error *error)
{
    if (split->wanted->grouping == MTSZ_GROUPING_RANDOM) {
        return group_at_random(split, error);
    }
    const uint32_t classes = split->head.classes;
    const uint32_t size = split->head.features;
    const uint32_t groups = split->wanted->groups;
    double *means = mts_alloc_zero(split->allocator, classes, size * sizeof *means);
    bool done = means;
    for (uint32_t c = 0; done && c < classes; c++) {
        if (!class_mean(split, c, means + (size_t)c * size)) {
            likely_mean(split, c, means + (size_t)c * size);
            warn(split, c);
        }
    }
    done = done && mts_cluster(means, classes, size, groups, (classes + groups - 1) / groups,
                               split->wanted->seed, split->allocator, split->group_of);
    mts_alloc_free(split->allocator, means);
    return done ? groups_check(split, error) : mts_fail_memory(error);
}
