/*
 * scan.c: the operator SCAN.
 */
#include "graph/ops/common.h"

static mts_status scan_infer(const mts_infer_call *call, mts_shape *out)
{
    const mts_attrs_scan *scan = &call->attrs->scan;
    *out = *call->inputs[0];
    if (scan->axis >= out->rank) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "axis %u does not fit rank %u", scan->axis,
                        out->rank);
    }
    if (scan->kind > MTS_SCAN_PROD || scan->exclusive > 1 || scan->reverse > 1) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "a mode is out of range");
    }
    return MTS_STATUS_OK;
}

static const mts_op_field scan_fields[] = {MTS_OP_WORD(scan, kind, true), MTS_OP_WORD(scan, axis, true),
                                           MTS_OP_WORD(scan, exclusive, true),
                                           MTS_OP_WORD(scan, reverse, true)};

const mts_op_row mts_op_scan = MTS_OP_ROW("scan", 1, 1, MTS_NONE, scan_fields, scan_infer, NULL,
                                          mts_cost_input, NULL, mts_channels_unstitched, MTS_OP_INPUT_DATA);
