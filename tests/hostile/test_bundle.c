/*
 * Damaged and hostile bundles never do more than fail cleanly: they are refused, or they open and then a
 * session over them is made on the reference device, or refused, and runs once.
 *
 * Each file is copied to a block of exactly its size, so that the sanitizers see any byte read beyond it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "bundle/format.h"
#include "compiler/models/bundle.h"
#include "compiler/passes/discover.h"
#include "tune/tune.h"
#include "support/fault_allocator.h"
#include "support/net.h"
#include "support/sample_archive.h"

typedef struct victim {
    unsigned char *bytes;
    size_t size, weights; /* size of the whole, and where its weights begin */
} victim;

#define ARENA_MOST ((uint64_t)1 << 20) /* bytes of a session that is run: extreme shapes would take hours */

static victim sample;
static mts_device *device;
static size_t sessions;

static int make_sample(void **state)
{
    (void)state;
    mts_archive *archive = mts_sample_archive(mts_allocator_default());
    mts_discover_options options = {0};
    mts_discover_report report;
    mts_bundle_bytes bytes;
    if (!archive || mts_discover(archive, &options, &report, NULL) != MTS_STATUS_OK ||
        mts_bundle_encode(archive, mts_allocator_default(), &bytes, NULL) != MTS_STATUS_OK) {
        return -1;
    }
    sample.size = bytes.size;
    sample.bytes = malloc(bytes.size);
    memcpy(sample.bytes, bytes.data, bytes.size);
    const unsigned char *row = sample.bytes + MTS_FORMAT_HEADER + MTS_FORMAT_WEIGHTS * MTS_FORMAT_SECTION;
    sample.weights = (size_t)mts_load_u64(row + MTS_SECTION_OFFSET);
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
    return net_device_open("reference", NULL, &device, NULL) == MTS_STATUS_OK ? 0 : -1;
}

static int free_sample(void **state)
{
    (void)state;
    free(sample.bytes);
    mts_device_destroy(&device);
    return 0;
}

/* A copy at the end of an aligned allocation of exactly its size (a multiple of 64 is asked for by C11). */
static unsigned char *exact_copy(const unsigned char *bytes, size_t size)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, size ? size : 1) != 0) {
        return NULL;
    }
    memcpy(memory, bytes, size);
    return memory;
}

/* What a session does with an archive that opened. */
static void try_session(const mts_archive *archive)
{
    const mts_engine_options options = {
        .strategy = sessions++ % 2 ? MTS_STRATEGY_SEQUENTIAL : MTS_STRATEGY_COMPACT, .separate_inputs = true};
    mts_engine *engine = NULL;
    mts_session_stats stats;
    mts_error error = {0};
    const mts_status status =
        mts_planned_engine_create(device, archive, &options, NULL, &engine, NULL, &error);
    assert_true((status == MTS_STATUS_OK) == (engine != NULL));
    assert_true(status == MTS_STATUS_OK || error.text[0] != '\0');
    if (engine) {
        mts_engine_stats_get(engine, &stats);
    }
    if (engine && stats.activation_bytes <= ARENA_MOST) {
        assert_int_equal(mts_engine_submit(engine, &error), MTS_STATUS_OK);
        const mts_status run = mts_engine_wait(engine, &error);
        if (run != MTS_STATUS_OK) {
            fail_msg("the run of a session that was made: %s", error.text);
        }
    }
    mts_engine_destroy(&engine);
}

/* Opens and destroys; on failure the error must have a text and memory must be moderate. */
static mts_status try_open(const unsigned char *bytes, size_t size)
{
    mts_fault_allocator fault;
    mts_archive *archive = NULL;
    mts_error error = {0};
    mts_fault_allocator_init(&fault, 0);
    const mts_status status =
        mts_archive_read(bytes, size, "hostile", NULL, &fault.allocator, &archive, &error);
    assert_true((status == MTS_STATUS_OK) == (archive != NULL));
    assert_true(status == MTS_STATUS_OK || error.text[0] != '\0');
    assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_MALFORMED ||
                status == MTS_STATUS_UNSUPPORTED || status == MTS_STATUS_LIMIT);
    assert_true(fault.bytes <= 16 * sample.size + 65536);
    if (archive) {
        try_session(archive);
    }
    mts_archive_destroy(&archive);
    assert_int_equal(fault.alive, 0);
    return status;
}

