/*
 * Scenario files: what the reader makes of a good one, and what it says of bad ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/kit/files.h"
#include "apps/mts/bench_scenario.h"

#define PATH MTS_BINARY_DIR "/test_scenario.json"

static char error[CLI_ERROR];

static bool read_text(const char *text, cli_scenario *scenario)
{
    FILE *file = fopen(PATH, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    error[0] = '\0';
    return cli_scenario_read(PATH, scenario, error);
}

static void refuses(const char *text, const char *what)
{
    cli_scenario scenario;
    const bool read = read_text(text, &scenario);
    cli_scenario_release(&scenario);
    if (read || !strstr(error, what) || strncmp(error, PATH, strlen(PATH)) != 0) {
        fail_msg("%s: read %d, said '%s' instead of '%s'", text, read, error, what);
    }
}

/* A network with these members beside its name. */
static void refuses_network(const char *members, const char *what)
{
    char text[2048];
    (void)snprintf(text, sizeof text, "{\"networks\": [{\"name\": \"a\", %s}]}", members);
    refuses(text, what);
}

static void a_scenario_is_read(void **state)
{
    (void)state;
    cli_scenario scenario;
    assert_true(read_text("{\"description\": \"two\", \"networks\": ["
                          "{\"name\": \"a\", \"model\": \"m/a.onnx\", \"rate\": 30, \"times\": 2,"
                          " \"deadline_ms\": 12.5, \"importance\": 3, \"input\": \"/tmp/a.npy\","
                          " \"shape\": [1, 3, 8, 8]},"
                          "{\"name\": \"b.0-x_\", \"rate\": 0.5}]}",
                          &scenario));
    assert_int_equal(scenario.count, 2);
    assert_string_equal(scenario.description, "two");
    const cli_scenario_network *a = &scenario.networks[0];
    assert_string_equal(a->name, "a");
    assert_string_equal(a->model, MTS_BINARY_DIR "/m/a.onnx");
    assert_string_equal(a->input, "/tmp/a.npy");
    assert_true(a->rate == 30.0 && a->deadline_ms == 12.5);
    assert_int_equal(a->times, 2);
    assert_int_equal(a->importance, 3);
    assert_int_equal(a->rank, 4);
    assert_int_equal(a->shape[2], 8);
    const cli_scenario_network *b = &scenario.networks[1];
    assert_null(b->model);
    assert_null(b->input);
    assert_true(b->rate == 0.5 && b->deadline_ms == 0.0);
    assert_int_equal(b->times, 1);
    assert_int_equal(b->rank, 0);
    cli_scenario_release(&scenario);
    assert_int_equal(scenario.count, 0);
}

static void what_is_no_scenario_is_refused(void **state)
{
    (void)state;
    refuses("", "line 1");
    refuses("[]", "must be an object");
    refuses("{}", "needs networks");
    refuses("{\"networks\": []}", "networks must be an array of 1 to 64 networks");
    refuses("{\"networks\": {}}", "networks must be an array");
    refuses("{\"networks\": [3]}", "must be an object");
    refuses("{\"networks\": [{\"name\": \"a\", \"rate\": 1}], \"nets\": 1}", "nets is no key of a scenario");
    refuses("{\"networks\": [{\"name\": \"a\", \"rate\": 1}], \"description\": 1}",
            "description must be a string");
    refuses("{\"networks\": [{\"name\": \"a\", \"rate\": 1}], \"networks\": []}", "duplicate");
    refuses("{\"networks\": [{\"name\": \"a\", \"rate\": 1},", "line 1");
    refuses("{\"networks\": [{\"name\": \"a\", \"rate\": 1}, {\"name\": \"a\", \"rate\": 1}]}",
            "network a: this name is taken");
}

