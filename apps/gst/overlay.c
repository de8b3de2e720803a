/*
 * overlay.c: the element mtsoverlay. What the camera draws onto its pictures is drawn here onto
 * a sheet that lies over the frame: once onto black and once onto white, which gives its colours
 * and how much of the frame shows through them. GStreamer blends it onto any format.
 */
#include <gst/video/gstvideofilter.h>
#include <gst/video/video-overlay-composition.h>
#include <string.h>

#include "camera/overlay.h"
#include "elements.h"
#include "meta.h"

#define LINES_MOST 64u

typedef struct sheet_part {
    guint left, top, right, bottom; /* right 0: nothing is drawn */
} sheet_part;

typedef struct MtsOverlay {
    GstVideoFilter parent;
    cli_image black, white; /* as large as the frame; clean but for `drawn` */
    sheet_part drawn;
} MtsOverlay;

typedef struct MtsOverlayClass {
    GstVideoFilterClass parent;
} MtsOverlayClass;

G_DEFINE_TYPE(MtsOverlay, mts_overlay, GST_TYPE_VIDEO_FILTER)

static void sheets_release(MtsOverlay *self)
{
    g_clear_pointer(&self->black.pixels, g_free);
    g_clear_pointer(&self->white.pixels, g_free);
    self->black = self->white = (cli_image){0};
}

static gboolean set_info(GstVideoFilter *filter, GstCaps *in, GstVideoInfo *in_info, GstCaps *out,
                         GstVideoInfo *out_info)
{
    MtsOverlay *self = (MtsOverlay *)filter;
    const gsize width = (gsize)GST_VIDEO_INFO_WIDTH(in_info), height = (gsize)GST_VIDEO_INFO_HEIGHT(in_info);
    (void)in;
    (void)out;
    (void)out_info;
    sheets_release(self);
    self->black = (cli_image){g_try_malloc0(3 * width * height), (uint32_t)width, (uint32_t)height};
    self->white = (cli_image){g_try_malloc(3 * width * height), (uint32_t)width, (uint32_t)height};
    if (!self->black.pixels || !self->white.pixels) {
        GST_ERROR_OBJECT(self, "no memory for a sheet of %zu x %zu", width, height);
        sheets_release(self);
        return FALSE;
    }
    memset(self->white.pixels, 255, 3 * width * height);
    self->drawn = (sheet_part){0};
    return TRUE;
}

/* Whether something was drawn in these bytes. */
static gboolean touched(const MtsOverlay *self, gsize at, gsize count)
{
    for (gsize i = at; i < at + count; i++) {
        if (self->black.pixels[i] != 0 || self->white.pixels[i] != 255) {
            return TRUE;
        }
    }
    return FALSE;
}

/* The part that was drawn on. */
static sheet_part part_find(const MtsOverlay *self)
{
    const guint width = self->black.width, height = self->black.height;
    sheet_part part = {.left = width, .top = height};
    for (guint y = 0; y < height; y++) {
        const gsize row = 3 * (gsize)width * y;
        guint first = 0, last = width;
        if (!touched(self, row, 3 * (gsize)width)) {
            continue;
        }
        while (!touched(self, row + 3 * (gsize)first, 3)) {
            first++;
        }
        while (!touched(self, row + 3 * (gsize)(last - 1), 3)) {
            last--;
        }
        part.left = MIN(part.left, first);
        part.right = MAX(part.right, last);
        part.top = MIN(part.top, y);
        part.bottom = y + 1;
    }
    return part;
}

static void sheets_clean(MtsOverlay *self)
{
    const sheet_part *part = &self->drawn;
    for (guint y = part->top; part->right > 0 && y < part->bottom; y++) {
        const gsize at = 3 * ((gsize)self->black.width * y + part->left);
        memset(self->black.pixels + at, 0, 3 * (gsize)(part->right - part->left));
        memset(self->white.pixels + at, 255, 3 * (gsize)(part->right - part->left));
    }
    self->drawn = (sheet_part){0};
}

