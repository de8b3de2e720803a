/*
 * Sessions that change while they run: tasks are added, removed and given other weights, and every frame's
 * outputs are, bit for bit on each device, those of a session that was created with the tasks of that frame.
 *
 * MTS_TEST_DEVICE=cuda runs the tests on the first CUDA device, the emulated one in ctest. MTS_TEST_FILTER
 * names some of them.
 */
#include "changes_fixture.h"
#include "support/synth.h" /* by name, so that builds without the compiler leave this test out */

static void add_and_remove_in_a_stream(uint32_t in_flight)
{
    stream s;
    open_stream(&s, in_flight);
    for (uint32_t i = 0; i < 3; i++) {
        (void)submit(&s, FIRST, FIRST, "t3", false);
    }
    must(mts_session_add(s.session, world.extra_bundle), "add");
    stream_over_change(&s, FIRST, ALL, "t3", true);
    must(mts_session_remove(s.session, "t1"), "remove");
    stream_over_change(&s, ALL, WITHOUT, "t1", false);
    must(mts_session_add(s.session, world.all_bundle), "add again");
    stream_over_change(&s, WITHOUT, ALL, "t1", true);
    drain(&s);
    close_stream(&s);
}

static void tasks_are_added_and_removed_in_a_stream_and_no_frame_is_lost_or_wrong(void **state)
{
    (void)state;
    add_and_remove_in_a_stream(1);
    add_and_remove_in_a_stream(3);
    reserve = (uint64_t)1 << 20; /* new weights go to the buffer that runs read */
    add_and_remove_in_a_stream(3);
    reserve = 4096; /* too little: a buffer of their own */
    add_and_remove_in_a_stream(1);
    reserve = 0;
}

static void other_weights_take_the_place_of_those_of_a_task(void **state)
{
    (void)state;
    stream s;
    open_stream(&s, 1);
    run_and_check(s.session, 0, FIRST);
    must(mts_session_add(s.session, world.extra_bundle), "add");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    run_and_check(s.session, 1, ALL);
    for (uint32_t round = 0; round < 2; round++) { /* the second time nothing changes */
        must(mts_session_update(s.session, world.other_bundle), "update");
        must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
        run_and_check(s.session, 2, UPDATED);
    }
    close_stream(&s);
}

