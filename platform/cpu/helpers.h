/*
 * helpers.h: whether the other threads of a device help with the runs of a command list.
 *
 * A list may take longer on several threads than on the one that submits it: data goes
 * from one processor's cache to another's, and helpers that sleep are woken. Which it is
 * depends on where the processors lie (those of a virtual machine may be apart for some
 * seconds), on what else they do, and on how often frames come, so it is measured now and
 * then, with the runs that are made anyhow. Lists that would take very long on one thread
 * always have helpers. Results are the same bits.
 */
#ifndef MTS_CPU_HELPERS_H
#define MTS_CPU_HELPERS_H

#include <stdbool.h>
#include <stdint.h>

/* No comparison makes a run that is expected to take longer than this on one thread. */
#define MTS_CPU_ALONE_MOST_NS 25000000u

enum { MTS_CPU_HELPERS_SAMPLES = 3 };

/* Zeros are a list that has not run. */
typedef struct mts_cpu_helpers {
    /* The last comparison said so. */
    bool alone;
    /* Runs of the present comparison; then runs until the next one. */
    uint32_t run, left;
    /* How many runs there were between the last two. */
    uint32_t apart;
    /* Runs in a row that took longer with helpers than the comparison found. */
    uint32_t slow;
    uint64_t together_ns[MTS_CPU_HELPERS_SAMPLES], alone_ns[MTS_CPU_HELPERS_SAMPLES];
} mts_cpu_helpers;

/* Whether the next run is to be without helpers. */
bool mts_cpu_helpers_stay(const mts_cpu_helpers *helpers);
/* Says how long it took, on a device of so many threads. */
void mts_cpu_helpers_note(mts_cpu_helpers *helpers, uint64_t ns, uint32_t threads);

#endif
