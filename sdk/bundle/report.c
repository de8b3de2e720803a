/*
 * report.c: finds the facts and hands them to the writer of the wanted kind.
 */
#include "bundle/report.h"

#include "bundle/report_kinds.h"

mts_status mts_archive_report(const mts_archive *archive, mts_report_kind kind,
                              const mts_allocator *allocator, mts_text *text, mts_error *error)
{
    mts_sharing sharing;
    mts_status status = mts_sharing_find(archive, allocator, &sharing, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    switch (kind) {
    case MTS_REPORT_KIND_TEXT:
        mts_report_text(&sharing, text);
        break;
    case MTS_REPORT_KIND_JSON:
        mts_report_json(&sharing, text);
        break;
    case MTS_REPORT_KIND_DOT:
        status = mts_report_dot(&sharing, text, error);
        break;
    }
    mts_sharing_release(&sharing);
    return status;
}
