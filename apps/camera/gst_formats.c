/*
 * gst_formats.c: GStreamer's formats, colour standards and planes in the library's terms.
 */
#include "gst.h"

#include <gst/allocators/gstdmabuf.h>
#include <string.h>

#include "kit/frames.h"

typedef struct format_row {
    GstVideoFormat gst;
    mts_pixel_format format;
} format_row;

/* The first row of a format names it in caps. */
static const format_row rows[] = {
    {GST_VIDEO_FORMAT_NV12, MTS_PIXEL_FORMAT_NV12}, {GST_VIDEO_FORMAT_I420, MTS_PIXEL_FORMAT_I420},
    {GST_VIDEO_FORMAT_NV21, MTS_PIXEL_FORMAT_NV21}, {GST_VIDEO_FORMAT_YUY2, MTS_PIXEL_FORMAT_YUYV},
    {GST_VIDEO_FORMAT_UYVY, MTS_PIXEL_FORMAT_UYVY}, {GST_VIDEO_FORMAT_RGB, MTS_PIXEL_FORMAT_RGB},
    {GST_VIDEO_FORMAT_BGR, MTS_PIXEL_FORMAT_BGR},   {GST_VIDEO_FORMAT_RGBA, MTS_PIXEL_FORMAT_RGBA},
    {GST_VIDEO_FORMAT_RGBx, MTS_PIXEL_FORMAT_RGBA}, {GST_VIDEO_FORMAT_BGRA, MTS_PIXEL_FORMAT_BGRA},
    {GST_VIDEO_FORMAT_BGRx, MTS_PIXEL_FORMAT_BGRA}, {GST_VIDEO_FORMAT_GRAY8, MTS_PIXEL_FORMAT_GREY},
};
#define ROWS (sizeof rows / sizeof rows[0])

GstCaps *gst_formats_caps(int format)
{
    GValue list = G_VALUE_INIT;
    GstCaps *caps = gst_caps_new_empty_simple("video/x-raw");
    (void)g_value_init(&list, GST_TYPE_LIST);
    for (size_t i = 0; i < ROWS; i++) {
        if (format < 0 || rows[i].format == (mts_pixel_format)format) {
            GValue name = G_VALUE_INIT;
            (void)g_value_init(&name, G_TYPE_STRING);
            g_value_set_static_string(&name, gst_video_format_to_string(rows[i].gst));
            gst_value_list_append_and_take_value(&list, &name);
        }
    }
    gst_caps_set_value(caps, "format", &list);
    g_value_unset(&list);
    return caps;
}

int gst_format_of(GstVideoFormat format)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].gst == format) {
            return (int)rows[i].format;
        }
    }
    return -1;
}

mts_yuv gst_yuv_of(const GstVideoColorimetry *colorimetry)
{
    const bool full = colorimetry->range == GST_VIDEO_COLOR_RANGE_0_255;
    const bool hd = colorimetry->matrix == GST_VIDEO_COLOR_MATRIX_BT709 ||
                    colorimetry->matrix == GST_VIDEO_COLOR_MATRIX_BT2020 ||
                    colorimetry->matrix == GST_VIDEO_COLOR_MATRIX_SMPTE240M;
    return hd ? (full ? MTS_YUV_BT709_FULL : MTS_YUV_BT709) : (full ? MTS_YUV_BT601_FULL : MTS_YUV_BT601);
}

/* Whether all rows of a plane lie in `size` bytes, from `before` on. */
static bool rows_fit(mts_pixel_format format, guint plane, guint width, guint height, gsize before,
                     gint stride, gsize size)
{
    const size_t lines = plane ? ((size_t)height + 1) / 2 : height;
    const size_t row = plane ? cli_format_chroma_bytes(format, width) : cli_format_row_bytes(format, width);
    return stride > 0 && (size_t)stride >= row && before <= size && row <= size - before &&
           lines - 1 <= (size - before - row) / (size_t)stride;
}

/* Whether all rows of a plane lie in what is mapped of it: meta data is written by any
   element. */
static bool plane_fits(const GstVideoFrame *video, guint plane, mts_pixel_format format)
{
    const GstMapInfo *map = &video->map[video->meta ? plane : 0];
    const guint8 *data = GST_VIDEO_FRAME_PLANE_DATA(video, plane);
    return data && map->data && (uintptr_t)data >= (uintptr_t)map->data &&
           rows_fit(format, plane, (guint)GST_VIDEO_FRAME_WIDTH(video), (guint)GST_VIDEO_FRAME_HEIGHT(video),
                    (uintptr_t)data - (uintptr_t)map->data, GST_VIDEO_FRAME_PLANE_STRIDE(video, plane),
                    map->size);
}

