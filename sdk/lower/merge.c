/*
 * merge.c: finds the launches of a wave that can be one, and makes it of their entries.
 * Not responsible for which steps are a wave (plan/waves.c).
 */
#include "lower/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "lower/encode.h"
#include "lower/launch_shape.h"
#include "lower/mix.h"

/* Time of a work-group that finds nothing to do, in nanoseconds: a grid is as wide and as
 * high as its largest part needs, and the other parts have such groups. */
#define IDLE_NS 100u

/* A launch that others are joined to. Its parts are a list, first to last. */
typedef struct merged_launch {
    uint32_t first, last, count;
    /* The combined program can compute it (mix.h), and does so: it is of different kernels
       or reads different sources. */
    bool mixes, mixed;
    /* Work-groups of its parts, without those that the others' grids add. */
    uint64_t groups;
    uint32_t global[3];
} merged_launch;

typedef struct merger {
    mts_encoding *encoding;
    /* Per launch: the next part of its merged launch, or MTS_NONE; its wave's, in the order
       of execution. */
    uint32_t *next;
    merged_launch *merged;
    uint32_t merged_count;
} merger;

/* What an entry is; WHOLE if the launch is not known to be a list. */
static mts_entry_kind kind_of(const mts_encoded_launch *launch)
{
    const mts_entries *e = &launch->entries;
    return e->words == 0 || e->count == 0 ? MTS_ENTRY_WHOLE
           : e->kind == MTS_ENTRY_WHOLE   ? MTS_ENTRY_PARAMS
                                          : e->kind;
}

