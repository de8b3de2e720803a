/*
 * End-to-end tests of mts bench --scenario and --arrivals on tiny networks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/program.h"

#define BENCH "bench --device reference --warmup 1 "

static void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

static void refuses(int status, const char *arguments, const char *what)
{
    result r = expect(status, arguments);
    if (!strstr(r.err, what)) {
        fail_msg("%s said '%s' instead of '%s'", arguments, r.err, what);
    }
    result_release(&r);
}

/* Three networks of one small bundle; the first runs two times on an arrival. */
static void write_bundle(void)
{
    result r = expect(0, "synth --arch resnet18 --tasks 4 --prune 0.97 --share 0.5 --input 32 -o x.mtsb");
    result_release(&r);
    write_text("x.json", "{\"networks\": [{\"name\": \"t0\", \"rate\": 40},"
                         "{\"name\": \"t1\", \"rate\": 20, \"importance\": 2},"
                         "{\"name\": \"t3\", \"rate\": 10, \"deadline_ms\": 250}]}");
}

static void a_scenario_runs_on_a_bundle(void **state)
{
    (void)state;
    write_bundle();
    json_t *root = expect_json(BENCH "x.mtsb --scenario x.json --seconds 0.4 --rounds 2 --speed 0.5 "
                                     "--strategies sequential,compact --schedules fit,together,alone --json");
    assert_true(json_real_value(json_object_get(root, "speed")) == 0.5);
    assert_true(json_integer_value(json_object_get(root, "resident_bytes")) > 0);
    const json_t *results = json_object_get(root, "results");
    assert_int_equal(json_array_size(results), 6);
    for (size_t i = 0; i < 6; i++) {
        const json_t *row = json_array_get(results, i);
        const json_t *networks = json_object_get(row, "networks");
        json_int_t due = 0;
        assert_int_equal(json_array_size(networks), 3);
        for (size_t n = 0; n < 3; n++) {
            const json_t *network = json_array_get(networks, n);
            due += json_integer_value(json_object_get(network, "due"));
            assert_int_equal(json_integer_value(json_object_get(network, "kept")) +
                                 json_integer_value(json_object_get(network, "dropped")),
                             json_integer_value(json_object_get(network, "due")));
        }
        /* 2 turns of 0.2 s: 20, 10 and 5 frames a second */
        assert_int_equal(due, 2 * (4 + 2 + 1));
        assert_int_equal(json_integer_value(json_object_get(row, "due")), due);
        const double score = json_number_value(json_object_get(row, "score"));
        assert_true(score >= 0.0 && score <= 100.0);
        assert_true(json_number_value(json_object_get(row, "difference")) <= 1e-4);
        assert_true(json_integer_value(json_object_get(json_object_get(row, "bytes"), "peak")) > 0);
    }
    const json_t *last = json_array_get(json_object_get(json_array_get(results, 5), "networks"), 2);
    assert_string_equal(json_string_value(json_object_get(last, "name")), "t3");
    assert_true(json_number_value(json_object_get(last, "deadline_ms")) == 250.0);
    json_decref(root);
}

static void a_scenario_compiles_its_models(void **state)
{
    (void)state;
    compile_demo();
    result r = expect(0, "export small.mtsb --task animal -o a.onnx");
    result_release(&r);
    write_text("x.json", "{\"description\": \"one network, two times\", \"networks\": ["
                         "{\"name\": \"a\", \"model\": \"a.onnx\", \"rate\": 20, \"times\": 2}]}");
    const uint32_t before = files_in_folder();
    r = expect(0, BENCH "--scenario x.json --seconds 0.2 -o x.out.json");
    assert_non_null(strstr(r.out, "1 networks as 2 tasks"));
    assert_non_null(strstr(r.out, "one network, two times"));
    result_release(&r);
    assert_int_equal(files_in_folder(), before + 1);
    json_error_t error;
    json_t *root = json_load_file("x.out.json", 0, &error);
    const json_t *row = json_array_get(json_object_get(root, "results"), 0);
    assert_int_equal(json_integer_value(json_object_get(row, "due")), 8);
    json_decref(root);
}