/* One frame of the tasks that the first bundle has. */
static void run_and_check_first(mts_session *session, uint32_t picture, task_set set)
{
    mts_ticket ticket = 0;
    mts_tensor tensor;
    const mts_frame frame = api_frame(world.pixels[picture]);
    must(mts_session_submit(session, &frame, &ticket), "submit");
    must(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait");
    for (uint32_t t = 0; t < 3; t++) {
        must(mts_session_output(session, names[t], 0, &tensor), names[t]);
        assert_memory_equal(tensor.data, world.known[set][picture][t], CLASSES * sizeof(float));
    }
}

/* A task that was updated is the session's last one: the next update of it changes no order. */
static void a_task_is_updated_again_and_again(void **state)
{
    (void)state;
    stream s;
    open_stream(&s, 1);
    for (uint32_t round = 0; round < 4; round++) {
        must(mts_session_update(s.session, round % 2 ? world.base_bundle : world.other_bundle), "update");
        must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
        run_and_check_first(s.session, round, round % 2 ? FIRST : UPDATED);
    }
    close_stream(&s);
}

static void only_new_blocks_are_uploaded(void **state)
{
    (void)state;
    stream s;
    mts_session *whole = NULL;
    open_stream(&s, 1);
    must(mts_session_create(world.runtime, world.all_bundle, NULL, &whole), "create");
    const uint64_t first = stats_of(s.session).weight_bytes;
    must(mts_session_add(s.session, world.extra_bundle), "add");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    const uint64_t after = stats_of(s.session).weight_bytes;
    assert_true(after > first);
    print_message("%s: weights %llu, with a task more %llu, created with it %llu\n", world.device,
                  (unsigned long long)first, (unsigned long long)after,
                  (unsigned long long)stats_of(whole).weight_bytes);
    must(mts_session_remove(s.session, "t3"), "remove");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    assert_int_equal(stats_of(s.session).weight_bytes, first);
    run_and_check(s.session, 3, FIRST);
    mts_session_destroy(&whole);
    close_stream(&s);
}

static void with_room_nothing_is_stored_twice(void **state)
{
    (void)state;
    stream s;
    mts_session *whole = NULL;
    must(mts_session_create(world.runtime, world.all_bundle, NULL, &whole), "create");
    const uint64_t together = stats_of(whole).weight_bytes;
    reserve = (uint64_t)1 << 20;
    open_stream(&s, 1);
    const uint64_t before = stats_of(s.session).weight_bytes - reserve;
    const uint32_t launches = stats_of(whole).launches;
    reserve = 0;
    assert_true(together > before);
    close_stream(&s);
    /* exactly the room that is needed, and a tenth more: what is packed in rows differs a little */
    reserve = (together - before) * 11 / 10;
    open_stream(&s, 1);
    reserve = 0;
    must(mts_session_add(s.session, world.extra_bundle), "add");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    print_message("%s: weights with their room %llu, created with the task %llu; %u launches, %u\n",
                  world.device, (unsigned long long)stats_of(s.session).weight_bytes,
                  (unsigned long long)together, stats_of(s.session).launches, launches);
    assert_true(stats_of(s.session).weight_bytes <= together + together / 10);
    run_and_check(s.session, 1, ALL);
    must(mts_session_remove(s.session, "t3"), "remove");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    run_and_check(s.session, 2, FIRST);
    must(mts_session_add(s.session, world.extra_bundle), "add"); /* its weights are still there */
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    assert_true(stats_of(s.session).weight_bytes <= together + together / 10);
    run_and_check(s.session, 3, ALL);
    mts_session_destroy(&whole);
    close_stream(&s);
}

static void what_was_set_goes_on(void **state)
{
    (void)state;
    stream s;
    mts_ticket ticket = 0;
    mts_ticket of_task = 0;
    open_stream(&s, 1);
    run_and_check(s.session, 0, FIRST);
    must(mts_session_enable(s.session, "t0", 0), "enable");
    must(mts_session_add(s.session, world.extra_bundle), "add");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    mts_tensor tensor;
    must(mts_session_output(s.session, "t0", 0, &tensor), "output"); /* of the run that was consumed last */
    assert_memory_equal(tensor.data, world.known[FIRST][0][0], CLASSES * sizeof(float));
    assert_int_equal(mts_session_output(s.session, "t3", 0, &tensor), MTS_STATUS_NOT_FOUND);
    /* the frame that was submitted last is the input of a run without one */
    must(mts_session_submit(s.session, NULL, &ticket), "submit");
    must(mts_session_wait(s.session, ticket, MTS_TIMEOUT_INFINITE), "wait");
    assert_int_equal(ticket, 2);
    must(mts_session_output(s.session, "t3", 0, &tensor), "output");
    assert_memory_equal(tensor.data, world.known[ALL][0][3], CLASSES * sizeof(float));
    must(mts_session_output(s.session, "t0", 0, &tensor), "output");
    assert_memory_equal(tensor.data, world.known[FIRST][0][0], CLASSES * sizeof(float));
    must(mts_session_output_ticket(s.session, "t0", &of_task), "ticket");
    assert_int_equal(of_task, 1);
    mts_task_stats stats = {.size = sizeof stats};
    must(mts_session_task_stats(s.session, "t1", &stats), "task stats");
    assert_int_equal(stats.runs, 2);
    must(mts_session_enable(s.session, "t0", 1), "enable");
    run_and_check(s.session, 4, ALL);
    close_stream(&s);
}

/* ---- a runtime with other options, beside that of the group ---- */

typedef struct own_world {
    mts_runtime *runtime;
    mts_bundle *bundles[4];
} own_world;

static own_world open_own_world(mts_runtime_options options)
{
    const own_world kept = {world.runtime,
                            {world.base_bundle, world.extra_bundle, world.other_bundle, world.all_bundle}};
    open_runtime(&options);
    return kept;
}

static void close_own_world(const own_world *kept)
{
    close_runtime();
    world.runtime = kept->runtime;
    world.base_bundle = kept->bundles[0];
    world.extra_bundle = kept->bundles[1];
    world.other_bundle = kept->bundles[2];
    world.all_bundle = kept->bundles[3];
}

static bool has_t3(mts_session *session)
{
    return mts_session_enable(session, "t3", 1) == MTS_STATUS_OK;
}

/* A run without a frame, whose input is the frame `picture`. */
static void run_without_frame(mts_session *session, uint32_t picture)
{
    float outputs[TASKS][CLASSES];
    mts_ticket ticket = 0;
    mts_status status = MTS_STATUS_BUSY;
    for (mts_ticket oldest = 1; status == MTS_STATUS_BUSY; oldest++) {
        status = mts_session_submit(session, NULL, &ticket);
        if (status == MTS_STATUS_BUSY) { /* frames come before it */
            must(mts_session_wait(session, oldest, MTS_TIMEOUT_INFINITE), "wait");
        }
    }
    must(status, "submit without a frame");
    must(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), "wait");
    read_outputs(session, ALL, outputs);
    for (uint32_t t = 0; t < TASKS; t++) {
        assert_memory_equal(outputs[t], world.known[ALL][picture][t], sizeof outputs[t]);
    }
}

