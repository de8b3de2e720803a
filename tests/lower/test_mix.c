/*
 * test_mix.c: launches of the combined program read so many buffers in the place of the weights; one more is refused,
 * and nothing of it reads the weights.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lower/encode.h"
#include "lower/mix.h"

enum { LAUNCHES = MTS_LAUNCH_SOURCES + 1 };

static mts_status mix(uint32_t count, mts_encoded_launch *out, mts_error *error)
{
    mts_arena arena;
    mts_encoded_launch launches[LAUNCHES];
    uint32_t numbers[LAUNCHES];
    const mts_device_info device = {.is_gpu = true};
    mts_encoding encoding = {
        .device = &device, .arena = &arena, .strings = &arena, .error = error, .launches = launches};
    mts_arena_init(&arena, mts_allocator_default());
    mts_param_buffer_init(&encoding.params, mts_allocator_default());
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = i;
        launches[i] = (mts_encoded_launch){.kernel = "copy_any__f32_planar",
                                           .source = 100 + i,
                                           .global = {64, 1, 1},
                                           .local = {64, 1, 1},
                                           .entries = {.kind = MTS_ENTRY_PARAMS, .words = 1, .count = 1}};
    }
    encoding.launch_count = count;
    const mts_status status = mts_mix_launches(&encoding, numbers, count, out);
    mts_param_buffer_release(&encoding.params);
    mts_arena_release(&arena);
    return status;
}

static void a_launch_reads_so_many_buffers_and_not_one_more(void **state)
{
    mts_encoded_launch out;
    mts_error error = {0};
    (void)state;
    assert_int_equal(mix(MTS_LAUNCH_SOURCES, &out, &error), MTS_STATUS_OK);
    for (uint32_t i = 0; i < MTS_LAUNCH_SOURCES; i++) {
        assert_int_equal(out.sources[i], 100 + i);
        assert_int_equal(mts_mix_has_room(out.sources, &(mts_encoded_launch){.source = 100 + i}), 1);
    }
    assert_false(mts_mix_has_room(out.sources, &(mts_encoded_launch){.source = 99}));
    assert_true(mts_mix_has_room(out.sources, &(mts_encoded_launch){.source = 0}));
    assert_int_equal(mix(LAUNCHES, &out, &error), MTS_STATUS_INTERNAL);
    assert_non_null(strstr(error.text, "8 buffers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_launch_reads_so_many_buffers_and_not_one_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
