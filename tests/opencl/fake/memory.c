/*
 * memory.c: counts what is copied to and from buffers, and which of them are mapped.
 */
#include <string.h>

#include "opencl/fake/fake.h"
#include "platform/opencl/cl_types.h"

#define MAPPED_MOST 64
#define FAILURE (-59) /* CL_INVALID_OPERATION */

static const void *mapped[MAPPED_MOST];

bool fake_opencl_is_mapped(const void *buffer)
{
    for (int i = 0; buffer && i < MAPPED_MOST; i++) {
        if (mapped[i] == buffer) {
            return true;
        }
    }
    return false;
}

static void replace(const void *from, const void *to)
{
    int i = 0;
    while (i < MAPPED_MOST && mapped[i] != from) {
        i++;
    }
    fake_opencl_state()->misuses += i == MAPPED_MOST;
    mapped[i % MAPPED_MOST] = to;
}

static cl_int write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, size_t offset, size_t size,
                           const void *data, cl_uint count, const cl_event *list, cl_event *event)
{
    FAKE_REAL(cl_int, clEnqueueWriteBuffer, cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *,
              cl_uint, const cl_event *, cl_event *)
    fake_opencl_state()->written += size;
    fake_opencl_state()->misuses += fake_opencl_is_mapped(buffer);
    return clEnqueueWriteBuffer(queue, buffer, waits, offset, size, data, count, list, event);
}

static cl_int read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, size_t offset, size_t size,
                          void *data, cl_uint count, const cl_event *list, cl_event *event)
{
    FAKE_REAL(cl_int, clEnqueueReadBuffer, cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
              const cl_event *, cl_event *)
    fake_opencl_state()->read += size;
    return clEnqueueReadBuffer(queue, buffer, waits, offset, size, data, count, list, event);
}

static void *map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, cl_bitfield how, size_t offset,
                        size_t size, cl_uint count, const cl_event *list, cl_event *event, cl_int *result)
{
    FAKE_REAL(void *, clEnqueueMapBuffer, cl_command_queue, cl_mem, cl_bool, cl_bitfield, size_t, size_t,
              cl_uint, const cl_event *, cl_event *, cl_int *)
    if (fake_opencl_fails("clEnqueueMapBuffer")) {
        *result = FAILURE;
        return NULL;
    }
    fake_opencl_state()->maps++;
    fake_opencl_state()->misuses += fake_opencl_is_mapped(buffer);
    replace(NULL, buffer);
    return clEnqueueMapBuffer(queue, buffer, waits, how, offset, size, count, list, event, result);
}

static cl_int unmap(cl_command_queue queue, cl_mem buffer, void *address, cl_uint count, const cl_event *list,
                    cl_event *event)
{
    FAKE_REAL(cl_int, clEnqueueUnmapMemObject, cl_command_queue, cl_mem, void *, cl_uint, const cl_event *,
              cl_event *)
    const bool fails = fake_opencl_fails("clEnqueueUnmapMemObject");
    fake_opencl_state()->unmaps++;
    replace(buffer, NULL);
    const cl_int result = clEnqueueUnmapMemObject(queue, buffer, address, count, list, event);
    return fails ? FAILURE : result;
}

fake_function fake_opencl_memory_function(const char *name)
{
    return strcmp(name, "clEnqueueWriteBuffer") == 0      ? (fake_function)write_buffer
           : strcmp(name, "clEnqueueReadBuffer") == 0     ? (fake_function)read_buffer
           : strcmp(name, "clEnqueueMapBuffer") == 0      ? (fake_function)map_buffer
           : strcmp(name, "clEnqueueUnmapMemObject") == 0 ? (fake_function)unmap
                                                          : NULL;
}
