/*
 * The string builder, error texts and log lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tests/support/fault.h"

static void text_grows_to_any_length(void **state)
{
    (void)state;
    mts_text text;
    mts_text_init(&text, mts_allocator_default());
    assert_string_equal(mts_text_get(&text), "");
    mts_text_add(&text, "%s", "");
    for (int i = 0; i < 5000; i++) {
        mts_text_add(&text, "%d,", i % 10);
    }
    assert_false(text.failed);
    assert_true(text.length == 10000);
    assert_true(strlen(mts_text_get(&text)) == 10000);
    assert_memory_equal(mts_text_get(&text) + 9996, "8,9,", 5);
    mts_text_release(&text);
    assert_string_equal(mts_text_get(&text), "");
}

static void json_literals_escape_what_json_forbids(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f", "\"\\u0001\\u001f\""},
        {"gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80", "\"gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff", "\"\\u00ff\""},
        {"\xc3", "\"\\u00c3\""},                                  /* cut sequence */
        {"\xc0\xaf", "\"\\u00c0\\u00af\""},                       /* overlong */
        {"\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\""},            /* surrogate */
        {"\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\""}, /* above the last code point */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mts_text text;
        mts_text_init(&text, mts_allocator_default());
        mts_text_add_json(&text, cases[i].in);
        assert_string_equal(mts_text_get(&text), cases[i].out);
        mts_text_release(&text);
    }
}

static void lack_of_memory_is_remembered_and_appending_goes_on_harmlessly(void **state)
{
    (void)state;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 2);
    mts_text text;
    mts_text_init(&text, &fault.base);
    mts_text_add(&text, "kept");
    mts_text_add(&text, "%200s", "lost");
    assert_true(text.failed);
    mts_text_add(&text, "ignored");
    mts_text_add_json(&text, "ignored");
    assert_string_equal(mts_text_get(&text), "kept");
    mts_text_release(&text);
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 1);
    mts_text_init(&text, &fault.base);
    mts_text_add_json(&text, "lost");
    assert_true(text.failed);
    assert_string_equal(mts_text_get(&text), "");
    mts_text_release(&text);
    assert_int_equal(fault.alive, 0);
    mts_text nothing = {0}; /* never begun */
    mts_text_release(&nothing);
}

static void an_error_text_is_cut_to_fit_but_not_within_a_character(void **state)
{
    (void)state;
    mts_error error;
    char long_text[2 * MTS_ERROR_TEXT];
    for (size_t lead = 0; lead < 3; lead++) {
        memset(long_text, 'x', lead);
        for (size_t i = lead; i + 2 < sizeof long_text; i += 2) {
            memcpy(long_text + i, "\xc3\xbc", 3);
        }
        assert_int_equal(mts_fail(&error, MTS_STATUS_IO, "%s", long_text), MTS_STATUS_IO);
        const size_t length = strlen(error.text);
        assert_in_range(length, MTS_ERROR_TEXT - 3, MTS_ERROR_TEXT - 1);
        assert_int_equal((unsigned char)error.text[length - 1], 0xbc);
    }
    assert_int_equal(mts_fail(NULL, MTS_STATUS_LIMIT, "no error struct"), MTS_STATUS_LIMIT);
}

/* A text that is cut after `cut` bytes of a character of `length` bytes. */
static void cut_within(const char *character, size_t length, size_t cut)
{
    mts_error error;
    char text[MTS_ERROR_TEXT + 8];
    const size_t before = MTS_ERROR_TEXT - 1 - cut;
    memset(text, 'x', before);
    memcpy(text + before, character, length);
    memset(text + before + length, 'y', sizeof text - before - length);
    text[sizeof text - 1] = '\0';
    (void)mts_fail(&error, MTS_STATUS_IO, "%s", text);
    assert_int_equal(strlen(error.text), before + (cut == length ? length : 0));
}

