/*
 * dnnl.c: oneDNN's engine, stream and working memory of a run, its codes as sentences,
 * matrix products.
 */
#include <stdint.h>

#include "compress/net/cpu.h"

/* GNU OpenMP's; oneDNN reads it when a primitive is made. */
extern int omp_get_max_threads(void);

int mts_cpu_threads(void)
{
    return omp_get_max_threads();
}

static const char *status_text(dnnl_status_t status)
{
    switch (status) {
    case dnnl_out_of_memory:
        return "not enough memory";
    case dnnl_invalid_arguments:
        return "invalid arguments";
    case dnnl_unimplemented:
        return "not implemented";
    case dnnl_runtime_error:
        return "runtime error";
    default:
        return "failed";
    }
}

mts_status mts_cpu_check(dnnl_status_t status, const char *what, mts_error *error)
{
    if (status == dnnl_success) {
        return MTS_STATUS_OK;
    }
    return mts_fail(error, status == dnnl_out_of_memory ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_INTERNAL,
                    "oneDNN, %s: %s", what, status_text(status));
}

mts_status mts_cpu_create(const mts_allocator *allocator, mts_engine_cpu **out, mts_error *error)
{
    mts_engine_cpu *cpu = mts_alloc_zero(allocator, 1, sizeof *cpu);
    *out = cpu;
    if (!cpu) {
        return mts_fail_memory(error);
    }
    const mts_status status = mts_cpu_check(dnnl_engine_create(&cpu->engine, dnnl_cpu, 0), "engine", error);
    return status ? status
                  : mts_cpu_check(dnnl_stream_create(&cpu->stream, cpu->engine, dnnl_stream_default_flags),
                                  "stream", error);
}

void mts_cpu_destroy(const mts_allocator *allocator, mts_engine_cpu **cpu)
{
    if (!*cpu) {
        return;
    }
    if ((*cpu)->stream) {
        (void)dnnl_stream_destroy((*cpu)->stream);
    }
    if ((*cpu)->engine) {
        (void)dnnl_engine_destroy((*cpu)->engine);
    }
    mts_alloc_free(allocator, (*cpu)->scratch);
    mts_alloc_free(allocator, *cpu);
    *cpu = NULL;
}

mts_status mts_cpu_room(mts_net_run *run, size_t bytes, mts_error *error)
{
    mts_engine_cpu *cpu = run->cpu;
    if (bytes <= cpu->scratch_bytes) {
        return MTS_STATUS_OK;
    }
    mts_alloc_free(run->allocator, cpu->scratch);
    cpu->scratch = mts_alloc_zero(run->allocator, bytes + MTS_CPU_ALIGNMENT, 1);
    cpu->scratch_bytes = cpu->scratch ? bytes : 0;
    return cpu->scratch ? MTS_STATUS_OK : mts_fail_memory(error);
}

void *mts_cpu_align(void *memory)
{
    const uintptr_t over = (uintptr_t)memory % MTS_CPU_ALIGNMENT;
    return over ? (char *)memory + (MTS_CPU_ALIGNMENT - over) : memory;
}

mts_status mts_cpu_gemm(bool turn_a, bool turn_b, size_t m, size_t n, size_t k, float alpha, const float *a,
                        const float *b, float beta, float *c, mts_error *error)
{
    const dnnl_dim_t rows = (dnnl_dim_t)m, columns = (dnnl_dim_t)n, depth = (dnnl_dim_t)k;
    return mts_cpu_check(dnnl_sgemm(turn_a ? 'T' : 'N', turn_b ? 'T' : 'N', rows, columns, depth, alpha, a,
                                    turn_a ? rows : depth, b, turn_b ? depth : columns, beta, c, columns),
                         "matrix product", error);
}
