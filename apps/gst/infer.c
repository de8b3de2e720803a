/*
 * infer.c: the element mtsinfer: properties, caps, events and queries around engine.c. Buffers
 * go on as they came, with results attached; no pixel is copied or changed.
 */
#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>
#include <string.h>

#include "camera/gst.h"
#include "elements.h"
#include "engine.h"
#include "kit/files.h"
#include "mts/mts.h"

GST_DEBUG_CATEGORY_STATIC(category);
#define GST_CAT_DEFAULT category

enum {
    PROPERTY_BUNDLE = 1,
    PROPERTY_TASKS,
    PROPERTY_RATES,
    PROPERTY_DEVICE,
    PROPERTY_PRECISION,
    PROPERTY_DETECTOR,
    PROPERTY_FACES,
    PROPERTY_TEXTS, /* above: texts */
    PROPERTY_IN_FLIGHT = PROPERTY_TEXTS,
    PROPERTY_THREADS,
    PROPERTY_DROP_POLICY,
    PROPERTY_TENSORS,
    PROPERTY_STATS
};

typedef struct MtsInfer {
    GstBaseTransform parent;
    /* under the object's lock */
    gchar *texts[PROPERTY_TEXTS];
    guint in_flight, threads;
    engine_policy policy;
    gboolean tensors;
    gboolean rates_changed;
    engine_counts counts;
    GstClockTime latency; /* that was told last */
    /* of the streaming thread */
    engine *engine;
    GstVideoInfo info;
    GstFlowReturn pushed; /* what became of buffers that went on before an event */
} MtsInfer;

typedef struct MtsInferClass {
    GstBaseTransformClass parent;
} MtsInferClass;

G_DEFINE_TYPE(MtsInfer, mts_infer, GST_TYPE_BASE_TRANSFORM)

#define IN_FLIGHT_DEFAULT 1u

static GType policy_type(void)
{
    static gsize type;
    static const GEnumValue values[] = {
        {ENGINE_BLOCK, "Wait: every buffer goes on with its own results", "block"},
        {ENGINE_DROP, "Drop the oldest buffer that no network has begun with (in-flight 2 or more)", "drop"},
        {ENGINE_PASS, "Never wait: a buffer goes on with the newest results there are", "pass"},
        {0, NULL, NULL}};
    if (g_once_init_enter(&type)) {
        g_once_init_leave(&type, g_enum_register_static("MtsInferDropPolicy", values));
    }
    return type;
}

/* ---- properties ---- */

static GstStructure *stats_make(const engine_counts *counts)
{
    return gst_structure_new("stats", "frames", G_TYPE_UINT64, counts->came, "answered", G_TYPE_UINT64,
                             counts->answered, "dropped", G_TYPE_UINT64, counts->dropped, "passed",
                             G_TYPE_UINT64, counts->passed, "imported", G_TYPE_UINT64, counts->imported,
                             NULL);
}

