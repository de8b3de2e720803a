/*
 * layouts.c: names what the plan decided about storages. It decides nothing.
 */
#include "lower/layouts.h"

#include "device/kernel.h"

#if MTS_EXPLAINS_PLANS
static mts_layout layout_of(const mts_storage *storage)
{
    return storage->lanes == MTS_CHANNEL_BLOCK  ? MTS_LAYOUT_BLOCKS
           : storage->lanes == MTS_CHANNEL_PACK ? MTS_LAYOUT_PACKS
           : mts_storage_is_dense(storage)      ? MTS_LAYOUT_DENSE
                                                : MTS_LAYOUT_PLANES;
}

const uint8_t *mts_layouts_create(const mts_plan *plan, mts_arena *arena)
{
    uint8_t *layouts = mts_arena_zero(arena, (size_t)plan->storage_count + 1, sizeof *layouts);
    for (uint32_t i = 0; layouts && i < plan->storage_count; i++) {
        layouts[i] = (uint8_t)layout_of(&plan->storages[i]);
    }
    for (uint32_t i = 0; layouts && i < plan->conversion_count; i++) {
        const mts_conversion *c = &plan->conversions[i];
        if (c->storage != MTS_NONE && (c->codes || c->space_to_depth)) {
            layouts[c->storage] = (uint8_t)(c->codes ? MTS_LAYOUT_CODES : MTS_LAYOUT_PHASES);
        }
    }
    return layouts;
}

void mts_layouts_find(const mts_plan *plan, const uint8_t *layouts, const mts_step *step, uint8_t *reads,
                      uint8_t *writes)
{
    *reads = *writes = 0;
    for (uint32_t i = step->use; i < step->use + step->uses; i++) {
        const mts_storage_use *use = &plan->uses[i];
        uint8_t *set = use->writes ? writes : reads;
        *set = (uint8_t)(*set | 1u << layouts[use->storage]);
    }
}

const char *mts_layout_name(mts_layout layout)
{
    static const char *const names[MTS_LAYOUT_COUNT] = {
        [MTS_LAYOUT_DENSE] = "dense", [MTS_LAYOUT_PLANES] = "planes", [MTS_LAYOUT_BLOCKS] = "blocks",
        [MTS_LAYOUT_PACKS] = "packs", [MTS_LAYOUT_PHASES] = "phases", [MTS_LAYOUT_CODES] = "codes"};
    return names[layout];
}
#else
/* A file of C has a declaration. */
typedef mts_layout mts_layout_unused;
#endif
