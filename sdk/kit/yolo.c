/*
 * yolo.c: heads of the YOLO family and of FastestDet. Not responsible for suppression
 * (nms.c).
 */
#include <math.h>
#include <stdbool.h>

#include "kit/sized.h"
#include "mts/kit.h"

/* A head of the caller's as one of this library's. */
static bool read_head(const mts_kit_yolo *given, mts_kit_yolo *y)
{
    *y = (mts_kit_yolo){.size = sizeof *y, .least_score = 0.25f};
    return mts_kit_sized_read(y, sizeof *y, given) && y->width > 0 && y->height > 0 && y->rows > 0 &&
           y->rows <= INT32_MAX && (y->classes > 0 || y->kind == MTS_KIT_YOLO_END_TO_END) &&
           y->classes <= 65536 && (size_t)y->kind <= (size_t)MTS_KIT_YOLO_FASTEST;
}

/* A head's numbers: number c of row r is values[r * row + c * step]. */
typedef struct head {
    const float *values;
    size_t row, step;
    uint32_t first_class, classes;
} head;

static head head_of(const mts_kit_yolo *y, const float *values)
{
    const uint32_t first = y->kind == MTS_KIT_YOLO_V8 ? 4 : 5;
    const bool columns = y->kind == MTS_KIT_YOLO_V8 || y->kind == MTS_KIT_YOLO_FASTEST;
    const uint32_t numbers = y->kind == MTS_KIT_YOLO_END_TO_END ? 6 : first + y->classes;
    return (head){.values = values,
                  .row = columns ? 1 : numbers,
                  .step = columns ? y->rows : 1,
                  .first_class = first,
                  .classes = y->kind == MTS_KIT_YOLO_END_TO_END ? 0 : y->classes};
}

static float number(const head *h, uint32_t row, uint32_t index)
{
    return h->values[row * h->row + index * h->step];
}

/* The best class of a row and its number. NaN never wins. */
static uint32_t class_find(const head *h, uint32_t row, float *score)
{
    uint32_t best = 0;
    *score = -INFINITY;
    for (uint32_t c = 0; c < h->classes; c++) {
        const float value = number(h, row, h->first_class + c);
        if (value > *score) {
            *score = value;
            best = c;
        }
    }
    return best;
}

/* Cell of a row of YOLOX: its step, column and line. */
static bool cell_find(const mts_kit_yolo *y, uint32_t row, float cell[3])
{
    for (uint32_t step = 8; step <= 32; step *= 2) {
        const uint32_t columns = y->width / step;
        const uint32_t lines = y->height / step;
        if (row < columns * lines) {
            cell[0] = (float)step;
            cell[1] = (float)(row % columns);
            cell[2] = (float)(row / columns);
            return true;
        }
        row -= columns * lines;
    }
    return false;
}

/* A square grid of FastestDet. */
static uint32_t side_of(const mts_kit_yolo *y)
{
    const uint32_t side = (uint32_t)(sqrt((double)y->rows * y->width / y->height) + 0.5);
    return side > 0 ? side : 1;
}

/* The middle and the sides in parts of the input, and the score. False: the row is
   none. */
static bool box_find(const mts_kit_yolo *y, const head *h, uint32_t row, float box[4], float *score)
{
    const float width = (float)y->width;
    const float height = (float)y->height;
    const float v[5] = {number(h, row, 0), number(h, row, 1), number(h, row, 2), number(h, row, 3),
                        number(h, row, 4)};
    float cell[3];
    switch (y->kind) {
    case MTS_KIT_YOLO_V5:
        *score *= v[4];
        break;
    case MTS_KIT_YOLO_X:
        *score *= v[4];
        if (!cell_find(y, row, cell)) {
            return false;
        }
        box[0] = (v[0] + cell[1]) * cell[0] / width;
        box[1] = (v[1] + cell[2]) * cell[0] / height;
        box[2] = expf(v[2]) * cell[0] / width;
        box[3] = expf(v[3]) * cell[0] / height;
        return true;
    case MTS_KIT_YOLO_END_TO_END:
        *score = v[4];
        box[0] = (v[0] + v[2]) / 2 / width;
        box[1] = (v[1] + v[3]) / 2 / height;
        box[2] = (v[2] - v[0]) / width;
        box[3] = (v[3] - v[1]) / height;
        return true;
    case MTS_KIT_YOLO_FASTEST: {
        const uint32_t columns = side_of(y);
        const float lines = (float)y->rows / (float)columns;
        *score = powf(v[0], 0.6f) * powf(*score, 0.4f);
        box[0] = (tanhf(v[1]) + (float)(row % columns)) / (float)columns;
        box[1] = (tanhf(v[2]) + (float)(row / columns)) / lines;
        box[2] = mts_kit_sigmoid(v[3]);
        box[3] = mts_kit_sigmoid(v[4]);
        return true;
    }
    case MTS_KIT_YOLO_V8:
        break;
    }
    box[0] = v[0] / width;
    box[1] = v[1] / height;
    box[2] = v[2] / width;
    box[3] = v[3] / height;
    return true;
}