static void property_set(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
    MtsInfer *self = (MtsInfer *)object;
    GST_OBJECT_LOCK(self);
    if (id < PROPERTY_TEXTS) {
        g_free(self->texts[id]);
        self->texts[id] = g_value_dup_string(value);
        self->rates_changed = self->rates_changed || id == PROPERTY_RATES;
    } else if (id == PROPERTY_IN_FLIGHT) {
        self->in_flight = g_value_get_uint(value);
    } else if (id == PROPERTY_THREADS) {
        self->threads = g_value_get_uint(value);
    } else if (id == PROPERTY_DROP_POLICY) {
        self->policy = (engine_policy)g_value_get_enum(value);
    } else if (id == PROPERTY_TENSORS) {
        self->tensors = g_value_get_boolean(value);
    } else {
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(self);
}

static void property_get(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    MtsInfer *self = (MtsInfer *)object;
    GST_OBJECT_LOCK(self);
    if (id < PROPERTY_TEXTS) {
        g_value_set_string(value, self->texts[id]);
    } else if (id == PROPERTY_IN_FLIGHT) {
        g_value_set_uint(value, self->in_flight);
    } else if (id == PROPERTY_THREADS) {
        g_value_set_uint(value, self->threads);
    } else if (id == PROPERTY_DROP_POLICY) {
        g_value_set_enum(value, (gint)self->policy);
    } else if (id == PROPERTY_TENSORS) {
        g_value_set_boolean(value, self->tensors);
    } else if (id == PROPERTY_STATS) {
        g_value_take_boxed(value, stats_make(&self->counts));
    } else {
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(self);
}

static void finalize(GObject *object)
{
    MtsInfer *self = (MtsInfer *)object;
    engine_close(&self->engine);
    for (guint i = 0; i < PROPERTY_TEXTS; i++) {
        g_free(self->texts[i]);
    }
    G_OBJECT_CLASS(mts_infer_parent_class)->finalize(object);
}

/* ---- begin and end ---- */

static void log_write(void *context, mts_log_severity severity, const char *text)
{
    static const GstDebugLevel levels[] = {GST_LEVEL_WARNING, GST_LEVEL_WARNING, GST_LEVEL_INFO,
                                           GST_LEVEL_DEBUG};
    GST_CAT_LEVEL_LOG(category, severity <= MTS_LOG_DEBUG ? levels[severity] : GST_LEVEL_DEBUG,
                      (GObject *)context, "%s", text);
}

static gboolean start(GstBaseTransform *trans)
{
    MtsInfer *self = (MtsInfer *)trans;
    gchar *texts[PROPERTY_TEXTS];
    char error[CLI_ERROR] = "";
    bool mistake = false;
    GST_OBJECT_LOCK(self);
    for (guint i = 0; i < PROPERTY_TEXTS; i++) {
        texts[i] = g_strdup(self->texts[i]);
    }
    const engine_options options = {.bundle = texts[PROPERTY_BUNDLE],
                                    .detector = texts[PROPERTY_DETECTOR],
                                    .faces = texts[PROPERTY_FACES],
                                    .tasks = texts[PROPERTY_TASKS],
                                    .rates = texts[PROPERTY_RATES],
                                    .device = texts[PROPERTY_DEVICE],
                                    .precision = texts[PROPERTY_PRECISION],
                                    .in_flight = self->in_flight,
                                    .threads = self->threads,
                                    .policy = self->policy,
                                    .tensors = self->tensors,
                                    .log = log_write,
                                    .log_context = self};
    self->rates_changed = FALSE;
    self->counts = (engine_counts){0};
    self->latency = 0;
    GST_OBJECT_UNLOCK(self);
    self->pushed = GST_FLOW_OK;
    self->engine = engine_open(&options, &mistake, error);
    for (guint i = 0; i < PROPERTY_TEXTS; i++) {
        g_free(texts[i]);
    }
    if (self->engine) {
        return TRUE;
    }
    if (mistake) {
        GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", error), (NULL));
    } else {
        GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ, ("%s", error), (NULL));
    }
    return FALSE;
}

static gboolean stop(GstBaseTransform *trans)
{
    MtsInfer *self = (MtsInfer *)trans;
    engine_close(&self->engine);
    gst_video_info_init(&self->info); /* caps come anew */
    return TRUE;
}

static gboolean set_caps(GstBaseTransform *trans, GstCaps *in, GstCaps *out)
{
    MtsInfer *self = (MtsInfer *)trans;
    (void)out;
    if (!gst_video_info_from_caps(&self->info, in) || gst_format_of(GST_VIDEO_INFO_FORMAT(&self->info)) < 0) {
        GST_ERROR_OBJECT(self, "these caps are none of the element's: %" GST_PTR_FORMAT, (gpointer)in);
        return FALSE;
    }
    return TRUE;
}

/* ---- buffers ---- */

static GstClockTime period_of(const GstVideoInfo *info)
{
    const gint n = GST_VIDEO_INFO_FPS_N(info), d = GST_VIDEO_INFO_FPS_D(info);
    return n > 0 && d > 0 ? gst_util_uint64_scale_int(GST_SECOND, d, n) : 0;
}

/* Counts for the property, and the latency: pipelines ask again where it is more than was
   told, or far less. */
static void state_publish(MtsInfer *self)
{
    const GstClockTime held = engine_latency(self->engine, period_of(&self->info));
    gboolean changed = FALSE;
    GST_OBJECT_LOCK(self);
    self->counts = engine_counted(self->engine);
    if (held > self->latency || held < self->latency / 2) {
        const GstClockTime told = (held + held / 4 + GST_MSECOND - 1) / GST_MSECOND * GST_MSECOND;
        changed = told != self->latency;
        self->latency = told;
    }
    GST_OBJECT_UNLOCK(self);
    if (changed) {
        (void)gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
    }
}

/* Rates that were set while it plays. A mistake there does not end the stream. */
static void rates_follow(MtsInfer *self)
{
    char error[CLI_ERROR] = "";
    gchar *rates = NULL;
    GST_OBJECT_LOCK(self);
    const gboolean changed = self->rates_changed;
    self->rates_changed = FALSE;
    if (changed) {
        rates = g_strdup(self->texts[PROPERTY_RATES]);
    }
    GST_OBJECT_UNLOCK(self);
    if (changed && !engine_rates_set(self->engine, rates, error)) {
        GST_ELEMENT_WARNING(self, LIBRARY, SETTINGS, ("%s", error), (NULL));
    }
    g_free(rates);
}

static GstFlowReturn submit_input_buffer(GstBaseTransform *trans, gboolean discont, GstBuffer *input)
{
    MtsInfer *self = (MtsInfer *)trans;
    char error[CLI_ERROR] = "";
    const GstFlowReturn flow =
        GST_BASE_TRANSFORM_CLASS(mts_infer_parent_class)->submit_input_buffer(trans, discont, input);
    GstBuffer *buffer = trans->queued_buf;
    trans->queued_buf = NULL;
    if (self->pushed != GST_FLOW_OK) { /* nothing is wanted any more, as a push said since */
        gst_clear_buffer(&buffer);
        return self->pushed;
    }
    if (flow != GST_FLOW_OK || !buffer) {
        gst_clear_buffer(&buffer);
        return flow;
    }
    if (!self->engine || GST_VIDEO_INFO_FORMAT(&self->info) == GST_VIDEO_FORMAT_UNKNOWN) {
        gst_buffer_unref(buffer);
        return GST_FLOW_NOT_NEGOTIATED;
    }
    rates_follow(self);
    if (!engine_push(self->engine, buffer, &self->info, error)) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED, ("%s", error), (NULL));
        return GST_FLOW_ERROR;
    }
    state_publish(self);
    return GST_FLOW_OK;
}