static void a_refused_frame_at_a_change_leaves_the_last_one(void **state)
{
    (void)state;
    stream s;
    uint32_t tries = 0;
    open_stream(&s, 1);
    run_and_check(s.session, 3, FIRST);
    must(mts_session_add(s.session, world.extra_bundle), "add");
    while (!has_t3(s.session)) {
        mts_ticket ticket = 0;
        mts_frame frame = api_frame(world.pixels[2]);
        frame.width = 0;
        assert_int_equal(mts_session_submit(s.session, &frame, &ticket), MTS_STATUS_INVALID_ARGUMENT);
        assert_true(++tries < 10000000);
    }
    run_without_frame(s.session, 3);
    run_and_check(s.session, 1, ALL);
    close_stream(&s);
}

/* Frames wait in the engine before when the session goes over to the next one: with an allocator of the
   caller's, that is inside of the call. */
static void a_frame_that_waits_at_a_change_is_the_last_one(void **state)
{
    api_fixture fixture;
    (void)state;
    const mts_runtime_options options = api_options(&fixture, world.device);
    const own_world mine = open_own_world(options);
    for (uint32_t frames = 1; frames <= 2; frames++) {
        stream s;
        drop_oldest = true;
        open_stream(&s, 2);
        drop_oldest = false;
        for (uint32_t i = 0; i < frames; i++) {
            mts_ticket ticket = 0;
            const mts_frame frame = api_frame(world.pixels[i]);
            must(mts_session_submit(s.session, &frame, &ticket), "submit");
        }
        must(mts_session_add(s.session, world.extra_bundle), "add");
        assert_true(has_t3(s.session));
        run_without_frame(s.session, frames - 1);
        close_stream(&s);
    }
    close_own_world(&mine);
    assert_int_equal(fixture.alive, 0);
}

static void changes_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    stream s;
    open_stream(&s, 1);
    assert_int_equal(mts_session_add(NULL, world.extra_bundle), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_add(s.session, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_session_add(s.session, world.base_bundle), MTS_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(world.error, "runs all 3 tasks"));
    assert_int_equal(mts_session_update(s.session, world.extra_bundle), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_remove(s.session, "nobody"), MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_session_remove(s.session, NULL), MTS_STATUS_INVALID_ARGUMENT);
    must(mts_session_settle(s.session, 0), "settle");
    must(mts_session_remove(s.session, "t0"), "remove");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    must(mts_session_remove(s.session, "t1"), "remove");
    assert_int_equal(mts_session_remove(s.session, "t2"), MTS_STATUS_BUSY);
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    assert_int_equal(mts_session_remove(s.session, "t2"), MTS_STATUS_INVALID_ARGUMENT);
    close_stream(&s);
}

