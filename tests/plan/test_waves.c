/*
 * test_waves.c: schedules of random graphs are valid, the same each time, and near the best that a search finds.
 *
 * `MTS_TEST_DAGS=1000000 build/release/bin/plan_waves` tries more graphs than the suite has time for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/bounded_waves.h"

#define DAGS 10000u
#define NODES_USUAL 60u
#define NODES_MOST 400u
#define LARGE_DAGS 40u
#define SMALL_MOST 10u
#define GROUPS_MOST 6u

typedef struct dag {
    mts_wave_node nodes[NODES_MOST];
    uint32_t waits[NODES_MOST], next_first[NODES_MOST + 1], next[NODES_MOST * NODES_MOST];
    mts_dependencies after;
    uint32_t random;
} dag;

static uint32_t draw(dag *d, uint32_t below)
{
    d->random = d->random * 1664525u + 1013904223u;
    return (d->random >> 8) % below;
}

/* A graph of `count` nodes in groups, with few or many programs and edges, some from group to group. */
static void make_dag(dag *d, uint32_t seed, uint32_t count)
{
    d->random = seed;
    const uint32_t groups = 1 + draw(d, GROUPS_MOST);
    const uint32_t few = 1 + draw(d, 8);
    const uint32_t programs = count > NODES_USUAL ? 100 : few; /* more than are tracked */
    const uint32_t sparse = 2 + draw(d, 12);
    uint32_t edges = 0;
    memset(d->waits, 0, sizeof d->waits);
    for (uint32_t i = 0; i < count; i++) {
        /* one at a time: an initialiser's order is the compiler's */
        mts_wave_node *node = &d->nodes[i];
        node->cost = draw(d, 1000000);
        node->cost = 1 + node->cost / (1 + draw(d, 1000));
        node->program = draw(d, 20) == 0 ? MTS_NONE : draw(d, programs);
        node->group = draw(d, 10) == 0 ? MTS_NONE : draw(d, groups);
        node->tile = 1 + node->cost / (1 + draw(d, 100));
    }
    for (uint32_t i = 0; i < count; i++) {
        d->next_first[i] = edges;
        for (uint32_t k = i + 1; k < count; k++) {
            const bool alike = d->nodes[i].group == d->nodes[k].group;
            if (draw(d, alike ? sparse : 8 * sparse) == 0) {
                d->next[edges++] = k;
                d->waits[k]++;
            }
        }
    }
    d->next_first[count] = edges;
    d->after =
        (mts_dependencies){.count = count, .waits = d->waits, .next_first = d->next_first, .next = d->next};
}

static mts_wave_request request_of(dag *d)
{
    static const uint32_t units[] = {1, 2, 16, 132};
    mts_wave_request request = {.nodes = d->nodes, .after = &d->after, .group_count = GROUPS_MOST};
    request.groups_most = 1 + draw(d, GROUPS_MOST);
    request.early = draw(d, 2) == 1 ? draw(d, 4) : MTS_NONE;
    request.device.launch = draw(d, 3) * 1000;
    request.device.units = units[draw(d, 4)];
    return request;
}

/* Every node once, in order of waves, after what it waits for; a wave has one program. */
static void check_schedule(const dag *d, const mts_wave_schedule *s)
{
    bool seen[NODES_MOST] = {false};
    assert_int_equal(s->count, d->after.count);
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t node = s->order[i];
        assert_true(node < s->count && !seen[node] && s->wave[node] < s->waves);
        seen[node] = true;
        if (i == 0) {
            assert_int_equal(s->wave[node], 0);
            continue;
        }
        const uint32_t before = s->order[i - 1];
        assert_true(s->wave[node] == s->wave[before] || s->wave[node] == s->wave[before] + 1);
        if (s->wave[node] == s->wave[before]) {
            assert_true(d->nodes[node].program != MTS_NONE);
            assert_int_equal(d->nodes[node].program, d->nodes[before].program);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = d->next_first[i]; k < d->next_first[i + 1]; k++) {
            assert_true(s->wave[i] < s->wave[d->next[k]]);
        }
    }
}

