/*
 * record.c: recordings of cl_khr_command_buffer and cl_qcom_recordable_queues on top of plain launches.
 *
 * A recording keeps the arguments that a kernel had when it was recorded, and launches with them, whatever the kernel
 * has by then: who forgets to hand over new ones gets the old results.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl/fake/fake.h"
#include "platform/opencl/cl_types.h"

#define ARGUMENTS 12
#define VALUE_MOST 8
#define LAUNCHES_MOST 4096
#define FAILURE (-59) /* CL_INVALID_OPERATION */

typedef struct argument {
    size_t size; /* 0: not set */
    unsigned char value[VALUE_MOST];
} argument;

typedef struct kernel_state {
    struct kernel_state *next;
    cl_kernel kernel;
    argument arguments[ARGUMENTS];
} kernel_state;

typedef struct command {
    kernel_state *of;
    argument arguments[ARGUMENTS];
    size_t global[3], local[3];
} command;

typedef struct recording {
    bool qcom, open;
    bool changeable;
    size_t count;
    command *commands;
    cl_event last; /* of the last launch that it enqueued */
} recording;

static kernel_state *kernels;
static cl_command_queue record_queue;
static recording *now; /* what that queue records */

bool fake_opencl_fails(const char *name)
{
    fake_opencl *state = fake_opencl_state();
    if (!state->fails || strcmp(state->fails, name) != 0) {
        return false;
    }
    if (state->fails_from > 0) {
        state->fails_from--;
        return false;
    }
    return true;
}

/* ---- kernels and their arguments ---- */

static kernel_state *find_kernel(cl_kernel kernel)
{
    kernel_state *at = kernels;
    while (at && at->kernel != kernel) {
        at = at->next;
    }
    if (!at) {
        at = calloc(1, sizeof *at);
        at->kernel = kernel;
        at->next = kernels;
        kernels = at;
    }
    return at;
}

static cl_int set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    FAKE_REAL(cl_int, clSetKernelArg, cl_kernel, cl_uint, size_t, const void *)
    argument *set = &find_kernel(kernel)->arguments[index % ARGUMENTS];
    set->size = size;
    memcpy(set->value, value, size < VALUE_MOST ? size : VALUE_MOST);
    return clSetKernelArg(kernel, index, size, value);
}

/* A launch may not use what the process has. */
static void check_unmapped(cl_kernel kernel)
{
    const kernel_state *of = find_kernel(kernel);
    for (int i = 0; i < ARGUMENTS; i++) {
        void *buffer = NULL;
        memcpy(&buffer, of->arguments[i].value, sizeof buffer);
        fake_opencl_state()->misuses +=
            of->arguments[i].size == sizeof buffer && fake_opencl_is_mapped(buffer);
    }
}

static void give_arguments(cl_kernel kernel, const argument arguments[ARGUMENTS])
{
    FAKE_REAL(cl_int, clSetKernelArg, cl_kernel, cl_uint, size_t, const void *)
    for (cl_uint i = 0; i < ARGUMENTS; i++) {
        if (arguments[i].size > 0) {
            (void)clSetKernelArg(kernel, i, arguments[i].size, arguments[i].value);
        }
    }
}

/* A driver may give a handle again. */
static cl_kernel create_kernel(cl_program program, const char *name, cl_int *result)
{
    FAKE_REAL(cl_kernel, clCreateKernel, cl_program, const char *, cl_int *)
    cl_kernel kernel = clCreateKernel(program, name, result);
    if (kernel) {
        memset(find_kernel(kernel)->arguments, 0, sizeof kernels->arguments);
    }
    return kernel;
}

/* ---- recordings ---- */

static recording *new_recording(const char *name, cl_int *result)
{
    fake_opencl *state = fake_opencl_state();
    *result = fake_opencl_fails(name) ? FAILURE : CL_SUCCESS;
    if (*result != CL_SUCCESS) {
        return (recording *)&kernels; /* rubbish, which must not be used */
    }
    recording *r = calloc(1, sizeof *r);
    r->open = true;
    r->commands = calloc(LAUNCHES_MOST, sizeof *r->commands);
    state->records++;
    state->records_alive++;
    return r;
}

static cl_int release_recording(recording *r)
{
    FAKE_REAL(cl_int, clReleaseEvent, cl_event)
    FAKE_REAL(cl_int, clWaitForEvents, cl_uint, const cl_event *)
    fake_opencl_state()->records_alive--;
    if (r->last) {
        (void)clWaitForEvents(1, &r->last);
        (void)clReleaseEvent(r->last);
    }
    free(r->commands);
    free(r);
    return CL_SUCCESS;
}

static cl_int add_command(recording *r, cl_kernel kernel, const size_t *global, const size_t *local)
{
    const size_t most = r->qcom ? fake_opencl_state()->record_most : LAUNCHES_MOST;
    if (!r->open || r->count == most) {
        return FAILURE;
    }
    command *c = &r->commands[r->count++];
    c->of = find_kernel(kernel);
    memcpy(c->arguments, c->of->arguments, sizeof c->arguments);
    memcpy(c->global, global, sizeof c->global);
    memcpy(c->local, local, sizeof c->local);
    return CL_SUCCESS;
}

