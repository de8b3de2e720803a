/*
 * bounded_waves.h: waves that hold at most so much memory.
 *
 * The rules of waves.h look at launches only, and a wave of theirs takes all that may run.
 * Where what lives then does not fit, a launch has to leave nodes out, and which ones
 * decides how many launches follow. So this is a beam search over what has run: wave by
 * wave, the states that have come furthest are kept. A state is kept only if what is left
 * fits when it runs node by node, so that no schedule ends with the memory full of what
 * waits. See docs/design/waves.md. Pure.
 */
#ifndef MTS_PLAN_BOUNDED_WAVES_H
#define MTS_PLAN_BOUNDED_WAVES_H

#include "plan/waves.h"

/* What nodes touch. A storage lives from the wave of the first node that touches it to
   that of the last one. */
typedef struct mts_wave_memory {
    const uint64_t *sizes; /* per storage */
    uint32_t storage_count;
    /* touched[first[i] .. first[i + 1]): storages of node i, each once. */
    const uint32_t *first, *touched;
    /* Of all storages that live in a wave. */
    uint64_t most;
} mts_wave_memory;

/* Whether a schedule is taken: its storages may need more than what lives, once they are
   placed. */
typedef bool (*mts_wave_fits)(void *context, const mts_wave_schedule *schedule);

/* More nodes are not searched. The time grows with nodes times waves times programs. */
#define MTS_BOUNDED_WAVES_NODES 1024u

/*
 * The schedule of least time by the model that the search finds and `fits` (NULL: all do)
 * takes; request->groups_most and ->early are not read. out->waves is 0 where it finds
 * none. The result lives in `arena`; the same request gives the same result. Errors:
 * OUT_OF_MEMORY.
 */
mts_status mts_bounded_waves_find(const mts_wave_request *request, const mts_wave_memory *memory,
                                  mts_wave_fits fits, void *context, mts_arena *arena, mts_wave_schedule *out,
                                  mts_error *error);

#endif