bool gst_frame_view(const GstVideoFrame *video, mts_frame *out)
{
    const int format = gst_format_of(GST_VIDEO_FRAME_FORMAT(video));
    const guint planes = GST_VIDEO_FRAME_N_PLANES(video);
    const GstVideoMeta *meta = video->meta;
    if (format < 0 || GST_VIDEO_FRAME_WIDTH(video) <= 0 || GST_VIDEO_FRAME_HEIGHT(video) <= 0 ||
        (meta && meta->n_planes < planes)) {
        return false;
    }
    for (guint plane = 0; plane < planes; plane++) {
        if (!plane_fits(video, plane, (mts_pixel_format)format)) {
            return false;
        }
    }
    mts_frame_default(out);
    out->data = GST_VIDEO_FRAME_PLANE_DATA(video, 0);
    out->width = (uint32_t)GST_VIDEO_FRAME_WIDTH(video);
    out->height = (uint32_t)GST_VIDEO_FRAME_HEIGHT(video);
    out->stride = (uint32_t)GST_VIDEO_FRAME_PLANE_STRIDE(video, 0);
    out->format = (mts_pixel_format)format;
    out->yuv = gst_yuv_of(&video->info.colorimetry);
    for (guint plane = 1; plane < planes && plane < 3; plane++) {
        out->chroma[plane - 1] = GST_VIDEO_FRAME_PLANE_DATA(video, plane);
        out->chroma_stride[plane - 1] = (uint32_t)GST_VIDEO_FRAME_PLANE_STRIDE(video, plane);
    }
    return true;
}

/* A buffer that is one dma-buf, by its descriptor; false: it is none, or its planes do not lie in it. */
static bool dmabuf_view(GstBuffer *buffer, const GstVideoInfo *info, mts_frame *out)
{
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    const int format = gst_format_of(meta ? meta->format : GST_VIDEO_INFO_FORMAT(info));
    GstMemory *memory = gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : NULL;
    gsize begin = 0;
    if (!memory || !gst_is_dmabuf_memory(memory) || format < 0 ||
        (meta &&
         (meta->n_planes != GST_VIDEO_INFO_N_PLANES(info) || meta->format != GST_VIDEO_INFO_FORMAT(info)))) {
        return false;
    }
    const gsize size = gst_memory_get_sizes(memory, &begin, NULL);
    mts_frame_default(out);
    out->memory = MTS_MEMORY_DMABUF;
    out->fd = gst_dmabuf_memory_get_fd(memory);
    out->format = (mts_pixel_format)format;
    out->width = meta ? meta->width : (uint32_t)GST_VIDEO_INFO_WIDTH(info);
    out->height = meta ? meta->height : (uint32_t)GST_VIDEO_INFO_HEIGHT(info);
    out->yuv = gst_yuv_of(&info->colorimetry);
    for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(info) && plane < 3; plane++) {
        const gsize offset = meta ? meta->offset[plane] : GST_VIDEO_INFO_PLANE_OFFSET(info, plane);
        const gint stride = meta ? meta->stride[plane] : GST_VIDEO_INFO_PLANE_STRIDE(info, plane);
        if (out->width == 0 || out->height == 0 || begin > INT32_MAX || offset > INT32_MAX ||
            !rows_fit(out->format, plane, out->width, out->height, offset, stride, size)) {
            return false;
        }
        out->offsets[plane] = (uint32_t)(begin + offset);
        *(plane == 0 ? &out->stride : &out->chroma_stride[plane - 1]) = (uint32_t)stride;
    }
    return true;
}

camera_status gst_held_take(gst_held *held, GstBuffer *buffer, const GstVideoInfo *info, bool imports,
                            mts_frame *out, char *error)
{
    const GstMapFlags flags = (GstMapFlags)(GST_MAP_READ | (GstMapFlags)GST_VIDEO_FRAME_MAP_FLAG_NO_REF);
    *held = (gst_held){.buffer = NULL};
    if (!imports || !dmabuf_view(buffer, info, out)) {
        if (!gst_video_frame_map(&held->video, info, buffer, flags)) {
            return source_fail(error, CAMERA_FAILURE, "a frame cannot be read by the processor");
        }
        if (!gst_frame_view(&held->video, out)) {
            gst_video_frame_unmap(&held->video);
            return source_fail(error, CAMERA_FORMAT,
                               "a frame has strides or offsets that do not fit its buffer");
        }
        held->mapped = true;
    }
    held->buffer = gst_buffer_ref(buffer);
    return CAMERA_OK;
}

GstBuffer *gst_held_give(gst_held *held)
{
    GstBuffer *buffer = held->buffer;
    if (held->mapped) {
        gst_video_frame_unmap(&held->video);
    }
    *held = (gst_held){.buffer = NULL};
    return buffer;
}
