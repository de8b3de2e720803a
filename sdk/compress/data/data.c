/*
 * data.c: fetches images and tensors from the caller and lays them out for networks.
 *
 * Callbacks and the allocator are used under one lock, and so is the state of an input in
 * the store. Images become inputs without it; a thread that needs an input which another
 * one is making waits for that. An input in the store never changes, so copying it needs
 * no lock. Not responsible for how a frame becomes an input (sdk/frame, and the plain C
 * of the reference backend), nor for what is computed from inputs.
 */
#include "compress/data/data.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/size.h"
#include "base/sized.h"
#include "frame/params.h"
#include "platform/reference/pixels.h"

typedef enum input_state { INPUT_NONE = 0, INPUT_IN_WORK, INPUT_THERE } input_state;

/* An image of the caller's, copied, and what the input shows of it. */
typedef struct shown_frame {
    unsigned char *planes;
    size_t bytes;
    mts_frame_params params;
} shown_frame;

/* All images as one input of one preprocessing; the first `kept` of them stay. */
typedef struct image_set {
    const mts_preprocess *preprocess;
    const int64_t *dims;     /* of the input */
    mts_type dtype;          /* of the input */
    mts_frame_params params; /* what no frame changes; steps in the layout of net/net.h */
    size_t elements;         /* of an input */
    uint32_t kept;
    float *inputs;         /* [kept][elements] */
    unsigned char *states; /* [kept]: input_state */
} image_set;

struct mts_data {
    const mts_allocator *allocator;
    mtsz_data source;
    const mts_task *tasks;
    uint32_t task_count, set_count;
    image_set *sets;
    uint32_t *feeds; /* [task_count]: a set, or MTS_NONE: the task takes tensors */
    pthread_mutex_t lock;
    pthread_cond_t made; /* the state of an input has changed */
    bool locks;          /* `lock` and `made` exist */
};

void mtsz_data_default_sized(mtsz_data *data, size_t size)
{
    const mtsz_data defaults = {.size = sizeof(mtsz_data)};
    mts_sized_default(data, size, &defaults);
}

static mts_status check_source(const mtsz_data *source, mts_error *error)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    if (source->count == 0) {
        return mts_fail(error, bad, "data: there are no images");
    }
    return source->frame || source->image || source->tensor
               ? MTS_STATUS_OK
               : mts_fail(error, bad, "data: there is no callback: neither frame, nor image, nor tensor");
}

/* The set of a task's input, which is added if there is none; sets has room for one
   more. */
static uint32_t find_set(mts_data *data, const mts_task *task)
{
    const int64_t *dims = task->graph->inputs[0].shape.dims;
    const mts_type dtype = task->graph->inputs[0].dtype;
    for (uint32_t i = 0; i < data->set_count; i++) {
        if (mts_preprocess_same(data->sets[i].preprocess, &task->preprocess) &&
            data->sets[i].dtype == dtype && memcmp(data->sets[i].dims, dims, 4 * sizeof *dims) == 0) {
            return i;
        }
    }
    image_set *set = &data->sets[data->set_count];
    *set = (image_set){.preprocess = &task->preprocess,
                       .dims = dims,
                       .dtype = dtype,
                       .params = mts_frame_params_of(&task->preprocess, dims, dtype, 0, 0),
                       .elements = mts_shape_count(&task->graph->inputs[0].shape)};
    /* Dimension 1 of the graph lies innermost, whatever it means to the model. */
    const bool inner = task->preprocess.interleaved != 0;
    const mts_frame_params *p = &set->params;
    const uint32_t channel = inner ? p->height : 1;
    const uint32_t row = inner ? 1 : p->width * p->channels;
    const uint32_t column = inner ? p->channels * p->height : p->channels;
    set->params.step[0] = channel;
    set->params.step[1] = row;
    set->params.step[2] = column;
    return data->set_count++;
}

static mts_status make_feed(mts_data *data, const mts_task *task, uint32_t *out, mts_error *error)
{
    const mts_graph *graph = task->graph;
    *out = MTS_NONE;
    if ((data->source.frame || data->source.image) && mts_preprocess_takes_frames(&task->preprocess, graph) &&
        graph->inputs[0].shape.dims[0] == 1) {
        const int64_t *dims = graph->inputs[0].shape.dims;
        const bool inner = task->preprocess.interleaved != 0;
        const int64_t height = dims[inner ? 1 : 2];
        const int64_t width = dims[inner ? 2 : 3];
        if (height < 1 || width < 1 || height > INT32_MAX / 3 / width) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s': there are no images of %lldx%lld",
                            task->name, (long long)width, (long long)height);
        }
        if (!data->source.frame && (width > MTS_FRAME_SIDE_MOST || height > MTS_FRAME_SIDE_MOST)) {
            return mts_fail(
                error, MTS_STATUS_INVALID_ARGUMENT,
                "task '%s' takes images of %lldx%lld, and mtsz_data.image gives sides of %u at most; "
                "give mtsz_data.frame, whose images may be smaller than the input",
                task->name, (long long)width, (long long)height, MTS_FRAME_SIDE_MOST);
        }
        *out = find_set(data, task);
    }
    const uint32_t tensors = graph->input_count - (*out != MTS_NONE ? 1 : 0);
    if (graph->input_count == 0 || tensors == 0 || data->source.tensor) {
        return MTS_STATUS_OK;
    }
    return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                    "task '%s': its input '%s' takes no image, and the data gives no tensors", task->name,
                    graph->inputs[graph->input_count - tensors].name);
}