static bool is_tiled(const mts_encoded_launch *launch)
{
    const mts_entry_kind kind = kind_of(launch);
    return kind == MTS_ENTRY_TILE || kind == MTS_ENTRY_BLOCK;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* A run that takes the groups one after another tells entries apart by their tasks
   (lower/filter.h). */
static bool is_told_by_tasks(const mts_encoded_launch *launch)
{
    const mts_entries *e = &launch->entries;
    bool tells = e->masks != NULL;
    for (uint32_t i = 0; tells && i < e->count; i++) {
        tells = e->masks[i] != MTS_TASKS_ALL;
    }
    return tells;
}

/* Launches of one program that read one pool. */
static bool are_alike(const mts_encoding *encoding, const mts_encoded_launch *a, const mts_encoded_launch *b)
{
    const bool stages =
        a->stage == b->stage || !encoding->masks || (is_told_by_tasks(a) && is_told_by_tasks(b));
    return a->wave == b->wave && a->kind == b->kind && a->kind != MTS_LAUNCH_GEMM &&
           kind_of(a) != MTS_ENTRY_WHOLE && kind_of(a) == kind_of(b) &&
           a->entries.words == b->entries.words && a->entries.parts == b->entries.parts &&
           strcmp(a->kernel, b->kernel) == 0 && same_text(a->defines, b->defines) &&
           a->section == b->section && a->source == 0 && b->source == 0 &&
           memcmp(a->local, b->local, sizeof a->local) == 0 && stages;
}

static uint64_t groups_of(const mts_encoded_launch *launch, const uint32_t global[3])
{
    uint64_t groups = 1;
    for (int d = 0; d < 3; d++) {
        groups *= launch->local[d] > 1 ? global[d] / launch->local[d] : global[d];
    }
    return groups;
}

/* The grid of a merged launch with one more launch; false: a dimension is too large. */
static bool add_grid(const merger *m, const merged_launch *s, const mts_encoded_launch *launch,
                     uint32_t global[3])
{
    const uint32_t most = m->encoding->device->groups_most;
    const int along = is_tiled(launch) ? 0 : 2;
    for (int d = 0; d < 3; d++) {
        const uint64_t sum = (uint64_t)s->global[d] + launch->global[d];
        const uint32_t larger = s->global[d] > launch->global[d] ? s->global[d] : launch->global[d];
        if (d == along && sum > (d == 0 || most == 0 ? INT32_MAX : most)) {
            return false;
        }
        global[d] = d == along ? (uint32_t)sum : larger;
    }
    return true;
}

/* Adds a launch to a merged one if that takes less time than a launch of its own. */
static bool join(merger *m, merged_launch *s, uint32_t index)
{
    const mts_device_info *device = m->encoding->device;
    const mts_encoded_launch *launch = &m->encoding->launches[index];
    const uint64_t units = device->compute_units > 0 ? device->compute_units : 1;
    uint32_t global[3];
    if (!add_grid(m, s, launch, global)) {
        return false;
    }
    const uint64_t groups = s->groups + groups_of(launch, launch->global);
    const uint64_t idle = groups_of(launch, global) - groups;
    const uint64_t before = groups_of(launch, s->global) - s->groups;
    if (idle > before && (idle - before) * IDLE_NS > device->launch_ns * units) {
        return false;
    }
    memcpy(s->global, global, sizeof global);
    s->groups = groups;
    s->count++;
    m->next[s->last] = index;
    s->last = index;
    return true;
}

/* Finds a place for a launch among those from number `from` on, where launches of its step
   are; its number. */
static uint32_t add_launch(merger *m, uint32_t from, uint32_t index)
{
    const mts_encoded_launch *launches = m->encoding->launches;
    for (uint32_t i = from; i < m->merged_count; i++) {
        if (are_alike(m->encoding, &launches[m->merged[i].first], &launches[index]) &&
            join(m, &m->merged[i], index)) {
            return i;
        }
    }
    merged_launch *s = &m->merged[m->merged_count];
    *s = (merged_launch){.first = index,
                         .last = index,
                         .count = 1,
                         .groups = groups_of(&launches[index], launches[index].global)};
    memcpy(s->global, launches[index].global, sizeof s->global);
    return m->merged_count++;
}

/* ---- a joined launch ---- */

/* Multiply-adds and numbers of a work-group: the parts with the largest ones come first,
   so that small ones end the launch. */
static uint64_t group_cost(const mts_encoded_launch *launch)
{
    return (launch->mul_adds + launch->bytes / sizeof(float)) / groups_of(launch, launch->global);
}

static uint32_t *sort_parts(const merger *m, const merged_launch *s, uint32_t *parts)
{
    const mts_encoded_launch *launches = m->encoding->launches;
    uint32_t count = 0;
    for (uint32_t i = s->first; i != MTS_NONE; i = m->next[i]) {
        uint32_t at = count++;
        while (at > 0 && group_cost(&launches[parts[at - 1]]) < group_cost(&launches[i])) {
            parts[at] = parts[at - 1];
            at--;
        }
        parts[at] = i;
    }
    return parts;
}

/* Arrays of a joined launch while they are filled; NULL: it has none. */
typedef struct joined {
    uint32_t *words, *masks, *heights, *runs, *blocks;
    mts_entry_job *jobs;
    uint32_t count, job_count, block_count, run_count;
} joined;

static mts_status allocate(const merger *m, const merged_launch *s, const uint32_t *parts, joined *j)
{
    mts_encoding *l = m->encoding;
    bool masks = false;
    uint32_t count = 0, jobs = 0, blocks = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const mts_encoded_launch *part = &l->launches[parts[i]];
        count += part->entries.count;
        jobs += part->entries.job_count;
        blocks += part->global[0] / part->local[0];
        masks = masks || part->entries.masks;
    }
    const mts_encoded_launch *first = &l->launches[s->first];
    const bool in_blocks = kind_of(first) == MTS_ENTRY_BLOCK;
    const bool high = l->masks && kind_of(first) == MTS_ENTRY_PARAMS;
    j->words = mts_arena_zero(l->arena, count, first->entries.words * sizeof *j->words);
    j->masks = masks ? mts_arena_zero(l->strings, count, sizeof *j->masks) : NULL;
    j->heights = high ? mts_arena_zero(l->strings, count, sizeof *j->heights) : NULL;
    j->jobs = jobs > 0 ? mts_arena_zero(l->strings, jobs, sizeof *j->jobs) : NULL;
    j->runs = in_blocks ? mts_arena_zero(l->strings, count, sizeof *j->runs) : NULL;
    j->blocks = in_blocks ? mts_arena_zero(l->arena, blocks, sizeof(mts_block_params)) : NULL;
    const bool ok = j->words && (j->masks || !masks) && (j->heights || !high) && (j->jobs || jobs == 0) &&
                    ((j->runs && j->blocks) || !in_blocks);
    return ok ? MTS_STATUS_OK : mts_encode_memory(l);
}

