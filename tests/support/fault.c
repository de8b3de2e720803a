/*
 * fault.c: hooks that refuse the chosen call, and the allocator that does the same.
 */
#include "tests/support/fault.h"

#include <string.h>

/* The context is freed with the device, the plan is the caller's. */
typedef struct faults {
    mts_fault_plan *plan;
} faults;

static bool is_destroy(mts_wrap_kind kind)
{
    return kind == MTS_WRAP_KIND_DEVICE_DESTROY || kind == MTS_WRAP_KIND_BUFFER_DESTROY ||
           kind == MTS_WRAP_KIND_KERNEL_DESTROY || kind == MTS_WRAP_KIND_LIST_DESTROY ||
           kind == MTS_WRAP_KIND_HOST_DESTROY;
}

static bool is_due(uint32_t calls, uint32_t nth, bool onwards)
{
    return nth != 0 && (calls == nth || (onwards && calls > nth));
}

static mts_status fault_before(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    mts_fault_plan *plan = ((faults *)wrap->context)->plan;
    if (is_destroy(call->kind) || (plan->kind != MTS_WRAP_KIND_COUNT && plan->kind != call->kind)) {
        return MTS_STATUS_OK;
    }
    plan->calls++;
    if (!is_due(plan->calls, plan->nth, plan->onwards)) {
        return MTS_STATUS_OK;
    }
    plan->failed++;
    if (plan->code == MTS_STATUS_DEVICE_LOST) {
        mts_device_lose(&wrap->base);
    }
    wrap->base.full = wrap->base.full || plan->code == MTS_STATUS_OUT_OF_MEMORY;
    return mts_fail(error, plan->code, "%s fails on purpose (call %u)", mts_wrap_kind_name(call->kind),
                    plan->calls);
}

static const mts_wrap_hooks hooks = {fault_before, NULL};

static void *fault_alloc(void *context, size_t size)
{
    mts_wrap_allocator *self = context;
    self->calls++;
    if (is_due(self->calls, self->nth, self->onwards)) {
        self->failed++;
        return NULL;
    }
    void *memory = self->inner->alloc(self->inner->context, size);
    self->alive += memory ? 1 : 0;
    return memory;
}

static void fault_free(void *context, void *memory)
{
    mts_wrap_allocator *self = context;
    self->alive -= memory ? 1 : 0;
    self->inner->free(self->inner->context, memory);
}

mts_status mts_wrap_fault(mts_device **inner, mts_fault_plan *plan, mts_device **out, mts_error *error)
{
    if (out != inner) {
        *out = NULL;
    }
    if (!inner || !*inner || !plan) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "faults need a device and a plan");
    }
    const mts_allocator *allocator = (*inner)->allocator;
    faults *self = mts_alloc_zero(allocator, 1, sizeof *self);
    if (!self) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory for a fault plan");
    }
    self->plan = plan;
    const mts_status code = mts_wrap_make(inner, &hooks, self, false, out, error);
    if (code != MTS_STATUS_OK) {
        mts_alloc_free(allocator, self);
    }
    return code;
}

void mts_wrap_allocator_init(mts_wrap_allocator *fault, const mts_allocator *inner, uint32_t nth)
{
    memset(fault, 0, sizeof *fault);
    fault->base.context = fault;
    fault->base.alloc = fault_alloc;
    fault->base.free = fault_free;
    fault->inner = inner;
    fault->nth = nth;
}