/* Room for as many images as `memory` allows; sets are served in the order of the
   tasks. */
static mts_status make_store(mts_data *data, uint64_t memory, mts_error *error)
{
    for (uint32_t i = 0; i < data->set_count; i++) {
        image_set *set = &data->sets[i];
        const size_t bytes = set->elements * sizeof *set->inputs;
        const uint64_t fit = memory / bytes;
        const uint32_t kept = fit < data->source.count ? (uint32_t)fit : data->source.count;
        set->inputs = mts_alloc_zero(data->allocator, kept, bytes);
        set->states = mts_alloc_zero(data->allocator, kept, sizeof *set->states);
        if (!set->inputs || !set->states) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %u images of %ux%u", kept,
                            set->params.width, set->params.height);
        }
        set->kept = kept;
        memory -= (uint64_t)kept * bytes;
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
    if (data->locks && pthread_cond_init(&data->made, NULL) != 0) {
        (void)pthread_mutex_destroy(&data->lock);
        data->locks = false;
    }
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
        mts_alloc_free(old->allocator, old->sets[i].inputs);
        mts_alloc_free(old->allocator, old->sets[i].states);
    }
    if (old->locks) {
        (void)pthread_cond_destroy(&old->made);
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
    return data->feeds[task] != MTS_NONE && data->tasks[task].graph->input_count == 1;
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

/* Asks the caller for an image. `rgb`: room for an image of the input's size, which
   `image` writes. */
static mts_status call_source(const mts_data *data, const image_set *set, uint32_t index, unsigned char *rgb,
                              mts_frame *frame, mts_error *error)
{
    const mtsz_data *source = &data->source;
    const uint32_t width = set->params.width;
    const uint32_t height = set->params.height;
    *frame = (mts_frame){.size = sizeof *frame};
    if (source->frame) {
        return source->frame(source->context, index, frame) == 0
                   ? MTS_STATUS_OK
                   : mts_fail(error, MTS_STATUS_IO, "image %u: it cannot be had", index);
    }
    if (source->image(source->context, index, width, height, rgb) != 0) {
        return mts_fail(error, MTS_STATUS_IO, "image %u: it cannot be had as an image of %ux%u", index, width,
                        height);
    }
    frame->data = rgb;
    frame->width = width;
    frame->height = height;
    frame->region = (mts_region){.width = width, .height = height, .fit = MTS_FIT_STRETCH};
    return MTS_STATUS_OK;
}

/* Copies the planes behind each other, as the parameters want them. */
static mts_status copy_frame(const mts_data *data, const image_set *set, const mts_frame *frame,
                             shown_frame *shown, mts_error *error)
{
    const mts_region_defaults defaults = mts_frame_defaults(set->preprocess);
    mts_frame_view view = {0};
    uint32_t at[MTS_FRAME_PLANES] = {0};
    size_t bytes = 0;
    mts_status status = mts_frame_view_make(frame, &view, error);
    if (status == MTS_STATUS_OK && view.frame.memory != MTS_MEMORY_HOST) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "calibration reads frames in HOST memory only");
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (uint32_t k = 0; k < view.planes.count; k++) {
        at[k] = (uint32_t)bytes;
        bytes += mts_frame_plane_bytes(&view.planes, view.stride, k);
    }
    *shown = (shown_frame){.planes = mts_alloc_zero(data->allocator, bytes, 1), .bytes = bytes};
    shown->params = set->params;
    if (!shown->planes) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for an image of %ux%u",
                        view.frame.width, view.frame.height);
    }
    for (uint32_t k = 0; k < view.planes.count; k++) {
        memcpy(shown->planes + at[k], view.plane[k], mts_frame_plane_bytes(&view.planes, view.stride, k));
    }
    const mts_region region = mts_region_resolve(&view.frame.region, &defaults, view.frame.width,
                                                 view.frame.height, set->params.width, set->params.height);
    mts_frame_params_show(&shown->params, &view, &region, at);
    return MTS_STATUS_OK;
}

