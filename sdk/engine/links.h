/*
 * links.h: what an engine's runs need to give their outputs, and to take their inputs, where
 * these lie: an engine that is a part of a pipeline (part.h), beside others whose devices
 * share memory with its own.
 *
 * Each run in flight has a slot. The outputs of a slot lie behind the arena, in a region that
 * no other slot writes: kernel parameters of its own name it in place of the engine's region
 * of outputs. Its inputs are imported where they lie, and its own list reads them there. Only
 * runs of all tasks go so; others read and write the engine's own regions.
 */
#ifndef MTS_ENGINE_LINKS_H
#define MTS_ENGINE_LINKS_H

#include "engine/launches.h"

typedef struct mts_link_slot {
    /* The engine's, with this slot's outputs and inputs. Owns its list, and its kernel
       parameters where `moves`. */
    mts_launches launches;
    mts_input_slots inputs;
} mts_link_slot;

typedef struct mts_links {
    mts_link_slot *slots;
    uint32_t count;
    /* Outputs lie in regions of the slots, which the caller reads in place. */
    bool moves;
    /* Elements from the engine's region of outputs to that of slot 0, and on to each further
       one. */
    uint64_t first, step;
    /* Kernel parameters that name the region: words[count]. */
    uint32_t *words;
    size_t word_count;
    /* Slot of the next submission. */
    uint32_t next;
} mts_links;

struct mts_builder;

/* Makes room behind the arena for the outputs of each slot, and finds what names them. Where
   that cannot be, outputs do not move. The plan is encoded. */
mts_status mts_links_plan(struct mts_builder *b);
/* Forgets the room, before the footprint is final. */
void mts_links_drop(struct mts_builder *b);
/* Bytes of the slots' kernel parameters. */
uint64_t mts_links_bytes(const struct mts_builder *b);
/* The slots; arena, weights and kernel parameters are on the device. */
mts_status mts_links_build(const struct mts_builder *b);
/* When the launches are prepared. */
mts_status mts_links_prepare(const struct mts_builder *b);
void mts_links_release(mts_links *links);

#endif
