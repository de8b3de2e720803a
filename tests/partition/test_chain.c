/*
 * Cuts: over random small networks, costs and memory limits, the dynamic program finds what trying everything
 * finds; whole tasks are dealt out as well as trying everything does.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "partition/balance.h"
#include "partition/chain.h"
#include "partition/shares.h"
#include "support/net.h"
#include "support/random_net.h"

#define DEVICES 3u
#define NETS 24u

static double number(uint32_t seed, uint32_t a, uint32_t b)
{
    const uint32_t words[] = {seed, a, b};
    return (double)(mts_hash(words, sizeof words, 11) >> 40) / (double)(1u << 24);
}

typedef struct world {
    mts_arena arena;
    test_net net;
    uint32_t tasks[8];
    mts_units units;
    double *ms[DEVICES];
    mts_device_costs costs[DEVICES];
} world;

static void world_make(world *w, uint32_t seed)
{
    const random_family family = {.seed = seed, .tasks = 1 + seed % 3, .steps = 3 + seed % 3};
    const mts_graph *graphs[8];
    mts_error error = {0};
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < family.tasks; t++) {
        graphs[t] = random_net(&family, t, &w->arena);
        assert_non_null(graphs[t]);
        w->tasks[t] = t;
    }
    assert_int_equal(net_make(graphs, family.tasks, 0.0f, &w->net, &error), MTS_STATUS_OK);
    assert_int_equal(
        mts_units_make(w->net.archive, w->tasks, family.tasks, true, &w->arena, &w->units, &error),
        MTS_STATUS_OK);
    for (uint32_t d = 0; d < DEVICES; d++) {
        w->ms[d] = mts_arena_zero(&w->arena, w->units.count, sizeof(double));
        for (uint32_t i = 0; i < w->units.count; i++) {
            const bool refuses = number(seed, d + 100, i) < 0.04;
            w->ms[d][i] = refuses ? (double)INFINITY : 0.1 + number(seed, d, i) * (d + 1);
        }
        w->costs[d] = (mts_device_costs){.unit_ms = w->ms[d],
                                         .to = {0.01 * number(seed, d, 1000), 1e-5},
                                         .from = {0.02 * number(seed, d, 1001), 2e-5 * number(seed, d, 1002)},
                                         .run_ms = 0.1 * number(seed, d, 1003),
                                         .memory = seed % 2 == 0 ? 6000 + 1500 * (seed + d) : 0};
    }
}

static void world_release(world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

/* ---- the same costs, slowly, from the graphs ---- */

static bool reads_number(const mts_units *u, uint32_t first, uint32_t end, uint32_t wanted)
{
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const mts_node *node = &graph->nodes[n];
            for (uint32_t i = 0; u->unit_of[t][n] >= first && u->unit_of[t][n] < end && i < node->input_count;
                 i++) {
                if (node->inputs[i] != MTS_NONE && u->number_of[t][node->inputs[i]] == wanted) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* The first unit that computes a number; MTS_NONE: it is an input. */
static uint32_t maker_of(const mts_units *u, uint32_t wanted)
{
    uint32_t first = MTS_NONE;
    for (uint32_t t = 0; t < u->task_count; t++) {
        const mts_graph *graph = mts_units_graph(u, t);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (u->number_of[t][graph->nodes[n].output] == wanted && u->unit_of[t][n] < first) {
                first = u->unit_of[t][n];
            }
        }
    }
    return first;
}

/* Bytes that live while a unit of a segment that begins at `first` runs: what the segment has met and something
   reads from here on. */
static uint64_t slow_alive(const world *w, uint32_t first, uint32_t unit)
{
    const mts_units *u = &w->units;
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < u->value_count; v++) {
        const uint32_t maker = maker_of(u, v);
        const bool made_here = maker != MTS_NONE && maker >= first && maker <= unit;
        const bool earlier = maker == MTS_NONE || maker < first;
        const bool met = made_here || (earlier && reads_number(u, first, unit + 1, v));
        if (met && (maker == unit || reads_number(u, unit, u->count, v))) {
            bytes += u->values[v].bytes;
        }
    }
    return bytes;
}