/* Writes what the input shows; nothing of the caller's is used. */
static mts_status show_frame(const image_set *set, const shown_frame *shown, float *out, mts_error *error)
{
    const mts_reference_pixels to = {
        .image = out, .elements = set->elements, .frame = shown->planes, .frame_bytes = shown->bytes};
    const char *reason = mts_reference_pixels_write(&to, &shown->params);
    return reason ? mts_fail(error, MTS_STATUS_INTERNAL, "%s", reason) : MTS_STATUS_OK;
}

/* A copy of an image of the caller's, under the lock; the caller frees shown->planes
   under it. */
static mts_status ask_for_image(const mts_data *data, const image_set *set, uint32_t index,
                                shown_frame *shown, mts_error *error)
{
    mts_frame frame;
    unsigned char *rgb = NULL;
    if (!data->source.frame) {
        rgb = mts_alloc_zero(data->allocator, 3 * (size_t)set->params.width, set->params.height);
        if (!rgb) {
            return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for an image of %ux%u",
                            set->params.width, set->params.height);
        }
    }
    mts_status status = call_source(data, set, index, rgb, &frame, error);
    if (status == MTS_STATUS_OK) {
        status = copy_frame(data, set, &frame, shown, error);
        status = status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "image %u", index);
    }
    mts_alloc_free(data->allocator, rgb);
    return status;
}

/* *input: the store's, or `scratch` filled. */
static mts_status fetch_input(mts_data *data, image_set *set, uint32_t index, float *scratch,
                              const float **input, mts_error *error)
{
    const bool keep = index < set->kept;
    float *to = keep ? set->inputs + index * set->elements : scratch;
    shown_frame shown = {0};
    mts_status status = MTS_STATUS_OK;
    *input = to;
    (void)pthread_mutex_lock(&data->lock);
    while (keep && set->states[index] == INPUT_IN_WORK) {
        (void)pthread_cond_wait(&data->made, &data->lock);
    }
    const bool there = keep && set->states[index] == INPUT_THERE;
    if (!there) {
        if (keep) {
            set->states[index] = INPUT_IN_WORK;
        }
        status = ask_for_image(data, set, index, &shown, error);
    }
    (void)pthread_mutex_unlock(&data->lock);
    if (there) {
        return status;
    }
    if (status == MTS_STATUS_OK) {
        status = show_frame(set, &shown, to, error);
        status = status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "image %u", index);
    }
    (void)pthread_mutex_lock(&data->lock);
    mts_alloc_free(data->allocator, shown.planes);
    if (keep) {
        set->states[index] = status == MTS_STATUS_OK ? INPUT_THERE : INPUT_NONE;
        (void)pthread_cond_broadcast(&data->made);
    }
    (void)pthread_mutex_unlock(&data->lock);
    return status;
}

static uint32_t clamp(int64_t at, uint32_t count)
{
    return at < 0 ? 0 : at >= (int64_t)count ? count - 1 : (uint32_t)at;
}

static void write_changed(const mts_frame_params *p, const float *input, const mts_data_change *change,
                          float *out)
{
    for (uint32_t y = 0; y < p->height; y++) {
        const size_t from = clamp((int64_t)y - change->down, p->height) * (size_t)p->step[1];
        for (uint32_t x = 0; x < p->width; x++) {
            /* The image is mirrored first and moved then. */
            const uint32_t moved = clamp((int64_t)x - change->right, p->width);
            const uint32_t column = change->mirror ? p->width - 1 - moved : moved;
            const float *pixel = input + from + (size_t)column * p->step[2];
            float *to = out + (size_t)y * p->step[1] + (size_t)x * p->step[2];
            for (size_t c = 0; c < p->channels; c++) {
                to[c * p->step[0]] = pixel[c * p->step[0]];
            }
        }
    }
}

static mts_status fill_images(mts_data *data, uint32_t task, const uint32_t *indices, uint32_t count,
                              const mts_data_change *changes, float *out, mts_error *error)
{
    image_set *set = &data->sets[data->feeds[task]];
    mts_status status = MTS_STATUS_OK;
    changes = mts_data_changes(data, task) ? changes : NULL;
    /* Only a change reads an input elsewhere than it writes it. */
    float *scratch = NULL;
    if (changes && set->kept < data->source.count) {
        scratch = take_scratch(data, set->elements * sizeof *scratch);
        if (!scratch) {
            return mts_fail_memory(error);
        }
    }
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        const float *input = NULL;
        float *to = out + i * set->elements;
        status = fetch_input(data, set, indices[i], scratch ? scratch : to, &input, error);
        if (status == MTS_STATUS_OK && changes) {
            write_changed(&set->params, input, &changes[i], to);
        } else if (status == MTS_STATUS_OK && input != to) {
            memcpy(to, input, set->elements * sizeof *to);
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
    return data->feeds[task] != MTS_NONE && input == 0
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
