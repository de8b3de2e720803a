/*
 * wave_bound.c: the least number of launches that networks of one family can take within a tenth more memory than
 * one after another.
 *
 *     bench_wave_bound BUNDLE [BACKEND]
 *
 * An exact search, for networks that are chains: each step waits for the one before it. Then what has run is a
 * position in each chain, and the fewest launches to each of these states are found breadth first: a launch moves any
 * chains on by a step whose program is the same, if what lives meanwhile fits. Memory is what lives, wherever it
 * lies, and tables of launches are those of one by one, so no session within the limit takes fewer launches. Steps
 * of several networks are left out, which makes the bound lower. Inputs lie in the caller's memory, as in bench_waves,
 * and then in the arena, as in mts inspect. "one program": as if one kernel computed all steps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_backend.h"
#include "bundle/archive.h"
#include "engine/builder.h"
#include "lower/implementations.h"
#include "plan/slices.h"
#include "plan/wave_steps.h"
#include "platform/os/os.h"

enum { CHAINS = 6 };
#define STATES_MOST (UINT64_C(1) << 27)

typedef struct chain {
    uint32_t length;
    uint32_t *steps;
    uint64_t *alive, *moving; /* [length + 1] floats behind so many steps; [length] during a step */
} chain;

typedef struct chains {
    uint32_t count;
    chain of[CHAINS];
    uint64_t stride[CHAINS], states, most;
    const mts_wave_node *nodes;
    bool one_program;
} chains;

static void give_up(const char *what, const mts_error *error)
{
    (void)fprintf(stderr, "bench_wave_bound: %s: %s\n", what, error ? error->text : "");
    exit(1);
}

static void *get(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) {
        give_up("no memory", NULL);
    }
    return memory;
}

/* ---- chains ---- */

/* Per step the first step that it comes behind, or MTS_NONE: it comes behind several. */
static uint32_t *find_origins(const mts_dependencies *after)
{
    uint32_t *origin = get(after->count, sizeof *origin);
    bool *waits = get(after->count, sizeof *waits);
    for (uint32_t i = 0; i < after->count; i++) {
        origin[i] = waits[i] ? origin[i] : i;
        for (uint32_t k = after->next_first[i]; k < after->next_first[i + 1]; k++) {
            const uint32_t next = after->next[k];
            origin[next] = !waits[next] || origin[next] == origin[i] ? origin[i] : MTS_NONE;
            waits[next] = true;
        }
    }
    free(waits);
    return origin;
}

static bool waits_for(const mts_dependencies *after, uint32_t step, uint32_t before)
{
    bool found = false;
    for (uint32_t k = after->next_first[before]; k < after->next_first[before + 1]; k++) {
        found = found || after->next[k] == step;
    }
    return found;
}

static void find_chains(chains *c, const mts_dependencies *after)
{
    uint32_t *origin = find_origins(after);
    for (uint32_t first = 0; first < after->count; first++) {
        if (origin[first] != first) {
            continue;
        }
        if (c->count == CHAINS) {
            give_up("too many chains", NULL);
        }
        chain *own = &c->of[c->count++];
        own->steps = get(after->count, sizeof *own->steps);
        for (uint32_t i = first; i < after->count; i++) {
            if (origin[i] == first) {
                if (own->length > 0 && !waits_for(after, i, own->steps[own->length - 1])) {
                    give_up("a network is no chain of steps", NULL);
                }
                own->steps[own->length++] = i;
            }
        }
    }
    free(origin);
}

static bool touches(const mts_wave_memory *memory, uint32_t step, uint32_t storage)
{
    bool found = false;
    for (uint32_t k = memory->first[step]; k < memory->first[step + 1]; k++) {
        found = found || memory->touched[k] == storage;
    }
    return found;
}

/* Storages of a chain live from the first of its steps that touches them to the last. */
static void find_lives(chain *c, const mts_wave_memory *memory)
{
    c->alive = get((size_t)c->length + 1, sizeof *c->alive);
    c->moving = get(c->length, sizeof *c->moving);
    for (uint32_t s = 0; s < memory->storage_count; s++) {
        uint32_t first = MTS_NONE, last = 0;
        for (uint32_t i = 0; i < c->length; i++) {
            const bool used = touches(memory, c->steps[i], s);
            first = used && first == MTS_NONE ? i : first;
            last = used ? i : last;
        }
        for (uint32_t i = first; first != MTS_NONE && i <= last; i++) {
            c->moving[i] += memory->sizes[s];
            c->alive[i] += i > first ? memory->sizes[s] : 0;
        }
    }
}

/* ---- the search ---- */

static uint32_t position(const chains *c, uint64_t state, uint32_t i)
{
    return (uint32_t)(state / c->stride[i] % (c->of[i].length + 1));
}

/* The state behind a launch that moves the chains of `part`, or the same one: it cannot. */
static uint64_t move(const chains *c, uint64_t state, uint32_t part)
{
    uint64_t to = state, held = 0;
    uint32_t program = 0, moved = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const chain *own = &c->of[i];
        const uint32_t at = position(c, state, i);
        if ((part >> i & 1u) == 0) {
            held += own->alive[at];
            continue;
        }
        const uint32_t wanted = at < own->length ? c->nodes[own->steps[at]].program : 0;
        const bool alike = moved == 0 || c->one_program || (wanted == program && wanted != MTS_NONE);
        if (at == own->length || !alike) {
            return state;
        }
        program = wanted;
        moved++;
        held += own->moving[at];
        to += c->stride[i];
    }
    return held <= c->most ? to : state;
}