/* Both sheets get the same. */
static void sheets_draw(MtsOverlay *self, GstBuffer *buffer)
{
    cli_line lines[LINES_MOST];
    cli_image *const sheets[2] = {&self->black, &self->white};
    uint32_t count = 0;
    gpointer state = NULL;
    for (const GstStructure *found = results_next(buffer, &state); found;
         found = results_next(buffer, &state)) {
        count += results_lines(found, lines + count, LINES_MOST - count);
        for (uint32_t i = 0; i < results_face_count(found); i++) {
            cli_face_mark mark;
            if (results_face(found, i, &mark)) {
                cli_face_mark_draw(&mark, &self->black);
                cli_face_mark_draw(&mark, &self->white);
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        overlay_lines(sheets[i], lines, count);
    }
}

/* Colours times how much they cover, with that in front: what GStreamer calls premultiplied.
   On black, a colour is that product; white shows through as far as it is not covered. */
static void pixel_write(guint8 *out, const guint8 *black, const guint8 *white)
{
    const guint cover = 255u - (guint)(white[1] - MIN(black[1], white[1]));
    const guint most = MAX(black[0], MAX(black[1], black[2]));
    const guint8 alpha = (guint8)MAX(cover, most);
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
    const guint8 pixel[4] = {black[2], black[1], black[0], alpha};
#else
    const guint8 pixel[4] = {alpha, black[0], black[1], black[2]};
#endif
    memcpy(out, pixel, sizeof pixel);
}

/* The drawn part as a picture that can be blended; NULL: no memory. */
static GstVideoOverlayComposition *composition_make(const MtsOverlay *self)
{
    const sheet_part *part = &self->drawn;
    const guint width = part->right - part->left, height = part->bottom - part->top;
    GstMapInfo map;
    GstBuffer *pixels = gst_buffer_new_allocate(NULL, 4 * (gsize)width * height, NULL);
    if (!pixels || !gst_buffer_map(pixels, &map, GST_MAP_WRITE)) {
        gst_clear_buffer(&pixels);
        return NULL;
    }
    for (guint y = 0; y < height; y++) {
        for (guint x = 0; x < width; x++) {
            const gsize at = 3 * ((gsize)self->black.width * (part->top + y) + part->left + x);
            pixel_write(map.data + 4 * ((gsize)width * y + x), self->black.pixels + at,
                        self->white.pixels + at);
        }
    }
    gst_buffer_unmap(pixels, &map);
    (void)gst_buffer_add_video_meta(pixels, GST_VIDEO_FRAME_FLAG_NONE,
                                    GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, width, height);
    GstVideoOverlayRectangle *rectangle =
        gst_video_overlay_rectangle_new_raw(pixels, (gint)part->left, (gint)part->top, width, height,
                                            GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA);
    gst_buffer_unref(pixels);
    GstVideoOverlayComposition *composition = gst_video_overlay_composition_new(rectangle);
    gst_video_overlay_rectangle_unref(rectangle);
    return composition;
}

static GstFlowReturn transform_frame_ip(GstVideoFilter *filter, GstVideoFrame *frame)
{
    MtsOverlay *self = (MtsOverlay *)filter;
    if (!self->black.pixels) {
        return GST_FLOW_NOT_NEGOTIATED;
    }
    sheets_clean(self);
    sheets_draw(self, frame->buffer);
    self->drawn = part_find(self);
    if (self->drawn.right == 0) {
        return GST_FLOW_OK;
    }
    GstVideoOverlayComposition *composition = composition_make(self);
    const gboolean drawn = composition && gst_video_overlay_composition_blend(composition, frame);
    g_clear_pointer(&composition, gst_video_overlay_composition_unref);
    if (!drawn) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED, ("the results cannot be drawn onto the frame"), (NULL));
        return GST_FLOW_ERROR;
    }
    return GST_FLOW_OK;
}

static gboolean stop(GstBaseTransform *trans)
{
    sheets_release((MtsOverlay *)trans);
    return TRUE;
}

static void finalize(GObject *object)
{
    sheets_release((MtsOverlay *)object);
    G_OBJECT_CLASS(mts_overlay_parent_class)->finalize(object);
}

static void mts_overlay_class_init(MtsOverlayClass *class)
{
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    GstVideoFilterClass *filter = GST_VIDEO_FILTER_CLASS(class);
    GstCaps *caps = gst_caps_from_string(GST_VIDEO_CAPS_MAKE(GST_VIDEO_OVERLAY_COMPOSITION_BLEND_FORMATS));
    G_OBJECT_CLASS(class)->finalize = finalize;
    gst_element_class_add_pad_template(element,
                                       gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
    gst_element_class_add_pad_template(element,
                                       gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
    gst_caps_unref(caps);
    gst_element_class_set_static_metadata(element, "MTS overlay", "Filter/Effect/Video",
                                          "Draws what mtsinfer says of a frame onto it", "MTS SDK");
    GST_BASE_TRANSFORM_CLASS(class)->stop = stop;
    filter->set_info = set_info;
    filter->transform_frame_ip = transform_frame_ip;
}

static void mts_overlay_init(MtsOverlay *self)
{
    (void)self;
}