static GstFlowReturn generate_output(GstBaseTransform *trans, GstBuffer **out)
{
    MtsInfer *self = (MtsInfer *)trans;
    *out = self->engine ? engine_take(self->engine) : NULL;
    return GST_FLOW_OK;
}

/* Everything that is under way goes on, before what follows it in the stream. */
static gboolean drain(MtsInfer *self)
{
    char error[CLI_ERROR] = "";
    if (!self->engine) {
        return TRUE;
    }
    if (!engine_drain(self->engine, error)) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED, ("%s", error), (NULL));
        return FALSE;
    }
    state_publish(self);
    for (GstBuffer *buffer = engine_take(self->engine); buffer; buffer = engine_take(self->engine)) {
        if (self->pushed != GST_FLOW_OK) {
            gst_buffer_unref(buffer);
            continue;
        }
        self->pushed = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), buffer);
        if (self->pushed != GST_FLOW_OK) { /* the next buffer's push tells who is before */
            GST_DEBUG_OBJECT(self, "what was under way is not wanted: %s", gst_flow_get_name(self->pushed));
        }
    }
    return TRUE;
}

static gboolean sink_event(GstBaseTransform *trans, GstEvent *event)
{
    MtsInfer *self = (MtsInfer *)trans;
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
        self->pushed = GST_FLOW_OK;
        if (self->engine) {
            engine_flush(self->engine);
        }
    } else if (GST_EVENT_IS_SERIALIZED(event) && !drain(self)) {
        gst_event_unref(event);
        return FALSE;
    }
    if (GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START) {
        self->pushed = GST_FLOW_OK;
    }
    return GST_BASE_TRANSFORM_CLASS(mts_infer_parent_class)->sink_event(trans, event);
}