static void a_network_is_checked_key_by_key(void **state)
{
    (void)state;
    refuses("{\"networks\": [{\"rate\": 1}]}", "needs a name");
    refuses("{\"networks\": [{\"name\": \"\", \"rate\": 1}]}", "name must be 1 to 200");
    refuses("{\"networks\": [{\"name\": \"../a\", \"rate\": 1}]}", "name must be 1 to 200");
    refuses("{\"networks\": [{\"name\": \"a b\", \"rate\": 1}]}", "name must be 1 to 200");
    refuses("{\"networks\": [{\"name\": \"a\\u0000b\", \"rate\": 1}]}", "line 1");
    refuses("{\"networks\": [{\"name\": 7, \"rate\": 1}]}", "name must be");
    refuses("{\"networks\": [{\"name\": \"a\"}]}", "network a: needs a rate");
    refuses_network("\"rate\": 0", "network a: rate must be a number above 0 and at most 10000");
    refuses_network("\"rate\": -30", "rate must be");
    refuses_network("\"rate\": 1e9", "rate must be");
    refuses_network("\"rate\": NaN", "line 1");
    refuses_network("\"rate\": 1e999", "line 1");
    refuses_network("\"rate\": Infinity", "line 1");
    refuses_network("\"rate\": \"30\"", "rate must be");
    refuses_network("\"rate\": null", "rate must be");
    refuses_network("\"rate\": 1, \"fps\": 3", "fps is no key of a network");
    refuses_network("\"rate\": 1, \"rate\": 2", "duplicate");
    refuses_network("\"rate\": 1, \"times\": 0", "times must be a whole number from 1 to 64");
    refuses_network("\"rate\": 1, \"times\": 1.5", "times must be");
    refuses_network("\"rate\": 1, \"times\": 4294967297", "times must be");
    refuses_network("\"rate\": 1, \"times\": 99999999999999999999", "line 1");
    refuses_network("\"rate\": 1, \"deadline_ms\": 0", "deadline_ms must be");
    refuses_network("\"rate\": 1, \"deadline_ms\": -1", "deadline_ms must be");
    refuses_network("\"rate\": 1, \"importance\": -1", "importance must be a whole number from 0 to 1000");
    refuses_network("\"rate\": 1, \"model\": \"\"", "model must be the path of a file");
    refuses_network("\"rate\": 1, \"model\": [1]", "model must be the path of a file");
    refuses_network("\"rate\": 1, \"input\": 0", "input must be the path of a file");
    refuses_network("\"rate\": 1, \"shape\": []", "shape must be an array of 1 to 6 dimensions");
    refuses_network("\"rate\": 1, \"shape\": [1,2,3,4,5,6,7]", "shape must be an array");
    refuses_network("\"rate\": 1, \"shape\": [1, 0]", "shape must be a whole number");
    refuses_network("\"rate\": 1, \"shape\": 8", "shape must be an array");
}

static void long_texts_do_not_overflow_messages(void **state)
{
    (void)state;
    static char text[4096];
    char name[1024];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(text, sizeof text, "{\"networks\": [{\"name\": \"%s\", \"rate\": 1}]}", name);
    refuses(text, "xxx");
    (void)snprintf(text, sizeof text, "{\"networks\": [{\"name\": \"a\", \"%s\": 1}]}", name);
    refuses(text, "network a: xxx");
}

static void too_many_networks_are_refused(void **state)
{
    (void)state;
    static char text[8192];
    size_t length = (size_t)snprintf(text, sizeof text, "{\"networks\": [");
    for (int i = 0; i < 65; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s{\"name\": \"n%d\", \"rate\": 1}",
                                   i > 0 ? "," : "", i);
    }
    (void)snprintf(text + length, sizeof text - length, "]}");
    refuses(text, "networks must be an array of 1 to 64 networks");
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    cli_scenario scenario;
    assert_false(cli_scenario_read(MTS_BINARY_DIR "/no_such_scenario.json", &scenario, error));
    assert_non_null(strstr(error, "no_such_scenario.json"));
    cli_scenario_release(&scenario);
    assert_false(cli_scenario_read(MTS_BINARY_DIR, &scenario, error));
    cli_scenario_release(&scenario);
}

static int remove_file(void **state)
{
    (void)state;
    return remove(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scenario_is_read),
        cmocka_unit_test(what_is_no_scenario_is_refused),
        cmocka_unit_test(a_network_is_checked_key_by_key),
        cmocka_unit_test(long_texts_do_not_overflow_messages),
        cmocka_unit_test(too_many_networks_are_refused),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
