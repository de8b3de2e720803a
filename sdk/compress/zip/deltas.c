/*
 * deltas.c: what a task's own filters add to the common ones, as matrices of low rank that
 * are best for the data.
 *
 * Let D = own - scale common, both fitted, and G the covariance of the row's inputs. The
 * task's pre-activations lose tr(D G D') if D is left out. Of all matrices of rank r, the one
 * that leaves least is P P' D, where P are the first r eigenvectors of D G D'; the eigenvalues
 * say what each rank gives back. So left is P and right is P' D: no inverse of G is needed.
 */
#include <math.h>
#include <string.h>

#include "compress/solve/low_rank.h"
#include "compress/solve/product.h"
#include "compress/zip/plan.h"

/* D and the decomposition of D G D', in `scratch`. */
typedef struct difference {
    double *numbers; /* [outputs][length] */
    mts_low_rank axes;
} difference;

static mts_status decompose(const mts_zip_fit *fit, uint32_t t, mts_arena *scratch, difference *out,
                            mts_error *error)
{
    const mts_gram *gram = &fit->stats[t].gram;
    const uint32_t rows = fit->outputs, columns = fit->length;
    const size_t cells = (size_t)rows * columns;
    double *d = mts_arena_zero(scratch, cells, sizeof *d);
    double *product = mts_arena_zero(scratch, cells, sizeof *product);
    double *square = mts_arena_zero(scratch, (size_t)rows * rows, sizeof *square);
    if (!d || !product || !square) {
        return mts_fail_memory(error);
    }
    for (size_t i = 0; i < cells; i++) {
        d[i] = fit->own[t][i] - fit->scale[t][i / columns] * fit->common[t][i];
    }
    mts_multiply(d, gram->xx, rows, columns, columns, product);
    mts_subtract_product(product, d, rows, columns, rows, square);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            const double value = -0.5 * (square[(size_t)i * rows + j] + square[(size_t)j * rows + i]);
            square[(size_t)i * rows + j] = square[(size_t)j * rows + i] = value;
        }
    }
    out->numbers = d;
    return mts_svd(square, rows, rows, scratch, &out->axes, error);
}

mts_status mts_zip_delta_energy(const mts_zip_fit *fit, uint32_t t, double *energy, mts_error *error)
{
    mts_arena scratch;
    difference d;
    mts_arena_init(&scratch, fit->zip->allocator);
    const mts_status status = decompose(fit, t, &scratch, &d, error);
    if (status == MTS_STATUS_OK) {
        memcpy(energy, d.axes.sigma, fit->outputs * sizeof *energy);
    }
    mts_arena_release(&scratch);
    return status;
}

/* The scale of a filter, as far from 0 as a quotient by it has to be. */
static double divisor(const mts_zip_fit *fit, uint32_t t, uint32_t o)
{
    double mean = 0.0;
    for (uint32_t k = 0; k < fit->outputs; k++) {
        mean += fabs(fit->scale[t][k]) / fit->outputs;
    }
    return mts_zip_divisor(fit->scale[t][o], mean);
}

static bool take_room(const mts_zip_fit *fit, uint32_t rank, mts_arena *arena, mts_zip_factors *out)
{
    out->rank = rank;
    out->base = mts_arena_zero(arena, (size_t)fit->outputs * fit->length, sizeof(float));
    out->left = mts_arena_zero(arena, (size_t)fit->outputs * rank + 1, sizeof(float));
    out->right = mts_arena_zero(arena, (size_t)fit->length * rank + 1, sizeof(float));
    return out->base && out->left && out->right;
}

/* left = P / scale, right = P' D, as they are stored; common becomes their sum with the base. */
static void fill(const mts_zip_fit *fit, uint32_t t, const difference *d, mts_zip_factors *out)
{
    const uint32_t rank = out->rank, length = fit->length;
    for (uint32_t k = 0; k < rank; k++) {
        for (uint32_t i = 0; i < length; i++) {
            double sum = 0.0;
            for (uint32_t o = 0; o < fit->outputs; o++) {
                sum += d->axes.left[(size_t)o * d->axes.rank + k] * d->numbers[(size_t)o * length + i];
            }
            out->right[(size_t)k * length + i] = (float)sum;
        }
    }
    for (uint32_t o = 0; o < fit->outputs; o++) {
        double *common = fit->common[t] + (size_t)o * length;
        float *base = out->base + (size_t)o * length;
        const double by = divisor(fit, t, o);
        for (uint32_t i = 0; i < length; i++) {
            base[i] = (float)common[i];
            common[i] = (double)base[i];
        }
        for (uint32_t k = 0; k < rank; k++) {
            const float left = (float)(d->axes.left[(size_t)o * d->axes.rank + k] / by);
            out->left[(size_t)o * rank + k] = left;
            for (uint32_t i = 0; i < length; i++) {
                common[i] += (double)left * (double)out->right[(size_t)k * length + i];
            }
        }
    }
}

mts_status mts_zip_delta_make(const mts_zip_fit *fit, uint32_t t, uint32_t rank, mts_arena *arena,
                              mts_zip_factors *out, mts_error *error)
{
    mts_arena scratch;
    difference d = {.numbers = NULL};
    mts_arena_init(&scratch, fit->zip->allocator);
    mts_status status = take_room(fit, rank, arena, out) ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, rank ? decompose(fit, t, &scratch, &d, error) : MTS_STATUS_OK);
    if (status == MTS_STATUS_OK) {
        fill(fit, t, &d, out);
    }
    mts_arena_release(&scratch);
    return status;
}
