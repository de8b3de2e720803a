/*
 * launch.c: the arguments of a launch, and enqueuing it. Not responsible for lists of them
 * (list.c).
 */
#include "platform/opencl/opencl.h"

const void *mts_cl_launch_argument(const mts_cl_launch *launch, cl_uint index, size_t *size)
{
    const cl_mem *const buffers[] = {&launch->act, &launch->pool, &launch->params};
    *size = index == 3 ? sizeof launch->first : sizeof(cl_mem);
    if (index < 3) {
        return buffers[index];
    }
    if (index == 3) {
        return &launch->first;
    }
    if (launch->image) {
        return index == 4 ? &launch->image : NULL;
    }
    return launch->sources[0] ? &launch->sources[index - 4] : NULL;
}

mts_status mts_cl_launch_set_arguments(mts_cl_device *device, const mts_cl_launch *made, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (cl_uint i = 0; status == MTS_STATUS_OK && i < MTS_CL_ARGUMENTS; i++) {
        size_t size = 0;
        const void *value = mts_cl_launch_argument(made, i, &size);
        if (value) {
            status = mts_cl_check(device, device->cl.clSetKernelArg(made->handle, i, size, value),
                                  MTS_CL_STAGE_CREATE, "clSetKernelArg", error);
        }
    }
    return status;
}

static cl_mem take_buffer(const mts_buffer *base, uint64_t *serial)
{
    const mts_cl_buffer *buffer = (const mts_cl_buffer *)base;
    *serial = buffer->serial;
    return buffer->handle;
}

mts_status mts_cl_launch_fill(mts_cl_device *device, mts_cl_launch *made, const mts_launch *launch,
                              mts_error *error)
{
    made->gemm = launch->gemm;
    made->act = take_buffer(launch->act, &made->serials[0]);
    made->pool = take_buffer(launch->pool, &made->serials[1]);
    made->params = take_buffer(launch->params, &made->serials[2]);
    for (int i = 0; i < MTS_LAUNCH_SOURCES && launch->sources[0]; i++) {
        made->sources[i] = take_buffer(launch->sources[i], &made->serials[3 + i]);
    }
    made->first = launch->first;
    for (int i = 0; i < 3; i++) {
        made->global[i] = launch->global[i];
        made->local[i] = launch->local[i];
    }
#ifndef MTS_SMALL
    const mts_cl_kernel *kernel = (const mts_cl_kernel *)launch->kernel;
    if (kernel && kernel->images) {
        return mts_cl_buffer_image(device, (mts_cl_buffer *)launch->pool, kernel->half, &made->image, error);
    }
#else
    (void)device;
    (void)error;
#endif
    return MTS_STATUS_OK;
}

mts_status mts_cl_launch_enqueue(mts_cl_device *device, cl_command_queue queue, const mts_cl_launch *launch,
                                 cl_event *event, mts_error *error)
{
    const bool product = !launch->handle;
    const cl_int result =
        product ? mts_cl_gemm_enqueue(&device->gemm, &launch->gemm, launch->act, launch->pool, queue, event)
                : device->cl.clEnqueueNDRangeKernel(queue, launch->handle, 3, NULL, launch->global,
                                                    launch->local, 0, NULL, event);
    const mts_status status = mts_cl_check(device, result, MTS_CL_STAGE_ENQUEUE,
                                           product ? "CLBlastSgemm" : "clEnqueueNDRangeKernel", error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "launch '%s'", launch->label);
}

mts_status mts_cl_list_enqueue(mts_cl_device *device, const mts_cl_command_list *list, size_t from,
                               mts_error *error)
{
    const uint32_t every = device->flush_every;
    for (size_t i = from; i < list->made; i++) {
        const mts_status status =
            mts_cl_launch_enqueue(device, device->queue, &list->launches[i], NULL, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        if (every && (i + 1) % every == 0) {
            (void)device->cl.clFlush(device->queue); /* a failure shows at the end */
        }
    }
    return MTS_STATUS_OK;
}
