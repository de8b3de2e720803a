/*
 * graph.c: graphs of launches, and graphs that can be launched.
 *
 * Of nodes that depend on nothing that is left, the one that was added last goes first: an order that
 * somebody forgot to ask for does not come by itself.
 */
#include "cuda/fake/driver.h"

#include <stdlib.h>
#include <string.h>

struct CUgraphNode_st {
    struct CUgraphNode_st *next; /* the one added before it */
    fake_launch launch;
    size_t need_count;
    CUgraphNode *needs;
};

struct CUgraph_st {
    fake_object object;
    CUgraphNode nodes; /* the last one first */
};

typedef struct exec_node {
    CUgraphNode from;
    fake_launch launch;
} exec_node;

struct CUgraphExec_st {
    fake_object object;
    CUgraph from;
    size_t count;
    exec_node *nodes; /* in the order in which they run */
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        abort(); /* the test machine is out of memory */
    }
    return memory;
}

static bool is_node(CUgraph graph, CUgraphNode node)
{
    CUgraphNode at = graph->nodes;
    while (at && at != node) {
        at = at->next;
    }
    return at;
}

static void release_graph(CUgraph graph)
{
    fake_object_remove(&graph->object);
    while (graph->nodes) {
        CUgraphNode next = graph->nodes->next;
        free(graph->nodes->needs);
        free(graph->nodes);
        graph->nodes = next;
    }
    free(graph);
}

static void release_exec(CUgraphExec exec)
{
    fake_object_remove(&exec->object);
    free(exec->nodes);
    free(exec);
}

void fake_graphs_release(fake_context *context)
{
    fake_object *o = NULL;
    while ((o = fake_object_next(NULL, FAKE_KIND_EXEC, context))) {
        fake_orphan();
        release_exec((CUgraphExec)o);
    }
    while ((o = fake_object_next(NULL, FAKE_KIND_GRAPH, context))) {
        fake_orphan();
        release_graph((CUgraph)o);
    }
}

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    if (result == CUDA_SUCCESS && flags) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *out = allocate(1, sizeof **out);
        fake_object_add(&(*out)->object, FAKE_KIND_GRAPH, fake_current());
    }
    return fake_leave(result);
}

CUresult cuGraphDestroy(CUgraph handle)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUgraph graph = fake_object_find(handle, FAKE_KIND_GRAPH);
    if (graph) {
        release_graph(graph);
    }
    return fake_leave(result ? result : graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

static CUresult make_launch(fake_launch *out, const CUDA_KERNEL_NODE_PARAMS *p)
{
    const fake_three grid = {p->gridDimX, p->gridDimY, p->gridDimZ};
    const fake_three block = {p->blockDimX, p->blockDimY, p->blockDimZ};
    return p->extra ? CUDA_ERROR_INVALID_VALUE
                    : fake_launch_make(out, p->func, grid, block, p->sharedMemBytes, p->kernelParams);
}

static CUresult add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *needs, size_t count,
                         const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    fake_launch launch;
    for (size_t i = 0; i < count; i++) {
        if (!is_node(graph, needs[i])) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    const CUresult result = make_launch(&launch, parameters);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    CUgraphNode node = allocate(1, sizeof *node);
    node->launch = launch;
    node->need_count = count;
    node->needs = allocate(count, sizeof(CUgraphNode));
    for (size_t i = 0; i < count; i++) {
        node->needs[i] = needs[i];
    }
    node->next = graph->nodes;
    graph->nodes = node;
    *out = node;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph handle, const CUgraphNode *needs, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUgraph graph = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_GRAPH) : NULL;
    if (result == CUDA_SUCCESS) {
        result = graph ? add_node(out, graph, needs, count, parameters) : CUDA_ERROR_INVALID_HANDLE;
    }
    return fake_leave(result);
}

static bool is_listed(const CUgraphExec exec, CUgraphNode node)
{
    for (size_t i = 0; i < exec->count; i++) {
        if (exec->nodes[i].from == node) {
            return true;
        }
    }
    return false;
}

static bool is_ready(const CUgraphExec exec, CUgraphNode node)
{
    for (size_t i = 0; i < node->need_count; i++) {
        if (!is_listed(exec, node->needs[i])) {
            return false;
        }
    }
    return !is_listed(exec, node);
}

static CUgraphExec make_exec(CUgraph graph)
{
    CUgraphExec exec = allocate(1, sizeof *exec);
    size_t count = 0;
    for (CUgraphNode node = graph->nodes; node; node = node->next) {
        count++;
    }
    exec->from = graph;
    exec->nodes = allocate(count, sizeof *exec->nodes);
    while (exec->count < count) {
        CUgraphNode node = graph->nodes;
        while (!is_ready(exec, node)) {
            node = node->next; /* needs are older nodes: there is always one */
        }
        exec->nodes[exec->count++] = (exec_node){node, node->launch};
    }
    fake_object_add(&exec->object, FAKE_KIND_EXEC, fake_current());
    return exec;
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle)
{
    CUgraph graph = fake_object_find(handle, FAKE_KIND_GRAPH);
    *out = graph ? make_exec(graph) : NULL;
    return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    if (result == CUDA_SUCCESS) {
        result = flags ? CUDA_ERROR_INVALID_VALUE : instantiate(out, graph);
    }
    return fake_leave(result);
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *node, char *text, size_t size)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    (void)node;
    if (text && size) {
        text[0] = '\0';
    }
    if (result == CUDA_SUCCESS) {
        result = instantiate(out, graph);
    }
    return fake_leave(result);
}

/* The node's graph must still be there; another function must be the same kernel. */
static CUresult set_node(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    fake_launch launch;
    CUgraph graph = fake_object_find(exec->from, FAKE_KIND_GRAPH);
    if (!graph || !is_node(graph, node) || !is_listed(exec, node)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult result = make_launch(&launch, parameters);
    for (size_t i = 0; i < exec->count && result == CUDA_SUCCESS; i++) {
        if (exec->nodes[i].from == node) {
            if (strcmp(launch.function->name, node->launch.function->name) != 0) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            exec->nodes[i].launch = launch;
        }
    }
    return result;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUgraphExec exec = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_EXEC) : NULL;
    if (result == CUDA_SUCCESS) {
        result = exec ? set_node(exec, node, parameters) : CUDA_ERROR_INVALID_HANDLE;
    }
    return fake_leave(result);
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUgraphExec exec = fake_object_find(handle, FAKE_KIND_EXEC);
    if (exec) {
        release_exec(exec);
    }
    return fake_leave(result ? result : exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream on)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUgraphExec exec = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_EXEC) : NULL;
    CUstream stream = result == CUDA_SUCCESS ? fake_stream_find(on) : NULL;
    if (result == CUDA_SUCCESS && (!exec || !stream)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    for (size_t i = 0; result == CUDA_SUCCESS && i < exec->count; i++) {
        const fake_work work = {.kind = FAKE_WORK_LAUNCH, .launch = exec->nodes[i].launch};
        result = fake_function_find(work.launch.function) ? fake_stream_add(stream, &work, NULL, 0)
                                                          : CUDA_ERROR_INVALID_HANDLE;
    }
    return fake_leave(result);
}