/* Milliseconds of units on a device; INFINITY: they cannot be there. Checks the bytes of segments by the way. */
static double slow_ms(const world *w, uint32_t device, uint32_t first, uint32_t end, mts_chain_memory memory)
{
    const mts_units *u = &w->units;
    const mts_device_costs *c = &w->costs[device];
    double ms = c->run_ms;
    uint64_t most = 0;
    uint64_t weights = 0;
    uint64_t in = 0;
    uint64_t out = 0;
    bool *blocks = calloc(u->archive->block_count + 1, sizeof *blocks);
    for (uint32_t i = first; i < end; i++) {
        ms += c->unit_ms[i];
        const uint64_t alive = slow_alive(w, first, i);
        most = alive > most ? alive : most;
        for (uint32_t b = u->blocks.first[i]; b < u->blocks.first[i + 1]; b++) {
            const mts_block *block = &u->archive->blocks[u->blocks.items[b]];
            weights +=
                blocks[u->blocks.items[b]] ? 0 : block->size / mts_type_size(block->dtype) * sizeof(float);
            blocks[u->blocks.items[b]] = true;
        }
    }
    free(blocks);
    for (uint32_t v = 0; v < u->value_count; v++) {
        const uint32_t maker = maker_of(u, v);
        const bool earlier = maker == MTS_NONE || maker < first;
        const bool here = maker != MTS_NONE && maker >= first && maker < end;
        if (earlier && reads_number(u, first, end, v)) {
            ms += c->to.ms + (double)u->values[v].bytes * c->to.ms_per_byte;
            in += u->values[v].bytes;
        }
        if (here && reads_number(u, end, u->count, v)) {
            ms += c->from.ms + (double)u->values[v].bytes * c->from.ms_per_byte;
            out += u->values[v].bytes;
        }
    }
    const uint64_t held = in > out && !c->reads_in_place ? in : out;
    const uint64_t all = weights + (memory == MTS_CHAIN_EXPECTED ? most : held);
    return c->memory != 0 && all > c->memory ? (double)INFINITY : ms;
}

typedef struct slow_search {
    const world *w;
    double *ms; /* [device][first][end] */
    double slowest, sum;
} slow_search;

static void try_rest(slow_search *s, uint32_t at, uint32_t used, double slowest, double sum)
{
    const uint32_t count = s->w->units.count;
    if (at == count) {
        s->slowest = fmin(s->slowest, slowest);
        s->sum = fmin(s->sum, sum);
        return;
    }
    for (uint32_t d = 0; d < DEVICES; d++) {
        for (uint32_t end = at + 1; (used >> d & 1u) == 0 && end <= count; end++) {
            const double ms = s->ms[(d * (count + 1) + at) * (count + 1) + end];
            if (isfinite(ms)) {
                try_rest(s, end, used | 1u << d, fmax(slowest, ms), sum + ms);
            }
        }
    }
}

static slow_search search_all(const world *w, mts_chain_memory memory)
{
    const uint32_t count = w->units.count;
    slow_search s = {.w = w, .slowest = (double)INFINITY, .sum = (double)INFINITY};
    s.ms = calloc((size_t)DEVICES * (count + 1) * (count + 1), sizeof *s.ms);
    for (uint32_t d = 0; d < DEVICES; d++) {
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t b = a + 1; b <= count; b++) {
                s.ms[(d * (count + 1) + a) * (count + 1) + b] = slow_ms(w, d, a, b, memory);
            }
        }
    }
    try_rest(&s, 0, 0, 0.0, 0.0);
    free(s.ms);
    return s;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(1.0, fabs(want)))) {
        print_error("%.12g instead of %.12g\n", got, want);
        fail();
    }
}

/* The chain that is found costs what the slow search finds, and each of its stages what it says. */
static void expect_best(const world *w, mts_chain_goal goal, mts_chain_memory memory, const slow_search *all,
                        const mts_chain *best)
{
    double slowest = 0.0;
    near(goal == MTS_CHAIN_THROUGHPUT ? best->slowest_ms : best->total_ms,
         goal == MTS_CHAIN_THROUGHPUT ? all->slowest : all->sum);
    for (uint32_t s = 0; s < best->stage_count; s++) {
        const mts_chain_stage *one = &best->stages[s];
        assert_int_equal(one->first, s == 0 ? 0 : best->stages[s - 1].end);
        near(mts_chain_stage_ms(one), slow_ms(w, one->device, one->first, one->end, memory));
        slowest = fmax(slowest, mts_chain_stage_ms(one));
    }
    near(best->slowest_ms, slowest);
}