/* A recording that has not run yet: whether it may be enqueued again is the extension's rule. */
static void check_idle(const recording *r)
{
    FAKE_REAL(cl_int, clGetEventInfo, cl_event, cl_uint, size_t, void *, size_t *)
    cl_int status = CL_COMPLETE;
    if (r->last && (r->qcom || !fake_opencl_state()->simultaneous)) {
        (void)clGetEventInfo(r->last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        fake_opencl_state()->misuses += status != CL_COMPLETE;
    }
}

static cl_int run(cl_command_queue queue, recording *r)
{
    FAKE_REAL(cl_int, clEnqueueNDRangeKernel, cl_command_queue, cl_kernel, cl_uint, const size_t *,
              const size_t *, const size_t *, cl_uint, const cl_event *, cl_event *)
    FAKE_REAL(cl_int, clReleaseEvent, cl_event)
    cl_int result = r->open ? FAILURE : CL_SUCCESS;
    check_idle(r);
    for (size_t i = 0; i < r->count && result == CL_SUCCESS; i++) {
        const command *c = &r->commands[i];
        if (r->last) {
            (void)clReleaseEvent(r->last);
            r->last = NULL;
        }
        give_arguments(c->of->kernel, c->arguments);
        result =
            clEnqueueNDRangeKernel(queue, c->of->kernel, 3, NULL, c->global, c->local, 0, NULL, &r->last);
        give_arguments(c->of->kernel, c->of->arguments);
        fake_opencl_state()->clock_ns += fake_opencl_state()->record_ns;
    }
    fake_opencl_state()->replays += result == CL_SUCCESS;
    return result;
}

/* ---- cl_khr_command_buffer ---- */

static recording *khr_create(cl_uint queues, const cl_command_queue *queue, const cl_ulong *properties,
                             cl_int *result)
{
    recording *r = new_recording("clCreateCommandBufferKHR", result);
    (void)queue;
    if (*result == CL_SUCCESS) {
        const cl_ulong flags = properties && properties[0] == CL_COMMAND_BUFFER_FLAGS ? properties[1] : 0;
        r->changeable = (flags & CL_COMMAND_BUFFER_MUTABLE) != 0;
        fake_opencl_state()->misuses += queues != 1;
    }
    return r;
}

static cl_int khr_launch(recording *r, cl_command_queue queue, const cl_ulong *properties, cl_kernel kernel,
                         cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local,
                         cl_uint waits, const cl_uint *wait_list, cl_uint *sync_point, command **handle)
{
    if (fake_opencl_fails("clCommandNDRangeKernelKHR")) {
        return FAILURE;
    }
    if (queue || dimensions != 3 || offset || waits || wait_list || sync_point ||
        (handle != NULL) != r->changeable || (properties && !r->changeable)) {
        return CL_INVALID_VALUE;
    }
    const cl_int result = add_command(r, kernel, global, local);
    if (handle && result == CL_SUCCESS) {
        *handle = &r->commands[r->count - 1];
    }
    return result;
}

static cl_int khr_finalize(recording *r)
{
    if (fake_opencl_fails("clFinalizeCommandBufferKHR")) {
        return FAILURE;
    }
    r->open = false;
    return CL_SUCCESS;
}

static cl_int khr_enqueue(cl_uint queues, cl_command_queue *queue, recording *r, cl_uint waits,
                          const cl_event *wait_list, cl_event *event)
{
    if (queues != 1 || waits || wait_list || event) {
        return CL_INVALID_VALUE;
    }
    return fake_opencl_fails("clEnqueueCommandBufferKHR") ? FAILURE : run(queue[0], r);
}

static cl_int khr_update(recording *r, cl_uint count, const cl_uint *types, const void **configs)
{
    if (fake_opencl_fails("clUpdateMutableCommandsKHR")) {
        return FAILURE;
    }
    for (cl_uint i = 0; i < count; i++) {
        const cl_mutable_dispatch_config *config = configs[i];
        void *const handle = config->command;
        command *c = handle;
        if (!r->changeable || types[i] != CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG || c < r->commands ||
            c >= r->commands + r->count || config->svm_args || config->exec_infos) {
            return CL_INVALID_VALUE;
        }
        for (cl_uint k = 0; k < config->args; k++) {
            const cl_mutable_dispatch_arg *arg = &config->arg_list[k];
            memcpy(c->arguments[arg->index].value, arg->value, arg->size);
        }
        memcpy(c->global, config->global, sizeof c->global);
        memcpy(c->local, config->local, sizeof c->local);
        fake_opencl_state()->changes++;
    }
    return CL_SUCCESS;
}

/* ---- cl_qcom_recordable_queues ---- */

static cl_command_queue create_queue(cl_context context, cl_device_id device, cl_bitfield properties,
                                     cl_int *result)
{
    FAKE_REAL(cl_command_queue, clCreateCommandQueue, cl_context, cl_device_id, cl_bitfield, cl_int *)
    if ((properties & CL_QUEUE_RECORDABLE_QCOM) == 0) {
        cl_command_queue plain = clCreateCommandQueue(context, device, properties, result);
        record_queue = plain == record_queue ? NULL : record_queue; /* the driver gave the handle again */
        return plain;
    }
    if (properties != CL_QUEUE_RECORDABLE_QCOM || fake_opencl_fails("clCreateCommandQueue")) {
        *result = CL_INVALID_VALUE;
        return NULL;
    }
    record_queue = clCreateCommandQueue(context, device, 0, result);
    return record_queue;
}

static recording *qcom_create(cl_command_queue queue, cl_int *result)
{
    if (queue != record_queue || now) {
        *result = CL_INVALID_COMMAND_QUEUE;
        return NULL;
    }
    recording *r = new_recording("clNewRecordingQCOM", result);
    if (*result == CL_SUCCESS) {
        r->qcom = true;
        now = r;
    }
    return r;
}

static cl_int qcom_end(recording *r)
{
    now = NULL;
    r->open = false;
    return fake_opencl_fails("clEndRecordingQCOM") ? FAILURE : CL_SUCCESS;
}

/* Nothing is remembered from one call to the next. */
static cl_int qcom_enqueue(cl_command_queue queue, recording *r, size_t args,
                           const cl_array_arg_qcom *arg_list, size_t offsets,
                           const cl_offset_qcom *offset_list, size_t globals,
                           const cl_workgroup_qcom *global_list, size_t locals,
                           const cl_workgroup_qcom *local_list, cl_uint waits, const cl_event *wait_list,
                           cl_event *event)
{
    if (fake_opencl_fails("clEnqueueRecordingQCOM")) {
        return FAILURE;
    }
    if (queue == record_queue || offsets || offset_list || waits || wait_list || event) {
        return CL_INVALID_VALUE;
    }
    command *const recorded = malloc(r->count * sizeof *recorded);
    memcpy(recorded, r->commands, r->count * sizeof *recorded);
    for (size_t i = 0; i < args; i++) {
        memcpy(r->commands[arg_list[i].dispatch].arguments[arg_list[i].index].value, arg_list[i].value,
               arg_list[i].size);
    }
    for (size_t i = 0; i < globals; i++) {
        memcpy(r->commands[global_list[i].dispatch].global, global_list[i].size, sizeof recorded->global);
    }
    for (size_t i = 0; i < locals; i++) {
        memcpy(r->commands[local_list[i].dispatch].local, local_list[i].size, sizeof recorded->local);
    }
    fake_opencl_state()->changes += (uint32_t)globals;
    const cl_int result = run(queue, r);
    memcpy(r->commands, recorded, r->count * sizeof *recorded);
    free(recorded);
    return result;
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                     const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait_list,
                     cl_event *event)
{
    FAKE_REAL(cl_int, clEnqueueNDRangeKernel, cl_command_queue, cl_kernel, cl_uint, const size_t *,
              const size_t *, const size_t *, cl_uint, const cl_event *, cl_event *)
    fake_opencl *state = fake_opencl_state();
    if (record_queue && queue == record_queue) {
        return fake_opencl_fails("clEnqueueNDRangeKernel") || !now || waits || event
                   ? FAILURE
                   : add_command(now, kernel, global, local);
    }
    check_unmapped(kernel);
    const int failure = state->fail_launch;
    state->fail_launch = 0;
    state->clock_ns += state->plain_ns;
    return failure ? failure
                   : clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits,
                                            wait_list, event);
}

