/*
 * persist.h: stretches of an encoded plan's launches as persistent launches
 * (kernels/abi/persist.h): their tables and the program that computes them. Pure.
 *
 * Not responsible for whether the device can run them, nor for running them
 * (engine/persistent.h).
 */
#ifndef MTS_LOWER_PERSIST_H
#define MTS_LOWER_PERSIST_H

#include "lower/lower.h"

/* Launches [first, first + count) of the encoding, which are one. */
typedef struct mts_persist_run {
    uint32_t first, count;
    /* Its kernel parameters: the word of act where its table lies. */
    uint32_t params;
} mts_persist_run;

typedef struct mts_persist {
    /* In order; none: no two launches that follow each other are of such kernels. */
    mts_persist_run *runs;
    uint32_t run_count;
    /* Of the program, and work-items of its groups. */
    const char *defines;
    uint32_t items;
    /* A frame's launches: the runs, and those between them. */
    uint32_t launches;
    /*
     * What lies in act from word `origin` on. First the word that says that a wait failed,
     * which all runs share, then a table for work-groups to meet, then the runs'
     * own.
     */
    uint32_t *words;
    uint32_t origin, word_count;
    /* Kernel parameters of the meeting. */
    uint32_t meeting;
} mts_persist;

/*
 * Finds the runs of what mts_encode_plan made. `origin`: the first word behind the
 * activations. Runs and options live as long as the encoding's strings, words as long as
 * its arena. Errors: OUT_OF_MEMORY; LIMIT: the words of act have no numbers of 32 bits.
 */
mts_status mts_persist_make(mts_encoding *encoding, uint64_t origin, mts_persist *out);

#endif