/* Makes the checksums right again, so that the checks behind them are reached. */
static void mend_checksums(unsigned char *bytes)
{
    for (uint32_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        unsigned char *row = bytes + MTS_FORMAT_HEADER + i * MTS_FORMAT_SECTION;
        const uint64_t offset = mts_load_u64(row + MTS_SECTION_OFFSET);
        const uint64_t count = mts_load_u64(row + MTS_SECTION_RECORDS);
        const uint64_t stride = mts_load_u32(row + MTS_SECTION_STRIDE);
        if (offset <= sample.size && stride > 0 && count <= (sample.size - offset) / stride) {
            mts_store_u64(row + MTS_SECTION_HASH, mts_hash(bytes + offset, (size_t)(count * stride), i));
        }
    }
    const size_t table = (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT;
    const uint64_t hash = mts_hash(bytes, MTS_HEADER_HASH, 0);
    mts_store_u64(bytes + MTS_HEADER_HASH, mts_hash(bytes + MTS_FORMAT_HEADER, table, hash));
}

static void the_undamaged_sample_opens(void **state)
{
    (void)state;
    unsigned char *copy = exact_copy(sample.bytes, sample.size);
    assert_int_equal(try_open(copy, sample.size), MTS_STATUS_OK);
    mend_checksums(copy);
    assert_memory_equal(copy, sample.bytes, sample.size);
    free(copy);
}

static void truncation_at_every_byte_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sample.size; size++) {
        unsigned char *copy = exact_copy(sample.bytes, size);
        assert_int_not_equal(try_open(copy, size), MTS_STATUS_OK);
        free(copy);
    }
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    unsigned char *copy = exact_copy(sample.bytes, sample.size);
    for (size_t bit = 0; bit < sample.size * 8; bit++) {
        copy[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        assert_int_not_equal(try_open(copy, sample.size), MTS_STATUS_OK);
        copy[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    free(copy);
}

static void flipped_bits_of_header_and_tables_with_right_checksums_do_no_harm(void **state)
{
    (void)state;
    size_t opened = 0, refused = 0;
    unsigned char *copy = exact_copy(sample.bytes, sample.size);
    for (size_t bit = 0; bit < sample.weights * 8; bit++) {
        memcpy(copy, sample.bytes, sample.size);
        copy[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        mend_checksums(copy);
        if (try_open(copy, sample.size) == MTS_STATUS_OK) {
            opened++;
        } else {
            refused++;
        }
    }
    assert_true(sessions > 0);
    assert_true(refused > opened); /* what remains are names, labels, preprocessing and numeric attributes */
    free(copy);
}

/* Numbers that overflow, point outside or loop back, in place of every 32-bit word of the tables. */
static void extreme_words_with_right_checksums_do_no_harm(void **state)
{
    (void)state;
    static const uint32_t extremes[] = {
        0, 1, 2, 3, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0xfffffffeu, 0x10000u, 0x40000000u, 0x00ffffffu};
    unsigned char *copy = exact_copy(sample.bytes, sample.size);
    for (size_t at = 0; at + 4 <= sample.weights; at += 4) {
        for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++) {
            memcpy(copy, sample.bytes, sample.size);
            mts_store_u32(copy + at, extremes[i]);
            mend_checksums(copy);
            (void)try_open(copy, sample.size);
        }
    }
    free(copy);
}

static void random_damage_with_right_checksums_does_no_harm(void **state)
{
    (void)state;
    uint32_t random = 12345;
    unsigned char *copy = exact_copy(sample.bytes, sample.size);
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, sample.bytes, sample.size);
        for (int i = 0; i < 1 + round % 4; i++) {
            random = random * 1664525u + 1013904223u;
            const size_t at = (random >> 8) % sample.weights;
            random = random * 1664525u + 1013904223u;
            copy[at] = (unsigned char)(random >> 16);
        }
        mend_checksums(copy);
        (void)try_open(copy, sample.size);
    }
    free(copy);
}

static void trailing_bytes_and_other_files_are_refused(void **state)
{
    (void)state;
    unsigned char *longer = exact_copy(sample.bytes, sample.size);
    unsigned char *copy = NULL;
    assert_int_equal(posix_memalign((void **)&copy, 64, sample.size + 64), 0);
    memset(copy, 0, sample.size + 64);
    memcpy(copy, longer, sample.size);
    assert_int_equal(try_open(copy, sample.size + 64), MTS_STATUS_MALFORMED);
    mts_store_u64(copy + MTS_HEADER_SIZE, sample.size + 64);
    mend_checksums(copy);
    assert_int_equal(try_open(copy, sample.size + 64), MTS_STATUS_MALFORMED);
    free(copy);
    free(longer);
    assert_int_equal(try_open(NULL, 0), MTS_STATUS_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_undamaged_sample_opens),
        cmocka_unit_test(truncation_at_every_byte_is_refused),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(flipped_bits_of_header_and_tables_with_right_checksums_do_no_harm),
        cmocka_unit_test(extreme_words_with_right_checksums_do_no_harm),
        cmocka_unit_test(random_damage_with_right_checksums_does_no_harm),
        cmocka_unit_test(trailing_bytes_and_other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, make_sample, free_sample);
}
