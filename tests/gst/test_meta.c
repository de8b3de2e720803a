/*
 * test_meta.c: what networks computed as numbers, and faces with their tracks, in our meta and in those of
 * GStreamer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef MTS_GST_PLUGIN
int main(void)
{
    (void)printf("skipped: there is no plugin of GStreamer\n");
    return 77;
}
#else

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gst/fixture.h"
#include "gst/meta.h"

#ifdef MTS_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#define PIPELINE                                                                                             \
    "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xff204080 ! "                          \
    "video/x-raw,format=RGB,width=62,height=46 ! mtsinfer name=mts device=reference bundle=%s %s ! "         \
    "appsink name=sink sync=false"

/* Item `index` of the field "tensors"; NULL: there is none. */
static const GstStructure *tensor_of(GstBuffer *buffer, guint index)
{
    const GValue *array = gst_structure_get_value(results_of(buffer), "tensors");
    return array && index < gst_value_array_get_size(array)
               ? gst_value_get_structure(gst_value_array_get_value(array, index))
               : NULL;
}

/* The data of a tensor are the numbers that the line of JSON has, too. */
static void check_numbers(GstBuffer *data, const double *values, uint32_t count)
{
    GstMapInfo map;
    assert_true(gst_buffer_map(data, &map, GST_MAP_READ));
    assert_int_equal(map.size, count * sizeof(float));
    for (uint32_t i = 0; i < count; i++) {
        const double difference = (double)((const float *)(const void *)map.data)[i] - values[i];
        assert_true(difference < 0.01 && difference > -0.01);
    }
    gst_buffer_unmap(data, &map);
}

#if GST_CHECK_VERSION(1, 26, 0) && defined(MTS_GST_ANALYTICS)
static void check_tensor_meta(GstBuffer *buffer, GstBuffer *data)
{
    GstTensorMeta *meta = gst_buffer_get_tensor_meta(buffer);
    assert_non_null(meta);
    assert_int_equal(meta->num_tensors, 2);
    assert_int_equal(gst_tensor_meta_get_index_from_id(meta, g_quark_from_string("mts/b/0")), 1);
    const GstTensor *first = gst_tensor_meta_get(meta, 0);
    assert_string_equal(g_quark_to_string(first->id), "mts/a/0");
    assert_int_equal(first->data_type, GST_TENSOR_DATA_TYPE_FLOAT32);
    assert_int_equal(first->num_dims, 4);
    assert_int_equal(first->dims[1], 3);
    assert_ptr_equal(first->data, data); /* not copied again */
}
#else
static void check_tensor_meta(GstBuffer *buffer, GstBuffer *data)
{
    (void)buffer;
    (void)data;
}
#endif

static void outputs_go_on_as_numbers_where_that_is_wanted(void **state)
{
    stream s;
    (void)state;
    stream_make(&s, PIPELINE, gst_world_bundle(), "tensors=true");
    stream_play(&s);
    for (int i = 0; i < 3; i++) {
        GstSample *sample = stream_pull(&s);
        GstBuffer *buffer = gst_sample_get_buffer(sample), *data = NULL;
        double values[12];
        const GstStructure *tensor = tensor_of(buffer, 0);
        assert_non_null(tensor);
        assert_string_equal(gst_structure_get_string(tensor, "task"), "a");
        assert_string_equal(gst_structure_get_string(tensor, "type"), "float32");
        assert_int_equal(gst_value_array_get_size(gst_structure_get_value(tensor, "dims")), 4);
        assert_true(gst_structure_get(tensor, "data", GST_TYPE_BUFFER, &data, NULL));
        check_numbers(data, values, values_of(buffer, "a", values, 12));
        check_tensor_meta(buffer, data);
        gst_buffer_unref(data);
        assert_non_null(tensor_of(buffer, 1));
        assert_null(tensor_of(buffer, 2));
        gst_sample_unref(sample);
    }
    stream_close(&s);
}

static void nothing_is_copied_where_it_is_not(void **state)
{
    stream s;
    (void)state;
    stream_make(&s, PIPELINE, gst_world_bundle(), "");
    stream_play(&s);
    GstSample *sample = stream_pull(&s);
    assert_false(gst_structure_has_field(results_of(gst_sample_get_buffer(sample)), "tensors"));
    gst_sample_unref(sample);
    stream_close(&s);
}

/* ---- tracks ---- */

/* What mtsinfer writes of one face, as text. */
#define FACE(track)                                                                                          \
    "MtsResultsMeta, pts=(guint64)80, faces=(structure)< [ face, score=(float)0.5, " track                   \
    "box=(float)< 0.25, 0.25, 0.5, 0.75 > ] >;"

static GstBuffer *attached(const char *text)
{
    GstStructure *found = gst_structure_from_string(text, NULL);
    assert_non_null(found);
    GstBuffer *buffer = gst_buffer_new();
    standard_attach(buffer, found, 64, 48);
    gst_structure_free(found);
    return buffer;
}

static void faces_carry_the_number_of_their_track(void **state)
{
    (void)state;
    GstBuffer *buffer = attached(FACE("track=(guint64)7, first-seen=(guint64)40, "));
    const GstVideoRegionOfInterestMeta *region = gst_buffer_get_video_region_of_interest_meta_id(buffer, 7);
    assert_non_null(region);
    assert_int_equal(region->x, 16);
    assert_int_equal(region->h, 24);
#ifdef MTS_GST_ANALYTICS
    GstAnalyticsRelationMeta *all = gst_buffer_get_analytics_relation_meta(buffer);
    GstAnalyticsMtd face, mine;
    gpointer at = NULL;
    guint64 number = 0;
    GstClockTime first = 0, last = 0;
    gboolean lost = TRUE;
    assert_true(gst_analytics_relation_meta_iterate(all, &at, gst_analytics_od_mtd_get_mtd_type(), &face));
    at = NULL;
    assert_true(gst_analytics_relation_meta_get_direct_related(all, face.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                                               gst_analytics_tracking_mtd_get_mtd_type(), &at,
                                                               &mine));
    assert_true(gst_analytics_tracking_mtd_get_info(&mine, &number, &first, &last, &lost));
    assert_int_equal(number, 7);
    assert_int_equal(first, 40);
    assert_int_equal(last, 80);
    assert_false(lost);
#endif
    gst_buffer_unref(buffer);
}

static void faces_of_other_elements_have_no_track(void **state)
{
    (void)state;
    GstBuffer *buffer = attached(FACE(""));
    assert_non_null(gst_buffer_get_video_region_of_interest_meta_id(buffer, 0));
    gst_buffer_unref(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_go_on_as_numbers_where_that_is_wanted),
        cmocka_unit_test(nothing_is_copied_where_it_is_not),
        cmocka_unit_test(faces_carry_the_number_of_their_track),
        cmocka_unit_test(faces_of_other_elements_have_no_track),
    };
    return gst_world_begin() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

#endif