static void a_session_may_end_while_it_changes(void **state)
{
    (void)state;
    stream s;
    open_stream(&s, 3);
    (void)submit(&s, FIRST, FIRST, "t3", false);
    must(mts_session_add(s.session, world.extra_bundle), "add");
    close_stream(&s);
    open_stream(&s, 3);
    (void)submit(&s, FIRST, FIRST, "t3", false);
    must(mts_session_add(s.session, world.extra_bundle), "add");
    must(mts_session_settle(s.session, MTS_TIMEOUT_INFINITE), "settle");
    (void)submit(&s, ALL, ALL, "t3", true);
    close_stream(&s);
}

/* ---- with an allocator of the caller's, which counts and fails ---- */

static void weights_that_alternate_take_no_memory(void **state)
{
    (void)state;
    api_fixture fixture;
    stream s;
    size_t alive[2] = {0};
    uint64_t weights[2] = {0};
    const own_world mine = open_own_world(api_options(&fixture, world.device));
    open_stream(&s, 1);
    for (uint32_t round = 0; round < 8; round++) {
        must(mts_session_update(s.session, round % 2 ? world.base_bundle : world.other_bundle), "update");
        run_and_check_first(s.session, round % PICTURES, round % 2 ? FIRST : UPDATED);
        alive[round / 4] = fixture.alive;
        weights[round / 4] = stats_of(s.session).weight_bytes;
    }
    assert_true(alive[1] <= alive[0]);
    assert_int_equal(weights[1], weights[0]);
    close_stream(&s);
    close_own_world(&mine);
    assert_int_equal(fixture.alive, 0);
}

static void a_failed_add_leaves_the_session_as_it_was(void **state)
{
    (void)state;
    api_fixture fixture;
    bool done = false;
    if (strncmp(world.device, "cpu", 3) != 0) {
        skip();
    }
    const own_world mine = open_own_world(api_options(&fixture, world.device));
    for (size_t n = 1; !done; n += n < 20 ? 1 : 7) {
        stream s;
        open_stream(&s, 1);
        run_and_check(s.session, 0, FIRST);
        const size_t alive = fixture.alive;
        fixture.fail_from = fixture.calls + n;
        mts_status status = mts_session_add(s.session, world.extra_bundle);
        done = fixture.calls < fixture.fail_from;
        fixture.fail_from = 0;
        assert_int_equal(status, done ? MTS_STATUS_OK : MTS_STATUS_OUT_OF_MEMORY);
        if (!done) {
            assert_true(fixture.alive <= alive + 1); /* the record of changes stays */
            must(mts_session_settle(s.session, 0), "settle");
        }
        run_and_check(s.session, 1, done ? ALL : FIRST);
        close_stream(&s);
    }
    close_own_world(&mine);
    assert_int_equal(fixture.alive, 0);
}

/* The last allocations of a change fail, when its weights are on the device already; the blocks of the next
   change have the same numbers. */
static void fail_late_and_update(api_fixture *fixture, size_t back, size_t *calls, uint32_t *failures)
{
    stream s;
    mts_tensor tensor;
    mts_ticket ticket = 0;
    open_stream(&s, 1);
    run_and_check(s.session, 0, FIRST);
    const size_t before = fixture->calls;
    fixture->fail_from = back > 0 ? before + *calls - back + 1 : 0;
    const mts_status status = mts_session_add(s.session, world.extra_bundle);
    fixture->fail_from = 0;
    *calls = back > 0 ? *calls : fixture->calls - before;
    if (status != MTS_STATUS_OK) {
        (*failures)++;
        assert_int_equal(status, MTS_STATUS_OUT_OF_MEMORY);
        run_and_check(s.session, 1, FIRST);
        must(mts_session_update(s.session, world.other_bundle), "update");
        const mts_frame frame = api_frame(world.pixels[2]);
        must(mts_session_submit(s.session, &frame, &ticket), "submit");
        must(mts_session_wait(s.session, ticket, MTS_TIMEOUT_INFINITE), "wait");
        for (uint32_t t = 0; t < 3; t++) {
            must(mts_session_output(s.session, names[t], 0, &tensor), names[t]);
            assert_memory_equal(tensor.data, world.known[UPDATED][2][t], CLASSES * sizeof(float));
        }
    }
    close_stream(&s);
}

