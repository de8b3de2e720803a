/*
 * phases.c: see phases.h. Not responsible for jobs (lower/encode_packed.c).
 */
#include "plan/phases.h"

mts_phase mts_phase_of(const mts_attrs_conv *conv, int axis, uint32_t number)
{
    const int64_t stride = conv->stride[axis];
    mts_phase phase = {.dilation = 1, .step = 1};
    for (uint32_t k = conv->kernel[axis]; k-- > 0;) {
        /* the input that reaches output `number` through position k, times the stride */
        const int64_t at = (int64_t)number + conv->pad[axis] - (int64_t)k * conv->dilation[axis];
        if (at % stride != 0) {
            continue;
        }
        if (phase.count == 0) {
            phase.first = k;
            phase.offset = (int32_t)(at / stride);
        } else if (phase.count == 1) {
            phase.step = phase.first - k;
            phase.dilation = (uint32_t)(at / stride - phase.offset);
        }
        phase.count++;
    }
    return phase;
}

bool mts_phases_pay(const mts_attrs_conv *conv)
{
    enum { PHASES_MOST = 64 };
    bool pay = (uint64_t)conv->stride[0] * conv->stride[1] <= PHASES_MOST;
    for (int axis = 0; axis < 2; axis++) {
        for (uint32_t n = 0; pay && n < conv->stride[axis]; n++) {
            pay = mts_phase_of(conv, axis, n).count > 0;
        }
    }
    return pay;
}