static void the_program_finds_what_trying_all_finds(void **state)
{
    (void)state;
    uint32_t found[2] = {0}; /* [mts_chain_memory] */
    uint32_t cuts = 0;
    for (uint32_t seed = 1; seed <= NETS; seed++) {
        world w;
        mts_chain best;
        mts_error error = {0};
        world_make(&w, seed);
        assert_true(w.units.count < MTS_PARTITION_POSITIONS);
        w.costs[0].reads_in_place = seed % 4 == 0;
        for (uint32_t i = 0; i < 4; i++) {
            const mts_chain_memory memory = (mts_chain_memory)(i / 2);
            const mts_chain_goal goal = (mts_chain_goal)(i % 2);
            const slow_search all = search_all(&w, memory);
            const mts_status status = mts_chain_find(&w.units, w.costs, DEVICES, goal, memory,
                                                     mts_allocator_default(), &best, &error);
            assert_int_equal(status, isfinite(all.sum) ? MTS_STATUS_OK : MTS_STATUS_LIMIT);
            if (status == MTS_STATUS_OK) {
                expect_best(&w, goal, memory, &all, &best);
                cuts += best.stage_count - 1;
                found[memory]++;
            }
        }
        world_release(&w);
    }
    print_message("%u of %u found by the least memory, %u by what is expected, %u cuts\n", found[0], 2 * NETS,
                  found[1], cuts);
    assert_true(found[1] < found[0] && found[0] < 2 * NETS && cuts > NETS);
}

/* Stages that do not fit after all, at random, are refused one after another: what is left is the best that fits. */
static void what_is_refused_leaves_the_best_that_fits(void **state)
{
    (void)state;
    uint32_t none = 0;
    uint32_t tries = 0;
    for (uint32_t seed = 1; seed <= NETS; seed++) {
        world w;
        world_make(&w, seed);
        const uint32_t count = w.units.count;
        const size_t pairs = (size_t)(count + 1) * (count + 1);
        slow_search s = {.w = &w, .slowest = (double)INFINITY, .sum = (double)INFINITY};
        mts_chain_refusal *refusals = calloc(DEVICES * pairs, sizeof *refusals);
        s.ms = calloc(DEVICES * pairs, sizeof *s.ms);
        for (uint32_t i = 0; i < DEVICES * pairs; i++) {
            const uint32_t d = (uint32_t)(i / pairs), a = (uint32_t)(i % pairs) / (count + 1),
                           b = i % (count + 1);
            const bool fits = number(seed, i, 77) < (seed % 4 == 0 ? 0.02 : 0.3);
            s.ms[i] = a < b && fits ? slow_ms(&w, d, a, b, MTS_CHAIN_LEAST) : (double)INFINITY;
            w.costs[d].refusals = refusals + d * pairs;
        }
        try_rest(&s, 0, 0, 0.0, 0.0);
        mts_chain best;
        mts_error error = {0};
        mts_status status = MTS_STATUS_OK;
        bool fits = false;
        while (status == MTS_STATUS_OK && !fits) {
            status = mts_chain_find(&w.units, w.costs, DEVICES, MTS_CHAIN_LATENCY, MTS_CHAIN_LEAST,
                                    mts_allocator_default(), &best, &error);
            fits = true;
            for (uint32_t i = 0; status == MTS_STATUS_OK && fits && i < best.stage_count; i++) {
                const mts_chain_stage *one = &best.stages[i];
                fits = isfinite(s.ms[(one->device * (count + 1) + one->first) * (count + 1) + one->end]);
                if (!fits) {
                    mts_device_costs *costs = &w.costs[one->device];
                    refusals[one->device * pairs + costs->refusal_count++] =
                        (mts_chain_refusal){one->first, one->end};
                }
            }
            tries++;
        }
        assert_int_equal(status, isfinite(s.sum) ? MTS_STATUS_OK : MTS_STATUS_LIMIT);
        none += status != MTS_STATUS_OK ? 1 : 0;
        if (status == MTS_STATUS_OK) {
            near(best.total_ms, s.sum);
        }
        free(s.ms);
        free(refusals);
        world_release(&w);
    }
    print_message("%u tries, none fits %u times\n", tries, none);
    assert_true(none > 0 && none < NETS && tries > 4 * NETS);
}

/* ---- whole tasks ---- */

