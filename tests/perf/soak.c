/*
 * soak.c: frames for a long time while everything about the session changes: tasks are disabled and get
 * rates, one leaves and comes back, frames are dropped and lie in memory of others. Every output that is
 * read is, bit for bit, what a fresh session of the same tasks computes for the same picture, and resident
 * memory after the first tenth does not grow.
 *
 *     bench_soak [DEVICE [FRAMES]]
 */
#define _GNU_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cmocka.h>

#include "support/api_fixture.h"
#include "support/sealed_memory.h"
#include "support/subset.h"
#include "support/synth.h"

enum {
    TASKS = 4,
    PICTURES = 5,
    CLASSES = 10,
    RING = 64,
    BURST = 6,
    WARM_UPS = 40,
    BLOCKS_MOST = 8,
    GROWTH_MOST_KIB = 128
};

static const char *const names[TASKS] = {"t0", "t1", "t2", "t3"};
static const char *device = "null";
static uint64_t frames = 100000;

static struct {
    mts_runtime *runtime;
    mts_bundle *base, *all; /* without t3, with it */
    mts_session *session;
    char error[512];
    uint8_t pixels[PICTURES][API_PIXELS];
    int fds[PICTURES];
    float known[2][PICTURES][TASKS][CLASSES];
    uint32_t has_last[RING]; /* by ticket: whether t3 was there */
    uint32_t with_last;
    mts_ticket last;
    uint64_t compared, toggled, changed, foreign;
    uint32_t random;
    atomic_size_t alive; /* blocks of memory */
} soak;

static void must(mts_status status, const char *what)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s on %s: %s (%s)", what, device, mts_status_name(status), soak.error);
    }
}

static uint32_t draw(uint32_t below)
{
    soak.random = soak.random * 1664525u + 1013904223u;
    return (soak.random >> 8) % below;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    (void)fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *count_alloc(void *context, size_t size)
{
    void *memory = malloc(size);
    (void)context;
    soak.alive += memory ? 1 : 0;
    return memory;
}

static void count_free(void *context, void *memory)
{
    (void)context;
    soak.alive -= memory ? 1 : 0;
    free(memory);
}

/* What a session that was just made computes. */
static void know(uint32_t with_last, mts_bundle *bundle)
{
    for (uint32_t p = 0; p < PICTURES; p++) {
        mts_session *session = NULL;
        mts_ticket ticket = 0;
        const mts_frame frame = api_frame(soak.pixels[p]);
        must(mts_session_create(soak.runtime, bundle, NULL, &session), "create");
        must(mts_session_submit(session, &frame, &ticket), "submit");
        must(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait");
        for (uint32_t t = 0; t < TASKS - 1 + with_last; t++) {
            mts_tensor tensor;
            must(mts_session_output(session, names[t], 0, &tensor), names[t]);
            assert_int_equal(tensor.bytes, sizeof soak.known[0][0][0]);
            memcpy(soak.known[with_last][p][t], tensor.data, tensor.bytes);
        }
        mts_session_destroy(&session);
    }
}

/* Each output that can be read belongs to a run, and is that run's. */
static void compare(void)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        mts_tensor tensor;
        mts_ticket ticket = 0;
        if (mts_session_output(soak.session, names[t], 0, &tensor) != MTS_STATUS_OK ||
            mts_session_output_ticket(soak.session, names[t], &ticket) != MTS_STATUS_OK ||
            ticket + RING <= soak.last) {
            continue; /* a task that has not run, or not for long */
        }
        const uint32_t set = soak.has_last[ticket % RING];
        if (memcmp(tensor.data, soak.known[set][ticket % PICTURES][t], sizeof soak.known[0][0][0]) != 0) {
            fail_msg("%s: frame %llu, %s: not what a fresh session computes", device,
                     (unsigned long long)ticket, names[t]);
        }
        soak.compared++;
    }
}

static void submit(void)
{
    mts_ticket ticket = 0;
    const uint32_t picture = (uint32_t)((soak.last + 1) % PICTURES);
    mts_frame frame = api_frame(soak.pixels[picture]);
    if (draw(4) == 0) {
        frame.data = NULL;
        frame.memory = MTS_MEMORY_DMABUF;
        frame.fd = soak.fds[picture];
        soak.foreign++;
    }
    must(mts_session_submit(soak.session, &frame, &ticket), "submit");
    assert_int_equal(ticket, soak.last + 1);
    soak.last = ticket;
    soak.has_last[ticket % RING] = soak.with_last;
}

static void drain(void)
{
    mts_flow flow = {.size = sizeof flow};
    do {
        mts_ticket ticket = 0;
        (void)mts_session_poll(soak.session, &ticket);
        must(mts_session_flow(soak.session, &flow), "flow");
    } while (flow.in_flight > 0);
}

static void change_tasks(void)
{
    drain();
    must(soak.with_last ? mts_session_remove(soak.session, "t3") : mts_session_add(soak.session, soak.all),
         "change");
    must(mts_session_settle(soak.session, MTS_TIMEOUT_INFINITE), "settle");
    soak.with_last = !soak.with_last;
    soak.changed++;
}

static void change_something(void)
{
    const char *task = names[draw(TASKS - 1)];
    const uint32_t what = draw(960);
    if (what < 120) {
        must(mts_session_enable(soak.session, task, draw(2)), "enable");
        soak.toggled++;
    } else if (what < 160) {
        must(mts_session_rate(soak.session, task, 1 + draw(3)), "rate");
        soak.toggled++;
    } else if (what == 160) {
        change_tasks();
    }
}

