/*
 * submission.h: runs of an engine from their submission until somebody takes their outputs, in order.
 *
 * A flight is one place of mts_engine_options.places: what one run needs of its own, so that the next ones
 * can be prepared meanwhile: the frame that waits, the tasks that run, the outputs as they came. All of
 * them use the one queue of the device, the one arena and the one command list: in order, so that nothing
 * else has to be there twice.
 */
#ifndef MTS_ENGINE_SUBMISSION_H
#define MTS_ENGINE_SUBMISSION_H

#include "frame/stage.h"
#include "engine/filter.h"

typedef enum engine_flight_state {
    MTS_FLIGHT_FREE = 0,
    MTS_FLIGHT_WAITING = 1, /* its frame is kept; nothing has gone to the device */
    MTS_FLIGHT_RUNNING = 2, /* on the device, as far as anybody has looked */
    MTS_FLIGHT_FINISHED = 3 /* over, with `code`; not taken */
} engine_flight_state;

typedef struct engine_flight {
    engine_flight_state state;
    uint64_t run;       /* its number, from 1 */
    uint64_t submitted; /* when */
    bool has_frame;     /* that goes to the device when the run does */

    mts_staged_frame staged;
    bool early; /* a frame whose memory is pinned went to the device for it before its submission */

    /* From when it goes to the device. */

    uint32_t *ran;       /* the tasks that run, a row of bits */
    uint64_t began;      /* when that was decided */
    uint64_t *ended;     /* per group: when it was found finished */
    mts_subset *current; /* with a deadline: whose further lists are handed over, one by one; or NULL */
    uint32_t stage;      /* the next of them */
    uint32_t limit_ms;   /* the deadline */
    bool cancelled;
    uint64_t fence; /* behind what was handed over last */
    /* Outputs, and inputs that are outputs, as they come from the device: elements of the arena. */
    void *outputs, *inputs;

    /* When it has finished. */
    mts_status code;
    mts_error error;
} engine_flight;

static inline bool mts_flight_runs(const engine_flight *flight, uint32_t task)
{
    return (flight->ran[task / 32] >> task % 32 & 1u) != 0;
}

#endif
