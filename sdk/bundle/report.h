/*
 * report.h: what a bundle holds, for people (text), machines (JSON) and Graphviz.
 *
 * The facts about sharing come from the archive alone: aligned rows of a family and block
 * ids that several tasks refer to. Not responsible for how a session runs the bundle
 * (sdk/tune explains that).
 */
#ifndef MTS_BUNDLE_REPORT_H
#define MTS_BUNDLE_REPORT_H

#include "base/text.h"
#include "bundle/archive.h"

typedef enum mts_report_kind {
    MTS_REPORT_KIND_TEXT = 0,
    MTS_REPORT_KIND_JSON = 1,
    MTS_REPORT_KIND_DOT = 2
} mts_report_kind;

/* Appends the report to `text`. OUT_OF_MEMORY only; a failure of `text` itself is left
 * for its owner to see.
 */
mts_status mts_archive_report(const mts_archive *archive, mts_report_kind kind,
                              const mts_allocator *allocator, mts_text *text, mts_error *error);

#endif
