/*
 * test_mix.c: launches of the combined program read so many buffers in the place of the weights; one more is refused,
 * and nothing of it reads the weights. And members that are cut into pieces: each work-group is there once, and a share
 * of the list has the same share of each member.
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
    const mts_status status = mts_mix_launches(&encoding, numbers, count, 1, out);
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

static void pieces_have_each_work_group_once_and_a_share_of_every_member(void **state)
{
    enum { MEMBERS = 3, PIECES = 8, GROUPS_MOST = 64 };
    static const uint32_t groups[MEMBERS] = {40, 64, 3};
    mts_arena arena;
    mts_error error = {0};
    mts_encoded_launch out = {0}, launches[MEMBERS];
    const uint32_t numbers[MEMBERS] = {0, 1, 2};
    const mts_device_info device = {.compute_units = 2};
    mts_encoding encoding = {
        .device = &device, .arena = &arena, .strings = &arena, .error = &error, .launches = launches};
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    mts_param_buffer_init(&encoding.params, mts_allocator_default());
    for (uint32_t i = 0; i < MEMBERS; i++) {
        launches[i] =
            (mts_encoded_launch){.kernel = "copy_any__f32_planar",
                                 .global = {1, groups[i], 1},
                                 .local = {1, 1, 1},
                                 .entries = {.kind = MTS_ENTRY_PARAMS, .first = i, .words = 1, .count = 1}};
    }
    encoding.launch_count = MEMBERS;
    assert_int_equal(mts_mix_launches(&encoding, numbers, MEMBERS, PIECES, &out), MTS_STATUS_OK);
    assert_int_equal(out.global[0], 40 + 64 + 3);
    uint8_t seen[MEMBERS][GROUPS_MOST] = {{0}};
    uint32_t sums[MEMBERS] = {0};
    uint32_t begin = 0;
    for (uint32_t e = 0; e < out.entries.count; e++) {
        mts_mixed_params entry;
        memcpy(&entry, encoding.params.words + out.entries.first + (size_t)e * out.entries.words,
               sizeof entry);
        assert_int_equal(entry.begin, begin);
        assert_true(out.entries.heights[e] > 0);
        for (uint32_t g = begin; g < begin + out.entries.heights[e]; g++) {
            assert_true(g + entry.shift < groups[entry.member]);
            seen[entry.member][g + entry.shift]++;
            sums[entry.member]++;
            for (uint32_t m = 0; m < 2; m++) { /* as much of this member as of all, but for a piece */
                const double all = (double)(g + 1) / (40 + 64 + 3);
                assert_true(sums[m] >= groups[m] * (all - 1.1 / PIECES));
                assert_true(sums[m] <= groups[m] * (all + 1.1 / PIECES));
            }
        }
        begin += out.entries.heights[e];
    }
    for (uint32_t m = 0; m < MEMBERS; m++) {
        for (uint32_t g = 0; g < groups[m]; g++) {
            assert_int_equal(seen[m][g], 1);
        }
    }
    mts_param_buffer_release(&encoding.params);
    mts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_reads_so_many_buffers_and_not_one_more),
        cmocka_unit_test(pieces_have_each_work_group_once_and_a_share_of_every_member)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