/* 0: there is none. */
static uint32_t search(const chains *c)
{
    uint8_t *seen = get((size_t)c->states, 1);
    uint32_t *queue = get((size_t)c->states, sizeof *queue);
    uint64_t begin = 0, end = 1;
    uint32_t launches = 0;
    seen[0] = 1;
    while (begin < end && !seen[c->states - 1]) {
        const uint64_t level = end;
        launches++;
        for (; begin < level; begin++) {
            for (uint32_t part = 1; part < 1u << c->count; part++) {
                const uint64_t to = move(c, queue[begin], part);
                if (!seen[to]) {
                    seen[to] = 1;
                    queue[end++] = (uint32_t)to;
                }
            }
        }
    }
    const bool found = seen[c->states - 1] != 0;
    free(seen);
    free(queue);
    return found ? launches : 0;
}

/* ---- a bundle ---- */

static mts_engine_draft *draft_of(mts_device *device, const mts_archive *archive, mts_strategy strategy,
                                  bool zero_copy, mts_session_stats *stats)
{
    static mts_error error;
    const mts_engine_options options = {.strategy = strategy,
                                        .separate_inputs = true,
                                        .zero_copy_inputs = zero_copy,
                                        .in_order = strategy == MTS_STRATEGY_COMPACT};
    const mts_decision decision = {.slice_bytes = MTS_SLICE_APART};
    mts_engine_draft *draft = NULL;
    *stats = (mts_session_stats){.size = sizeof *stats};
    if (mts_engine_draft_create(device, archive, &options, &decision, &draft, stats, &error) !=
        MTS_STATUS_OK) {
        give_up("a draft", &error);
    }
    return draft;
}

static mts_span *spans_of(const mts_plan *plan)
{
    mts_span *spans = get(plan->storage_count, sizeof *spans);
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const mts_storage *s = &plan->storages[i];
        const bool used = s->region == MTS_REGION_TRANSIENT && s->host == MTS_NONE && s->first != MTS_NONE;
        spans[i] = (mts_span){.size = used ? s->floats : 0, .first = s->first, .last = s->last};
    }
    return spans;
}

static void print_bound(mts_device *device, const mts_archive *archive, bool zero_copy)
{
    mts_session_stats sequential, apart;
    mts_error error = {0};
    mts_engine_draft *one_by_one = draft_of(device, archive, MTS_STRATEGY_SEQUENTIAL, zero_copy, &sequential);
    mts_engine_draft *draft = draft_of(device, archive, MTS_STRATEGY_COMPACT, zero_copy, &apart);
    const mts_plan *plan = draft->plan;
    const uint64_t transient = plan->arena_floats - plan->input_floats - plan->output_floats;
    const uint64_t limit = sequential.peak_bytes + sequential.peak_bytes / 10;
    chains c = {.most = transient + (limit - apart.peak_bytes) / sizeof(float)};
    mts_encoding kernels = {.stitched = draft->stitched, .device = &draft->info, .arena = &draft->scratch};
    const mts_plan_waves waves = {.program = mts_encode_program, .context = &kernels, .units = 1, .tile = 1};
    mts_dependencies after = {0};
    mts_wave_request request = {0};
    mts_wave_memory memory = {0};
    mts_span *spans = spans_of(plan);
    if (mts_wave_steps_request(draft->plan, &waves, spans, &draft->scratch, &after, &request, &memory,
                               &error) != MTS_STATUS_OK) {
        give_up("the graph", &error);
    }
    c.nodes = request.nodes;
    find_chains(&c, &after);
    c.states = 1;
    for (uint32_t i = 0; i < c.count; i++) {
        find_lives(&c.of[i], &memory);
        c.stride[i] = c.states;
        c.states *= c.of[i].length + 1;
        if (c.states > STATES_MOST) {
            give_up("too many states", NULL);
        }
    }
    printf("inputs in %s memory: sequential %u launches, %llu bytes; limit %llu bytes, of which %llu floats "
           "live\n",
           zero_copy ? "the caller's" : "device", sequential.launches,
           (unsigned long long)sequential.peak_bytes, (unsigned long long)limit, (unsigned long long)c.most);
    for (int i = 0; i < 4; i++) {
        chains how = c;
        how.one_program = i % 2 != 0;
        how.most = i < 2 ? c.most : UINT64_MAX / 2;
        printf("  least launches%s%s: %u\n", how.one_program ? ", one program" : "",
               i < 2 ? "" : ", any memory", search(&how));
    }
    for (uint32_t i = 0; i < c.count; i++) {
        free(c.of[i].steps);
        free(c.of[i].alive);
        free(c.of[i].moving);
    }
    free(spans);
    mts_dependencies_release(&after, draft->scratch.allocator);
    mts_engine_draft_destroy(&draft);
    mts_engine_draft_destroy(&one_by_one);
}

int main(int argc, char **argv)
{
    mts_error error = {0};
    mts_os_map map = {0};
    mts_archive *archive = NULL;
    const mts_archive_limits limits = mts_archive_limits_default();
    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_wave_bound BUNDLE [BACKEND]\n");
        return 2;
    }
    mts_device *device = bench_backend_open(argc > 2 ? argv[2] : "opencl", &error);
    if (!device) {
        give_up("there is no such device", &error);
    }
    if (mts_os_map_file(argv[1], &map, &error) != MTS_STATUS_OK ||
        mts_archive_read(map.data, map.size, argv[1], &limits, mts_allocator_default(), &archive, &error) !=
            MTS_STATUS_OK) {
        give_up(argv[1], &error);
    }
    print_bound(device, archive, true);
    print_bound(device, archive, false);
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
    mts_device_destroy(&device);
    return 0;
}