uint32_t mts_kit_yolo_decode(const mts_kit_yolo *given, const float *values, mts_kit_detection *detections)
{
    uint32_t found = 0;
    mts_kit_yolo own;
    const mts_kit_yolo *yolo = &own;
    if (!read_head(given, &own)) {
        return 0;
    }
    const head h = head_of(yolo, values);
    for (uint32_t row = 0; row < yolo->rows; row++) {
        float score = 0;
        float box[4];
        uint32_t label = class_find(&h, row, &score);
        if (yolo->kind == MTS_KIT_YOLO_END_TO_END) {
            const float index = number(&h, row, 5);
            label = index >= 0.0f && index < 65536.0f ? (uint32_t)index : 0;
        }
        const bool good = box_find(yolo, &h, row, box, &score) && score >= yolo->least_score &&
                          isfinite(score) && isfinite(box[0]) && isfinite(box[1]) && isfinite(box[2]) &&
                          isfinite(box[3]) && box[2] > 0.0f && box[3] > 0.0f;
        if (good) {
            detections[found++] = (mts_kit_detection){.left = box[0] - box[2] / 2,
                                                      .top = box[1] - box[3] / 2,
                                                      .right = box[0] + box[2] / 2,
                                                      .bottom = box[1] + box[3] / 2,
                                                      .score = score,
                                                      .label = label,
                                                      .index = row};
        }
    }
    return found;
}

/* Rows of the grids with steps 8, 16 and 32, each with `each` candidates at a cell. */
static int64_t grid_rows(uint32_t width, uint32_t height, int64_t each)
{
    int64_t rows = 0;
    for (uint32_t step = 8; step <= 32; step *= 2) {
        rows += (int64_t)(width / step) * (height / step) * each;
    }
    return rows;
}

mts_status mts_kit_yolo_guess(const mts_tensor *output, uint32_t width, uint32_t height, mts_kit_yolo *yolo)
{
    const int64_t *d = output->dims;
    mts_kit_yolo y = {.size = sizeof y, .width = width, .height = height, .least_score = 0.25f};
    if (output->rank == 4 && d[0] == 1 && d[1] > 5 && d[1] < 65536 && d[2] > 0 && d[3] > 0 && d[2] < 4096 &&
        d[3] < 4096) {
        y.kind = MTS_KIT_YOLO_FASTEST;
        y.classes = (uint32_t)d[1] - 5;
        y.rows = (uint32_t)(d[2] * d[3]);
    } else if (output->rank == 3 && d[0] == 1 && d[1] > 4 && d[1] < 65536 && d[2] > d[1] &&
               d[2] < INT32_MAX) {
        y.kind = MTS_KIT_YOLO_V8;
        y.classes = (uint32_t)d[1] - 4;
        y.rows = (uint32_t)d[2];
    } else if (output->rank == 3 && d[0] == 1 && d[2] == 6 && d[1] > 0 && d[1] <= 1000) {
        y.kind = MTS_KIT_YOLO_END_TO_END;
        y.rows = (uint32_t)d[1];
    } else if (output->rank == 3 && d[0] == 1 && d[2] > 5 && d[2] < 65536 &&
               (d[1] == grid_rows(width, height, 3) || d[1] == grid_rows(width, height, 1))) {
        y.kind = d[1] == grid_rows(width, height, 1) ? MTS_KIT_YOLO_X : MTS_KIT_YOLO_V5;
        y.classes = (uint32_t)d[2] - 5;
        y.rows = (uint32_t)d[1];
    } else {
        return MTS_STATUS_UNSUPPORTED;
    }
    *yolo = y;
    return MTS_STATUS_OK;
}