/* Every deal, each priced from its shares. */
static double deal_all(const mts_balance *b, uint32_t *device_of, uint32_t item)
{
    double best = (double)INFINITY;
    for (uint32_t d = 0; item < b->items && d < b->devices; d++) {
        device_of[item] = d;
        best = fmin(best, deal_all(b, device_of, item + 1));
    }
    if (item < b->items) {
        return best;
    }
    double busiest = 0.0;
    for (uint32_t d = 0; d < b->devices; d++) {
        double ms = 0.0;
        uint64_t bytes = 0;
        bool used = false;
        for (uint32_t share = 0; share < b->shares; share++) {
            bool has = false;
            for (uint32_t i = 0; i < b->items; i++) {
                for (uint32_t k = b->first[i]; device_of[i] == d && k < b->first[i + 1]; k++) {
                    has = has || b->list[k] == share;
                }
            }
            ms += has ? b->ms[d * b->shares + share] : 0.0;
            bytes += has ? b->memory[share] : 0;
            used = used || has;
        }
        if (b->budget[d] != 0 && bytes > b->budget[d]) {
            return (double)INFINITY;
        }
        busiest = used ? fmax(busiest, ms + b->run_ms[d]) : busiest;
    }
    return busiest;
}

enum { ITEMS = 6, SHARES = 9 };

/* Items with a share of their own each, and some of three that several have. */
static void deal_make(uint32_t seed, uint32_t items, uint32_t *first, uint32_t *list)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < items; i++) {
        first[i] = used;
        for (uint32_t share = 0; share < 3; share++) {
            if (seed % 2 == 0 && number(seed, i, share + 300) < 0.5) {
                list[used++] = share;
            }
        }
        list[used++] = 3 + i;
    }
    first[items] = used;
}

static void tasks_are_dealt_out_best(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        double ms[DEVICES * SHARES];
        double run_ms[DEVICES];
        uint64_t memory[SHARES];
        uint64_t budget[DEVICES];
        uint32_t first[ITEMS + 1];
        uint32_t list[4 * ITEMS];
        uint32_t device_of[ITEMS];
        uint32_t tried[ITEMS];
        double busiest = 0.0;
        const uint32_t items = 1 + seed % ITEMS;
        deal_make(seed, items, first, list);
        for (uint32_t d = 0; d < DEVICES; d++) {
            run_ms[d] = 0.1 * number(seed, d, 50);
            budget[d] = seed % 3 == 0 ? 60 + seed : 0;
            for (uint32_t i = 0; i < SHARES; i++) {
                ms[d * SHARES + i] = number(seed, d, i + 200) < 0.05 ? (double)INFINITY : number(seed, d, i);
                memory[i] = 20 + i * 5;
            }
        }
        const mts_balance b = {items, DEVICES, SHARES, ms, memory, first, list, run_ms, budget};
        mts_error error = {0};
        const double want = deal_all(&b, tried, 0);
        const mts_status status = mts_balance_find(&b, mts_allocator_default(), device_of, &busiest, &error);
        assert_int_equal(status, isfinite(want) ? MTS_STATUS_OK : MTS_STATUS_LIMIT);
        refused += status != MTS_STATUS_OK ? 1 : 0;
        if (status == MTS_STATUS_OK) {
            near(busiest, want);
        }
    }
    assert_true(refused > 0 && refused < 30);
}

/* Beyond the exact search: within the bound of the rule that it begins with, 4/3 of the mean or the longest. */
static void many_tasks_are_dealt_out_evenly(void **state)
{
    (void)state;
    enum { MANY = 40 };
    double ms[2 * MANY];
    const double run_ms[2] = {0};
    uint64_t memory[MANY] = {0};
    const uint64_t budget[2] = {0};
    uint32_t first[MANY + 1];
    uint32_t list[MANY];
    uint32_t device_of[MANY];
    double busiest = 0.0;
    double sum = 0.0;
    for (uint32_t i = 0; i < MANY; i++) {
        ms[i] = ms[MANY + i] = 0.1 + number(7, i, 0);
        sum += ms[i];
        first[i] = list[i] = i;
    }
    first[MANY] = MANY;
    const mts_balance b = {MANY, 2, MANY, ms, memory, first, list, run_ms, budget};
    assert_int_equal(mts_balance_find(&b, mts_allocator_default(), device_of, &busiest, NULL), MTS_STATUS_OK);
    assert_true(busiest >= sum / 2.0 && busiest < sum / 2.0 * 1.01);
}

