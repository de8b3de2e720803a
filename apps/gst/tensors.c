/*
 * tensors.c: what networks computed, as numbers, for elements that decode it themselves: as
 * fields of our structure, and from these as GStreamer's own meta of tensors (1.26 and later).
 */
#include "meta.h"

#include "mts/mts.h"

#ifdef MTS_GST_TENSORS
#include <gst/analytics/analytics.h>
#endif

static const gchar *const type_names[] = {
    [MTS_TYPE_FLOAT32] = "float32", [MTS_TYPE_FLOAT16] = "float16", [MTS_TYPE_INT32] = "int32",
    [MTS_TYPE_INT64] = "int64",     [MTS_TYPE_UINT8] = "uint8",     [MTS_TYPE_BOOL] = "bool",
    [MTS_TYPE_FLOAT64] = "float64", [MTS_TYPE_INT8] = "int8",       [MTS_TYPE_UINT16] = "uint16",
    [MTS_TYPE_INT16] = "int16"};

/* ---- writing ---- */

static void dims_write(GstStructure *out, const mts_tensor *tensor)
{
    GValue array = G_VALUE_INIT;
    (void)g_value_init(&array, GST_TYPE_ARRAY);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        GValue value = G_VALUE_INIT;
        (void)g_value_init(&value, G_TYPE_INT64);
        g_value_set_int64(&value, tensor->dims[i]);
        gst_value_array_append_and_take_value(&array, &value);
    }
    gst_structure_take_value(out, "dims", &array);
}

/* The next run changes the session's memory: the numbers are copied, once. */
static void tensor_append(GValue *array, const task_result *result, guint number, const mts_tensor *tensor)
{
    GValue value = G_VALUE_INIT;
    if ((size_t)tensor->type >= G_N_ELEMENTS(type_names)) {
        return;
    }
    GstBuffer *data = gst_buffer_new_memdup(tensor->data, tensor->bytes);
    GstStructure *out = gst_structure_new("tensor", "task", G_TYPE_STRING, result->task.name, "output",
                                          G_TYPE_UINT, number, "type", G_TYPE_STRING,
                                          type_names[tensor->type], "data", GST_TYPE_BUFFER, data, NULL);
    gst_buffer_unref(data);
    dims_write(out, tensor);
    (void)g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, out);
    gst_value_array_append_and_take_value(array, &value);
}

void tensors_write(GstStructure *out, const results *all)
{
    GValue array = G_VALUE_INIT;
    (void)g_value_init(&array, GST_TYPE_ARRAY);
    for (uint32_t i = 0; i < all->count; i++) {
        const task_result *result = &all->tasks[i];
        for (guint o = 0; result->ran && result->score < 0 && o < result->task.output_count; o++) {
            mts_tensor tensor;
            if (mts_session_output(all->app->session, result->task.name, o, &tensor) == MTS_STATUS_OK) {
                tensor_append(&array, result, o, &tensor);
            }
        }
    }
    gst_structure_take_value(out, "tensors", &array);
}

/* ---- as GStreamer's meta ---- */

#ifdef MTS_GST_TENSORS
static bool type_find(const gchar *name, GstTensorDataType *type)
{
    static const GstTensorDataType types[] = {
        [MTS_TYPE_FLOAT32] = GST_TENSOR_DATA_TYPE_FLOAT32, [MTS_TYPE_FLOAT16] = GST_TENSOR_DATA_TYPE_FLOAT16,
        [MTS_TYPE_INT32] = GST_TENSOR_DATA_TYPE_INT32,     [MTS_TYPE_INT64] = GST_TENSOR_DATA_TYPE_INT64,
        [MTS_TYPE_UINT8] = GST_TENSOR_DATA_TYPE_UINT8,     [MTS_TYPE_BOOL] = GST_TENSOR_DATA_TYPE_UINT8,
        [MTS_TYPE_FLOAT64] = GST_TENSOR_DATA_TYPE_FLOAT64, [MTS_TYPE_INT8] = GST_TENSOR_DATA_TYPE_INT8,
        [MTS_TYPE_UINT16] = GST_TENSOR_DATA_TYPE_UINT16,   [MTS_TYPE_INT16] = GST_TENSOR_DATA_TYPE_INT16};
    for (size_t i = 0; i < G_N_ELEMENTS(type_names); i++) {
        if (g_str_equal(type_names[i], name)) {
            *type = types[i];
            return true;
        }
    }
    return false;
}

/* NULL: the sizes do not fit each other. */
static GstTensor *tensor_make(const GstStructure *from)
{
    const GValue *dims = gst_structure_get_value(from, "dims");
    const guint rank = gst_value_array_get_size(dims);
    gsize sides[MTS_TENSOR_RANK_MAX];
    GstTensorDataType type;
    GstBuffer *data = NULL;
    guint output = 0;
    if (rank > MTS_TENSOR_RANK_MAX || !type_find(gst_structure_get_string(from, "type"), &type) ||
        !gst_structure_get(from, "data", GST_TYPE_BUFFER, &data, "output", G_TYPE_UINT, &output, NULL)) {
        return NULL;
    }
    for (guint i = 0; i < rank; i++) {
        sides[i] = (gsize)g_value_get_int64(gst_value_array_get_value(dims, i));
    }
    gchar *name = g_strdup_printf("mts/%s/%u", gst_structure_get_string(from, "task"), output);
    GstTensor *made = gst_tensor_new_simple(g_quark_from_string(name), type, data,
                                            GST_TENSOR_DIM_ORDER_ROW_MAJOR, rank, sides);
    g_free(name);
    return made;
}

void tensors_attach(GstBuffer *buffer, const GstStructure *found)
{
    const GValue *array = gst_structure_get_value(found, "tensors");
    const guint size = array ? gst_value_array_get_size(array) : 0;
    GstTensor **tensors = g_new0(GstTensor *, size);
    guint count = 0;
    for (guint i = 0; i < size; i++) {
        tensors[count] = tensor_make(gst_value_get_structure(gst_value_array_get_value(array, i)));
        count += tensors[count] ? 1 : 0;
    }
    GstTensorMeta *meta = count ? gst_buffer_add_tensor_meta(buffer) : NULL;
    if (meta) {
        gst_tensor_meta_set(meta, count, tensors); /* takes them */
    } else {
        g_free(tensors);
    }
}
#else
void tensors_attach(GstBuffer *buffer, const GstStructure *found)
{
    (void)buffer;
    (void)found;
}
#endif
