/*
 * dataset.c: records, folders and arrays behind the two callbacks of mtsz_data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_set.h"

/* ---- pictures ---- */

/* Dimensions of one image of an array. */
static const int64_t *element_dims(const cli_dataset *set, uint32_t *rank)
{
    *rank = set->array.rank - 1;
    return set->array.dims + 1;
}

/* How an array's images are pictures. */
typedef struct pixels {
    uint32_t width, height, channels;
    size_t row, column, channel; /* steps in the array */
} pixels;

static bool array_pixels(const cli_dataset *set, pixels *out)
{
    uint32_t rank = 0;
    const int64_t *d = element_dims(set, &rank);
    if (set->array.type != MTS_TYPE_UINT8 || rank != 3 || d[0] > INT32_MAX || d[1] > INT32_MAX ||
        d[2] > INT32_MAX) {
        return false;
    }
    const bool inner = d[2] == 3 || (d[2] == 1 && d[0] != 3 && d[0] != 1);
    if (!inner && d[0] != 3 && d[0] != 1) {
        return false;
    }
    out->height = (uint32_t)d[inner ? 0 : 1];
    out->width = (uint32_t)d[inner ? 1 : 2];
    out->channels = (uint32_t)d[inner ? 2 : 0];
    out->channel = inner ? 1 : (size_t)out->width * out->height;
    out->column = inner ? out->channels : 1;
    out->row = out->column * out->width;
    return true;
}

static bool has_pictures(const cli_dataset *set)
{
    pixels p;
    return set->kind != KIND_ARRAY || array_pixels(set, &p);
}

static bool array_picture(const cli_dataset *set, uint32_t index, cli_image *image)
{
    pixels p;
    (void)array_pixels(set, &p);
    const size_t count = (size_t)p.width * p.height;
    const unsigned char *from = (const unsigned char *)set->array.data + index * count * p.channels;
    *image = (cli_image){.pixels = malloc(3 * count + 1), .width = p.width, .height = p.height};
    for (size_t i = 0; image->pixels && i < count; i++) {
        const size_t at = i / p.width * p.row + i % p.width * p.column;
        for (size_t c = 0; c < 3; c++) {
            image->pixels[3 * i + c] = from[at + (p.channels == 3 ? c * p.channel : 0)];
        }
    }
    return image->pixels;
}

void cli_dataset_pixels(const cli_dataset *dataset, uint32_t index, unsigned char *rgb)
{
    const unsigned char *planes =
        dataset->records + (size_t)index * (dataset->record_labels + RECORD_PIXELS) + dataset->record_labels;
    for (size_t i = 0; i < PLANE; i++) {
        rgb[3 * i] = planes[i];
        rgb[3 * i + 1] = planes[PLANE + i];
        rgb[3 * i + 2] = planes[2 * (size_t)PLANE + i];
    }
}

static bool record_picture(const cli_dataset *set, uint32_t index, cli_image *image)
{
    *image = (cli_image){.pixels = malloc(3 * PLANE), .width = SIDE, .height = SIDE};
    if (image->pixels) {
        cli_dataset_pixels(set, index, image->pixels);
    }
    return image->pixels;
}

static int frame_get(void *context, uint32_t index, mts_frame *frame)
{
    cli_dataset *set = context;
    set->reason[0] = '\0';
    cli_image_release(&set->picture);
    const bool made = set->kind == KIND_RECORDS ? record_picture(set, index, &set->picture)
                      : set->kind == KIND_FOLDER
                          ? cli_image_read(set->names[index], &set->picture, set->reason)
                          : array_picture(set, index, &set->picture);
    if (!made && !set->reason[0]) {
        cli_dataset_fail(set->reason, "no memory for image %u of '%s'", index, set->path);
    }
    frame->data = set->picture.pixels;
    frame->width = set->picture.width;
    frame->height = set->picture.height;
    frame->format = MTS_PIXEL_FORMAT_RGB;
    return made ? 0 : 1;
}

/* ---- inputs that are no pictures ---- */

typedef enum order { ORDER_NONE, ORDER_AS_IS, ORDER_TURN_IN, ORDER_TURN_OUT } order;

static bool dims_equal(const int64_t *a, const int64_t *b, uint32_t rank)
{
    return memcmp(a, b, rank * sizeof *a) == 0;
}

/* How an image of the array becomes an input: as it is, [H,W,C] to [C,H,W], or the other
   way round. */
static order order_find(const cli_dataset *set, const mts_port_desc *port)
{
    uint32_t rank = 0;
    const int64_t *d = element_dims(set, &rank);
    const bool batch = port->rank == rank + 1 && port->dims[0] == 1;
    const int64_t *want = port->dims + (batch ? 1 : 0);
    if (!batch && port->rank != rank) {
        return ORDER_NONE;
    }
    if (dims_equal(d, want, rank)) {
        return ORDER_AS_IS;
    }
    if (rank == 3 && dims_equal((const int64_t[]){d[2], d[0], d[1]}, want, 3)) {
        return ORDER_TURN_IN;
    }
    return rank == 3 && dims_equal((const int64_t[]){d[1], d[2], d[0]}, want, 3) ? ORDER_TURN_OUT
                                                                                 : ORDER_NONE;
}

