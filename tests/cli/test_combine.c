/*
 * The common answer of a classifier that was split: which tasks belong together, and what they say together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "apps/mts/combine.h"

static const char *const pets[] = {"cat", "dog", "(none)"};
static const char *const rest[] = {"ship", "(none)"};
static const uint32_t pets_map[] = {2, 0, 1};
static const uint32_t rest_map[] = {0, 1, 1};

static mts_task_desc task(const char *name, const char *const *labels, uint32_t label_count,
                          const uint32_t *map)
{
    return (mts_task_desc){.name = name,
                           .output_count = 1,
                           .label_count = label_count,
                           .labels = labels,
                           .class_count = map ? 3 : 0,
                           .class_map = map};
}

static mts_tensor tensor(float *values, uint32_t count)
{
    return (mts_tensor){.data = values,
                        .bytes = count * sizeof *values,
                        .type = MTS_TYPE_FLOAT32,
                        .rank = 1,
                        .dims = {count}};
}

static uint32_t sets_of(const char *const *names, uint32_t count, char name[CLI_SET_NAME])
{
    mts_task_desc tasks[8];
    cli_sets sets;
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = task(names[i], rest, 2, NULL);
    }
    assert_true(cli_sets_find(tasks, count, &sets));
    const uint32_t found = sets.count;
    if (found > 0 && name) {
        for (size_t i = 0; i < CLI_SET_NAME; i++) {
            name[i] = sets.items[0].name[i];
        }
    }
    cli_sets_release(&sets);
    return found;
}

static void complete_sets_are_found_in_any_order(void **state)
{
    (void)state;
    char name[CLI_SET_NAME];
    const char *const names[] = {"x.2of3", "other", "x.3of3", "y.2of2", "x.1of3", "y.1of2"};
    assert_int_equal(sets_of(names, 6, name), 2);
    assert_string_equal(name, "x");
}

static void a_name_may_hold_dots(void **state)
{
    (void)state;
    char name[CLI_SET_NAME];
    const char *const names[] = {"a.1of2.1of2", "a.1of2.2of2"};
    assert_int_equal(sets_of(names, 2, name), 1);
    assert_string_equal(name, "a.1of2");
}

static void sets_with_a_gap_are_none(void **state)
{
    (void)state;
    const char *const names[] = {"x.1of3", "x.3of3", "y.1of2", "z.2of2"};
    assert_int_equal(sets_of(names, 4, NULL), 0);
}

static void names_that_only_look_alike_are_none(void **state)
{
    (void)state;
    const char *const names[] = {"x.1of1", "x.01of2", "x.2of2", "x.1of2x",
                                 "x1of2",  "x.0of2",  ".1of2",  ".2of2"};
    assert_int_equal(sets_of(names, 8, NULL), 0);
}

static void the_most_probable_class_of_all_subnets_wins(void **state)
{
    (void)state;
    const mts_task_desc tasks[] = {task("t.2of2", rest, 2, rest_map), task("t.1of2", pets, 3, pets_map)};
    float first[] = {0.3f, 0.1f, 0.6f};
    float second[] = {0.45f, 0.55f};
    const mts_tensor outputs[] = {tensor(first, 3), tensor(second, 2)};
    cli_sets sets;
    cli_vote votes[5];
    assert_true(cli_sets_find(tasks, 2, &sets));
    assert_int_equal(sets.count, 1);
    assert_int_equal(sets.items[0].members[0], 1);
    assert_int_equal(cli_set_votes(&sets.items[0], tasks, outputs, 5, votes), 3);
    assert_int_equal(votes[0].member, 1); /* "none" is larger everywhere and never wins */
    assert_int_equal(votes[0].label, 0);
    assert_float_equal(votes[0].score, 0.45, 1e-6);
    assert_int_equal(votes[1].member, 0);
    assert_int_equal(votes[1].label, 0);
    assert_int_equal(votes[2].label, 1);
    assert_int_equal(cli_set_votes(&sets.items[0], tasks, outputs, 1, votes), 1);
    assert_float_equal(votes[0].score, 0.45, 1e-6);
    cli_sets_release(&sets);
}

static void a_vote_is_right_where_its_subnet_knows_the_class(void **state)
{
    (void)state;
    const mts_task_desc tasks[] = {task("t.1of2", pets, 3, pets_map), task("t.2of2", rest, 2, rest_map)};
    cli_sets sets;
    assert_true(cli_sets_find(tasks, 2, &sets));
    const cli_set *set = &sets.items[0];
    assert_true(cli_set_right(set, tasks, &(cli_vote){.member = 0, .label = 1}, 2));
    assert_false(cli_set_right(set, tasks, &(cli_vote){.member = 0, .label = 0}, 2));
    assert_false(cli_set_right(set, tasks, &(cli_vote){.member = 0, .label = 0}, 0)); /* a ship is no cat */
    assert_true(cli_set_right(set, tasks, &(cli_vote){.member = 1, .label = 0}, 0));
    assert_false(cli_set_right(set, tasks, &(cli_vote){.member = 1, .label = 0}, 3));
    cli_sets_release(&sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_sets_are_found_in_any_order),
        cmocka_unit_test(a_name_may_hold_dots),
        cmocka_unit_test(sets_with_a_gap_are_none),
        cmocka_unit_test(names_that_only_look_alike_are_none),
        cmocka_unit_test(the_most_probable_class_of_all_subnets_wins),
        cmocka_unit_test(a_vote_is_right_where_its_subnet_knows_the_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
