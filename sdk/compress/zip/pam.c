/*
 * pam.c: see pam.h.
 */
#include "compress/zip/pam.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct medoids {
    const double *distances;
    uint32_t count, groups;
    uint32_t at[MTS_PAM_MOST];
} medoids;

static uint32_t nearest(const medoids *m, uint32_t i, uint32_t groups)
{
    uint32_t best = 0;
    for (uint32_t g = 1; g < groups; g++) {
        const double *row = m->distances + (size_t)i * m->count;
        best = row[m->at[g]] < row[m->at[best]] ? g : best;
    }
    return best;
}

/* The sum over all things, with the first `groups` medoids. */
static double sum_of(const medoids *m, uint32_t groups)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < m->count; i++) {
        sum += m->distances[(size_t)i * m->count + m->at[nearest(m, i, groups)]];
    }
    return sum;
}

static bool is_medoid(const medoids *m, uint32_t i, uint32_t groups)
{
    for (uint32_t g = 0; g < groups; g++) {
        if (m->at[g] == i) {
            return true;
        }
    }
    return false;
}

/* Puts the best thing that is no medoid at place g of `groups`; returns the sum with it. */
static double place(medoids *m, uint32_t g, uint32_t groups)
{
    const uint32_t before = m->at[g];
    uint32_t best = before;
    double least = sum_of(m, groups);
    for (uint32_t i = 0; i < m->count; i++) {
        m->at[g] = before;
        if (is_medoid(m, i, groups)) {
            continue;
        }
        m->at[g] = i;
        const double sum = sum_of(m, groups);
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    m->at[g] = best;
    return least;
}

double mts_pam(const double *distances, uint32_t count, uint32_t groups, uint32_t *group)
{
    medoids m = {.distances = distances, .count = count, .groups = groups};
    uint32_t number[MTS_PAM_MOST], next = 0;
    double sum = INFINITY;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t first = 0;
        while (is_medoid(&m, first, g)) {
            first++;
        }
        m.at[g] = first; /* any that is free; the best one follows */
        sum = place(&m, g, g + 1);
    }
    for (bool better = true; better;) {
        better = false;
        for (uint32_t g = 0; g < groups; g++) {
            const double now = place(&m, g, groups);
            better = better || now < sum;
            sum = now < sum ? now : sum;
        }
    }
    for (uint32_t g = 0; g < groups; g++) {
        number[g] = groups;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t g = nearest(&m, i, groups);
        number[g] = number[g] == groups ? next++ : number[g];
        group[i] = number[g];
    }
    return sum;
}