/* Groups that have run a node and have not run all. Groups that have to wait for another one let it begin besides. */
static uint32_t most_running(const dag *d, const mts_wave_schedule *s)
{
    uint32_t left[GROUPS_MOST] = {0}, most = 0;
    bool begun[GROUPS_MOST] = {false};
    for (uint32_t i = 0; i < s->count; i++) {
        if (d->nodes[i].group != MTS_NONE) {
            left[d->nodes[i].group]++;
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t group = d->nodes[s->order[i]].group;
        uint32_t running = 0;
        if (group != MTS_NONE) {
            begun[group] = true;
            left[group]--;
        }
        for (uint32_t g = 0; g < GROUPS_MOST; g++) {
            running += begun[g] && left[g] > 0 ? 1 : 0;
        }
        most = running > most ? running : most;
    }
    return most;
}

static bool crosses_groups(const dag *d)
{
    for (uint32_t i = 0; i < d->after.count; i++) {
        for (uint32_t k = d->next_first[i]; k < d->next_first[i + 1]; k++) {
            if (d->nodes[i].group != d->nodes[d->next[k]].group) {
                return true;
            }
        }
    }
    return false;
}

/* FNV-1a of what a schedule is. */
static uint64_t add_hash(uint64_t hash, const mts_wave_schedule *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        hash = (hash ^ s->order[i]) * UINT64_C(0x100000001b3);
        hash = (hash ^ s->wave[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Which schedules are found is part of what sessions are: an implementation of the same rules that is faster has
   to find the same ones. Rules that change have other hashes; MTS_PLAN_FORMAT then changes too. */
static void check_hash(uint64_t hash, uint64_t wanted)
{
    print_message("hash of the schedules: 0x%016llx\n", (unsigned long long)hash);
    assert_true(hash == wanted);
}

static void schedules_of_random_graphs_are_valid_and_repeatable(void **state)
{
    const char *wanted = getenv("MTS_TEST_DAGS");
    const uint32_t dags = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : DAGS;
    static dag d;
    uint64_t hash = 0;
    (void)state;
    for (uint32_t seed = 0; seed < dags; seed++) {
        mts_arena arena;
        mts_wave_schedule s, again;
        mts_error error = {0};
        mts_arena_init(&arena, mts_allocator_default());
        make_dag(&d, seed, 1 + seed % NODES_USUAL);
        const mts_wave_request request = request_of(&d);
        assert_int_equal(mts_waves_find(&request, &arena, &s, &error), MTS_STATUS_OK);
        check_schedule(&d, &s);
        assert_true(crosses_groups(&d) || most_running(&d, &s) <= request.groups_most);
        assert_int_equal(mts_waves_find(&request, &arena, &again, &error), MTS_STATUS_OK);
        assert_memory_equal(s.order, again.order, s.count * sizeof *s.order);
        assert_memory_equal(s.wave, again.wave, s.count * sizeof *s.wave);
        assert_true(s.time == again.time);
        hash = add_hash(hash, &s);
        mts_arena_release(&arena);
    }
    if (dags == DAGS) {
        check_hash(hash, UINT64_C(0x782cd041ee878df2));
    } else {
        print_message("hash of the schedules: 0x%016llx\n", (unsigned long long)hash);
    }
}

/* More programs than the scheduler knows the order of, and long chains. */
static void schedules_of_large_graphs_are_valid(void **state)
{
    static dag d;
    uint64_t hash = 0;
    (void)state;
    for (uint32_t seed = 0; seed < LARGE_DAGS; seed++) {
        mts_arena arena;
        mts_wave_schedule s;
        mts_error error = {0};
        mts_arena_init(&arena, mts_allocator_default());
        make_dag(&d, 99000 + seed, NODES_MOST - seed);
        const mts_wave_request request = request_of(&d);
        assert_int_equal(mts_waves_find(&request, &arena, &s, &error), MTS_STATUS_OK);
        check_schedule(&d, &s);
        hash = add_hash(hash, &s);
        mts_arena_release(&arena);
    }
    check_hash(hash, UINT64_C(0xc7e3d4d59c1db0fc));
}

/* ---- memory ---- */

#define STORAGES_MOST (2 * NODES_MOST)

typedef struct room {
    uint64_t sizes[STORAGES_MOST];
    uint32_t first[NODES_MOST + 1], touched[8 * NODES_MOST];
    mts_wave_memory memory;
} room;

/* A node has a result, which some of those behind it read, and some have a storage of their own besides. */
static void make_room(dag *d, room *r)
{
    const uint32_t count = d->after.count;
    uint32_t storages = count, end = 0;
    for (uint32_t i = 0; i < count; i++) {
        r->sizes[i] = 1 + draw(d, 1000);
        r->first[i] = end;
        r->touched[end++] = i;
        for (uint32_t k = 0; k < i && end < r->first[i] + 6; k++) {
            bool reads = false;
            for (uint32_t e = d->next_first[k]; e < d->next_first[k + 1]; e++) {
                reads = reads || d->next[e] == i;
            }
            if (reads) {
                r->touched[end++] = k;
            }
        }
        if (draw(d, 4) == 0) {
            r->sizes[storages] = 1 + draw(d, 1000);
            r->touched[end++] = storages++;
        }
    }
    r->first[count] = end;
    r->memory = (mts_wave_memory){
        .sizes = r->sizes, .storage_count = storages, .first = r->first, .touched = r->touched};
}

/* ---- the best schedule of a small graph ---- */

/* Nodes of `done` have run: those of one program that may run next. */
static uint32_t may_run(const dag *d, uint32_t done, uint32_t first)
{
    uint32_t waiting = 0, next = 0;
    for (uint32_t i = 0; i < d->after.count; i++) {
        for (uint32_t k = d->next_first[i]; k < d->next_first[i + 1]; k++) {
            waiting |= (done >> i & 1u) == 0 ? 1u << d->next[k] : 0;
        }
    }
    for (uint32_t i = 0; i < d->after.count; i++) {
        const bool alike = i == first || (d->nodes[first].program != MTS_NONE &&
                                          d->nodes[i].program == d->nodes[first].program);
        next |= alike && ((done | waiting) >> i & 1u) == 0 ? 1u << i : 0;
    }
    return next;
}

/* Time of one wave by the model of waves.h, computed anew. */
static uint64_t time_of(const dag *d, const mts_wave_device *device, uint32_t nodes)
{
    uint64_t work = 0, tile = 0;
    for (uint32_t i = 0; i < d->after.count; i++) {
        work += (nodes >> i & 1u) != 0 ? d->nodes[i].cost : 0;
        tile = (nodes >> i & 1u) != 0 && d->nodes[i].tile > tile ? d->nodes[i].tile : tile;
    }
    work = (work + device->units - 1) / device->units;
    return device->launch + (work > tile ? work : tile);
}

/* Whether what lives in a wave of nodes `part` behind those of `done` fits. NULL: always. */
static bool has_room(const dag *d, const room *r, uint32_t done, uint32_t part)
{
    uint32_t users[STORAGES_MOST] = {0};
    uint64_t held = 0;
    for (uint32_t i = 0; r && i < d->after.count; i++) {
        for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++) {
            users[r->touched[k]] |= 1u << i;
        }
    }
    for (uint32_t s = 0; r && s < r->memory.storage_count; s++) {
        held += (users[s] & (done | part)) != 0 && (users[s] & ~done) != 0 ? r->sizes[s] : 0;
    }
    return !r || held <= r->memory.most;
}

/* Over all sets of nodes that can have run, ascending: every wave is any part of what may run and fits. */
static uint64_t search(const dag *d, const mts_wave_device *device, const room *r)
{
    static uint64_t best[1u << SMALL_MOST];
    const uint32_t all = (1u << d->after.count) - 1;
    memset(best, 0xff, sizeof best);
    best[0] = 0;
    for (uint32_t done = 0; done < all; done++) {
        if (best[done] == UINT64_MAX) {
            continue;
        }
        for (uint32_t first = 0; first < d->after.count; first++) {
            const uint32_t ready = may_run(d, done, first);
            if ((ready >> first & 1u) == 0 || (ready & ((1u << first) - 1)) != 0) {
                continue; /* not ready, or the program of an earlier node */
            }
            for (uint32_t part = ready; part > 0; part = (part - 1) & ready) {
                if (!has_room(d, r, done, part)) {
                    continue;
                }
                const uint64_t time = best[done] + time_of(d, device, part);
                best[done | part] = time < best[done | part] ? time : best[done | part];
            }
        }
    }
    return best[all];
}

/* Times of schedules, as parts of the best ones'. */
typedef struct ratios {
    uint32_t equal;
    double sum, worst;
} ratios;

static void count_ratio(ratios *all, uint64_t time, uint64_t best)
{
    const double ratio = best > 0 ? (double)time / (double)best : 1.0;
    all->equal += time == best ? 1 : 0;
    all->sum += ratio;
    all->worst = ratio > all->worst ? ratio : all->worst;
}

static void check_ratios(const ratios *all, uint32_t graphs, const char *what)
{
    print_message("%u of %u %s the best, mean %.4f times it, at worst %.3f\n", all->equal, graphs, what,
                  all->sum / graphs, all->worst);
    assert_true(all->equal >= graphs * 9 / 10 && all->sum / graphs < 1.005);
}

static void schedules_of_small_graphs_are_near_the_best(void **state)
{
    enum { GRAPHS = 400 };
    static dag d;
    ratios all = {.worst = 1.0};
    (void)state;
    for (uint32_t seed = 0; seed < GRAPHS; seed++) {
        mts_arena arena;
        mts_wave_schedule s;
        mts_error error = {0};
        mts_arena_init(&arena, mts_allocator_default());
        make_dag(&d, 77000 + seed, 2 + seed % (SMALL_MOST - 1));
        mts_wave_request request = request_of(&d);
        request.groups_most = GROUPS_MOST; /* the search knows no groups */
        request.early = MTS_NONE;
        assert_int_equal(mts_waves_find(&request, &arena, &s, &error), MTS_STATUS_OK);
        check_schedule(&d, &s);
        const uint64_t best = search(&d, &request.device, NULL);
        assert_true(s.time >= best); /* both compute one model */
        count_ratio(&all, s.time, best);
        mts_arena_release(&arena);
    }
    check_ratios(&all, GRAPHS, "schedules are");
}

/* ---- schedules that memory bounds ---- */

/* The most that lives in a wave. */
static uint64_t peak_of(const room *r, const uint32_t *wave, uint32_t count, uint32_t waves)
{
    static uint64_t held[NODES_MOST];
    uint64_t peak = 0;
    memset(held, 0, sizeof held);
    for (uint32_t s = 0; s < r->memory.storage_count; s++) {
        uint32_t begin = MTS_NONE, end = 0;
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++) {
                begin = r->touched[k] == s && wave[i] < begin ? wave[i] : begin;
                end = r->touched[k] == s && wave[i] > end ? wave[i] : end;
            }
        }
        for (uint32_t w = begin; begin != MTS_NONE && w <= end; w++) {
            held[w] += r->sizes[s];
        }
    }
    for (uint32_t w = 0; w < waves; w++) {
        peak = held[w] > peak ? held[w] : peak;
    }
    return peak;
}

/* With what node by node takes there is a schedule for certain, with a tenth more it has fewer waves. */
static void bounded_schedules_keep_their_memory(void **state)
{
    const char *wanted = getenv("MTS_TEST_DAGS");
    const uint32_t dags = wanted ? (uint32_t)strtoul(wanted, NULL, 10) / 100 : DAGS / 200;
    static dag d;
    static room r;
    uint64_t waves[3] = {0}, nodes = 0;
    (void)state;
    for (uint32_t seed = 0; seed < dags; seed++) {
        uint32_t in_turn[NODES_MOST];
        make_dag(&d, 300000 + seed, 1 + seed % NODES_USUAL);
        make_room(&d, &r);
        const uint32_t count = d.after.count;
        for (uint32_t i = 0; i < count; i++) {
            in_turn[i] = i;
        }
        const uint64_t least = peak_of(&r, in_turn, count, count);
        const mts_wave_request request = request_of(&d);
        nodes += count;
        for (uint32_t i = 0; i < 3; i++) {
            mts_arena arena;
            mts_wave_schedule s, again;
            mts_error error = {0};
            mts_arena_init(&arena, mts_allocator_default());
            r.memory.most = i == 0 ? least : i == 1 ? least + least / 10 : UINT64_MAX / 2;
            assert_int_equal(mts_bounded_waves_find(&request, &r.memory, NULL, NULL, &arena, &s, &error),
                             MTS_STATUS_OK);
            assert_true(s.waves > 0);
            check_schedule(&d, &s);
            assert_true(peak_of(&r, s.wave, count, s.waves) <= r.memory.most);
            uint64_t time = 0;
            assert_int_equal(mts_waves_time(&request, s.wave, s.waves, &arena, &time, &error), MTS_STATUS_OK);
            assert_true(s.time == time);
            assert_int_equal(mts_bounded_waves_find(&request, &r.memory, NULL, NULL, &arena, &again, &error),
                             MTS_STATUS_OK);
            assert_memory_equal(s.wave, again.wave, count * sizeof *s.wave);
            waves[i] += s.waves;
            mts_arena_release(&arena);
        }
    }
    print_message(
        "%llu nodes: %llu waves with the memory of one by one, %llu with a tenth more, %llu without a "
        "bound\n",
        (unsigned long long)nodes, (unsigned long long)waves[0], (unsigned long long)waves[1],
        (unsigned long long)waves[2]);
    assert_true(waves[1] < waves[0] && waves[2] < waves[1] && waves[0] < nodes);
}

static void bounded_schedules_of_small_graphs_are_near_the_best(void **state)
{
    enum { GRAPHS = 100 };
    static dag d;
    static room r;
    ratios all = {.worst = 1.0};
    (void)state;
    for (uint32_t seed = 0; seed < GRAPHS; seed++) {
        mts_arena arena;
        mts_wave_schedule s;
        mts_error error = {0};
        uint32_t in_turn[SMALL_MOST];
        mts_arena_init(&arena, mts_allocator_default());
        make_dag(&d, 55000 + seed, 2 + seed % (SMALL_MOST - 1));
        make_room(&d, &r);
        for (uint32_t i = 0; i < d.after.count; i++) {
            in_turn[i] = i;
        }
        const uint64_t least = peak_of(&r, in_turn, d.after.count, d.after.count);
        const mts_wave_request request = request_of(&d);
        r.memory.most = least + least / 10;
        assert_int_equal(mts_bounded_waves_find(&request, &r.memory, NULL, NULL, &arena, &s, &error),
                         MTS_STATUS_OK);
        const uint64_t best = search(&d, &request.device, &r);
        assert_true(s.waves > 0 && s.time >= best);
        count_ratio(&all, s.time, best);
        mts_arena_release(&arena);
    }
    check_ratios(&all, GRAPHS, "schedules within memory are");
}

/* Nothing fits: there is no schedule, and that is no error. What is not taken is not returned. */
static bool takes_none(void *context, const mts_wave_schedule *schedule)
{
    ++*(uint32_t *)context;
    return schedule->waves == 0;
}

static void there_may_be_no_bounded_schedule(void **state)
{
    static dag d;
    static room r;
    uint32_t offered = 0;
    mts_arena arena;
    mts_wave_schedule s;
    mts_error error = {0};
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    make_dag(&d, 5, 20);
    make_room(&d, &r);
    const mts_wave_request request = request_of(&d);
    assert_int_equal(mts_bounded_waves_find(&request, &r.memory, NULL, NULL, &arena, &s, &error),
                     MTS_STATUS_OK);
    assert_int_equal(s.waves, 0);
    r.memory.most = UINT64_MAX / 2;
    assert_int_equal(mts_bounded_waves_find(&request, &r.memory, takes_none, &offered, &arena, &s, &error),
                     MTS_STATUS_OK);
    assert_true(s.waves == 0 && offered > 0);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_of_random_graphs_are_valid_and_repeatable),
        cmocka_unit_test(schedules_of_large_graphs_are_valid),
        cmocka_unit_test(schedules_of_small_graphs_are_near_the_best),
        cmocka_unit_test(bounded_schedules_keep_their_memory),
        cmocka_unit_test(bounded_schedules_of_small_graphs_are_near_the_best),
        cmocka_unit_test(there_may_be_no_bounded_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