/* The task that takes least time takes more memory than any device has: all deals of the others are no
   way to find that out. */
static void memory_that_no_deal_keeps_is_not_searched_for_ever(void **state)
{
    (void)state;
    enum { EACH = MTS_BALANCE_EXACT, MOST = 8 };
    double ms[MOST * EACH];
    const double run_ms[MOST] = {0};
    uint64_t memory[EACH];
    uint64_t budget[MOST];
    uint32_t first[EACH + 1];
    uint32_t list[EACH];
    uint32_t device_of[EACH];
    double busiest = 0.0;
    mts_error error = {0};
    for (uint32_t i = 0; i < EACH; i++) {
        for (uint32_t d = 0; d < MOST; d++) {
            ms[d * EACH + i] = (double)(EACH - i);
            budget[d] = 100;
        }
        memory[i] = i + 1 < EACH ? 1 : 101;
        first[i] = list[i] = i;
    }
    first[EACH] = EACH;
    const mts_balance b = {EACH, MOST, EACH, ms, memory, first, list, run_ms, budget};
    assert_int_equal(mts_balance_find(&b, mts_allocator_default(), device_of, &busiest, &error),
                     MTS_STATUS_LIMIT);
}

/* Two of three tasks share all but their last layer: apart, each device computes the common part. */
static void a_shared_prefix_is_paid_on_each_device(void **state)
{
    (void)state;
    const random_family family = {.seed = 5, .tasks = 3, .steps = 5, .common = true, .equal = true};
    const mts_graph *graphs[3];
    const uint32_t tasks[] = {0, 1, 2};
    const double run_ms[DEVICES] = {0};
    const uint64_t budget[DEVICES] = {0};
    test_net net;
    mts_units units;
    mts_arena arena;
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < 3; t++) {
        graphs[t] = random_net(&family, t, &arena);
        assert_non_null(graphs[t]);
    }
    assert_int_equal(net_make(graphs, 3, 1.0f, &net, &error), MTS_STATUS_OK);
    assert_int_equal(mts_units_make(net.archive, tasks, 3, false, &arena, &units, &error), MTS_STATUS_OK);
    mts_device_costs costs[DEVICES];
    double *ms = mts_arena_zero(&arena, units.count, sizeof *ms);
    double all = 0.0;
    for (uint32_t i = 0; i < units.count; i++) {
        ms[i] = 1.0 + number(3, i, 0);
        all += ms[i];
    }
    for (uint32_t d = 0; d < DEVICES; d++) {
        costs[d] = (mts_device_costs){.unit_ms = ms};
    }
    mts_balance b = {.run_ms = run_ms, .budget = budget};
    assert_int_equal(mts_shares_make(&units, costs, DEVICES, &arena, &b, &error), MTS_STATUS_OK);
    double sum = 0.0;
    for (uint32_t share = 0; share < b.shares; share++) {
        sum += b.ms[share];
    }
    near(sum, all); /* what all of them cost on one device */
    double common = 0.0;
    uint64_t bytes = 0;
    for (uint32_t share = 0; share < b.shares; share++) {
        bool everywhere = true;
        for (uint32_t t = 0; t < 3; t++) {
            bool has = false;
            for (uint32_t i = b.first[t]; i < b.first[t + 1]; i++) {
                has = has || b.list[i] == share;
            }
            everywhere = everywhere && has;
        }
        common += everywhere ? b.ms[share] : 0.0;
        bytes += b.memory[share];
    }
    assert_true(common > 0.0 && bytes > 0);
    uint32_t device_of[3];
    double busiest = 0.0;
    assert_int_equal(mts_balance_find(&b, mts_allocator_default(), device_of, &busiest, &error),
                     MTS_STATUS_OK);
    assert_true(busiest >= common);
    near(busiest, deal_all(&b, device_of, 0));
    net_release(&net);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_finds_what_trying_all_finds),
        cmocka_unit_test(what_is_refused_leaves_the_best_that_fits),
        cmocka_unit_test(tasks_are_dealt_out_best),
        cmocka_unit_test(memory_that_no_deal_keeps_is_not_searched_for_ever),
        cmocka_unit_test(many_tasks_are_dealt_out_evenly),
        cmocka_unit_test(a_shared_prefix_is_paid_on_each_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