static void a_change_that_failed_late_leaves_no_weights_for_the_next_one_to_find(void **state)
{
    (void)state;
    api_fixture fixture;
    size_t calls = 0;
    uint32_t failures = 0;
    if (strncmp(world.device, "cpu", 3) != 0) {
        skip();
    }
    const own_world mine = open_own_world(api_options(&fixture, world.device));
    reserve = (uint64_t)1 << 20;
    fail_late_and_update(&fixture, 0, &calls, &failures); /* what the device allocates once */
    fail_late_and_update(&fixture, 0, &calls, &failures);
    for (size_t back = 1; back <= 8; back++) {
        fail_late_and_update(&fixture, back, &calls, &failures);
    }
    reserve = 0;
    assert_true(failures >= 4);
    close_own_world(&mine);
    assert_int_equal(fixture.alive, 0);
}

static int run_on(const char *device)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_added_and_removed_in_a_stream_and_no_frame_is_lost_or_wrong),
        cmocka_unit_test(other_weights_take_the_place_of_those_of_a_task),
        cmocka_unit_test(a_task_is_updated_again_and_again),
        cmocka_unit_test(only_new_blocks_are_uploaded),
        cmocka_unit_test(with_room_nothing_is_stored_twice),
        cmocka_unit_test(what_was_set_goes_on),
        cmocka_unit_test(a_refused_frame_at_a_change_leaves_the_last_one),
        cmocka_unit_test(a_frame_that_waits_at_a_change_is_the_last_one),
        cmocka_unit_test(changes_that_make_no_sense_are_refused),
        cmocka_unit_test(a_session_may_end_while_it_changes),
        cmocka_unit_test(weights_that_alternate_take_no_memory),
        cmocka_unit_test(a_failed_add_leaves_the_session_as_it_was),
        cmocka_unit_test(a_change_that_failed_late_leaves_no_weights_for_the_next_one_to_find),
    };
    world.device = device;
    return cmocka_run_group_tests_name(device, tests, open_world, close_world);
}

/* Whether a device's name is in the list of those that can be opened. */
static bool is_there(const char *id)
{
    for (uint32_t i = 0; i < mts_device_count(); i++) {
        mts_device_desc desc = {.size = sizeof desc};
        if (mts_device_describe(i, &desc) == MTS_STATUS_OK && strcmp(desc.id, id) == 0) {
            return true;
        }
    }
    return false;
}

int main(void)
{
    const char *wanted = getenv("MTS_TEST_DEVICE");
    const char *some = getenv("MTS_TEST_FILTER"); /* for a device that is emulated, and slow */
    const bool cuda = wanted && strcmp(wanted, "cuda") == 0;
    static const char *const devices[] = {"cpu", "opencl:0"};
    int failed = 0;
    if (cuda && !is_there("cuda:0")) {
        return 77;
    }
    if (some) {
        cmocka_set_test_filter(some);
    }
    write_bundles();
    for (size_t i = 0; !cuda && i < sizeof devices / sizeof devices[0]; i++) {
        failed += is_there(devices[i]) ? run_on(devices[i]) : 0;
    }
    failed += cuda ? run_on("cuda:0") : 0;
    (void)unlink(world.base);
    (void)unlink(world.extra);
    (void)unlink(world.other);
    test_synth_close(&world.all);
    return failed;
}
