/*
 * nms.c: overlapping detections become one.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kit/sized.h"
#include "mts/kit.h"

static const mts_kit_nms_options usual = {.size = sizeof usual, .overlap = 0.45f};

static double area(const mts_kit_detection *d)
{
    return ((double)d->right - (double)d->left) * ((double)d->bottom - (double)d->top);
}

/* Intersection over union. */
static double overlap(const mts_kit_detection *a, const mts_kit_detection *b)
{
    const double width = fmin((double)a->right, (double)b->right) - fmax((double)a->left, (double)b->left);
    const double height = fmin((double)a->bottom, (double)b->bottom) - fmax((double)a->top, (double)b->top);
    if (width <= 0 || height <= 0) {
        return 0;
    }
    return width * height / (area(a) + area(b) - width * height);
}

static bool better(const mts_kit_detection *a, const mts_kit_detection *b)
{
    return a->score > b->score || (a->score == b->score && a->index < b->index);
}

/* Numbers of a detection that are blended: four edges, then the points. */
static uint32_t number_count(const mts_kit_detection *d)
{
    const uint32_t points = d->point_count < MTS_KIT_POINTS_MAX ? d->point_count : MTS_KIT_POINTS_MAX;
    return 4 + 2 * points;
}

static float *number(mts_kit_detection *d, uint32_t i)
{
    float *edges[4] = {&d->left, &d->top, &d->right, &d->bottom};
    return i < 4 ? edges[i] : &d->points[(i - 4) / 2][i % 2];
}

typedef struct blend {
    double sums[4 + 2 * MTS_KIT_POINTS_MAX], weight;
} blend;

static void blend_add(blend *b, mts_kit_detection *d)
{
    for (uint32_t i = 0; i < number_count(d); i++) {
        b->sums[i] += (double)*number(d, i) * (double)d->score;
    }
    b->weight += (double)d->score;
}

uint32_t mts_kit_nms(const mts_kit_nms_options *options, mts_kit_detection *detections, uint32_t count)
{
    mts_kit_nms_options own = usual;
    const mts_kit_nms_options *o = &own;
    if ((options && !mts_kit_sized_read(&own, sizeof own, options)) ||
        !(o->overlap >= 0.0f && o->overlap <= 1.0f)) {
        return 0;
    }
    uint32_t kept = 0;
    uint32_t left = count;
    while (kept < left) {
        uint32_t best = kept;
        for (uint32_t i = kept + 1; i < left; i++) {
            best = better(&detections[i], &detections[best]) ? i : best;
        }
        const mts_kit_detection found = detections[best];
        detections[best] = detections[kept];
        detections[kept] = found;
        blend mean = {0};
        blend_add(&mean, &detections[kept]);
        uint32_t stay = kept + 1;
        for (uint32_t i = kept + 1; i < left; i++) {
            const bool comparable = o->across_labels || detections[i].label == found.label;
            if (comparable && overlap(&found, &detections[i]) > (double)o->overlap) {
                blend_add(&mean, &detections[i]);
            } else {
                detections[stay++] = detections[i];
            }
        }
        for (uint32_t i = 0; o->blend && mean.weight > 0 && i < number_count(&found); i++) {
            *number(&detections[kept], i) = (float)(mean.sums[i] / mean.weight);
        }
        left = stay;
        kept++;
    }
    return kept;
}
