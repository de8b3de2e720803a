/*
 * mix.c: the entries of a launch of the combined program.
 */
#include "lower/mix.h"

#include <string.h>

#include "lower/encode.h"
#include "lower/launch_shape.h"

uint32_t mts_mix_number(const char *kernel)
{
    static const char *const names[] = {
#define NAME(number, name) [number] = #name,
        MTS_MIXED(NAME)
#undef NAME
    };
    for (uint32_t i = 0; kernel && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], kernel) == 0) {
            return i;
        }
    }
    return MTS_NONE;
}

/* What is in every combined program, so that there are few different ones: all that is
   built quickly. */
static uint32_t usual_kernels(void)
{
#define BIT(number, name) (1u << number) |
    const uint32_t all = MTS_MIXED(BIT) 0;
#undef BIT
    return all & ~(1u << mts_mix_number("depthwise_rows__f32_planar"));
}

/* Members of functions and kinds of their own (lower.c) have programs of their own. */
bool mts_mix_accepts(const mts_encoding *encoding, const mts_encoded_launch *launch)
{
    const mts_entries *e = &launch->entries;
    const bool members = e->kind == MTS_ENTRY_PARAMS || e->kind == MTS_ENTRY_WHOLE;
    return launch->kind == MTS_LAUNCH_GRID && members && e->count > 0 && launch->local[1] == 1 &&
           launch->local[2] == 1 && e->words > 0 &&
           launch->defines == mts_launch_defines(encoding->device, encoding->precision) &&
           mts_mix_number(launch->kernel) != MTS_NONE;
}

typedef struct mixed {
    /* A word, their number, and the entries. */
    uint32_t *words;
    /* Per entry; no masks: all serve all tasks. */
    uint32_t *masks, *groups;
    uint32_t count, begin;
    /* Of the launch. */
    uint32_t *sources;
} mixed;

enum { WORDS = MTS_PARAM_WORDS(mts_mixed_params) };

/* 1 + the index of a launch's source, which is added where it is new; 0: the pool;
   MTS_NONE: there is no room for it. */
static uint32_t add_source(uint32_t *sources, uint32_t source)
{
    uint32_t at = 0;
    while (source > 0 && at < MTS_LAUNCH_SOURCES && sources[at] != 0 && sources[at] != source) {
        at++;
    }
    if (source == 0 || at == MTS_LAUNCH_SOURCES) {
        return source == 0 ? 0 : MTS_NONE;
    }
    sources[at] = source;
    return at + 1;
}

bool mts_mix_has_room(uint32_t *sources, const mts_encoded_launch *launch)
{
    return add_source(sources, launch->source) != MTS_NONE;
}

/* What is cut of an entry, or of a list: [first, end). */
typedef struct piece {
    uint32_t at, of;
} piece;

static uint32_t first_of(const piece *p, uint32_t count)
{
    return (uint32_t)((uint64_t)count * p->at / p->of);
}

/* False: the launch reads one buffer more than a launch can have. */
static bool add_entries(mixed *m, const mts_encoded_launch *launch, uint32_t local, const piece *own)
{
    const piece next = {.at = own->at + 1, .of = own->of};
    const mts_entries *e = &launch->entries;
    const uint32_t source = add_source(m->sources, launch->source);
    const uint32_t width = (launch->global[0] + local - 1) / local;
    for (uint32_t i = 0; i < e->count && source != MTS_NONE; i++) {
        const uint32_t groups = width * (e->heights ? e->heights[i] : launch->global[1]);
        const uint32_t first = first_of(own, groups);
        const mts_mixed_params params = {.number = mts_mix_number(launch->kernel),
                                         .member = e->first + i * e->words,
                                         .begin = m->begin,
                                         .width = width,
                                         .source = source,
                                         .shift = first - m->begin};
        m->groups[m->count] = first_of(&next, groups) - first;
        if (m->groups[m->count] == 0) {
            continue;
        }
        memcpy(m->words + 1 + (size_t)m->count * WORDS, &params, sizeof params);
        if (m->masks) {
            m->masks[m->count] = e->masks ? e->masks[i] : MTS_TASKS_ALL;
        }
        m->begin += m->groups[m->count++];
    }
    return source != MTS_NONE;
}

mts_status mts_mix_launches(mts_encoding *encoding, const uint32_t *launches, uint32_t count, uint32_t pieces,
                            mts_encoded_launch *out)
{
    uint32_t entries = 0;
    uint32_t local = 1;
    bool masks = false;
    for (uint32_t i = 0; i < count; i++) {
        const mts_entries *e = &encoding->launches[launches[i]].entries;
        const uint32_t own = encoding->launches[launches[i]].local[0];
        entries += e->count * pieces;
        masks = masks || e->masks;
        local = own > local ? own : local;
    }
    mixed m = {.words = mts_arena_zero(encoding->arena, 1 + (size_t)entries * WORDS, sizeof *m.words),
               .masks = masks ? mts_arena_zero(encoding->strings, entries, sizeof *m.masks) : NULL,
               .groups = mts_arena_zero(encoding->strings, entries, sizeof *m.groups),
               .sources = out->sources};
    if (!m.words || (masks && !m.masks) || !m.groups) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t i = 0; i < count * pieces; i++) {
        const piece own = {.at = i / count, .of = pieces};
        const mts_encoded_launch *launch = &encoding->launches[launches[i % count]];
        if (!add_entries(&m, launch, local, &own)) {
            return mts_fail(encoding->error, MTS_STATUS_INTERNAL,
                            "launches of the combined program read more than %d buffers in the place of the "
                            "weights: join fewer of them",
                            MTS_LAUNCH_SOURCES);
        }
        encoding->cases.mixed |= usual_kernels() | 1u << mts_mix_number(launch->kernel);
    }
    m.words[0] = m.count;
    out->kind = MTS_LAUNCH_MIXED;
    out->kernel = MTS_KERNEL_MIXED;
    out->source = 0;
    out->first = mts_param_buffer_add(&encoding->params, m.words, 1 + (size_t)m.count * WORDS);
    out->global[0] = m.begin * local;
    out->global[1] = out->global[2] = 1;
    out->local[0] = local;
    out->entries = (mts_entries){.kind = MTS_ENTRY_MIXED,
                                 .first = out->first + 1,
                                 .words = WORDS,
                                 .count = m.count,
                                 .masks = m.masks,
                                 .heights = m.groups};
    return encoding->params.failed ? mts_encode_memory(encoding) : MTS_STATUS_OK;
}
