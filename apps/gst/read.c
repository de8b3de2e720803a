/*
 * read.c: results from the structures of a buffer, which another element may have written.
 */
#include "meta.h"

const GstStructure *results_next(GstBuffer *buffer, gpointer *state)
{
    const GstMetaInfo *const info = gst_meta_get_info(RESULTS_META);
    for (GstMeta *meta = gst_buffer_iterate_meta(buffer, state); meta;
         meta = gst_buffer_iterate_meta(buffer, state)) {
        if (info && meta->info == info) {
            return gst_custom_meta_get_structure((GstCustomMeta *)meta);
        }
    }
    return NULL;
}

/* An array of the structure; NULL: it has none of that name. */
static const GValue *array_of(const GstStructure *from, const gchar *name)
{
    const GValue *value = gst_structure_get_value(from, name);
    return value && GST_VALUE_HOLDS_ARRAY(value) ? value : NULL;
}

static const GstStructure *item_of(const GValue *array, guint index)
{
    const GValue *value =
        array && index < gst_value_array_get_size(array) ? gst_value_array_get_value(array, index) : NULL;
    return value && GST_VALUE_HOLDS_STRUCTURE(value) ? gst_value_get_structure(value) : NULL;
}

uint32_t results_lines(const GstStructure *found, cli_line *lines, uint32_t most)
{
    const GValue *tasks = array_of(found, "tasks");
    const guint size = tasks ? gst_value_array_get_size(tasks) : 0;
    uint32_t count = 0;
    for (guint i = 0; i < size && count < most; i++) {
        const GstStructure *task = item_of(tasks, i);
        const gchar *name = task ? gst_structure_get_string(task, "name") : NULL;
        const gchar *text = task ? gst_structure_get_string(task, "text") : NULL;
        gdouble score = -1;
        if (name && text) {
            (void)gst_structure_get_double(task, "score", &score);
            lines[count++] = (cli_line){name, text, score};
        }
    }
    return count;
}

uint32_t results_face_count(const GstStructure *found)
{
    const GValue *array = array_of(found, "faces");
    return array ? gst_value_array_get_size(array) : 0;
}

/* Up to `most` numbers; how many there are. */
static uint32_t floats_read(const GstStructure *from, const gchar *name, float *values, uint32_t most)
{
    const GValue *array = array_of(from, name);
    const guint size = array ? gst_value_array_get_size(array) : 0;
    uint32_t count = 0;
    while (count < size && count < most) {
        const GValue *value = gst_value_array_get_value(array, count);
        if (!G_VALUE_HOLDS_FLOAT(value)) {
            break;
        }
        values[count++] = g_value_get_float(value);
    }
    return count;
}

guint64 results_face_track(const GstStructure *found, uint32_t index, GstClockTime *first)
{
    const GstStructure *face = item_of(array_of(found, "faces"), index);
    guint64 number = 0;
    *first = GST_CLOCK_TIME_NONE;
    if (face && gst_structure_get_uint64(face, "track", &number)) {
        (void)gst_structure_get_uint64(face, "first-seen", first);
    }
    return number;
}

bool results_face(const GstStructure *found, uint32_t index, cli_face_mark *mark)
{
    const GstStructure *face = item_of(array_of(found, "faces"), index);
    *mark = (cli_face_mark){.score = 0};
    if (!face || floats_read(face, "box", mark->box, 4) != 4) {
        return false;
    }
    gfloat score = 0;
    if (gst_structure_get(face, "score", G_TYPE_FLOAT, &score, NULL)) {
        mark->score = score;
    }
    mark->point_count = floats_read(face, "points", mark->points[0], 2 * CLI_FACE_POINTS) / 2;
    const GValue *lines = array_of(face, "lines");
    const guint size = lines ? gst_value_array_get_size(lines) : 0;
    for (guint i = 0; i < size && mark->line_count < CLI_FACE_LINES; i++) {
        const GValue *line = gst_value_array_get_value(lines, i);
        if (G_VALUE_HOLDS_STRING(line) && g_value_get_string(line)) {
            (void)g_strlcpy(mark->lines[mark->line_count++], g_value_get_string(line), CLI_FACE_LINE);
        }
    }
    return true;
}
