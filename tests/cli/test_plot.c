/*
 * Pictures of launches: mts inspect --plan --svg and mts profile --svg, and that no text of a model can become more than
 * text in them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

#include "apps/mts/schedule_plot.h"
#include "apps/mts/svg.h"

/* Of apps/kit: what messages begin with. */
const char *const cli_program = "test_plot";

static void escaped_check(const char *text, const char *wanted)
{
    char *got = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&got, &size);
    assert_non_null(out);
    cli_svg_escaped(out, text);
    (void)fclose(out);
    assert_string_equal(got, wanted);
    free(got);
}

static void texts_of_models_stay_texts(void **state)
{
    (void)state;
    escaped_check("</text><script>alert(\"&\")</script>",
                  "&lt;/text&gt;&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;");
    escaped_check("a\nb\tc\x01"
                  "d",
                  "a b c d");
    escaped_check("\xff\xc3 (\xc3\xa9", "?? (\xc3\xa9"); /* no UTF-8, then an e with an accent */
    escaped_check("\xef\xbf\xbe\xed\xa0\x80.", "????."); /* U+FFFE, half of a surrogate pair */
    escaped_check("cut \xe2\x82", "cut ??");
}

static void occupancy_is_the_share_of_rounds_of_tiles(void **state)
{
    (void)state;
    mts_launch_profile l = {.tiles = 1};
    assert_true(cli_schedule_occupancy(&l, 4) < 0.26);
    l.tiles = 8;
    assert_true(cli_schedule_occupancy(&l, 4) > 0.99);
    l.tiles = 9; /* three rounds of four */
    assert_true(cli_schedule_occupancy(&l, 4) > 0.74 && cli_schedule_occupancy(&l, 4) < 0.76);
    l.tiles = UINT32_MAX;
    assert_true(cli_schedule_occupancy(&l, 132) <= 1.0);
    assert_true(cli_schedule_occupancy(&l, 0) > 0.99); /* a device that has no number of units */
}

static uint32_t count_of(const char *text, const char *what)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

static void picture_check(const char *path, const char *how, size_t launches)
{
    char *text = slurp(path);
    assert_int_equal(strncmp(text, "<svg ", 5), 0);
    assert_string_equal(text + strlen(text) - 7, "</svg>\n");
    assert_non_null(strstr(text, how));
    assert_non_null(strstr(text, "group 0: object"));
    assert_int_equal(count_of(text, "<title>"), launches + 1);
    assert_int_equal(count_of(text, "<g "), launches + 1);
    free(text);
}

static void plans_and_profiles_are_drawn(void **state)
{
    (void)state;
    compile_demo();
    result r = expect(0, "inspect small.mtsb --plan --device reference --svg plan.svg");
    assert_non_null(strstr(r.out, "launches")); /* the text comes too */
    result_release(&r);
    json_t *root = expect_json("inspect small.mtsb --plan --json --device reference");
    picture_check("plan.svg", "predicted with", json_array_size(json_object_get(root, "launches")));
    json_decref(root);
    r = expect(0, "profile small.mtsb --device reference --runs 1 --no-probe --svg run.svg --trace run.json");
    result_release(&r);
    char *trace = slurp("run.json");
    assert_non_null(strstr(trace, "\"tiles\""));
    picture_check("run.svg", "measured, medians of 1 runs", count_of(trace, "\"ph\": \"X\""));
    free(trace);
}

static void what_cannot_be_drawn_is_said(void **state)
{
    (void)state;
    compile_demo();
    result r = expect(2, "inspect small.mtsb --svg plan.svg");
    assert_non_null(strstr(r.err, "--plan"));
    result_release(&r);
    r = expect(1, "inspect small.mtsb --plan --device reference --svg nowhere/plan.svg");
    assert_non_null(strstr(r.err, "nowhere"));
    result_release(&r);
    r = expect(1, "profile small.mtsb --device reference --runs 1 --no-probe --svg .");
    result_release(&r);
    assert_int_not_equal(access("plan.svg", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_models_stay_texts),
        cmocka_unit_test(occupancy_is_the_share_of_rounds_of_tiles),
        IN_FOLDER(plans_and_profiles_are_drawn),
        IN_FOLDER(what_cannot_be_drawn_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
