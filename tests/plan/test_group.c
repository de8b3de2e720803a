/*
 * test_group.c: the grouping planner against brute force over all partitions, with and without a memory
 * budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/group.h"
#include "support/fault_allocator.h"

enum { TASKS_MOST = 8, ROUNDS = 40 };

typedef struct table {
    mts_group_cost costs[1 << TASKS_MOST];
    bool by_size;
    uint32_t calls;
} table;

static uint32_t set_of(const uint32_t *tasks, uint32_t count)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++) {
        set |= 1u << tasks[i];
    }
    return set;
}

static mts_status look_up(void *context, const uint32_t *tasks, uint32_t count, mts_group_cost *cost,
                          mts_error *error)
{
    (void)error;
    table *t = context;
    t->calls++;
    *cost = t->costs[t->by_size ? (1u << count) - 1 : set_of(tasks, count)];
    return MTS_STATUS_OK;
}

static void fill(table *t, bool by_size)
{
    *t = (table){.by_size = by_size};
    for (int i = 1; i < 1 << TASKS_MOST; i++) {
        t->costs[i] = (mts_group_cost){.latency = 1.0 + rand() % 1000 / 100.0,
                                       .weights = (uint64_t)(rand() % 50),
                                       .arena = (uint64_t)(1 + rand() % 100)};
    }
}

static const mts_group_cost *cost_at(const table *t, uint32_t set)
{
    uint32_t size = 0;
    for (uint32_t s = set; s != 0; s &= s - 1) {
        size++;
    }
    return &t->costs[t->by_size ? (1u << size) - 1 : set];
}

typedef struct brute {
    const table *t;
    uint32_t tasks;
    uint64_t budget, smallest;
    double best;
    uint32_t sets[TASKS_MOST];
} brute;

static void price(brute *b, uint32_t groups)
{
    double latency = 0.0;
    uint64_t weights = 0;
    uint64_t arena = 0;
    for (uint32_t g = 0; g < groups; g++) {
        const mts_group_cost *c = cost_at(b->t, b->sets[g]);
        latency += c->latency;
        weights += c->weights;
        arena = c->arena > arena ? c->arena : arena;
    }
    const uint64_t peak = 10 + weights + arena;
    b->smallest = peak < b->smallest ? peak : b->smallest;
    if ((b->budget == 0 || peak <= b->budget) && latency < b->best) {
        b->best = latency;
    }
}

static void partitions(brute *b, uint32_t task, uint32_t groups)
{
    if (task == b->tasks) {
        price(b, groups);
        return;
    }
    for (uint32_t g = 0; g <= groups; g++) {
        b->sets[g] |= 1u << task;
        partitions(b, task + 1, g == groups ? groups + 1 : groups);
        b->sets[g] &= ~(1u << task);
    }
}

static void compare(bool uniform, bool weights, uint32_t tasks, uint64_t budget)
{
    table t;
    fill(&t, uniform);
    for (int i = 0; !weights && i < 1 << TASKS_MOST; i++) {
        t.costs[i].weights = 0;
    }
    brute b = {.t = &t, .tasks = tasks, .budget = budget, .smallest = UINT64_MAX, .best = 1e30};
    partitions(&b, 0, 0);
    uint32_t group_of[TASKS_MOST] = {0};
    mts_group_result out = {.group_of = group_of};
    const mts_group_request request = {.task_count = tasks,
                                       .uniform = uniform,
                                       .fixed_bytes = 10,
                                       .budget = {budget},
                                       .cost = look_up,
                                       .context = &t,
                                       .allocator = mts_allocator_default()};
    mts_error error = {0};
    const mts_status status = mts_group_plan(&request, &out, &error);
    if (b.best > 1e29) {
        assert_int_equal(status, MTS_STATUS_LIMIT);
        assert_true(out.smallest_peak == b.smallest);
        return;
    }
    assert_int_equal(status, MTS_STATUS_OK);
    assert_true(out.latency > b.best - 1e-9 && out.latency < b.best + 1e-9);
    assert_true(budget == 0 || out.peak <= budget);
    double sum = 0.0; /* the groups named are those that were priced */
    for (uint32_t g = 0; g < out.group_count; g++) {
        uint32_t set = 0;
        for (uint32_t i = 0; i < tasks; i++) {
            set |= group_of[i] == g ? 1u << i : 0;
        }
        assert_int_not_equal(set, 0);
        sum += cost_at(&t, set)->latency;
    }
    assert_true(sum > b.best - 1e-9 && sum < b.best + 1e-9);
}

static void the_plan_equals_brute_force_over_all_partitions(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t tasks = (uint32_t)(1 + rand() % TASKS_MOST);
        compare(false, true, tasks, 0);
        compare(true, true, tasks, 0);
    }
}

