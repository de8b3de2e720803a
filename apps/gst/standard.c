/*
 * standard.c: what was found, in the metas that GStreamer itself defines: regions of interest
 * (every version), and GstAnalytics (1.24 and later), where build and library have it.
 */
#include <gst/video/gstvideometa.h>
#include <math.h>

#include "meta.h"

#ifdef MTS_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#define FACE "face"

/* In pixels, cut off at the picture's border; false: nothing of it is inside. */
static bool box_inside(const float box[4], guint width, guint height, guint pixels[4])
{
    const double sides[2] = {width, height};
    double edges[4];
    for (int i = 0; i < 4; i++) {
        if (!isfinite(box[i])) {
            return false;
        }
        edges[i] = fmin(fmax((double)box[i], 0.0), 1.0) * sides[i % 2];
    }
    for (int i = 0; i < 2; i++) {
        pixels[i] = (guint)edges[i];
        pixels[i + 2] = edges[i + 2] > edges[i] ? (guint)ceil(edges[i + 2]) - pixels[i] : 0;
    }
    return pixels[2] > 0 && pixels[3] > 0;
}

static void region_attach(GstBuffer *buffer, const cli_face_mark *mark, const guint pixels[4], gint id)
{
    GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta(
        buffer, FACE, pixels[0], pixels[1], pixels[2], pixels[3]);
    if (meta) {
        meta->id = id;
        gst_video_region_of_interest_meta_add_param(
            meta, gst_structure_new("detection", "label", G_TYPE_STRING, FACE, "confidence", G_TYPE_DOUBLE,
                                    (gdouble)mark->score, NULL));
    }
}

#ifdef MTS_GST_ANALYTICS
/* Confidences are 0..1 there. */
static gfloat confidence(double score)
{
    return (gfloat)fmin(fmax(score, 0.0), 1.0);
}

/* The track of a face, which is related to its detection. */
static void track_attach(GstAnalyticsRelationMeta *all, const GstAnalyticsODMtd *face,
                         const GstStructure *found, uint32_t index)
{
    GstClockTime first, now = GST_CLOCK_TIME_NONE;
    GstAnalyticsTrackingMtd mine;
    const guint64 number = results_face_track(found, index, &first);
    (void)gst_structure_get_uint64(found, "pts", &now);
    if (number > 0 && gst_analytics_relation_meta_add_tracking_mtd(all, number, first, &mine)) {
        (void)gst_analytics_tracking_mtd_update_last_seen(&mine, now);
        (void)gst_analytics_relation_meta_set_relation(all, GST_ANALYTICS_REL_TYPE_RELATE_TO, face->id,
                                                       mine.id);
        (void)gst_analytics_relation_meta_set_relation(all, GST_ANALYTICS_REL_TYPE_RELATE_TO, mine.id,
                                                       face->id);
    }
}

/* The labels of classifiers that ran, and the faces with their tracks. */
static void analytics_attach(GstBuffer *buffer, const GstStructure *found, guint width, guint height)
{
    cli_line lines[64];
    const uint32_t count = results_lines(found, lines, 64);
    GstAnalyticsRelationMeta *all = gst_buffer_get_analytics_relation_meta(buffer);
    all = all ? all : gst_buffer_add_analytics_relation_meta(buffer);
    for (uint32_t i = 0; all && i < count; i++) {
        GstAnalyticsClsMtd label;
        if (lines[i].score >= 0) {
            (void)gst_analytics_relation_meta_add_one_cls_mtd(all, confidence(lines[i].score),
                                                              g_quark_from_string(lines[i].text), &label);
        }
    }
    for (uint32_t i = 0; all && i < results_face_count(found); i++) {
        cli_face_mark mark;
        guint box[4];
        GstAnalyticsODMtd face;
        if (results_face(found, i, &mark) && box_inside(mark.box, width, height, box) &&
            gst_analytics_relation_meta_add_od_mtd(all, g_quark_from_static_string(FACE), (gint)box[0],
                                                   (gint)box[1], (gint)box[2], (gint)box[3],
                                                   confidence((double)mark.score), &face)) {
            track_attach(all, &face, found, i);
        }
    }
}
#endif

void standard_attach(GstBuffer *buffer, const GstStructure *found, guint width, guint height)
{
    for (uint32_t i = 0; i < results_face_count(found); i++) {
        cli_face_mark mark;
        guint box[4];
        if (results_face(found, i, &mark) && box_inside(mark.box, width, height, box)) {
            GstClockTime first;
            region_attach(buffer, &mark, box, (gint)(results_face_track(found, i, &first) & G_MAXINT));
        }
    }
#ifdef MTS_GST_ANALYTICS
    analytics_attach(buffer, found, width, height);
#endif
}