/* The blocks of a part, which name its tiles; `to`: word index of the joined launch's
   tiles. */
static void add_blocks(const merger *m, const mts_encoded_launch *part, uint32_t to, joined *j)
{
    enum { BLOCK_WORDS = MTS_PARAM_WORDS(mts_block_params) };
    const mts_entries *e = &part->entries;
    const uint32_t blocks = part->global[0] / part->local[0];
    uint32_t most = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        mts_block_params block;
        memcpy(&block, m->encoding->params.words + part->first + (size_t)i * BLOCK_WORDS, sizeof block);
        block.part = block.part - e->first + to + j->count * e->words;
        memcpy(j->blocks + (size_t)j->block_count++ * BLOCK_WORDS, &block, sizeof block);
    }
    for (uint32_t i = 0; i < e->count; i++) {
        const uint32_t run = e->runs ? e->runs[i] : 0;
        j->runs[j->count + i] = j->run_count + run;
        most = run > most ? run : most;
    }
    j->run_count += most + 1;
}

/* One of so many pieces of a part (mts_launch_pieces); tiles of blocks have one. */
static void add_part(const merger *m, const mts_encoded_launch *part, uint32_t to, uint32_t piece,
                     uint32_t pieces, joined *j)
{
    const mts_entries *e = &part->entries;
    const uint32_t first = (uint32_t)((uint64_t)e->count * piece / pieces);
    const uint32_t end = (uint32_t)((uint64_t)e->count * (piece + 1) / pieces);
    memcpy(j->words + (size_t)j->count * e->words,
           m->encoding->params.words + e->first + (size_t)first * e->words,
           (size_t)(end - first) * e->words * sizeof *j->words);
    for (uint32_t i = first; j->masks && i < end; i++) {
        j->masks[j->count + i - first] = e->masks ? e->masks[i] : MTS_TASKS_ALL;
    }
    for (uint32_t i = first; j->heights && i < end; i++) {
        j->heights[j->count + i - first] = e->heights ? e->heights[i] : part->global[1];
    }
    if (j->blocks) {
        add_blocks(m, part, to, j);
    }
    for (uint32_t i = 0; piece == 0 && i < e->job_count; i++) {
        j->jobs[j->job_count++] = e->jobs[i];
    }
    j->count += end - first;
}

static int by_place(const void *left, const void *right)
{
    const mts_entry_job *a = left, *b = right;
    return MTS_COMPARE(a->at, b->at);
}

/* What reports say about the parts together. Kernel configurations are measured one layer
   at a time. */
static mts_status describe(const merger *m, const merged_launch *s, mts_encoded_launch *to)
{
    mts_encoding *l = m->encoding;
    char text[256];
    to->members = to->tasks = 0;
    to->mul_adds = to->bytes = to->moved_bytes = 0;
    to->signature = to->layer_kind = 0;
    for (uint32_t i = s->first; i != MTS_NONE; i = m->next[i]) {
        const mts_encoded_launch *part = &l->launches[i];
        to->members += part->members;
        to->tasks += part->tasks;
        to->mul_adds += part->mul_adds;
        to->bytes += part->bytes;
        to->group = part->group == to->group ? to->group : MTS_NONE;
        to->stage = part->stage == to->stage ? to->stage : MTS_NONE;
        to->moves = part->moves ? to->moves : NULL;
        to->moved_bytes += part->moved_bytes;
        to->reads = (uint8_t)(to->reads | part->reads);
        to->writes = (uint8_t)(to->writes | part->writes);
    }
    (void)snprintf(text, sizeof text, "%.220s and %u more", to->label, s->count - 1);
    to->label = mts_arena_string(l->strings, text);
    return to->label ? MTS_STATUS_OK : mts_encode_memory(l);
}

