/*
 * plugin.c: the plugin "mts" of GStreamer.
 */
#include "elements.h"
#include "kit/args.h"
#include "meta.h"
#include "mts/mts.h"

#define PACKAGE "mts"
#define TEXT(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *const cli_program = "mtsinfer";

static gboolean plugin_begin(GstPlugin *plugin)
{
    results_meta_register();
    return gst_element_register(plugin, "mtsinfer", GST_RANK_NONE, mts_infer_get_type()) &&
           gst_element_register(plugin, "mtsoverlay", GST_RANK_NONE, mts_overlay_get_type());
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, mts,
                  "Runs many neural networks on each frame, as one graph", plugin_begin,
                  VERSION_TEXT(MTS_VERSION_MAJOR, MTS_VERSION_MINOR, MTS_VERSION_PATCH), "Apache 2.0",
                  "MTS SDK", "MTS SDK")
