/*
 * helpers.h: whether the other threads of a device help with the runs of a command list.
 *
 * A list of some tens of microseconds may take longer on several threads than on the one
 * that submits it: data goes from one processor's cache to another's, and helpers that
 * sleep are woken. Which it is depends on where the processors lie, on what else they do,
 * and on how often frames come, so it is measured now and then, with the runs that are
 * made anyhow. Lists that take long always have helpers. Results are the same bits.
 */
#ifndef MTS_CPU_HELPERS_H
#define MTS_CPU_HELPERS_H

#include <stdbool.h>
#include <stdint.h>

/* Lists that take longer with helpers never run without. */
#define MTS_CPU_SHORT_NS 400000u

enum { MTS_CPU_HELPERS_SAMPLES = 3 };

/* Zeros are a list that has not run. */
typedef struct mts_cpu_helpers {
    /* The last comparison said so. */
    bool alone;
    /* Runs of the present comparison; then runs until the next one. */
    uint32_t run, left;
    /* How many runs there were between the last two. */
    uint32_t apart;
    uint64_t together_ns[MTS_CPU_HELPERS_SAMPLES], alone_ns[MTS_CPU_HELPERS_SAMPLES];
} mts_cpu_helpers;

/* Whether the next run is to be without helpers. */
bool mts_cpu_helpers_stay(const mts_cpu_helpers *helpers);
/* Says how long it took. */
void mts_cpu_helpers_note(mts_cpu_helpers *helpers, uint64_t ns);

#endif
