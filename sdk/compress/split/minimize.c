/*
 * minimize.c: see minimize.h. Two-loop recursion, steps halved until they gain enough
 * (Armijo).
 */
#include "compress/split/minimize.h"

#include <math.h>
#include <string.h>

#define MEMORY 12u  /* pairs of steps and gradients' changes that are kept */
#define HALVINGS 30 /* of a step before minimising ends */
#define ENOUGH 1e-4 /* part of the gain that the slope promises */

typedef struct state {
    size_t size;
    double *x, *gradient, *direction, *next, *next_gradient;
    double *steps, *changes; /* [MEMORY][size], a ring */
    double rho[MEMORY];
    uint32_t count, newest;
    double value;
} state;

static double dot(const double *a, const double *b, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void add_scaled(double *a, double scale, const double *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        a[i] += scale * b[i];
    }
}

/* direction = -H gradient, H from the pairs. */
static void find_direction(state *s)
{
    double alpha[MEMORY];
    for (size_t i = 0; i < s->size; i++) {
        s->direction[i] = -s->gradient[i];
    }
    for (uint32_t k = 0; k < s->count; k++) {
        const uint32_t at = (s->newest + MEMORY - k) % MEMORY;
        alpha[at] = s->rho[at] * dot(s->steps + at * s->size, s->direction, s->size);
        add_scaled(s->direction, -alpha[at], s->changes + at * s->size, s->size);
    }
    if (s->count > 0) {
        const double *change = s->changes + s->newest * s->size;
        const double scale = 1.0 / (s->rho[s->newest] * dot(change, change, s->size));
        for (size_t i = 0; i < s->size; i++) {
            s->direction[i] *= scale;
        }
    }
    for (uint32_t k = s->count; k-- > 0;) {
        const uint32_t at = (s->newest + MEMORY - k) % MEMORY;
        const double beta = s->rho[at] * dot(s->changes + at * s->size, s->direction, s->size);
        add_scaled(s->direction, alpha[at] - beta, s->steps + at * s->size, s->size);
    }
}

/* Keeps the step that was taken; one that bends the wrong way teaches nothing. */
static void remember(state *s)
{
    const uint32_t at = (s->newest + 1) % MEMORY;
    double *step = s->steps + at * s->size;
    double *change = s->changes + at * s->size;
    for (size_t i = 0; i < s->size; i++) {
        step[i] = s->next[i] - s->x[i];
        change[i] = s->next_gradient[i] - s->gradient[i];
    }
    const double curvature = dot(step, change, s->size);
    if (curvature <= 1e-14 * dot(change, change, s->size)) {
        return;
    }
    s->rho[at] = 1.0 / curvature;
    s->newest = at;
    s->count += s->count < MEMORY ? 1 : 0;
}

/* One step; *gain receives what it gained, 0 if there is no way down. */
static mts_status step(state *s, mts_minimize_function function, void *context, double *gain,
                       mts_error *error)
{
    find_direction(s);
    double slope = dot(s->direction, s->gradient, s->size);
    if (!(slope < 0.0)) {
        s->count = 0;
        find_direction(s);
        slope = dot(s->direction, s->gradient, s->size);
    }
    double length = s->count > 0 ? 1.0 : 1.0 / fmax(1.0, sqrt(-slope));
    *gain = 0;
    for (int i = 0; i < HALVINGS && slope < 0.0; i++, length *= 0.5) {
        double value = 0;
        memcpy(s->next, s->x, s->size * sizeof *s->x);
        add_scaled(s->next, length, s->direction, s->size);
        const mts_status status = function(context, s->next, &value, s->next_gradient, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        if (isfinite(value) && value <= s->value + ENOUGH * length * slope) {
            *gain = s->value - value;
            s->value = value;
            remember(s);
            memcpy(s->x, s->next, s->size * sizeof *s->x);
            memcpy(s->gradient, s->next_gradient, s->size * sizeof *s->gradient);
            return MTS_STATUS_OK;
        }
    }
    return MTS_STATUS_OK;
}

static mts_status descend(state *s, mts_minimize_function function, void *context, uint32_t steps,
                          double tolerance, mts_error *error)
{
    mts_status status = function(context, s->x, &s->value, s->gradient, error);
    if (status == MTS_STATUS_OK && !isfinite(s->value)) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "the loss is not a number");
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < steps; i++) {
        double gain = 0;
        status = step(s, function, context, &gain, error);
        if (gain <= tolerance * fabs(s->value)) {
            break;
        }
    }
    return status;
}

mts_status mts_minimize(mts_minimize_function function, void *context, double *x, size_t size, uint32_t steps,
                        double tolerance, const mts_allocator *allocator, mts_error *error)
{
    mts_arena arena;
    state s = {.size = size, .x = x};
    mts_arena_init(&arena, allocator);
    s.gradient = mts_arena_zero(&arena, size, sizeof *s.gradient);
    s.direction = mts_arena_zero(&arena, size, sizeof *s.direction);
    s.next = mts_arena_zero(&arena, size, sizeof *s.next);
    s.next_gradient = mts_arena_zero(&arena, size, sizeof *s.next_gradient);
    s.steps = mts_arena_zero(&arena, size, MEMORY * sizeof *s.steps);
    s.changes = mts_arena_zero(&arena, size, MEMORY * sizeof *s.changes);
    const bool complete = s.gradient && s.direction && s.next && s.next_gradient && s.steps && s.changes;
    const mts_status status =
        complete ? descend(&s, function, context, steps, tolerance, error) : mts_fail_memory(error);
    mts_arena_release(&arena);
    return status;
}
