/*
 * Bundles are joined by content, and patches lead to the same bytes; a patch that is damaged, hostile or made
 * for another bundle is refused with its reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "bundle/join.h"
#include "compiler/models/patch.h"
#include "compiler/models/patch_format.h"
#include "support/fault_each.h"
#include "support/subset.h"
#include "support/synth.h"

#define TABLE ((size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT)

static struct {
    test_synth all;
    char base[128], extra[128], joined[128], patch[128], applied[128];
    mts_bundle_bytes base_bytes, extra_bytes;
} world;

static int open_world(void **state)
{
    static const uint32_t first[] = {0, 1, 2};
    static const uint32_t last[] = {3};
    const double prune = 0.8;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 4, &prune, 1, 0.8);
    (void)state;
    test_synth_open(&world.all, &o);
    (void)snprintf(world.base, sizeof world.base, "%s.base", world.all.path);
    (void)snprintf(world.extra, sizeof world.extra, "%s.extra", world.all.path);
    (void)snprintf(world.joined, sizeof world.joined, "%s.joined", world.all.path);
    (void)snprintf(world.patch, sizeof world.patch, "%s.patch", world.all.path);
    (void)snprintf(world.applied, sizeof world.applied, "%s.applied", world.all.path);
    test_subset_write(world.all.archive, first, 3, 1.0f, world.base);
    test_subset_write(world.all.archive, last, 1, 1.0f, world.extra);
    test_subset(world.all.archive, first, 3, 1.0f, &world.base_bytes);
    test_subset(world.all.archive, last, 1, 1.0f, &world.extra_bytes);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    mts_bundle_bytes_release(&world.base_bytes);
    mts_bundle_bytes_release(&world.extra_bytes);
    (void)unlink(world.base);
    (void)unlink(world.extra);
    (void)unlink(world.joined);
    (void)unlink(world.patch);
    (void)unlink(world.applied);
    test_synth_close(&world.all);
    return 0;
}

static mts_status append(const char *base, const char *extra, const char *output, uint32_t patch,
                         mtsc_append_report *report, char *sentence, size_t size)
{
    mtsc_options options;
    mtsc_options_default(&options);
    options.error_text = sentence;
    options.error_size = size;
    return mtsc_append(base, extra, output, patch, &options, report);
}

static mts_os_map map_of(const char *path)
{
    mts_os_map map;
    mts_error error = {0};
    test_must(mts_os_map_file(path, &map, &error), &error, path);
    return map;
}

static void a_joined_bundle_stores_equal_blocks_once(void **state)
{
    (void)state;
    mtsc_append_report report = {.size = sizeof report};
    mts_archive *archive = NULL;
    mts_error error = {0};
    assert_int_equal(append(world.base, world.extra, world.joined, 0, &report, NULL, 0), MTS_STATUS_OK);
    mts_os_map map = map_of(world.joined);
    test_must(mts_archive_read(map.data, map.size, "joined", NULL, mts_allocator_default(), &archive, &error),
              &error, "read");
    assert_int_equal(archive->task_count, 4);
    assert_int_equal(archive->block_count, world.all.archive->block_count);
    assert_int_equal(report.tasks, 4);
    assert_int_equal(report.tasks_added, 1);
    assert_true(report.blocks_added > 0 && report.weights_added > 0);
    assert_int_equal(report.written_bytes, map.size);
    assert_int_equal(report.result_bytes, map.size);
    for (uint32_t t = 0; t < 4; t++) {
        assert_string_equal(archive->tasks[t].name, world.all.archive->tasks[t].name);
    }
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
}

static void a_patch_has_only_what_is_new_and_gives_the_joined_bundle_bit_for_bit(void **state)
{
    (void)state;
    mtsc_append_report report = {.size = sizeof report};
    assert_int_equal(append(world.base, world.extra, world.joined, 0, NULL, NULL, 0), MTS_STATUS_OK);
    assert_int_equal(append(world.base, world.extra, world.patch, 1, &report, NULL, 0), MTS_STATUS_OK);
    mts_os_map patch = map_of(world.patch);
    mts_os_map extra = map_of(world.extra);
    assert_int_equal(report.written_bytes, patch.size);
    assert_true(patch.size < extra.size);
    /* nothing of the base but the records of the new task, and blocks at multiples of 64 bytes */
    assert_true(patch.size < report.weights_added + 64 * report.blocks_added + extra.size / 3);
    assert_int_equal(append(world.base, world.patch, world.applied, 0, &report, NULL, 0), MTS_STATUS_OK);
    assert_int_equal(report.tasks_added, 1);
    mts_os_map joined = map_of(world.joined);
    mts_os_map applied = map_of(world.applied);
    assert_int_equal(joined.size, applied.size);
    assert_memory_equal(joined.data, applied.data, joined.size);
    mts_os_unmap(&patch);
    mts_os_unmap(&extra);
    mts_os_unmap(&joined);
    mts_os_unmap(&applied);
}

