/*
 * ssd.c: single-shot detectors: anchors, and boxes relative to them or as corners. Not
 * responsible for suppression (nms.c).
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kit/sized.h"
#include "mts/kit.h"

/* The graphs of MediaPipe 0.10.21: SsdAnchors-, TensorsToDetections- and
   NonMaxSuppressionCalculator. */
static const mts_kit_ssd known[] = {
    [MTS_KIT_SSD_FACE] = {.width = 128, .height = 128, .layers = 4, .steps = {8, 16, 16, 16}, .points = 6},
    [MTS_KIT_SSD_PALM] = {.width = 192, .height = 192, .layers = 4, .steps = {8, 16, 16, 16}, .points = 7},
    [MTS_KIT_SSD_POSE] =
        {.width = 224, .height = 224, .layers = 5, .steps = {8, 16, 32, 32, 32}, .points = 4},
};

mts_status mts_kit_ssd_default_sized(mts_kit_ssd_kind kind, mts_kit_ssd *ssd, size_t size)
{
    if ((size_t)kind >= sizeof known / sizeof known[0]) {
        return MTS_STATUS_INVALID_ARGUMENT;
    }
    mts_kit_ssd defaults = known[kind];
    defaults.size = sizeof defaults;
    defaults.anchors_each = 2;
    defaults.scale = (float)defaults.width;
    defaults.least_score = 0.5f;
    defaults.nms = (mts_kit_nms_options){.size = sizeof defaults.nms, .overlap = 0.3f, .blend = 1};
    mts_kit_sized_default(ssd, size, &defaults);
    return MTS_STATUS_OK;
}

/* A detector of the caller's as one of this library's. */
static bool read_ssd(const mts_kit_ssd *given, mts_kit_ssd *ssd)
{
    *ssd = (mts_kit_ssd){.size = sizeof *ssd};
    bool good = mts_kit_sized_read(ssd, sizeof *ssd, given) && ssd->width > 0 && ssd->height > 0 &&
                ssd->width <= 16384 && ssd->height <= 16384 && ssd->layers > 0 &&
                ssd->layers <= MTS_KIT_LAYERS_MAX && ssd->anchors_each > 0 && ssd->anchors_each <= 64 &&
                ssd->points <= MTS_KIT_POINTS_MAX && ssd->scale > 0.0f;
    for (uint32_t i = 0; good && i < ssd->layers; i++) {
        good = ssd->steps[i] > 0;
    }
    return good;
}

/* Anchors of all layers from `layer` on that share its grid. */
static uint32_t layers_alike(const mts_kit_ssd *ssd, uint32_t layer)
{
    uint32_t end = layer + 1;
    while (end < ssd->layers && ssd->steps[end] == ssd->steps[layer]) {
        end++;
    }
    return end - layer;
}

uint32_t mts_kit_anchors(const mts_kit_ssd *given, float *anchors, uint32_t most)
{
    uint64_t count = 0;
    mts_kit_ssd own;
    const mts_kit_ssd *ssd = &own;
    if (!read_ssd(given, &own)) {
        return 0;
    }
    for (uint32_t layer = 0; layer < ssd->layers; layer += layers_alike(ssd, layer)) {
        const uint32_t step = ssd->steps[layer];
        const uint32_t columns = (ssd->width - 1) / step + 1;
        const uint32_t rows = (ssd->height - 1) / step + 1;
        const uint32_t each = ssd->anchors_each * layers_alike(ssd, layer);
        const uint64_t end = count + (uint64_t)columns * rows * each;
        for (uint64_t i = count; anchors && i < end && i < most && i < MTS_KIT_ANCHORS_MAX; i++) {
            const uint64_t place = (i - count) / each;
            anchors[2 * i] = ((float)(place % columns) + 0.5f) / (float)columns;
            anchors[2 * i + 1] = ((float)(place / columns) + 0.5f) / (float)rows;
        }
        count = end;
    }
    return count <= MTS_KIT_ANCHORS_MAX ? (uint32_t)count : 0;
}

static bool finite_all(const float *values, uint32_t count)
{
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        good = good && isfinite(values[i]);
    }
    return good;
}

uint32_t mts_kit_ssd_decode(const mts_kit_ssd *given, const float *anchors, const float *boxes,
                            const float *scores, mts_kit_detection *detections)
{
    mts_kit_ssd own;
    const mts_kit_ssd *ssd = &own;
    const uint32_t count = read_ssd(given, &own) ? mts_kit_anchors(&own, NULL, 0) : 0;
    const uint32_t numbers = 4 + 2 * ssd->points;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const float *box = boxes + (size_t)i * numbers;
        const float *anchor = anchors + (size_t)i * 2;
        const float score = mts_kit_sigmoid(scores[i]);
        if (!(score >= ssd->least_score) || !finite_all(box, numbers)) {
            continue;
        }
        const float x = box[0] / ssd->scale + anchor[0];
        const float y = box[1] / ssd->scale + anchor[1];
        const float half_width = box[2] / ssd->scale / 2;
        const float half_height = box[3] / ssd->scale / 2;
        if (!(half_width > 0.0f && half_height > 0.0f)) {
            continue;
        }
        mts_kit_detection *d = &detections[found++];
        *d = (mts_kit_detection){.left = x - half_width,
                                 .top = y - half_height,
                                 .right = x + half_width,
                                 .bottom = y + half_height,
                                 .score = score,
                                 .index = i,
                                 .point_count = ssd->points};
        for (uint32_t p = 0; p < ssd->points; p++) {
            d->points[p][0] = box[4 + 2 * p] / ssd->scale + anchor[0];
            d->points[p][1] = box[5 + 2 * p] / ssd->scale + anchor[1];
        }
    }
    return found;
}

/* The best class but the background. */
static uint32_t class_find(const float *scores, uint32_t classes)
{
    uint32_t best = 1;
    for (uint32_t c = 2; c < classes; c++) {
        best = scores[c] > scores[best] || isnan(scores[best]) ? c : best;
    }
    return best;
}

uint32_t mts_kit_corners_decode(const float *scores, const float *boxes, uint32_t count, uint32_t classes,
                                float least_score, mts_kit_detection *detections)
{
    uint32_t found = 0;
    for (uint32_t i = 0; classes > 1 && i < count; i++) {
        const float *row = scores + (size_t)i * classes;
        const float *box = boxes + (size_t)i * 4;
        const uint32_t label = class_find(row, classes);
        const bool inside = box[0] < 1.0f && box[1] < 1.0f && box[2] > 0.0f && box[3] > 0.0f;
        if (row[label] >= least_score && isfinite(row[label]) && finite_all(box, 4) && box[0] < box[2] &&
            box[1] < box[3] && inside) {
            detections[found++] = (mts_kit_detection){.left = box[0],
                                                      .top = box[1],
                                                      .right = box[2],
                                                      .bottom = box[3],
                                                      .score = row[label],
                                                      .label = label - 1,
                                                      .index = i};
        }
    }
    return found;
}
