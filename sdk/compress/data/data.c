/*
 * data.c: fetches images and tensors from the caller and lays them out for networks.
 *
 * Callbacks, the store of images and the allocator are used under one lock; an image in the store never
 * changes, so turning it into numbers needs none. Not responsible for what is computed from them.
 */
#include "compress/data/data.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/size.h"
#include "base/sized.h"

/* All images of one size; the first `kept` of them stay as bytes. */
typedef struct image_set {
    uint32_t width, height;
    size_t bytes; /* of an image */
    uint32_t kept;
    unsigned char *pixels; /* [kept][bytes] */
    bool *there;           /* [kept] */
} image_set;

/* How a task's image becomes its input: element (y, x, channel) goes to their sum, weighted. */
typedef struct feed {
    uint32_t set; /* MTS_NONE: the task takes tensors */
    size_t row, column, channel;
    float scale[4]; /* 1 / std */
} feed;

struct mts_data {
    const mts_allocator *allocator;
    mtsz_data source;
    const mts_task *tasks;
    uint32_t task_count, set_count;
    image_set *sets;
    feed *feeds; /* [task_count] */
    pthread_mutex_t lock;
    bool locks; /* `lock` exists */
};

void mtsz_data_default(mtsz_data *data)
{
    if (data) {
        *data = (mtsz_data){.size = sizeof *data};
    }
}

static mts_status check_source(const mtsz_data *source, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    if (source->count == 0) {
        return mts_fail(error, bad, "data: there are no images");
    }
    return source->image || source->tensor
               ? MTS_STATUS_OK
               : mts_fail(error, bad, "data: there is neither an image nor a tensor callback");
}

/* The set of a size, which is added if there is none; sets has room for one more. */
static uint32_t find_set(mts_data *data, uint32_t width, uint32_t height)
{
    for (uint32_t i = 0; i < data->set_count; i++) {
        if (data->sets[i].width == width && data->sets[i].height == height) {
            return i;
        }
    }
    data->sets[data->set_count] =
        (image_set){.width = width, .height = height, .bytes = 3 * (size_t)width * height};
    return data->set_count++;
}

static mts_status make_feed(mts_data *data, const mts_task *task, feed *out, mts_error *error)
{
    const mts_graph *graph = task->graph;
    *out = (feed){.set = MTS_NONE};
    if (data->source.image && mts_preprocess_takes_frames(&task->preprocess, graph) &&
        graph->inputs[0].shape.dims[0] == 1) {
        const int64_t *dims = graph->inputs[0].shape.dims;
        const bool inner = task->preprocess.interleaved != 0;
        const int64_t height = dims[inner ? 1 : 2];
        const int64_t width = dims[inner ? 2 : 3];
        if (height < 1 || width < 1 || height > INT32_MAX / 3 / width) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s': there are no images of %lldx%lld",
                            task->name, (long long)width, (long long)height);
        }
        out->set = find_set(data, (uint32_t)width, (uint32_t)height);
        /* Dimension 1 of the graph lies innermost, whatever it means to the model. */
        const size_t channels = (size_t)dims[inner ? 3 : 1];
        out->row = inner ? 1 : (size_t)width * channels;
        out->column = inner ? channels * (size_t)height : channels;
        out->channel = inner ? (size_t)height : 1;
        for (uint32_t c = 0; c < 4; c++) {
            out->scale[c] = 1.0f / task->preprocess.std[c];
        }
    }
    const uint32_t tensors = graph->input_count - (out->set != MTS_NONE ? 1 : 0);
    if (graph->input_count == 0 || tensors == 0 || data->source.tensor) {
        return MTS_STATUS_OK;
    }
    return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                    "task '%s': its input '%s' takes no image, and the data gives no tensors", task->name,
                    graph->inputs[graph->input_count - tensors].name);
}

/* Room for as many images as `memory` allows; sets are served in the order of the tasks. */
static mts_status make_store(mts_data *data, uint64_t memory, mts_error *error)
{
    for (uint32_t i = 0; i < data->set_count; i++) {
        image_set *set = &data->sets[i];
        const uint64_t fit = memory / set->bytes;
        const uint32_t kept = fit < data->source.count ? (uint32_t)fit : data->source.count;
        set->pixels = mts_alloc_zero(data->allocator, kept, set->bytes);
        set->there = mts_alloc_zero(data->allocator, kept, sizeof *set->there);
        if (!set->pixels || !set->there) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %u images of %ux%u", kept,
                            set->width, set->height);
        }
        set->kept = kept;
        memory -= (uint64_t)kept * set->bytes;
    }
    return MTS_STATUS_OK;
}

