/*
 * vectors.c: reads ref/ref.json and the arrays it names. Not responsible for running anything.
 */
#include "support/vectors.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *entry, const char *key)
{
    const char *text = json_string_value(json_object_get(entry, key));
    return text ? text : "";
}

static void copy_text(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from);
}

static bool read_array(const char *folder, const char *file, npy_array *out)
{
    char path[DATA_PATH];
    (void)snprintf(path, sizeof path, "%s/ref/%s", folder, file);
    return npy_read(path, out);
}

static bool read_numbers(const json_t *list, float *out)
{
    if (!json_is_array(list) || json_array_size(list) > 4) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        out[i] = (float)json_number_value(json_array_get(list, i));
    }
    return true;
}

static mtsc_color color_of(const char *order)
{
    return strcmp(order, "RGB") == 0   ? MTSC_COLOR_RGB
           : strcmp(order, "BGR") == 0 ? MTSC_COLOR_BGR
                                       : MTSC_COLOR_GREY;
}

static bool read_shape(const json_t *list, mtsc_input_shape *shape)
{
    if (!json_is_array(list) || json_array_size(list) > MTS_TENSOR_RANK_MAX) {
        return false;
    }
    shape->size = sizeof *shape;
    shape->rank = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; i < shape->rank; i++) {
        shape->dims[i] = json_integer_value(json_array_get(list, i));
    }
    return shape->rank == 4;
}

/* Task names: the file of the image without ".u8.npy", and a number, since two crops of a photo may be in
 * use. */
static void name_vector(ref_vector *out, const char *image, uint32_t index)
{
    const char *end = strstr(image, ".u8.npy");
    const int length = end ? (int)(end - image) : 1;
    (void)snprintf(out->name, sizeof out->name, "%.*s-%u", length < 50 ? length : 50, image, index);
}

static bool read_vector(const json_t *entry, const char *folder, uint32_t index, ref_vector *out)
{
    const json_t *outputs = json_object_get(entry, "outputs");
    const char *model = text_of(entry, "model");
    const char *image = text_of(entry, "u8");
    name_vector(out, image, index);
    (void)snprintf(out->model, sizeof out->model, "%s/%s", folder, model);
    const char *family = strchr(model, '/');
    copy_text(out->family, sizeof out->family, family ? family + 1 : "");
    out->family[strcspn(out->family, "/")] = 0;
    copy_text(out->input, sizeof out->input, text_of(entry, "input"));
    out->shape.input = out->input;
    out->interleaved = strcmp(text_of(entry, "layout"), "NHWC") == 0;
    out->color = color_of(text_of(entry, "channel_order"));
    out->output_count = (uint32_t)json_array_size(outputs);
    if (!read_shape(json_object_get(entry, "input_shape"), &out->shape) ||
        !read_numbers(json_object_get(entry, "mean"), out->mean) ||
        !read_numbers(json_object_get(entry, "scale"), out->scale) ||
        !read_array(folder, image, &out->image) || out->output_count > VECTOR_OUTPUTS) {
        return false;
    }
    for (uint32_t i = 0; i < out->output_count; i++) {
        if (!read_array(folder, text_of(json_array_get(outputs, i), "file"), &out->outputs[i])) {
            return false;
        }
    }
    return out->image.rank == 3 && out->image.element_size == 1 && out->output_count > 0;
}

bool ref_vectors_read(const char *folder, ref_vectors *out, char reason[DATA_PATH])
{
    char path[DATA_PATH];
    json_error_t error;
    *out = (ref_vectors){0};
    (void)snprintf(path, sizeof path, "%s/ref/ref.json", folder);
    json_t *list = json_load_file(path, 0, &error);
    const size_t count = json_array_size(list);
    out->at = calloc(count + 1, sizeof *out->at);
    bool good = out->at && count > 0;
    if (!good) {
        (void)snprintf(reason, DATA_PATH, "%.300s: no list of vectors", path);
    }
    for (size_t i = 0; good && i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        out->count++;
        good = read_vector(entry, folder, (uint32_t)i, &out->at[i]);
        if (!good) {
            (void)snprintf(reason, DATA_PATH, "%.300s: vector %zu (%.300s) is wrong", path, i,
                           text_of(entry, "u8"));
        }
    }
    json_decref(list);
    return good;
}

void ref_vectors_release(ref_vectors *vectors)
{
    for (uint32_t i = 0; i < vectors->count; i++) {
        npy_release(&vectors->at[i].image);
        for (uint32_t j = 0; j < VECTOR_OUTPUTS; j++) {
            npy_release(&vectors->at[i].outputs[j]);
        }
    }
    free(vectors->at);
    *vectors = (ref_vectors){0};
}

float *ref_vector_input(const ref_vector *vector)
{
    const size_t rows = (size_t)vector->image.dims[0], columns = (size_t)vector->image.dims[1];
    const size_t channels = (size_t)vector->image.dims[2], plane = rows * columns;
    const unsigned char *pixels = vector->image.data;
    float *input = malloc(plane * channels * sizeof *input);
    for (size_t i = 0; input && i < plane * channels; i++) {
        const size_t pixel = i / channels, channel = i % channels;
        const size_t at = vector->interleaved ? i : channel * plane + pixel;
        input[at] = ((float)pixels[i] - vector->mean[channel]) * vector->scale[channel];
    }
    return input;
}