static void calls_that_make_no_sense_say_why(void **state)
{
    (void)state;
    char why[512];
    assert_int_equal(append(world.base, world.extra, world.patch, 1, NULL, why, sizeof why), MTS_STATUS_OK);
    assert_int_equal(append(world.base, world.base, world.joined, 0, NULL, why, sizeof why),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(why, "both bundles have a task 't0'");
    assert_int_equal(append(world.extra, world.patch, world.joined, 0, NULL, why, sizeof why),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(why, "it was made for a bundle with hash"));
    assert_int_equal(append(world.patch, world.base, world.joined, 0, NULL, why, sizeof why),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(why, "is a patch; name the bundle first"));
    assert_int_equal(append(world.base, world.patch, world.joined, 1, NULL, why, sizeof why),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(why, "is a patch already"));
    assert_int_equal(append(world.base, world.extra, world.base, 0, NULL, why, sizeof why),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(append(world.base, world.extra, world.joined, 2, NULL, why, sizeof why),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_string_equal(why, "append: patch is 0 or 1, not 2");
    assert_int_equal(append(world.base, NULL, world.joined, 0, NULL, why, sizeof why),
                     MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(append(world.base, "/nowhere.mtsb", world.joined, 0, NULL, why, sizeof why),
                     MTS_STATUS_NOT_FOUND);
}

/* ---- hostile patches ---- */

static void seal(unsigned char *patch)
{
    const uint64_t hash = mts_hash(patch, MTS_PATCH_HASH, 0);
    mts_store_u64(patch + MTS_PATCH_HASH, mts_hash(patch + MTS_FORMAT_HEADER, TABLE, hash));
}

/* The patch from base to all tasks. */
static void make_patch(mts_bundle_bytes *patch)
{
    mts_error error = {0};
    mts_archive *archives[3] = {NULL};
    mts_bundle_bytes joined;
    const mts_allocator *allocator = mts_allocator_default();
    test_must(mts_archive_read(world.base_bytes.data, world.base_bytes.size, "base", NULL, allocator,
                               &archives[0], &error),
              &error, "read");
    test_must(mts_archive_read(world.extra_bytes.data, world.extra_bytes.size, "extra", NULL, allocator,
                               &archives[1], &error),
              &error, "read");
    test_must(mts_archive_join(archives[0], archives[1], MTS_JOIN_REFUSE, allocator, &archives[2], &error),
              &error, "join");
    test_must(mts_bundle_encode(archives[2], allocator, &joined, &error), &error, "encode");
    const mts_patch_file from = {world.base_bytes.data, world.base_bytes.size, "base"};
    const mts_patch_file to = {joined.data, joined.size, "joined"};
    test_must(mts_patch_make(&from, &to, allocator, patch, NULL, &error), &error, "patch");
    mts_bundle_bytes_release(&joined);
    for (int i = 2; i >= 0; i--) {
        mts_archive_destroy(&archives[i]);
    }
}

static mts_status apply(const unsigned char *bytes, size_t size, mts_error *error)
{
    const mts_patch_file from = {world.base_bytes.data, world.base_bytes.size, "base"};
    const mts_patch_file patch = {bytes, size, "patch"};
    mts_bundle_bytes made;
    const mts_status status = mts_patch_apply(&from, &patch, mts_allocator_default(), &made, error);
    mts_bundle_bytes_release(&made);
    return status;
}

static void every_damaged_byte_of_a_patch_is_noticed(void **state)
{
    (void)state;
    mts_bundle_bytes patch;
    mts_error error = {0};
    make_patch(&patch);
    test_must(apply(patch.data, patch.size, &error), &error, "apply");
    for (size_t at = 0; at < patch.size; at += at < 1024 ? 1 : 509) {
        patch.data[at] ^= 0x20;
        const mts_status status = apply(patch.data, patch.size, &error);
        assert_true(status == MTS_STATUS_MALFORMED || status == MTS_STATUS_UNSUPPORTED);
        patch.data[at] ^= 0x20;
    }
    for (size_t size = 0; size < patch.size; size += size < 1024 ? 7 : 997) {
        assert_int_equal(apply(patch.data, size, &error), MTS_STATUS_MALFORMED);
    }
    mts_bundle_bytes_release(&patch);
}

/* A number of a row, and a part of the sentence that refuses it. */
typedef struct lie {
    size_t row, at;
    uint64_t value;
    const char *sentence;
} lie;

static void a_patch_that_lies_is_refused_though_its_checksums_are_right(void **state)
{
    (void)state;
    static const lie lies[] = {
        {MTS_FORMAT_WEIGHTS, MTS_PATCH_KEPT, UINT64_MAX, "keeps 18446744073709551615 bytes of the base"},
        {MTS_FORMAT_WEIGHTS, MTS_PATCH_KEPT, UINT64_C(1) << 40, "keeps 1099511627776 bytes"},
        {MTS_FORMAT_WEIGHTS, MTS_PATCH_ADDED, UINT64_MAX, "do not fit"},
        {MTS_FORMAT_WEIGHTS, MTS_PATCH_ADDED, UINT64_C(1) << 62, "do not fit"},
        {MTS_FORMAT_WEIGHTS, MTS_PATCH_KEPT, 0, "its sections make"},
        {MTS_FORMAT_TASKS, MTS_PATCH_KEPT, 1, "no whole records"},
        {MTS_FORMAT_BLOCKS, MTS_PATCH_SUM, 1, "wrong checksum of what it adds to section 11"},
        {MTS_FORMAT_NODES, MTS_PATCH_KIND, 7, "is not that of section 4"},
    };
    mts_bundle_bytes patch;
    mts_error error = {0};
    make_patch(&patch);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        unsigned char *field = patch.data + MTS_FORMAT_HEADER + lies[i].row * MTS_FORMAT_SECTION + lies[i].at;
        const uint64_t old = mts_load_u64(field);
        if (lies[i].at == MTS_PATCH_KIND) {
            mts_store_u32(field, (uint32_t)lies[i].value);
        } else {
            mts_store_u64(field, lies[i].value);
        }
        seal(patch.data);
        assert_int_equal(apply(patch.data, patch.size, &error), MTS_STATUS_MALFORMED);
        if (!strstr(error.text, lies[i].sentence)) {
            fail_msg("'%s' has no '%s'", error.text, lies[i].sentence);
        }
        mts_store_u64(field, old);
    }
    /* what is made has the hash that the header says */
    const uint64_t result = mts_load_u64(patch.data + MTS_PATCH_RESULT);
    mts_store_u64(patch.data + MTS_PATCH_RESULT, result + 1);
    seal(patch.data);
    assert_int_equal(apply(patch.data, patch.size, &error), MTS_STATUS_MALFORMED);
    assert_non_null(strstr(error.text, "is not what its header says"));
    mts_store_u64(patch.data + MTS_PATCH_RESULT, result);
    mts_store_u64(patch.data + MTS_PATCH_RESULT_SIZE, UINT64_MAX);
    seal(patch.data);
    assert_int_equal(apply(patch.data, patch.size, &error), MTS_STATUS_MALFORMED);
    mts_bundle_bytes_release(&patch);
}

/* ---- memory ---- */

static mts_status join_and_patch(const mts_allocator *allocator, void *data)
{
    mts_error error = {0};
    mts_archive *archives[3] = {NULL};
    mts_bundle_bytes joined = {.allocator = allocator};
    mts_bundle_bytes patch = {.allocator = allocator};
    mts_bundle_bytes again = {.allocator = allocator};
    (void)data;
    mts_status status = mts_archive_read(world.base_bytes.data, world.base_bytes.size, "base", NULL,
                                         allocator, &archives[0], &error);
    MTS_TRY(status, mts_archive_read(world.extra_bytes.data, world.extra_bytes.size, "extra", NULL, allocator,
                                     &archives[1], &error));
    MTS_TRY(status,
            mts_archive_join(archives[0], archives[1], MTS_JOIN_REFUSE, allocator, &archives[2], &error));
    MTS_TRY(status, mts_bundle_encode(archives[2], allocator, &joined, &error));
    const mts_patch_file from = {world.base_bytes.data, world.base_bytes.size, "base"};
    const mts_patch_file to = {joined.data, joined.size, "joined"};
    MTS_TRY(status, mts_patch_make(&from, &to, allocator, &patch, NULL, &error));
    const mts_patch_file file = {patch.data, patch.size, "patch"};
    MTS_TRY(status, mts_patch_apply(&from, &file, allocator, &again, &error));
    mts_bundle_bytes_release(&again);
    mts_bundle_bytes_release(&patch);
    mts_bundle_bytes_release(&joined);
    for (int i = 2; i >= 0; i--) {
        mts_archive_destroy(&archives[i]);
    }
    return status;
}

static void short_memory_leaks_nothing(void **state)
{
    (void)state;
    mts_fault_each(join_and_patch, NULL);
}

static void a_replaced_task_keeps_its_number(void **state)
{
    (void)state;
    static const uint32_t one[] = {1};
    mts_error error = {0};
    mts_bundle_bytes bytes;
    mts_archive *base = NULL;
    mts_archive *extra = NULL;
    mts_archive *joined = NULL;
    test_subset(world.all.archive, one, 1, 1.5f, &bytes);
    const mts_allocator *allocator = mts_allocator_default();
    test_must(mts_archive_read(world.base_bytes.data, world.base_bytes.size, "base", NULL, allocator, &base,
                               &error),
              &error, "read");
    test_must(mts_archive_read(bytes.data, bytes.size, "extra", NULL, allocator, &extra, &error), &error,
              "read");
    test_must(mts_archive_join(base, extra, MTS_JOIN_REPLACE, allocator, &joined, &error), &error, "join");
    assert_int_equal(joined->task_count, 3);
    assert_int_equal(mts_archive_find(joined, "t1"), 1);
    assert_ptr_equal(joined->tasks[0].graph, base->tasks[0].graph);
    assert_true(joined->block_count > base->block_count);
    assert_false(mts_task_equal(&joined->tasks[1], &base->tasks[1]));
    assert_true(mts_task_equal(&joined->tasks[0], &base->tasks[0]));
    mts_archive_destroy(&joined);
    mts_archive_destroy(&extra);
    mts_archive_destroy(&base);
    mts_bundle_bytes_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joined_bundle_stores_equal_blocks_once),
        cmocka_unit_test(a_patch_has_only_what_is_new_and_gives_the_joined_bundle_bit_for_bit),
        cmocka_unit_test(calls_that_make_no_sense_say_why),
        cmocka_unit_test(every_damaged_byte_of_a_patch_is_noticed),
        cmocka_unit_test(a_patch_that_lies_is_refused_though_its_checksums_are_right),
        cmocka_unit_test(short_memory_leaks_nothing),
        cmocka_unit_test(a_replaced_task_keeps_its_number),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