static void requests_arrive_by_the_clock(void **state)
{
    (void)state;
    write_bundle();
    json_t *root =
        expect_json(BENCH "x.mtsb --arrivals poisson --rate 20,1000000 --requests 12 --in-flight 2 "
                          "--inputs copied --json");
    const json_t *results = json_object_get(root, "results");
    assert_int_equal(json_array_size(results), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(results, i);
        const json_t *rates = json_object_get(row, "rates");
        const double most = json_number_value(json_object_get(row, "saturation_per_s"));
        assert_int_equal(json_array_size(rates), 2);
        assert_true(most > 0.0);
        const json_t *last = json_array_get(rates, 1);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(last, "queue"), "max")), 11);
        for (size_t r = 0; r < 2; r++) {
            const json_t *latency = json_object_get(json_array_get(rates, r), "latency_ms");
            const double p50 = json_number_value(json_object_get(latency, "p50"));
            assert_true(p50 > 0.0 && p50 <= json_number_value(json_object_get(latency, "p99_9")));
        }
    }
    json_decref(root);
    write_text("trace.txt", "0\n10\n20\n40\n");
    result r = expect(0, BENCH "x.mtsb --arrivals trace --trace trace.txt --strategies compact");
    assert_non_null(strstr(r.out, "4 requests for each row, arrivals trace"));
    assert_non_null(strstr(r.out, "     75.0 "));
    result_release(&r);
    write_text("trace.txt", "0\n10\nsoon\n");
    refuses(1, "bench x.mtsb --arrivals trace --trace trace.txt", "'trace.txt': line 3 is no time");
    refuses(1, "bench x.mtsb --arrivals trace --trace none.txt", "none.txt");
    refuses(2, "bench x.mtsb --arrivals often", "not 'often'");
    refuses(2, "bench x.mtsb --arrivals trace", "needs --trace FILE");
    refuses(2, "bench x.mtsb --arrivals poisson --rate 0", "--rate takes");
    refuses(2, "bench x.mtsb --arrivals poisson --load 11", "--load takes");
    refuses(2, "bench x.mtsb --arrivals poisson --rate 1 --load 1", "not both");
    refuses(2, "bench x.mtsb --arrivals poisson --in-flight 2", "--inputs copied");
    refuses(2, "bench x.mtsb --rate 3", "need --arrivals");
    refuses(2, "bench --arrivals poisson", "needs a BUNDLE");
}

static void mistakes_are_named(void **state)
{
    (void)state;
    write_bundle();
    refuses(2, "bench", "give a BUNDLE or --scenario FILE");
    refuses(2, "bench x.mtsb --seconds 3", "need --scenario");
    refuses(2, "bench --scenario x.json --tasks 3", "do not go with --scenario");
    refuses(2, "bench --scenario x.json --runs 3", "do not go with --scenario");
    refuses(2, "bench --scenario x.json --schedules often", "no schedule 'often'");
    refuses(2, "bench --scenario x.json --speed 0", "--speed");
    refuses(2, "bench --scenario x.json --seconds nan", "--seconds");
    refuses(1, "bench --scenario y.json", "y.json");
    refuses(1, BENCH "--scenario x.json --seconds 0.1", "network t0: needs a model");
    refuses(1, BENCH "x.mtsb --scenario x.json --seconds 3600 --speed 1000", "more than the limit");
    write_text("y.json", "{\"networks\": [{\"name\": \"t9\", \"rate\": 40}]}");
    refuses(1, BENCH "x.mtsb --scenario y.json", "network t9");
    write_text("y.json", "{\"networks\": [{\"name\": \"a\", \"model\": \"no.onnx\", \"rate\": 40}]}");
    refuses(1, BENCH "--scenario y.json", "no.onnx");
    write_text("y.json", "{\"networks\": [{\"name\": \"a\", \"model\": \"y.json\", \"rate\": 40}]}");
    refuses(1, BENCH "--scenario y.json", "network a");
    write_text("y.json", "{\"networks\": [{\"name\": \"t0\", \"input\": \"no.npy\", \"rate\": 40}]}");
    refuses(1, BENCH "x.mtsb --scenario y.json", "no.npy");
    write_text("y.json", "{\"networks\": [{\"name\": \"t0\", \"input\": \"x.json\", \"rate\": 40}]}");
    refuses(1, BENCH "x.mtsb --scenario y.json", "x.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_scenario_runs_on_a_bundle),
        IN_FOLDER(a_scenario_compiles_its_models),
        IN_FOLDER(requests_arrive_by_the_clock),
        IN_FOLDER(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
