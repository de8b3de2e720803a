/*
 * gemm.c: whether a matrix product lies in its buffers; part of the front.
 */
#include "base/size.h"
#include "device/device.h"

/* Floats from the start of the buffer to the end of the last matrix; SIZE_MAX if they
   cannot be counted. */
static size_t matrix_end(uint32_t offset, uint32_t batch, uint32_t stride, uint32_t rows, uint32_t ld,
                         uint32_t columns)
{
    size_t end = 0;
    size_t part = 0;
    const bool counted = mts_size_mul(batch - 1, stride, &end) && mts_size_mul(rows - 1, ld, &part) &&
                         mts_size_add(end, part, &end) && mts_size_add(end, offset, &end) &&
                         mts_size_add(end, columns, &end);
    return counted ? end : SIZE_MAX;
}

/* What is wrong with it, or NULL. */
static const char *defect_of(const mts_gemm *g, size_t act_floats, size_t pool_floats)
{
    if (g->m == 0 || g->n == 0 || g->k == 0 || g->batch == 0) {
        return "a dimension is zero";
    }
    const uint32_t b_rows = g->b_transposed ? g->n : g->k;
    const uint32_t b_columns = g->b_transposed ? g->k : g->n;
    if (g->a_ld < g->k || g->b_ld < b_columns || g->c_ld < g->n) {
        return "rows lie in each other";
    }
    const size_t a_end = matrix_end(g->a, g->batch, g->a_stride, g->m, g->a_ld, g->k);
    const size_t b_end = matrix_end(g->b, g->batch, g->b_stride, b_rows, g->b_ld, b_columns);
    const size_t c_end = matrix_end(g->c, g->batch, g->c_stride, g->m, g->c_ld, g->n);
    if (a_end > (g->a_pool ? pool_floats : act_floats) || b_end > (g->b_pool ? pool_floats : act_floats) ||
        c_end > act_floats) {
        return "a matrix leaves its buffer";
    }
    if (g->batch > 1 && g->c_stride < matrix_end(0, 1, 0, g->m, g->c_ld, g->n)) {
        return "results lie in each other";
    }
    if ((!g->a_pool && g->a < c_end && g->c < a_end) || (!g->b_pool && g->b < c_end && g->c < b_end)) {
        return "the result lies in a factor";
    }
    return NULL;
}

mts_status mts_gemm_check(const mts_gemm *gemm, size_t act_floats, size_t pool_floats, const char *label,
                          mts_error *error)
{
    const char *defect = defect_of(gemm, act_floats, pool_floats);
    return !defect ? MTS_STATUS_OK
                   : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                              "launch '%s', %u products of %ux%u by %ux%u: %s", label, gemm->batch, gemm->m,
                              gemm->k, gemm->k, gemm->n, defect);
}