/* Memory is measured in one state: all tasks but the last one, as often as there are frames, none in flight,
   and one frame run since the tasks changed, so that no engine of before is left, whichever it was. Pages of
   freed blocks go back to the system first: how many of them the C library keeps depends on the order of
   what was freed, and no block of the session lies in them. */
static long resident_at_rest(size_t *alive)
{
    for (uint32_t t = 0; t < TASKS - 1; t++) {
        must(mts_session_enable(soak.session, names[t], 1), "enable");
        must(mts_session_rate(soak.session, names[t], 1), "rate");
    }
    for (uint32_t i = soak.with_last ? 1 : 0; i < 2; i++) {
        change_tasks();
    }
    submit();
    drain();
    compare();
    *alive = soak.alive;
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    return resident_kib();
}

static void one_frame(void)
{
    change_something();
    submit();
    if (draw(4) != 0) {
        must(mts_session_wait(soak.session, soak.last, MTS_TIMEOUT_INFINITE), "wait");
        compare();
    } else if (draw(2) != 0) {
        mts_ticket ticket = 0;
        (void)mts_session_poll(soak.session, &ticket);
    } else {
        for (uint32_t i = 0; i < BURST; i++) { /* more than there are places */
            submit();
        }
    }
}

static void play(void)
{
    mts_flow flow = {.size = sizeof flow};
    size_t alive[2] = {0};
    for (uint32_t i = 0; i < WARM_UPS; i++) {
        change_tasks();
    }
    while (soak.last < frames / 10) {
        one_frame();
    }
    const long memory = resident_at_rest(&alive[0]);
    while (soak.last < frames) {
        one_frame();
    }
    const long growth = resident_at_rest(&alive[1]) - memory;
    compare();
    must(mts_session_flow(soak.session, &flow), "flow");
    printf(
        "%s: %llu frames: %llu completed, %llu dropped, %llu failed; %llu outputs compared, %llu of frames "
        "in foreign memory, %llu switches, %llu changes of tasks; after the first tenth %+lld blocks of "
        "memory, resident memory %+ld KiB of %ld\n",
        device, (unsigned long long)flow.submitted, (unsigned long long)flow.completed,
        (unsigned long long)flow.dropped, (unsigned long long)flow.failed, (unsigned long long)soak.compared,
        (unsigned long long)soak.foreign, (unsigned long long)soak.toggled, (unsigned long long)soak.changed,
        (long long)alive[1] - (long long)alive[0], growth, memory);
    assert_int_equal(flow.submitted, soak.last);
    assert_int_equal(flow.completed + flow.dropped, soak.last);
    assert_int_equal(flow.failed + flow.in_flight, 0);
    assert_true(soak.compared > 0);
    assert_true(alive[1] <= alive[0] + BLOCKS_MOST);
    assert_true(growth <= GROWTH_MOST_KIB);
}

static void open_frames(void)
{
    for (uint32_t p = 0; p < PICTURES; p++) {
        api_pixels(soak.pixels[p], p + 1);
        soak.fds[p] = sealed_memory(API_PIXELS);
        assert_true(soak.fds[p] >= 0);
        void *memory = mmap(NULL, API_PIXELS, PROT_READ | PROT_WRITE, MAP_SHARED, soak.fds[p], 0);
        assert_true(memory != MAP_FAILED);
        memcpy(memory, soak.pixels[p], API_PIXELS);
        assert_int_equal(munmap(memory, API_PIXELS), 0);
    }
}

static void frames_for_a_long_time_lose_nothing_and_take_no_memory(void **state)
{
    static const uint32_t first[] = {0, 1, 2};
    const double prune = 0.8;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.8);
    test_synth synth;
    char base[128];
    mts_runtime_options runtime;
    mts_session_options options;
    (void)state;
    test_synth_open(&synth, &o);
    (void)snprintf(base, sizeof base, "%s.base", synth.path);
    test_subset_write(synth.archive, first, 3, 1.0f, base);
    open_frames();
    mts_runtime_options_default(&runtime);
    runtime.device = device;
    runtime.error_text = soak.error;
    runtime.error_size = sizeof soak.error;
    runtime.alloc = count_alloc;
    runtime.free = count_free;
    must(mts_runtime_create(&runtime, &soak.runtime), "runtime");
    must(mts_bundle_open(soak.runtime, base, &soak.base), "base");
    must(mts_bundle_open(soak.runtime, synth.path, &soak.all), "all");
    know(0, soak.base);
    know(1, soak.all);
    mts_session_options_default(&options);
    options.frames_in_flight = 3;
    options.when_full = MTS_WHEN_FULL_DROP_OLDEST;
    must(mts_session_create(soak.runtime, soak.base, &options, &soak.session), "create");
    play();
    mts_session_destroy(&soak.session);
    mts_bundle_destroy(&soak.base);
    mts_bundle_destroy(&soak.all);
    mts_runtime_destroy(&soak.runtime);
    assert_int_equal(unlink(base), 0);
    test_synth_close(&synth);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_for_a_long_time_lose_nothing_and_take_no_memory),
    };
    device = argc > 1 ? argv[1] : device;
    frames = argc > 2 ? strtoull(argv[2], NULL, 10) : frames;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