mts_status mts_data_create(const mtsz_data *source, const mts_task *tasks, uint32_t count, uint64_t memory,
                           const mts_allocator *allocator, mts_data **out, mts_error *error)
{
    *out = NULL;
    mtsz_data own;
    mtsz_data_default(&own);
    mts_status status = mts_sized_read(&own, sizeof own, source, "mtsz_data", error);
    MTS_TRY(status, check_source(&own, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_data *data = mts_alloc_zero(allocator, 1, sizeof *data);
    if (!data) {
        return mts_fail_memory(error);
    }
    data->allocator = allocator;
    data->source = own;
    data->tasks = tasks;
    data->task_count = count;
    data->sets = mts_alloc_zero(allocator, count, sizeof *data->sets);
    data->feeds = mts_alloc_zero(allocator, count, sizeof *data->feeds);
    data->locks = pthread_mutex_init(&data->lock, NULL) == 0;
    if (!data->sets || !data->feeds || !data->locks) {
        status = mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < count && status == MTS_STATUS_OK; t++) {
        status = make_feed(data, &tasks[t], &data->feeds[t], error);
    }
    MTS_TRY(status, make_store(data, memory, error));
    if (status != MTS_STATUS_OK) {
        mts_data_destroy(&data);
    }
    *out = data;
    return status;
}

void mts_data_destroy(mts_data **data)
{
    mts_data *old = data ? *data : NULL;
    if (!old) {
        return;
    }
    for (uint32_t i = 0; i < old->set_count; i++) {
        mts_alloc_free(old->allocator, old->sets[i].pixels);
        mts_alloc_free(old->allocator, old->sets[i].there);
    }
    if (old->locks) {
        (void)pthread_mutex_destroy(&old->lock);
    }
    mts_alloc_free(old->allocator, old->sets);
    mts_alloc_free(old->allocator, old->feeds);
    mts_alloc_free(old->allocator, old);
    *data = NULL;
}

uint32_t mts_data_count(const mts_data *data)
{
    return data->source.count;
}

bool mts_data_changes(const mts_data *data, uint32_t task)
{
    return data->feeds[task].set != MTS_NONE && data->tasks[task].graph->input_count == 1;
}

/* Scratch memory of one fill; allocators need not be safe for several threads. */
static void *take_scratch(mts_data *data, size_t bytes)
{
    (void)pthread_mutex_lock(&data->lock);
    void *memory = mts_alloc_zero(data->allocator, bytes, 1);
    (void)pthread_mutex_unlock(&data->lock);
    return memory;
}

static void give_scratch(mts_data *data, void *memory)
{
    (void)pthread_mutex_lock(&data->lock);
    mts_alloc_free(data->allocator, memory);
    (void)pthread_mutex_unlock(&data->lock);
}

/* An image's bytes: the store's, or `scratch` filled; NULL if the caller does not have it. */
static const unsigned char *fetch_image(mts_data *data, image_set *set, uint32_t index,
                                        unsigned char *scratch)
{
    const mtsz_data *source = &data->source;
    const bool keep = index < set->kept;
    unsigned char *pixels = keep ? set->pixels + index * set->bytes : scratch;
    (void)pthread_mutex_lock(&data->lock);
    bool there = keep && set->there[index];
    if (!there) {
        there = source->image(source->context, index, set->width, set->height, pixels) == 0;
        if (keep) {
            set->there[index] = there;
        }
    }
    (void)pthread_mutex_unlock(&data->lock);
    return there ? pixels : NULL;
}

static uint32_t clamp(int64_t at, uint32_t count)
{
    return at < 0 ? 0 : at >= (int64_t)count ? count - 1 : (uint32_t)at;
}

/* The formulas are those of kernels/frame. */
static void write_pixel(const mts_preprocess *p, const feed *f, const unsigned char *rgb, float *out)
{
    if (p->color == MTS_COLOR_GREY) {
        const float luma = 0.299f * (float)rgb[0] + 0.587f * (float)rgb[1] + 0.114f * (float)rgb[2];
        out[0] = (luma - p->mean[0]) * f->scale[0];
        return;
    }
    const bool reversed = p->color == MTS_COLOR_BGR;
    for (size_t c = 0; c < 3; c++) {
        out[c * f->channel] = ((float)rgb[reversed ? 2 - c : c] - p->mean[c]) * f->scale[c];
    }
}

static void write_image(const mts_preprocess *p, const feed *f, const image_set *set,
                        const unsigned char *pixels, const mts_data_change *change, float *out)
{
    for (uint32_t y = 0; y < set->height; y++) {
        const uint32_t from = clamp((int64_t)y - change->down, set->height);
        const unsigned char *row = pixels + 3 * (size_t)from * set->width;
        for (uint32_t x = 0; x < set->width; x++) {
            /* The image is mirrored first and moved then. */
            const uint32_t moved = clamp((int64_t)x - change->right, set->width);
            const uint32_t column = change->mirror ? set->width - 1 - moved : moved;
            write_pixel(p, f, row + 3 * (size_t)column, out + y * f->row + x * f->column);
        }
    }
}

static mts_status fill_images(mts_data *data, uint32_t task, const uint32_t *indices, uint32_t count,
                              const mts_data_change *changes, float *out, mts_error *error)
{
    static const mts_data_change none = {0};
    const feed *f = &data->feeds[task];
    image_set *set = &data->sets[f->set];
    const size_t elements = mts_shape_count(&data->tasks[task].graph->inputs[0].shape);
    mts_status status = MTS_STATUS_OK;
    unsigned char *scratch = NULL;
    if (set->kept < data->source.count) {
        scratch = take_scratch(data, set->bytes);
        if (!scratch) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for an image of %ux%u",
                            set->width, set->height);
        }
    }
    changes = mts_data_changes(data, task) ? changes : NULL;
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        const unsigned char *pixels = fetch_image(data, set, indices[i], scratch);
        if (pixels) {
            write_image(&data->tasks[task].preprocess, f, set, pixels, changes ? &changes[i] : &none,
                        out + i * elements);
        } else {
            status = mts_fail(error, MTS_STATUS_IO, "image %u: it cannot be had as an image of %ux%u",
                              indices[i], set->width, set->height);
        }
    }
    if (scratch) {
        give_scratch(data, scratch);
    }
    return status;
}