static mts_status make_list(const merger *m, const merged_launch *s, const uint32_t *parts,
                            mts_encoded_launch *out)
{
    mts_encoding *l = m->encoding;
    joined j = {0};
    const mts_status status = allocate(m, s, parts, &j);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const uint32_t to = (uint32_t)l->params.count;
    const uint32_t pieces = kind_of(out) == MTS_ENTRY_TILE ? mts_launch_pieces(l->device) : 1;
    for (uint32_t k = 0; k < pieces; k++) {
        for (uint32_t i = 0; i < s->count; i++) {
            add_part(m, &l->launches[parts[i]], to, k, pieces, &j);
        }
    }
    if (j.jobs) {
        qsort(j.jobs, j.job_count, sizeof *j.jobs, by_place);
    }
    memcpy(out->global, s->global, sizeof out->global);
    out->entries =
        (mts_entries){.kind = kind_of(out) == MTS_ENTRY_PARAMS && !j.masks ? MTS_ENTRY_WHOLE : kind_of(out),
                      .words = out->entries.words,
                      .count = j.count,
                      .masks = j.masks,
                      .heights = j.heights,
                      .runs = j.runs,
                      .parts = out->entries.parts,
                      .jobs = j.jobs,
                      .job_count = j.job_count};
    out->entries.first = mts_param_buffer_add(&l->params, j.words, (size_t)j.count * out->entries.words);
    out->first = !j.blocks ? out->entries.first
                           : mts_param_buffer_add(&l->params, j.blocks,
                                                  j.block_count * MTS_PARAM_WORDS(mts_block_params));
    return l->params.failed ? mts_encode_memory(l) : MTS_STATUS_OK;
}

static mts_status add_accesses(const merger *m, const merged_launch *s, mts_encoded_launch *out)
{
    mts_encoding *l = m->encoding;
    uint32_t count = 0;
    for (uint32_t i = s->first; i != MTS_NONE; i = m->next[i]) {
        count += l->launches[i].access_count;
    }
    mts_access *accesses = mts_arena_zero(l->strings, count, sizeof *accesses);
    if (!accesses) {
        return mts_encode_memory(l);
    }
    out->accesses = accesses;
    out->access_count = count;
    for (uint32_t i = s->first; i != MTS_NONE; i = m->next[i]) {
        const mts_encoded_launch *part = &l->launches[i];
        memcpy(accesses, part->accesses, part->access_count * sizeof *accesses);
        accesses += part->access_count;
    }
    return MTS_STATUS_OK;
}

static mts_status make_launch(const merger *m, const merged_launch *s, mts_encoded_launch *out)
{
    mts_encoding *l = m->encoding;
    *out = l->launches[s->first];
    if (s->count == 1) {
        return MTS_STATUS_OK;
    }
    uint32_t *parts = mts_arena_zero(l->arena, s->count, sizeof *parts);
    mts_status status = parts ? describe(m, s, out) : mts_encode_memory(l);
    MTS_TRY(status, add_accesses(m, s, out));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    sort_parts(m, s, parts);
    return s->mixed ? mts_mix_launches(l, parts, s->count, mts_launch_pieces(l->device), out)
                    : make_list(m, s, parts, out);
}

/* ---- launches of different kernels ---- */

/*
 * Launches of one step follow each other, unless all of them are lists of members that
 * the combined program computes.
 */
static bool step_mixes(const mts_encoding *encoding, uint32_t index)
{
    const mts_encoded_launch *launches = encoding->launches;
    const uint32_t step = launches[index].step;
    bool mixes = true;
    while (index > 0 && launches[index - 1].step == step) {
        index--;
    }
    for (; mixes && index < encoding->launch_count && launches[index].step == step; index++) {
        mixes = mts_mix_accepts(encoding, &launches[index]);
    }
    return mixes;
}

static bool may_mix(const merger *m, const merged_launch *s)
{
    bool may = true;
    for (uint32_t i = s->first; may && i != MTS_NONE; i = m->next[i]) {
        may = step_mixes(m->encoding, i);
    }
    return may;
}

