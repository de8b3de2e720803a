/*
 * elements.h: the elements of the plugin. docs/GSTREAMER.md
 */
#ifndef MTS_GST_ELEMENTS_H
#define MTS_GST_ELEMENTS_H

#include <gst/gst.h>

/* "mtsinfer": runs a bundle on the frames that pass, and attaches what it says. */
GType mts_infer_get_type(void);
/* "mtsoverlay": draws what mtsinfer has attached. */
GType mts_overlay_get_type(void);

#endif
