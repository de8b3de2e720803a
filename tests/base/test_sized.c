/*
 * Public structs that begin with their size: shorter ones of an older header are served, others refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/sized.h"

typedef struct knobs {
    size_t size;
    uint64_t first;
    uint64_t second; /* came later */
} knobs;

static void sizes_up_to_the_known_one_are_valid(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 2 * sizeof(knobs); size++) {
        const knobs given = {.size = size};
        const int valid = size >= sizeof size && size <= sizeof given && size % sizeof size == 0;
        assert_int_equal(mts_sized_valid(&given, sizeof given), valid);
    }
    const knobs huge = {.size = SIZE_MAX - SIZE_MAX % sizeof huge.size};
    assert_false(mts_sized_valid(&huge, sizeof huge));
    assert_false(mts_sized_valid(NULL, sizeof(knobs)));
}

static void options_of_an_older_header_keep_the_defaults_of_what_they_lack(void **state)
{
    (void)state;
    const knobs old = {.size = offsetof(knobs, second), .first = 7, .second = 8};
    knobs options = {.size = sizeof options, .first = 1, .second = 2};
    assert_int_equal(mts_sized_read(&options, sizeof options, &old, "knobs", NULL), MTS_STATUS_OK);
    assert_int_equal(options.size, sizeof options);
    assert_int_equal(options.first, 7);
    assert_int_equal(options.second, 2);
}

static void a_larger_struct_and_null_are_refused_by_name(void **state)
{
    (void)state;
    mts_error error = {0};
    const knobs large = {.size = sizeof large + sizeof(size_t), .first = 7};
    knobs options = {.size = sizeof options, .first = 1};
    assert_int_equal(mts_sized_read(&options, sizeof options, &large, "knobs", &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "has to be sizeof(knobs)"));
    assert_int_equal(options.first, 1);
    assert_int_equal(mts_sized_read(&options, sizeof options, NULL, "knobs", &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "knobs is NULL");
}

static void a_result_of_an_older_header_is_written_as_far_as_it_goes(void **state)
{
    (void)state;
    const knobs result = {.size = sizeof result, .first = 1, .second = 2};
    knobs out = {.size = offsetof(knobs, second), .first = 7, .second = 8};
    mts_sized_write(&out, &result);
    assert_int_equal(out.size, offsetof(knobs, second));
    assert_int_equal(out.first, 1);
    assert_int_equal(out.second, 8);
}

static void defaults_fill_what_the_caller_has(void **state)
{
    (void)state;
    const knobs defaults = {.size = sizeof defaults, .first = 1, .second = 2};
    struct {
        knobs known;
        uint64_t later; /* of a newer header */
    } out = {{.first = 7}, 8};
    mts_sized_default(&out, offsetof(knobs, second), &defaults);
    assert_int_equal(out.known.size, offsetof(knobs, second));
    assert_int_equal(out.known.first, 1);
    assert_int_equal(out.known.second, 0);
    mts_sized_default(&out, sizeof out, &defaults);
    assert_int_equal(out.known.size, sizeof out);
    assert_int_equal(out.known.second, 2);
    assert_int_equal(out.later, 0);
    out.known.size = 5;
    mts_sized_default(&out, sizeof out.known.size - 1, &defaults);
    mts_sized_default(NULL, sizeof out, &defaults);
    assert_int_equal(out.known.size, 5);
}

static void kinds_and_flags_have_bounds(void **state)
{
    (void)state;
    mts_error error = {0};
    assert_int_equal(mts_check_kind("options", "strategy", 0, 3, &error), MTS_STATUS_OK);
    assert_int_equal(mts_check_kind("options", "strategy", 3, 3, &error), MTS_STATUS_OK);
    assert_int_equal(mts_check_kind("options", "strategy", 4, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "options: unknown strategy 4");
    assert_int_equal(mts_check_kind("options", "strategy", -1, 3, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "options: unknown strategy -1");
    assert_int_equal(mts_check_flag("options", "half", 0, &error), MTS_STATUS_OK);
    assert_int_equal(mts_check_flag("options", "half", 1, &error), MTS_STATUS_OK);
    assert_int_equal(mts_check_flag("options", "half", 2, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.text, "options: half is 0 or 1, not 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_up_to_the_known_one_are_valid),
        cmocka_unit_test(options_of_an_older_header_keep_the_defaults_of_what_they_lack),
        cmocka_unit_test(a_larger_struct_and_null_are_refused_by_name),
        cmocka_unit_test(a_result_of_an_older_header_is_written_as_far_as_it_goes),
        cmocka_unit_test(defaults_fill_what_the_caller_has),
        cmocka_unit_test(kinds_and_flags_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
