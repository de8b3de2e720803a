/*
 * segments.c: grows a segment by one unit at a time. A value is copied in once, however
 * many units of the segment read it, and copied out while a later unit reads it.
 */
#include "partition/segments.h"

#include <string.h>

mts_status mts_segment_walk_make(const mts_units *units, mts_arena *arena, mts_segment_walk *out,
                                 mts_error *error)
{
    *out = (mts_segment_walk){.units = units};
    out->value_seen = mts_arena_zero(arena, units->value_count, sizeof *out->value_seen);
    out->block_seen = mts_arena_zero(arena, units->archive->block_count, sizeof *out->block_seen);
    out->expiring_bytes = mts_arena_zero(arena, units->count, sizeof *out->expiring_bytes);
    out->expiring_copies = mts_arena_zero(arena, units->count, sizeof *out->expiring_copies);
    out->ending_bytes = mts_arena_zero(arena, units->count, sizeof *out->ending_bytes);
    return out->value_seen && out->block_seen && out->expiring_bytes && out->expiring_copies &&
                   out->ending_bytes
               ? MTS_STATUS_OK
               : mts_fail_memory(error);
}

void mts_segment_walk_begin(mts_segment_walk *walk, uint32_t unit)
{
    const uint32_t count = walk->units->count;
    walk->begin = walk->end = unit;
    walk->now = (mts_segment){0};
    walk->weights = walk->alive = walk->most_alive = 0;
    memset(walk->ending_bytes, 0, count * sizeof *walk->ending_bytes);
    memset(walk->expiring_bytes, 0, count * sizeof *walk->expiring_bytes);
    memset(walk->expiring_copies, 0, count * sizeof *walk->expiring_copies);
}

static void copy_in(mts_segment_walk *walk, uint32_t unit)
{
    const mts_units *u = walk->units;
    for (uint32_t i = u->reads.first[unit]; i < u->reads.first[unit + 1]; i++) {
        const uint32_t number = u->reads.items[i];
        const mts_unit_value *value = &u->values[number];
        const bool earlier = value->unit == MTS_NONE || value->unit < walk->begin;
        if (earlier && walk->value_seen[number] != walk->begin + 1) {
            walk->value_seen[number] = walk->begin + 1;
            walk->now.bytes_in += value->bytes;
            walk->now.copies_in++;
            walk->alive += value->bytes;
            walk->ending_bytes[value->last_reader] += value->bytes;
        }
    }
}

static void copy_out(mts_segment_walk *walk, uint32_t unit)
{
    const mts_units *u = walk->units;
    for (uint32_t i = u->makes.first[unit]; i < u->makes.first[unit + 1]; i++) {
        const mts_unit_value *value = &u->values[u->makes.items[i]];
        const uint32_t last = value->last_reader;
        if (value->unit == unit) { /* what nothing reads is an output */
            walk->alive += value->bytes;
            walk->ending_bytes[last != MTS_NONE && last > unit ? last : unit] += value->bytes;
        }
        if (value->unit == unit && last != MTS_NONE && last > unit) {
            walk->now.bytes_out += value->bytes;
            walk->now.copies_out++;
            walk->expiring_bytes[last] += value->bytes;
            walk->expiring_copies[last]++;
        }
    }
    walk->now.bytes_out -= walk->expiring_bytes[unit];
    walk->now.copies_out -= walk->expiring_copies[unit];
}

void mts_segment_walk_step(mts_segment_walk *walk)
{
    const mts_units *u = walk->units;
    const uint32_t unit = walk->end++;
    copy_in(walk, unit);
    copy_out(walk, unit);
    for (uint32_t i = u->blocks.first[unit]; i < u->blocks.first[unit + 1]; i++) {
        const uint32_t block = u->blocks.items[i];
        if (walk->block_seen[block] != walk->begin + 1) {
            walk->block_seen[block] = walk->begin + 1;
            walk->weights += mts_units_block_bytes(u, block);
        }
    }
    walk->most_alive = walk->alive > walk->most_alive ? walk->alive : walk->most_alive;
    walk->alive -= walk->ending_bytes[unit];
    walk->now.memory = walk->weights + walk->most_alive / sizeof(float) * u->element_bytes;
    walk->now.weights = walk->weights;
    walk->now.held_in = walk->now.bytes_in / sizeof(float) * u->element_bytes;
    walk->now.held_out = walk->now.bytes_out / sizeof(float) * u->element_bytes;
}
