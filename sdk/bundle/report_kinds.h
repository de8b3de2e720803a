/*
 * report_kinds.h: the writers behind mts_archive_report. Private to sdk/bundle.
 */
#ifndef MTS_BUNDLE_REPORT_KINDS_H
#define MTS_BUNDLE_REPORT_KINDS_H

#include "base/text.h"
#include "bundle/sharing.h"

void mts_report_text(const mts_sharing *sharing, mts_text *text);
void mts_report_json(const mts_sharing *sharing, mts_text *text);
mts_status mts_report_dot(mts_sharing *sharing, mts_text *text, mts_error *error);

/* "rgb", "bgr", "grey" or "none". */
const char *mts_report_color(uint32_t color);
/* The words of a task list; "" where it says none. */
const char *mts_report_fit(uint32_t fit);
const char *mts_report_filter(uint32_t filter);

#endif