static void a_budget_is_kept_or_refused_with_the_smallest_that_fits(void **state)
{
    (void)state;
    srand(2);
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t tasks = (uint32_t)(1 + rand() % TASKS_MOST);
        compare(false, true, tasks, (uint64_t)(20 + rand() % 200));
        compare(true, true, tasks, (uint64_t)(20 + rand() % 200));
        compare(false, false, tasks, (uint64_t)(10 + rand() % 100));
        compare(true, false, tasks, (uint64_t)(10 + rand() % 100));
    }
}

/* Sets whose arena and latency pull apart: all plans of a state would be worth keeping. */
static mts_status apart(void *context, const uint32_t *tasks, uint32_t count, mts_group_cost *cost,
                        mts_error *error)
{
    (void)error;
    const uint32_t set = set_of(tasks, count);
    ++*(uint32_t *)context;
    const double latency = 100.0 + set * 2654435761u % 1009;
    *cost = (mts_group_cost){.latency = latency, .arena = 2000 - (uint64_t)latency};
    return MTS_STATUS_OK;
}

/* One plan of each set of tasks is kept, and each set is asked for once: 3^15 / 2 short steps. */
static void a_budget_does_not_slow_the_search_down_where_groups_share_weights(void **state)
{
    (void)state;
    enum { TASKS = 13 };
    uint32_t asked = 0;
    uint32_t group_of[TASKS];
    mts_fault_allocator counter;
    mts_fault_allocator_init(&counter, 0);
    mts_group_result out = {.group_of = group_of};
    const mts_group_request request = {.task_count = TASKS,
                                       .budget = {1700},
                                       .cost = apart,
                                       .context = &asked,
                                       .allocator = &counter.allocator};
    mts_error error = {0};
    assert_int_equal(mts_group_plan(&request, &out, &error), MTS_STATUS_OK);
    assert_true(out.peak <= request.budget.bytes);
    assert_int_equal(asked, (1u << TASKS) - 1);
    assert_true(counter.calls <= (1u << TASKS) + 8);
    assert_int_equal(counter.alive, 0);
}

static mts_status stopped(void *context, const uint32_t *tasks, uint32_t count, mts_group_cost *cost,
                          mts_error *error)
{
    (void)tasks;
    (void)count;
    *cost = (mts_group_cost){.latency = 1.0};
    return ++*(uint32_t *)context == 1000 ? mts_fail(error, MTS_STATUS_CANCELLED, "enough") : MTS_STATUS_OK;
}

static void a_search_ends_with_what_a_cost_returns(void **state)
{
    (void)state;
    uint32_t asked = 0;
    uint32_t group_of[15];
    mts_fault_allocator counter;
    mts_fault_allocator_init(&counter, 0);
    mts_group_result out = {.group_of = group_of};
    const mts_group_request request = {
        .task_count = 15, .cost = stopped, .context = &asked, .allocator = &counter.allocator};
    mts_error error = {0};
    assert_int_equal(mts_group_plan(&request, &out, &error), MTS_STATUS_CANCELLED);
    assert_string_equal(error.text, "enough");
    assert_int_equal(asked, 1000);
    assert_int_equal(counter.alive, 0);
}

/* A group costs 1 plus its tasks squared: groups of one or two tasks win over one of twenty. */
static mts_status squares(void *context, const uint32_t *tasks, uint32_t count, mts_group_cost *cost,
                          mts_error *error)
{
    (void)context;
    (void)tasks;
    (void)error;
    *cost = (mts_group_cost){.latency = 1.0 + (double)count * count, .weights = 1, .arena = count};
    return MTS_STATUS_OK;
}

static void many_unequal_tasks_are_dealt_to_balanced_groups(void **state)
{
    (void)state;
    uint32_t group_of[20] = {0};
    mts_group_result out = {.group_of = group_of};
    mts_group_request request = {.task_count = 20, .cost = squares, .allocator = mts_allocator_default()};
    mts_error error = {0};
    assert_int_equal(mts_group_plan(&request, &out, &error), MTS_STATUS_OK);
    assert_int_equal(out.group_count, 20); /* 20 groups of 1: 40; 10 of 2: 50; 1 of 20: 401 */
    assert_true(out.latency > 39.9 && out.latency < 40.1);
    const double unlimited = out.latency;
    request.budget.bytes = 10 + 2 + 1; /* 10 groups of 2: weights 10, arena 2 */
    assert_int_equal(mts_group_plan(&request, &out, &error), MTS_STATUS_OK);
    assert_true(out.peak <= request.budget.bytes);
    assert_true(out.latency > unlimited);
    request.budget.bytes = 3;
    assert_int_equal(mts_group_plan(&request, &out, &error), MTS_STATUS_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_equals_brute_force_over_all_partitions),
        cmocka_unit_test(a_budget_is_kept_or_refused_with_the_smallest_that_fits),
        cmocka_unit_test(a_budget_does_not_slow_the_search_down_where_groups_share_weights),
        cmocka_unit_test(a_search_ends_with_what_a_cost_returns),
        cmocka_unit_test(many_unequal_tasks_are_dealt_to_balanced_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
