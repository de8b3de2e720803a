/*
 * meta.c: results into structures of GStreamer, and onto buffers.
 */
#include "meta.h"

#include <string.h>

#include "camera/record.h"

void results_meta_register(void)
{
    static const gchar *const tags[] = {NULL}; /* places are parts of the frame: any scaling keeps them */
    if (!gst_meta_get_info(RESULTS_META)) {
        (void)gst_meta_register_custom(RESULTS_META, (const gchar **)tags, NULL, NULL, NULL);
    }
}

static gchar *json_make(const feed_frame *frame, GstClockTime pts, double latency_ms, const results *all,
                        const faces *people)
{
    cli_json json;
    gchar *text = NULL;
    if (!cli_json_begin(&json)) {
        return NULL;
    }
    cli_json_object(&json, NULL);
    if (GST_CLOCK_TIME_IS_VALID(pts)) {
        cli_json_integer(&json, "pts", pts);
    }
    cli_json_integer(&json, "width", frame->source.frame.width);
    cli_json_integer(&json, "height", frame->source.frame.height);
    record_frame_json(frame, latency_ms, all, people, &json);
    cli_json_end(&json, '}');
    if (fflush(json.out) == 0 && !ferror(json.out)) {
        text = g_strndup(json.text, json.size);
    }
    cli_json_release(&json);
    return text;
}

/* Appends a structure, which is taken, to an array. */
static void array_append(GValue *array, GstStructure *item)
{
    GValue value = G_VALUE_INIT;
    (void)g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, item);
    gst_value_array_append_and_take_value(array, &value);
}

static void tasks_write(GstStructure *out, const results *all)
{
    GValue array = G_VALUE_INIT;
    (void)g_value_init(&array, GST_TYPE_ARRAY);
    for (uint32_t i = 0; i < all->count; i++) {
        const task_result *result = &all->tasks[i];
        if (result->known) {
            array_append(&array,
                         gst_structure_new("task", "name", G_TYPE_STRING, result->task.name, "ran",
                                           G_TYPE_BOOLEAN, (gboolean)result->ran, "text", G_TYPE_STRING,
                                           result->text, "score", G_TYPE_DOUBLE, result->score, NULL));
        }
    }
    gst_structure_take_value(out, "tasks", &array);
}

static void floats_write(GstStructure *out, const gchar *name, const float *values, uint32_t count)
{
    GValue array = G_VALUE_INIT;
    (void)g_value_init(&array, GST_TYPE_ARRAY);
    for (uint32_t i = 0; i < count; i++) {
        GValue value = G_VALUE_INIT;
        (void)g_value_init(&value, G_TYPE_FLOAT);
        g_value_set_float(&value, values[i]);
        gst_value_array_append_and_take_value(&array, &value);
    }
    gst_structure_take_value(out, name, &array);
}

static GstStructure *face_structure(const cli_face_mark *mark, const track *mine)
{
    GstStructure *out = gst_structure_new("face", "score", G_TYPE_FLOAT, mark->score, "track", G_TYPE_UINT64,
                                          (guint64)mine->id, "first-seen", G_TYPE_UINT64,
                                          (guint64)mine->first, "age", G_TYPE_UINT, (guint)mine->age, NULL);
    GValue lines = G_VALUE_INIT;
    floats_write(out, "box", mark->box, 4);
    floats_write(out, "points", mark->points[0], 2 * mark->point_count);
    (void)g_value_init(&lines, GST_TYPE_ARRAY);
    for (uint32_t i = 0; i < mark->line_count; i++) {
        GValue line = G_VALUE_INIT;
        (void)g_value_init(&line, G_TYPE_STRING);
        g_value_set_string(&line, mark->lines[i]);
        gst_value_array_append_and_take_value(&lines, &line);
    }
    gst_structure_take_value(out, "lines", &lines);
    return out;
}

_Static_assert(FEED_FACES_MOST <= TRACKS_MOST, "each face of a frame has a track");

static void faces_write(GstStructure *out, const results_parts *parts)
{
    const feed_frame *frame = parts->frame;
    const uint32_t count = parts->people->cascade ? frame->face_count : 0;
    float boxes[FEED_FACES_MOST][4];
    track tracks[FEED_FACES_MOST];
    cli_face_mark mark;
    GValue array = G_VALUE_INIT;
    (void)g_value_init(&array, GST_TYPE_ARRAY);
    for (uint32_t i = 0; i < count; i++) {
        cli_face_mark_of(parts->people->cascade, &frame->faces[i], &mark);
        memcpy(boxes[i], mark.box, sizeof boxes[i]);
    }
    tracker_next(parts->tracks, parts->pts, (const float(*)[4])boxes, count, tracks);
    for (uint32_t i = 0; i < count; i++) {
        cli_face_mark_of(parts->people->cascade, &frame->faces[i], &mark);
        array_append(&array, face_structure(&mark, &tracks[i]));
    }
    gst_structure_take_value(out, "faces", &array);
}

GstStructure *results_structure_make(const results_parts *parts)
{
    gchar *json = json_make(parts->frame, parts->pts, parts->latency_ms, parts->all, parts->people);
    if (!json) {
        return NULL;
    }
    GstStructure *out = gst_structure_new(RESULTS_META, "version", G_TYPE_UINT, RESULTS_VERSION, "frame",
                                          G_TYPE_UINT64, (guint64)parts->frame->source.number, "pts",
                                          G_TYPE_UINT64, (guint64)parts->pts, NULL);
    gst_structure_set(out, "json", G_TYPE_STRING, json, NULL);
    g_free(json);
    tasks_write(out, parts->all);
    faces_write(out, parts);
    if (parts->tensors) {
        tensors_write(out, parts->all);
    }
    return out;
}

static gboolean field_copy(GQuark field, const GValue *value, gpointer target)
{
    gst_structure_id_set_value(target, field, value);
    return TRUE;
}

void results_attach(GstBuffer *buffer, const GstStructure *found, guint width, guint height)
{
    GstCustomMeta *meta = gst_buffer_add_custom_meta(buffer, RESULTS_META);
    if (meta) {
        (void)gst_structure_foreach(found, field_copy, gst_custom_meta_get_structure(meta));
    }
    standard_attach(buffer, found, width, height);
    tensors_attach(buffer, found);
}