static void characters_of_every_length_are_cut_as_a_whole(void **state)
{
    mts_error error;
    (void)state;
    for (size_t cut = 1; cut <= 2; cut++) {
        cut_within("\xc3\xbc", 2, cut);
    }
    for (size_t cut = 1; cut <= 3; cut++) {
        cut_within("\xe2\x82\xac", 3, cut);
    }
    for (size_t cut = 1; cut <= 4; cut++) {
        cut_within("\xf0\x9f\x98\x80", 4, cut);
    }
    /* no character at all before the end: nothing is read in front of the text */
    (void)mts_fail(&error, MTS_STATUS_IO, "%c%600s", 0, "x");
    assert_string_equal(error.text, "");
    (void)mts_fail(&error, MTS_STATUS_IO, "%c%c%600s", 0x80, 0, "x");
    assert_string_equal(error.text, "\x80");
}

/* No bytes stand for this character in the C locale: printing fails. */
static const wchar_t unprintable[] = {0x7fffffff, 0};

static void what_cannot_be_printed_is_left_out(void **state)
{
    mts_error error;
    mts_text text;
    (void)state;
    assert_int_equal(mts_fail(&error, MTS_STATUS_IO, "%ls", unprintable), MTS_STATUS_IO);
    assert_string_equal(error.text, "");
    (void)mts_fail(&error, MTS_STATUS_LIMIT, "too many");
    assert_int_equal(mts_fail_prefix(&error, MTS_STATUS_IO, "%ls", unprintable), MTS_STATUS_LIMIT);
    assert_string_equal(error.text, "too many");
    mts_text_init(&text, mts_allocator_default());
    mts_text_add(&text, "kept");
    mts_text_add(&text, "%ls", unprintable);
    assert_true(text.failed);
    assert_string_equal(mts_text_get(&text), "kept");
    mts_text_release(&text);
}

static void only_text_that_terminals_show_is_text(void **state)
{
    static const struct {
        const char *bytes;
        size_t length, text;
    } cases[] = {{"a", 1, 1},
                 {"\x1b", 1, 0},
                 {"\x7f", 1, 0},
                 {"\xc2\x9b", 2, 0},
                 {"\xc2\xa0", 2, 2},
                 {"\xc2", 0, 0},
                 {"\xe2\x82\xac", 3, 3},
                 {"\xf0\x9f\x98\x80", 4, 4},
                 {"\x80", 0, 0},
                 {"\xf8\x88\x80\x80", 0, 0},
                 {"\xe0\x80\x80", 0, 0},
                 {"\xed\xbf\xbf", 0, 0},
                 {"\xee\x80\x80", 3, 3},
                 {"\xf4\x90\x80\x80", 0, 0},
                 {"\xc3(", 0, 0}};
    char line[] = "a\x1b[2J\xc2\x9b"
                  "b\xff"
                  "gr\xc3\xbcn\x7f";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const unsigned char *bytes = (const unsigned char *)cases[i].bytes;
        assert_int_equal(mts_utf8_length(bytes, strlen(cases[i].bytes)), cases[i].length);
        assert_int_equal(mts_utf8_text(bytes, strlen(cases[i].bytes)), cases[i].text);
    }
    mts_utf8_clean(line, strlen(line));
    assert_string_equal(line, "a?[2J??b?gr\xc3\xbcn?");
}

static void a_prefix_goes_before_the_text_and_keeps_the_code(void **state)
{
    (void)state;
    mts_error error;
    (void)mts_fail(&error, MTS_STATUS_MALFORMED, "node %d is bad", 3);
    assert_int_equal(mts_fail_prefix(&error, MTS_STATUS_IO, "file '%s'", "a.onnx"), MTS_STATUS_MALFORMED);
    assert_string_equal(error.text, "file 'a.onnx': node 3 is bad");
    assert_int_equal(mts_fail_prefix(NULL, MTS_STATUS_IO, "x"), MTS_STATUS_IO);
    (void)mts_fail(&error, MTS_STATUS_IO, "again: %s", error.text); /* the old text as an argument */
    assert_string_equal(error.text, "again: file 'a.onnx': node 3 is bad");
}