fake_function fake_opencl_record_function(const char *name)
{
    static const struct {
        const char *name, *extension;
        fake_function address;
    } table[] = {
        {"clEnqueueNDRangeKernel", NULL, (fake_function)launch},
        {"clSetKernelArg", NULL, (fake_function)set_argument},
        {"clCreateKernel", NULL, (fake_function)create_kernel},
        {"clCreateCommandQueue", NULL, (fake_function)create_queue},
        {"clCreateCommandBufferKHR", "cl_khr_command_buffer", (fake_function)khr_create},
        {"clCommandNDRangeKernelKHR", "cl_khr_command_buffer", (fake_function)khr_launch},
        {"clFinalizeCommandBufferKHR", "cl_khr_command_buffer", (fake_function)khr_finalize},
        {"clEnqueueCommandBufferKHR", "cl_khr_command_buffer", (fake_function)khr_enqueue},
        {"clReleaseCommandBufferKHR", "cl_khr_command_buffer", (fake_function)release_recording},
        {"clUpdateMutableCommandsKHR", "cl_khr_command_buffer", (fake_function)khr_update},
        {"clNewRecordingQCOM", "cl_qcom_recordable_queues", (fake_function)qcom_create},
        {"clEndRecordingQCOM", "cl_qcom_recordable_queues", (fake_function)qcom_end},
        {"clReleaseRecordingQCOM", "cl_qcom_recordable_queues", (fake_function)release_recording},
        {"clEnqueueRecordingQCOM", "cl_qcom_recordable_queues", (fake_function)qcom_enqueue},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0 &&
            (!table[i].extension || fake_opencl_says(table[i].extension))) {
            return table[i].address;
        }
    }
    return NULL;
}
