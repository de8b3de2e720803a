/*
 * queue.c: contexts and queues that take the hints of cl_qcom_perf_hint, cl_qcom_priority_hint,
 * cl_khr_priority_hints and cl_khr_throttle_hints where the fake says to have them, and refuse them elsewhere.
 */
#include <string.h>

#include "opencl/fake/fake.h"
#include "platform/opencl/cl_types.h"

#define PROPERTIES_MOST 16

static bool says(const char *extension)
{
    return fake_opencl_says(extension) && !fake_opencl_state()->refuses_hints;
}

static cl_context create_context(const intptr_t *properties, cl_uint count, const cl_device_id *devices,
                                 void (*notify)(const char *, const void *, size_t, void *), void *user,
                                 cl_int *result)
{
    FAKE_REAL(cl_context, clCreateContext, const intptr_t *, cl_uint, const cl_device_id *,
              void (*)(const char *, const void *, size_t, void *), void *, cl_int *)
    fake_opencl *state = fake_opencl_state();
    intptr_t rest[PROPERTIES_MOST] = {0};
    size_t used = 0;
    state->perf = state->priority = 0;
    for (; *properties; properties += 2) {
        const bool perf = properties[0] == CL_CONTEXT_PERF_HINT_QCOM;
        if (perf || properties[0] == CL_CONTEXT_PRIORITY_HINT_QCOM) {
            if (!says(perf ? "cl_qcom_perf_hint" : "cl_qcom_priority_hint")) {
                *result = CL_INVALID_PROPERTY;
                return NULL;
            }
            *(perf ? &state->perf : &state->priority) = properties[1];
        } else {
            memcpy(&rest[used], properties, 2 * sizeof *properties);
            used += 2;
        }
    }
    return clCreateContext(rest, count, devices, notify, user, result);
}

static cl_command_queue create_queue(cl_context context, cl_device_id device, const cl_ulong *properties,
                                     cl_int *result)
{
    FAKE_REAL(cl_command_queue, clCreateCommandQueue, cl_context, cl_device_id, cl_bitfield, cl_int *)
    fake_opencl *state = fake_opencl_state();
    cl_bitfield rest = 0;
    state->queue_priority = state->throttle = 0;
    for (; *properties; properties += 2) {
        const bool priority = properties[0] == CL_QUEUE_PRIORITY_KHR;
        if (properties[0] == CL_QUEUE_PROPERTIES) {
            rest = properties[1];
        } else if ((priority || properties[0] == CL_QUEUE_THROTTLE_KHR) &&
                   says(priority ? "cl_khr_priority_hints" : "cl_khr_throttle_hints")) {
            *(priority ? &state->queue_priority : &state->throttle) = properties[1];
        } else {
            *result = CL_INVALID_VALUE;
            return NULL;
        }
    }
    return clCreateCommandQueue(context, device, rest, result);
}

fake_function fake_opencl_queue_function(const char *name)
{
    return strcmp(name, "clCreateContext") == 0                      ? (fake_function)create_context
           : strcmp(name, "clCreateCommandQueueWithProperties") == 0 ? (fake_function)create_queue
                                                                     : NULL;
}