/* ---- queries ---- */

static gboolean query(GstBaseTransform *trans, GstPadDirection direction, GstQuery *asked)
{
    MtsInfer *self = (MtsInfer *)trans;
    if (direction == GST_PAD_SINK && GST_QUERY_TYPE(asked) == GST_QUERY_DRAIN && !drain(self)) {
        return FALSE; /* a source that asks wants all its buffers back, those that are held here, too */
    }
    const gboolean known = GST_BASE_TRANSFORM_CLASS(mts_infer_parent_class)->query(trans, direction, asked);
    if (known && direction == GST_PAD_SRC && GST_QUERY_TYPE(asked) == GST_QUERY_LATENCY) {
        gboolean live = FALSE;
        GstClockTime least = 0, most = GST_CLOCK_TIME_NONE;
        gst_query_parse_latency(asked, &live, &least, &most);
        GST_OBJECT_LOCK(self);
        least += self->latency;
        most = GST_CLOCK_TIME_IS_VALID(most) ? most + self->latency : most;
        GST_OBJECT_UNLOCK(self);
        gst_query_set_latency(asked, live, least, most);
    }
    return known;
}

/* What comes after says which memory it wants, if it does; the element asks for as many
   buffers more as it holds. */
static gboolean propose_allocation(GstBaseTransform *trans, GstQuery *decided, GstQuery *asked)
{
    MtsInfer *self = (MtsInfer *)trans;
    const guint held = self->engine ? engine_held(self->engine) : 0;
    GstCaps *caps = NULL;
    GstVideoInfo info;
    (void)GST_BASE_TRANSFORM_CLASS(mts_infer_parent_class)->propose_allocation(trans, decided, asked);
    const guint pools = gst_query_get_n_allocation_pools(asked);
    for (guint i = 0; i < pools; i++) {
        GstBufferPool *pool = NULL;
        guint size = 0, least = 0, most = 0;
        gst_query_parse_nth_allocation_pool(asked, i, &pool, &size, &least, &most);
        gst_query_set_nth_allocation_pool(asked, i, pool, size, least + held, most ? most + held : 0);
        gst_clear_object(&pool);
    }
    gst_query_parse_allocation(asked, &caps, NULL);
    if (pools == 0 && caps && gst_video_info_from_caps(&info, caps)) {
        gst_query_add_allocation_pool(asked, NULL, (guint)GST_VIDEO_INFO_SIZE(&info), held, 0);
    }
    return TRUE;
}

/* ---- class ---- */

static void text_install(GObjectClass *class, guint id, const char *name, const char *nick, const char *blurb,
                         GParamFlags when)
{
    g_object_class_install_property(
        class, id,
        g_param_spec_string(name, nick, blurb, NULL,
                            (GParamFlags)(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS) | when));
}

