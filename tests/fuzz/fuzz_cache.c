/*
 * libFuzzer target: any bytes as what a cache holds: a plan or a tuning, with header and checksum made right. Sessions
 * are of a few small layers, on the device that computes nothing, and the cache lies in memory, so that an execution
 * takes a few milliseconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "compiler/passes/discover.h"
#include "platform/os/os.h"
#include "support/net.h"
#include "support/plan_cache_world.h"
#include "support/sample_archive.h"
#include "fuzz/fuzz_bytes.h"

enum { HEADER = 32, KEY_SIZE_AT = 12, BODY_SIZE_AT = 16, CHECKSUM_AT = 24 };

static plan_cache_world world;

typedef struct cached {
    char path[512];
    unsigned char *data;
    size_t size;
} cached;

static cached plan, tuning;

static void slurp(cached *file, const char *ending)
{
    void *data = NULL;
    plan_cache_find(&world, ending, file->path);
    if (mts_os_file_read(mts_allocator_default(), file->path, SIZE_MAX, &data, &file->size, NULL) !=
        MTS_STATUS_OK) {
        abort();
    }
    file->data = data;
}

static void use(void)
{
    const mts_engine_options options = plan_cache_options(&world);
    world.how.tuning_ms = 1;
    plan_cache_make_once(&world, &options);
}

static void begin(void)
{
    const mts_discover_options options = {.tolerance = 0};
    mts_discover_report report;
    world.synth.archive = mts_sample_archive(mts_allocator_default());
    (void)snprintf(world.folder, sizeof world.folder, "/dev/shm/mts-plans-XXXXXX");
    if (!world.synth.archive || mts_discover(world.synth.archive, &options, &report, NULL) != MTS_STATUS_OK ||
        net_device_open("null", NULL, &world.device, NULL) != MTS_STATUS_OK || !mkdtemp(world.folder)) {
        abort();
    }
    world.cache = (mts_cache){.directory = world.folder, .allocator = mts_allocator_default()};
    world.plans = &world.cache.counts[MTS_CACHE_PLANS];
    use();
    slurp(&plan, ".plan");
    slurp(&tuning, ".tune");
}

/* The file with another body. */
static void put(const cached *file, const uint8_t *body, size_t size)
{
    uint32_t key_size = 0;
    memcpy(&key_size, file->data + KEY_SIZE_AT, sizeof key_size);
    const size_t head = HEADER + key_size;
    unsigned char *bytes = malloc(head + size + 1);
    if (!bytes || head > file->size) {
        abort();
    }
    const uint64_t body_size = size;
    memcpy(bytes, file->data, head);
    memcpy(bytes + head, body, size);
    memcpy(bytes + BODY_SIZE_AT, &body_size, sizeof body_size);
    const uint64_t checksum = mts_hash(bytes + HEADER, head + size - HEADER, 1u);
    memcpy(bytes + CHECKSUM_AT, &checksum, sizeof checksum);
    fuzz_put(file->path, bytes, head + size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    if (!plan.data) {
        begin();
    }
    if (fuzz_u8(&in) % 2) {
        (void)unlink(plan.path);
        put(&tuning, in.at, in.left);
    } else {
        fuzz_put(tuning.path, tuning.data, tuning.size);
        put(&plan, in.at, in.left);
    }
    use(); /* fails the test, which ends the program, where a session is not made */
    return 0;
}