/* [N][C][H][W] to [N][H][W][C]. */
static void write_interleaved(const float *in, const mts_shape *shape, float *out)
{
    const size_t channels = (size_t)shape->dims[1];
    const size_t pixels = (size_t)shape->dims[2] * (size_t)shape->dims[3];
    for (int64_t n = 0; n < shape->dims[0]; n++) {
        for (size_t c = 0; c < channels; c++) {
            for (size_t p = 0; p < pixels; p++) {
                out[p * channels + c] = *in++;
            }
        }
        out += channels * pixels;
    }
}

static mts_status fetch_tensor(mts_data *data, uint32_t task, uint32_t input, uint32_t index, size_t count,
                               float *out, mts_error *error)
{
    const mtsz_data *source = &data->source;
    const char *name = data->tasks[task].name;
    const char *port = data->tasks[task].graph->inputs[input].name;
    (void)pthread_mutex_lock(&data->lock);
    const int failed = source->tensor(source->context, index, name, input, out, count);
    (void)pthread_mutex_unlock(&data->lock);
    if (failed) {
        return mts_fail(error, MTS_STATUS_IO, "image %u: it cannot be had for input '%s' of task '%s'", index,
                        port, name);
    }
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(out[i])) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "image %u: number %zu for input '%s' of task '%s' is not finite", index, i, port,
                            name);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status fill_tensors(mts_data *data, uint32_t task, uint32_t input, const uint32_t *indices,
                               uint32_t count, float *out, mts_error *error)
{
    const mts_shape *shape = &data->tasks[task].graph->inputs[input].shape;
    const size_t elements = mts_shape_count(shape);
    mts_status status = MTS_STATUS_OK;
    float *scratch = NULL;
    if (shape->rank == 4) {
        size_t bytes = 0;
        scratch = mts_size_mul(elements, sizeof(float), &bytes) ? take_scratch(data, bytes) : NULL;
        if (!scratch) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for an input of task '%s'",
                            data->tasks[task].name);
        }
    }
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        float *to = out + i * elements;
        status = fetch_tensor(data, task, input, indices[i], elements, scratch ? scratch : to, error);
        if (scratch && status == MTS_STATUS_OK) {
            write_interleaved(scratch, shape, to);
        }
    }
    if (scratch) {
        give_scratch(data, scratch);
    }
    return status;
}

mts_status mts_data_fill(mts_data *data, uint32_t task, uint32_t input, const uint32_t *indices,
                         uint32_t count, const mts_data_change *changes, float *out, mts_error *error)
{
    return data->feeds[task].set != MTS_NONE && input == 0
               ? fill_images(data, task, indices, count, changes, out, error)
               : fill_tensors(data, task, input, indices, count, out, error);
}

mts_status mts_data_feed(mts_data *data, uint32_t task, mts_net_run *run, const uint32_t *indices,
                         uint32_t count, const mts_data_change *changes, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < data->tasks[task].graph->input_count && status == MTS_STATUS_OK; i++) {
        status = mts_data_fill(data, task, i, indices, count, changes, mts_net_run_input(run, i), error);
    }
    return status;
}