static void properties_install(GObjectClass *class)
{
    const GParamFlags ready = (GParamFlags)GST_PARAM_MUTABLE_READY;
    const GParamFlags flags = (GParamFlags)(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS) | ready;
    text_install(class, PROPERTY_BUNDLE, "bundle", "Bundle", "File of the compiled tasks to run", ready);
    text_install(class, PROPERTY_TASKS, "tasks", "Tasks", "Only these tasks: A,B (default: all)", ready);
    text_install(class, PROPERTY_RATES, "rates", "Rates",
                 "How often tasks run: TASK=N, each n-th frame; TASK=Nhz; separated by commas",
                 (GParamFlags)GST_PARAM_MUTABLE_PLAYING);
    text_install(class, PROPERTY_DEVICE, "device", "Device",
                 "Id or number of a device, as 'mts devices' lists them (default: auto)", ready);
    text_install(class, PROPERTY_PRECISION, "precision", "Precision",
                 "auto (default), float32, float16-storage or float16", ready);
    text_install(class, PROPERTY_DETECTOR, "detector", "Detector", "Bundle that finds faces; with faces",
                 ready);
    text_install(class, PROPERTY_FACES, "faces", "Faces", "Bundle of tasks for each face; with detector",
                 ready);
    g_object_class_install_property(class, PROPERTY_IN_FLIGHT,
                                    g_param_spec_uint("in-flight", "In flight", "Frames under way at most", 1,
                                                      FEED_PLACES_MOST, IN_FLIGHT_DEFAULT, flags));
    g_object_class_install_property(class, PROPERTY_THREADS,
                                    g_param_spec_uint("threads", "Threads",
                                                      "Threads of device cpu (0: one each processor)", 0,
                                                      MTS_THREADS_MOST, 0, flags));
    g_object_class_install_property(class, PROPERTY_DROP_POLICY,
                                    g_param_spec_enum("drop-policy", "Drop policy",
                                                      "What happens to a buffer while all are under way",
                                                      policy_type(), ENGINE_BLOCK, flags));
    g_object_class_install_property(
        class, PROPERTY_TENSORS,
        g_param_spec_boolean("tensors", "Tensors", "Attach what tasks without labels compute, as numbers",
                             FALSE, flags));
    g_object_class_install_property(
        class, PROPERTY_STATS,
        g_param_spec_boxed("stats", "Stats", "Buffers that came, and what became of them", GST_TYPE_STRUCTURE,
                           (GParamFlags)(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

/* Frames in the process's memory or in dma-bufs. */
static GstCaps *caps_make(void)
{
    GstCaps *caps = gst_formats_caps(-1);
    gst_caps_set_simple(caps, "width", GST_TYPE_INT_RANGE, 1, 16384, "height", GST_TYPE_INT_RANGE, 1, 16384,
                        "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, NULL);
    GstCaps *foreign = gst_caps_copy(caps);
    gst_caps_set_features_simple(foreign, gst_caps_features_new("memory:DMABuf", NULL));
    return gst_caps_merge(foreign, caps);
}

static void mts_infer_class_init(MtsInferClass *class)
{
    GObjectClass *object = G_OBJECT_CLASS(class);
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    GstBaseTransformClass *trans = GST_BASE_TRANSFORM_CLASS(class);
    GstCaps *caps = caps_make();
    GST_DEBUG_CATEGORY_INIT(category, "mtsinfer", 0, "networks on frames");
    object->set_property = property_set;
    object->get_property = property_get;
    object->finalize = finalize;
    properties_install(object);
    gst_element_class_add_pad_template(element,
                                       gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
    gst_element_class_add_pad_template(element,
                                       gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
    gst_caps_unref(caps);
    gst_element_class_set_static_metadata(element, "MTS networks", "Filter/Analyzer/Video",
                                          "Runs many neural networks on each frame, as one graph", "MTS SDK");
    gst_type_mark_as_plugin_api(policy_type(), (GstPluginAPIFlags)0);
    trans->start = start;
    trans->stop = stop;
    trans->set_caps = set_caps;
    trans->submit_input_buffer = submit_input_buffer;
    trans->generate_output = generate_output;
    trans->sink_event = sink_event;
    trans->query = query;
    trans->propose_allocation = propose_allocation;
}

static void mts_infer_init(MtsInfer *self)
{
    self->in_flight = IN_FLIGHT_DEFAULT;
    self->policy = ENGINE_BLOCK;
    gst_video_info_init(&self->info);
    gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}
