/*
 * replay.c: a command list's launches as a graph, each node after the one before it. The
 * graph is made once, launched often, and changed in place.
 */
#include "platform/cuda/cuda.h"

bool mts_cu_replay_has(const mts_cu_library *cu)
{
    return cu->cuGraphCreate && cu->cuGraphDestroy && cu->cuGraphAddKernelNode && cu->cuGraphExecDestroy &&
           cu->cuGraphLaunch && (cu->cuGraphInstantiateWithFlags || cu->cuGraphInstantiate);
}

static void discard(mts_cu_device *device, mts_cu_command_list *list, const char *call, CUresult result)
{
    mts_log_write(
        device->base.log, MTS_LOG_INFO,
        "'%s': %s failed with %s (%d): a command list of %zu launches is submitted one by one from now on",
        device->base.info.name, call, mts_cu_library_error_name(&device->cu, result), result, list->made);
    mts_cu_replay_release(device, list);
}

static CUDA_KERNEL_NODE_PARAMS node_of(mts_cu_launch *launch)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = launch->function,
                                     .gridDimX = launch->grid[0],
                                     .gridDimY = launch->grid[1],
                                     .gridDimZ = launch->grid[2],
                                     .blockDimX = launch->block[0],
                                     .blockDimY = launch->block[1],
                                     .blockDimZ = launch->block[2],
                                     .kernelParams = launch->arguments};
}

static CUresult add_nodes(const mts_cu_library *cu, mts_cu_command_list *list)
{
    const CUgraphNode *before = NULL;
    for (size_t i = 0; i < list->made; i++) {
        mts_cu_launch *launch = &list->launches[i];
        const CUDA_KERNEL_NODE_PARAMS node = node_of(launch);
        const CUresult result =
            cu->cuGraphAddKernelNode(&launch->node, list->graph, before, before ? 1 : 0, &node);
        if (result != CUDA_SUCCESS) {
            return result;
        }
        before = &launch->node;
    }
    return CUDA_SUCCESS;
}

static CUresult instantiate(const mts_cu_library *cu, mts_cu_command_list *list)
{
    CUgraphNode culprit = NULL;
    char text[1] = "";
    const CUresult result =
        cu->cuGraphInstantiateWithFlags
            ? cu->cuGraphInstantiateWithFlags(&list->recording, list->graph, 0)
            : cu->cuGraphInstantiate(&list->recording, list->graph, &culprit, text, sizeof text);
    if (result != CUDA_SUCCESS) {
        list->recording = NULL;
    }
    return result;
}

void mts_cu_replay_record(mts_cu_device *device, mts_cu_command_list *list)
{
    const mts_cu_library *cu = &device->cu;
    /* A node's first form cannot say that its launch is cooperative; such a list is short. */
    if (!device->replays || list->made < 2 || list->cooperative) {
        return;
    }
    CUresult result = cu->cuGraphCreate(&list->graph, 0);
    if (result != CUDA_SUCCESS) {
        list->graph = NULL;
        discard(device, list, "cuGraphCreate", result);
        return;
    }
    result = add_nodes(cu, list);
    if (result != CUDA_SUCCESS) {
        discard(device, list, "cuGraphAddKernelNode", result);
        return;
    }
    result = instantiate(cu, list);
    if (result != CUDA_SUCCESS) {
        discard(device, list, "cuGraphInstantiate", result);
    }
}

void mts_cu_replay_update(mts_cu_device *device, mts_cu_command_list *list, size_t index)
{
    mts_cu_launch *launch = &list->launches[index];
    if (!list->recording) {
        return;
    }
    const CUDA_KERNEL_NODE_PARAMS node = node_of(launch);
    const CUresult result =
        device->cu.cuGraphExecKernelNodeSetParams
            ? device->cu.cuGraphExecKernelNodeSetParams(list->recording, launch->node, &node)
            : CUDA_ERROR_NOT_SUPPORTED;
    if (result != CUDA_SUCCESS) {
        discard(device, list, "cuGraphExecKernelNodeSetParams", result);
    }
}

/* A graph that could not be launched is discarded; on a lost device it stays, since
   nothing else works. */
mts_status mts_cu_replay_submit(mts_cu_device *device, mts_cu_command_list *list, bool *submitted,
                                mts_error *error)
{
    mts_error why;
    *submitted = false;
    if (!list->recording) {
        return MTS_STATUS_OK;
    }
    const CUresult result = device->cu.cuGraphLaunch(list->recording, device->stream);
    const mts_status status = mts_cu_check(device, result, MTS_CU_CALL_ENQUEUE, "cuGraphLaunch", &why);
    if (status == MTS_STATUS_DEVICE_LOST) {
        return mts_fail(error, status, "%s", why.text);
    }
    if (status != MTS_STATUS_OK) {
        discard(device, list, "cuGraphLaunch", result);
    }
    *submitted = status == MTS_STATUS_OK;
    return MTS_STATUS_OK;
}

void mts_cu_replay_release(mts_cu_device *device, mts_cu_command_list *list)
{
    if (list->recording) {
        (void)device->cu.cuGraphExecDestroy(list->recording);
        list->recording = NULL;
    }
    if (list->graph) {
        (void)device->cu.cuGraphDestroy(list->graph);
        list->graph = NULL;
    }
}