/* Whether both can be one launch, but for their kernels and grids. */
static bool mixes_with(const merger *m, const merged_launch *a, const merged_launch *b)
{
    const mts_encoding *l = m->encoding;
    const mts_encoded_launch *first = &l->launches[a->first], *second = &l->launches[b->first];
    bool stages = true;
    for (int k = 0; stages && l->masks && k < 2; k++) {
        for (uint32_t i = k == 0 ? a->first : b->first; i != MTS_NONE; i = m->next[i]) {
            const mts_encoded_launch *part = &l->launches[i];
            stages = stages &&
                     (part->stage == first->stage || (is_told_by_tasks(part) && is_told_by_tasks(first)));
        }
    }
    uint32_t sources[MTS_LAUNCH_SOURCES] = {0};
    uint64_t local = 1; /* of all, as the launch has it */
    bool room = true;
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = k == 0 ? a->first : b->first; i != MTS_NONE; i = m->next[i]) {
            local = l->launches[i].local[0] > local ? l->launches[i].local[0] : local;
            room = room && mts_mix_has_room(sources, &l->launches[i]);
        }
    }
    const bool fits = (a->groups + b->groups) * local <= INT32_MAX;
    return stages && fits && room && first->section == second->section;
}

/*
 * Makes one launch of those of the wave that the combined program can compute, or a few
 * where one does not hold them all. The others are empty afterwards. Devices whose
 * launches cost nothing have no such program, nor have those whose driver cannot build it.
 */
static void mix_launches(merger *m)
{
    const mts_kernel_config mixed = {.kernel = MTS_KERNEL_CONFIG_MIXED};
    const bool builds = !mts_kernel_configs_failed(m->encoding->configs, &mixed);
    const uint32_t merged = m->encoding->device->launch_ns > 0 && builds ? m->merged_count : 0;
    for (uint32_t i = 0; i < merged; i++) {
        merged_launch *s = &m->merged[i];
        s->mixes = may_mix(m, s);
        for (uint32_t k = 0; s->mixes && s->count > 0 && k < i; k++) {
            merged_launch *to = &m->merged[k];
            if (to->mixes && to->count > 0 && mixes_with(m, to, s)) {
                m->next[to->last] = s->first;
                to->last = s->last;
                to->count += s->count;
                to->groups += s->groups;
                to->mixed = true;
                s->count = 0;
            }
        }
    }
}

/* Gives launches [first, end), a wave, their merged. */
static void merge_wave(merger *m, uint32_t first, uint32_t end)
{
    uint32_t from = 0;
    m->merged_count = 0;
    for (uint32_t i = first; i < end; i++) {
        const bool follows = i > first && m->encoding->launches[i].step == m->encoding->launches[i - 1].step;
        from = add_launch(m, follows ? from : 0, i) + 1;
    }
    mix_launches(m);
}

mts_status mts_encode_merge(mts_encoding *encoding)
{
    const uint32_t count = (uint32_t)encoding->launch_count;
    merger m = {.encoding = encoding};
    m.next = mts_arena_zero(encoding->arena, count, sizeof *m.next);
    m.merged = mts_arena_zero(encoding->arena, count, sizeof *m.merged);
    mts_encoded_launch *made = mts_arena_zero(encoding->arena, count, sizeof *made);
    if (!m.next || !m.merged || !made) {
        return mts_encode_memory(encoding);
    }
    memset(m.next, 0xff, count * sizeof *m.next);
    mts_status status = MTS_STATUS_OK;
    uint32_t done = 0;
    for (uint32_t first = 0, end = 0; status == MTS_STATUS_OK && first < count; first = end) {
        while (end < count && encoding->launches[end].wave == encoding->launches[first].wave) {
            end++;
        }
        merge_wave(&m, first, end);
        for (uint32_t i = 0; status == MTS_STATUS_OK && i < m.merged_count; i++) {
            if (m.merged[i].count > 0) {
                status = make_launch(&m, &m.merged[i], &made[done++]);
            }
        }
    }
    if (status == MTS_STATUS_OK && count > 0) {
        memcpy(encoding->launches, made, done * sizeof *made);
        encoding->launch_count = done;
    }
    return status;
}