static int tensor_get(void *context, uint32_t index, const char *task, uint32_t input, float *out,
                      size_t count)
{
    cli_dataset *set = context;
    mts_port_desc port = {.size = sizeof port};
    uint32_t rank = 0;
    const int64_t *d = element_dims(set, &rank);
    set->reason[0] = '\0';
    const order how =
        set->bundle && mts_bundle_input(set->bundle, task, input, &port) == MTS_STATUS_OK && input == 0
            ? order_find(set, &port)
            : ORDER_NONE;
    if (how == ORDER_NONE ||
        count * (size_t)set->array.dims[0] * cli_type_size(set->array.type) != set->array.bytes) {
        cli_dataset_fail(set->reason, "the images of '%s' are no inputs of task '%s'", set->path, task);
        return 1;
    }
    /* Turned, element (a, b) of a matrix [rows][columns] becomes (b, a). */
    const size_t turned = how == ORDER_TURN_IN    ? (size_t)d[2]
                          : how == ORDER_TURN_OUT ? count / (size_t)d[0]
                                                  : 1;
    const size_t columns = turned > 1 ? turned : 1;
    const size_t rows = count / columns;
    for (size_t i = 0; i < count; i++) {
        const size_t from = index * count + i;
        out[i % columns * rows + i / columns] = set->array.type == MTS_TYPE_UINT8
                                                    ? (float)((const unsigned char *)set->array.data)[from]
                                                    : ((const float *)set->array.data)[from];
    }
    return 0;
}

static bool task_fits(const cli_dataset *set, const mts_task_desc *task, char *error)
{
    mts_port_desc port = {.size = sizeof port};
    char wanted[DATASET_SHAPE_TEXT];
    char given[DATASET_SHAPE_TEXT];
    uint32_t rank = 0;
    if (task->input_count == 0 || (task->takes_frames && task->input_count == 1 && has_pictures(set))) {
        return true;
    }
    if (set->kind != KIND_ARRAY) {
        cli_dataset_fail(error, "task '%s' takes no pictures (%s): give its inputs as an array, FILE.npy",
                         task->name,
                         task->takes_frames ? "it has other inputs too"
                                            : "it has no color, or its input is not one image");
        return false;
    }
    if (task->input_count > 1) {
        cli_dataset_fail(error, "task '%s' has %u inputs; an array feeds one", task->name, task->input_count);
        return false;
    }
    if (mts_bundle_input(set->bundle, task->name, 0, &port) != MTS_STATUS_OK) {
        cli_dataset_fail(error, "task '%s' has no input", task->name);
        return false;
    }
    if (order_find(set, &port) == ORDER_NONE) {
        const int64_t *d = element_dims(set, &rank);
        cli_dataset_fail(error, "task '%s': its input '%s' is %s, but an image of '%s' is %s", task->name,
                         port.name, cli_dataset_shape_text(port.dims, port.rank, wanted), set->path,
                         cli_dataset_shape_text(d, rank, given));
        return false;
    }
    return true;
}

bool cli_dataset_fit(cli_dataset *dataset, const mts_bundle *bundle, const char *const *tasks, uint32_t count,
                     char *error)
{
    dataset->bundle = bundle;
    for (uint32_t i = 0; i < mts_bundle_task_count(dataset->bundle); i++) {
        mts_task_desc task = {.size = sizeof task};
        if (mts_bundle_task(dataset->bundle, i, &task) != MTS_STATUS_OK) {
            cli_dataset_fail(error, "the bundle has no task %u", i);
            return false;
        }
        bool chosen = !tasks;
        for (uint32_t k = 0; k < count && tasks; k++) {
            chosen = chosen || strcmp(tasks[k], task.name) == 0;
        }
        if (chosen && !task_fits(dataset, &task, error)) {
            return false;
        }
    }
    return true;
}

mtsz_data cli_dataset_data(cli_dataset *dataset)
{
    return (mtsz_data){.size = sizeof(mtsz_data),
                       .count = dataset->count,
                       .context = dataset,
                       .frame = has_pictures(dataset) ? frame_get : NULL,
                       .tensor = dataset->kind == KIND_ARRAY ? tensor_get : NULL};
}

uint32_t cli_dataset_count(const cli_dataset *dataset)
{
    return dataset->count;
}

bool cli_dataset_labelled(const cli_dataset *dataset)
{
    return dataset->kind == KIND_RECORDS;
}

const char *cli_dataset_reason(const cli_dataset *dataset)
{
    return dataset->reason;
}