static void every_code_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = 0; a <= MTS_STATUS_INTERNAL; a++) {
        assert_string_not_equal(mts_status_text((mts_status)a), "unknown");
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(mts_status_text((mts_status)a), mts_status_text((mts_status)b));
        }
    }
    assert_string_equal(mts_status_text((mts_status)(MTS_STATUS_INTERNAL + 1)), "unknown");
    assert_string_equal(mts_status_text((mts_status)-1), "unknown");
}

static void keep_line(void *context, mts_log_severity level, const char *text)
{
    assert_int_equal(level, MTS_LOG_INFO);
    (void)strncpy(context, text, 31);
}

static void keep_any(void *context, mts_log_severity level, const char *text)
{
    (void)level;
    (void)strncpy(context, text, 31);
}

static void a_failure_is_told_where_the_caller_wants_it(void **state)
{
    char line[32] = "";
    char text[8] = "";
    mts_error error = {0};
    const mts_sink both = {.text = text, .size = sizeof text, .context = line, .write = keep_any};
    const mts_sink none = {.text = text, .size = 0};
    (void)state;
    assert_int_equal(mts_sink_report(&both, MTS_STATUS_OK, NULL), MTS_STATUS_OK);
    assert_string_equal(line, "");
    assert_int_equal(mts_sink_report(&both, MTS_STATUS_IO, NULL), MTS_STATUS_IO);
    assert_string_equal(line, "io");
    assert_int_equal(mts_sink_report(&both, MTS_STATUS_LIMIT, &error), MTS_STATUS_LIMIT);
    assert_string_equal(text, "limit");
    (void)mts_fail(&error, MTS_STATUS_IO, "no such file");
    assert_int_equal(mts_sink_report(&both, MTS_STATUS_IO, &error), MTS_STATUS_IO);
    assert_string_equal(text, "no such");
    assert_string_equal(line, "no such file");
    assert_int_equal(mts_sink_report(&none, MTS_STATUS_BUSY, &error), MTS_STATUS_BUSY);
    assert_int_equal(mts_sink_report(&(mts_sink){0}, MTS_STATUS_BUSY, NULL), MTS_STATUS_BUSY);
    assert_string_equal(text, "no such");
}

static void a_log_line_reaches_the_callback_and_no_callback_is_fine(void **state)
{
    (void)state;
    char line[32] = "";
    const mts_log log = {line, keep_line};
    const mts_log silent = {NULL, NULL};
    mts_log_write(&log, MTS_LOG_INFO, "%s %d", "layer", 7);
    assert_string_equal(line, "layer 7");
    mts_log_write(&silent, MTS_LOG_INFO, "nobody");
    mts_log_write(NULL, MTS_LOG_INFO, "nobody");
    mts_log_write(&log, MTS_LOG_INFO, "cannot: %ls", unprintable); /* the format is better than nothing */
    assert_string_equal(line, "cannot: %ls");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_to_any_length),
        cmocka_unit_test(json_literals_escape_what_json_forbids),
        cmocka_unit_test(lack_of_memory_is_remembered_and_appending_goes_on_harmlessly),
        cmocka_unit_test(an_error_text_is_cut_to_fit_but_not_within_a_character),
        cmocka_unit_test(characters_of_every_length_are_cut_as_a_whole),
        cmocka_unit_test(what_cannot_be_printed_is_left_out),
        cmocka_unit_test(only_text_that_terminals_show_is_text),
        cmocka_unit_test(a_failure_is_told_where_the_caller_wants_it),
        cmocka_unit_test(a_prefix_goes_before_the_text_and_keeps_the_code),
        cmocka_unit_test(every_code_has_a_name_of_its_own),
        cmocka_unit_test(a_log_line_reaches_the_callback_and_no_callback_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
