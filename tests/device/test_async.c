/*
 * Copies that nobody waits for and marks that tell when they are through, asked of every device of every
 * backend of this build.
 *
 * The emulated GPU does nothing before somebody waits, and one step whenever a mark is asked for, so that a
 * copy that is looked at too early is found out. The null backend takes part in everything but results of
 * kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/os/os.h"
#include "support/device_fixture.h"

#define COUNT 64u /* floats of a row */
#define ROWS 2u
#define FLOATS (ROWS * COUNT)
#define BURDEN 256u /* launches of a list that keeps a queue busy */
#define PATIENCE_NS ((uint64_t)20 * 1000000000u)

static const mts_backend *backend;
static uint32_t backend_index;
static device_fixture world;

/* Row 1 = 2 x row 0, and row 0 = row 1 / 2. */
static struct {
    mts_buffer *act, *two, *half, *table;
    mts_kernel *kernel;
    mts_list *up, *down, *burden;
} object;

static void check(mts_code code, const mts_error *error)
{
    if (code != MTS_CODE_OK) {
        fail_msg("%s", error->text);
    }
}

static mts_buffer *make_buffer(const void *data, size_t size)
{
    mts_buffer *buffer = NULL;
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_buffer_create(world.device, size, &buffer, &error), &error);
    check(mts_buffer_write(buffer, 0, data, size, &error), &error);
    return buffer;
}

static mts_rec_scale scale_record(uint32_t from, uint32_t to)
{
    return (mts_rec_scale){
        .dest = device_fixture_dest(to, COUNT),
        .src = device_fixture_view(from),
        .scale = 0,
        .bias = MTS_REC_NONE,
        .slope = MTS_REC_NONE,
        .fn = MTS_FN_NONE,
    };
}

static mts_list *make_list(mts_buffer *pool, uint32_t record, size_t count)
{
    static mts_launch launches[BURDEN];
    mts_list *list = NULL;
    mts_error error = {MTS_CODE_OK, ""};
    mts_launch launch = {
        .kernel = object.kernel,
        .act = object.act,
        .pool = pool,
        .table = object.table,
        .first = record * MTS_REC_WORDS(mts_rec_scale),
        .label = "scale",
    };
    device_fixture_grid(&launch, COUNT);
    for (size_t i = 0; i < count; i++) {
        launches[i] = launch;
    }
    check(mts_list_create(world.device, launches, count, &list, &error), &error);
    return list;
}

static int open_device(void **state)
{
    static const float zeros[FLOATS + 16] = {0.0f}; /* vectors may look a little beyond a row */
    const float two[16] = {2.0f};
    const float half[16] = {0.5f};
    const mts_rec_scale records[2] = {scale_record(0, COUNT), scale_record(COUNT, 0)};
    const mts_kernel_desc desc = {"scale_any__f32_planar", ""};
    mts_error error = {MTS_CODE_OK, ""};
    (void)state;
    device_fixture_init(&world, NULL);
    device_fixture_open(&world, backend, backend_index);
    object.act = make_buffer(zeros, sizeof zeros);
    object.two = make_buffer(two, sizeof two);
    object.half = make_buffer(half, sizeof half);
    object.table = make_buffer(records, sizeof records);
    check(mts_kernel_create(world.device, &desc, &object.kernel, &error), &error);
    object.up = make_list(object.two, 0, 1);
    object.down = make_list(object.half, 1, 1);
    object.burden = make_list(object.two, 0, BURDEN);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    mts_list_destroy(&object.up);
    mts_list_destroy(&object.down);
    mts_list_destroy(&object.burden);
    mts_kernel_destroy(&object.kernel);
    mts_buffer_destroy(&object.act);
    mts_buffer_destroy(&object.two);
    mts_buffer_destroy(&object.half);
    mts_buffer_destroy(&object.table);
    device_fixture_close(&world);
    return 0;
}

static bool computes(void)
{
    return strcmp(world.device->info.backend, "null") != 0;
}

static float *make_host(size_t floats)
{
    void *memory = NULL;
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_host_create(world.device, floats * sizeof(float), &memory, &error), &error);
    assert_int_equal((uintptr_t)memory % 64, 0);
    memset(memory, 0x7f, floats * sizeof(float));
    return memory;
}

static void free_host(float **memory)
{
    void *gone = *memory;
    mts_host_destroy(world.device, &gone);
    assert_null(gone);
    *memory = NULL;
}

static void fill_row(float *row, float first)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        row[i] = first + (float)i;
    }
}

static void assert_row(const float *row, float first, float factor)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(row[i] == (first + (float)i) * factor);
    }
}

static void send(uint32_t at, const float *data, uint32_t count)
{
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_buffer_send(object.act, at * sizeof *data, data, count * sizeof *data, &error), &error);
}

static void fetch(uint32_t at, float *data, uint32_t count)
{
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_buffer_fetch(object.act, at * sizeof *data, data, count * sizeof *data, &error), &error);
}

static void submit(mts_list *list)
{
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_list_submit(list, &error), &error);
}

static void mark(uint32_t index)
{
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_device_mark(world.device, index, &error), &error);
}

static bool has_passed(uint32_t index)
{
    bool passed = false;
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_device_passed(world.device, index, &passed, &error), &error);
    return passed;
}

static void wait_mark(uint32_t index)
{
    mts_error error = {MTS_CODE_OK, ""};
    check(mts_device_wait_mark(world.device, index, &error), &error);
    assert_true(has_passed(index));
}

/* Asks again and again; never waits. */
static void poll_mark(uint32_t index)
{
    const uint64_t start = mts_os_clock_ns();
    while (!has_passed(index)) {
        assert_true(mts_os_clock_ns() - start < PATIENCE_NS);
    }
}

static void a_fetched_value_is_there_after_its_mark_and_later_launches_do_not_change_it(void **state)
{
    (void)state;
    float *in = make_host(COUNT);
    float *out = make_host(COUNT);
    fill_row(in, 3.0f);
    send(0, in, COUNT);
    submit(object.up);
    fetch(computes() ? COUNT : 0, out, COUNT);
    mark(0);
    assert_int_equal(mts_buffer_fill(object.act, 0, FLOATS * sizeof(float), 0, NULL), MTS_CODE_OK);
    submit(object.up);
    wait_mark(0);
    assert_row(out, 3.0f, computes() ? 2.0f : 1.0f);
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_CODE_OK);
    assert_row(out, 3.0f, computes() ? 2.0f : 1.0f);
    free_host(&in);
    free_host(&out);
}

/* Runs of one list, each with its own input and output; `ask` is how the host learns of the end. */
static void run_in_flight(float *in, float *out, void (*ask)(uint32_t index))
{
    const uint32_t runs = MTS_DEVICE_MARKS;
    for (uint32_t i = 0; i < runs; i++) {
        fill_row(in + i * COUNT, (float)(100 * i + 1));
        send(0, in + i * COUNT, COUNT);
        submit(object.up);
        fetch(computes() ? COUNT : 0, out + i * COUNT, COUNT);
        mark(i);
    }
    for (uint32_t i = 0; i < runs; i++) {
        ask(i);
        assert_row(out + i * COUNT, (float)(100 * i + 1), computes() ? 2.0f : 1.0f);
        fill_row(in + i * COUNT, -1.0f); /* may be used again */
    }
}

static void runs_of_one_list_in_flight_give_their_own_results(void **state)
{
    (void)state;
    float *in = make_host(MTS_DEVICE_MARKS * COUNT);
    float *out = make_host(MTS_DEVICE_MARKS * COUNT);
    run_in_flight(in, out, wait_mark);
    run_in_flight(in, out, poll_mark);
    free_host(&in);
    free_host(&out);
}

static void any_memory_of_the_host_can_be_sent_and_fetched(void **state)
{
    static float in[MTS_DEVICE_MARKS * COUNT], out[MTS_DEVICE_MARKS * COUNT];
    (void)state;
    run_in_flight(in, out, wait_mark);
    run_in_flight(in, out, poll_mark);
}

static void a_mark_that_was_never_set_has_passed(void **state)
{
    (void)state;
    submit(object.up);
    for (uint32_t i = 0; i < MTS_DEVICE_MARKS; i++) {
        assert_true(has_passed(i));
        wait_mark(i);
    }
    mark(3);
    assert_true(has_passed(2));
    assert_true(has_passed(4));
}

static void a_mark_that_is_set_again_stands_behind_what_came_since(void **state)
{
    (void)state;
    float *out = make_host(COUNT);
    float *in = make_host(COUNT);
    fill_row(in, 7.0f);
    for (int round = 0; round < 3; round++) {
        memset(out, 0, COUNT * sizeof *out);
        mark(5);
        send(0, in, COUNT);
        submit(object.up);
        submit(object.down);
        fetch(0, out, COUNT);
        mark(5);
        poll_mark(5);
        assert_row(out, 7.0f, 1.0f);
    }
    free_host(&in);
    free_host(&out);
}

static void marks_pass_in_the_order_in_which_they_were_set(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MTS_DEVICE_MARKS; i++) {
        submit(object.up);
        mark(MTS_DEVICE_MARKS - 1 - i);
    }
    wait_mark(2);
    for (uint32_t i = 2; i < MTS_DEVICE_MARKS; i++) {
        assert_true(has_passed(i));
    }
    poll_mark(0);
    assert_true(has_passed(1));
}

static void a_wait_for_everything_passes_every_mark(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MTS_DEVICE_MARKS; i++) {
        submit(object.up);
        mark(i);
    }
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_CODE_OK);
    for (uint32_t i = 0; i < MTS_DEVICE_MARKS; i++) {
        assert_true(has_passed(i));
    }
}

static void a_mark_passes_without_a_wait_and_not_before_the_work_is_done(void **state)
{
    (void)state;
    float *in = make_host(COUNT);
    float *out = make_host(COUNT);
    fill_row(in, 9.0f);
    for (int round = 0; round < 3; round++) {
        memset(out, 0, COUNT * sizeof *out);
        for (int i = 0; i < 8; i++) {
            submit(object.burden);
        }
        send(0, in, COUNT);
        submit(object.up);
        fetch(computes() ? COUNT : 0, out, COUNT);
        mark(4);
        poll_mark(4);
        assert_row(out, 9.0f, computes() ? 2.0f : 1.0f);
    }
    free_host(&in);
    free_host(&out);
}

static void written_data_may_be_reused_at_once_also_while_the_queue_is_busy(void **state)
{
    (void)state;
    float row[COUNT];
    float *out = make_host(COUNT);
    for (int i = 0; i < 8; i++) {
        submit(object.burden);
    }
    fill_row(row, 11.0f);
    assert_int_equal(mts_buffer_write(object.act, 0, row, sizeof row, NULL), MTS_CODE_OK);
    fill_row(row, -5.0f);
    submit(object.up);
    submit(object.down);
    fetch(0, out, COUNT);
    mark(0);
    wait_mark(0);
    assert_row(out, 11.0f, 1.0f);
    free_host(&out);
}

static void frames_in_flight_allocate_nothing_of_ours(void **state)
{
    (void)state;
    float *in = make_host(MTS_DEVICE_MARKS * COUNT);
    float *out = make_host(MTS_DEVICE_MARKS * COUNT);
    const uint32_t calls = world.allocator.calls;
    run_in_flight(in, out, wait_mark);
    run_in_flight(in, out, poll_mark);
    assert_int_equal(world.allocator.calls, calls);
    free_host(&in);
    free_host(&out);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    float data[4] = {0.0f};
    bool passed = true;
    void *memory = data;
    mts_error error = {MTS_CODE_OK, ""};
    const size_t size = object.act->size;
    mts_device *device = world.device;
    assert_int_equal(mts_buffer_send(NULL, 0, data, 4, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_send(object.act, 0, NULL, 4, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_send(object.act, size - 3, data, 4, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_send(object.act, SIZE_MAX, data, 4, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_send(object.act, size, NULL, 0, &error), MTS_CODE_OK);
    assert_int_equal(mts_buffer_fetch(NULL, 0, data, 4, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fetch(object.act, 0, NULL, 4, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fetch(object.act, size - 3, data, 4, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_buffer_fetch(object.act, size, NULL, 0, &error), MTS_CODE_OK);
    assert_int_equal(mts_device_mark(NULL, 0, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_device_mark(device, MTS_DEVICE_MARKS, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "no mark 8"));
    assert_int_equal(mts_device_passed(device, UINT32_MAX, &passed, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_false(passed);
    assert_int_equal(mts_device_passed(device, 0, NULL, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_device_wait_mark(device, MTS_DEVICE_MARKS, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_host_create(device, 0, &memory, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_null(memory);
    assert_int_equal(mts_host_create(device, 4, NULL, &error), MTS_CODE_INVALID_ARGUMENT);
    assert_int_equal(mts_host_create(NULL, 4, &memory, &error), MTS_CODE_INVALID_ARGUMENT);
    mts_host_destroy(device, NULL);
    mts_host_destroy(device, &memory);
    mts_host_destroy(NULL, &memory);
}

static void host_memory_that_is_not_there_is_out_of_memory(void **state)
{
    (void)state;
    void *memory = NULL;
    mts_error error = {MTS_CODE_OK, ""};
    assert_int_equal(mts_host_create(world.device, SIZE_MAX - 8, &memory, &error), MTS_CODE_OUT_OF_MEMORY);
    assert_null(memory);
    assert_true(error.text[0]);
    if (world.device->ops->host_create) {
        return; /* not the allocator's */
    }
    world.allocator.calls = 0;
    world.allocator.nth = 1;
    assert_int_equal(mts_host_create(world.device, 100, &memory, &error), MTS_CODE_OUT_OF_MEMORY);
    world.allocator.nth = 0;
    assert_null(memory);
}

static void a_lost_device_sends_fetches_and_marks_nothing(void **state)
{
    (void)state;
    float data[4] = {0.0f};
    bool passed = true;
    void *memory = NULL;
    mts_error error = {MTS_CODE_OK, ""};
    float *host = make_host(4);
    mark(0);
    world.device->lost = true;
    assert_int_equal(mts_buffer_send(object.act, 0, data, 4, &error), MTS_CODE_DEVICE_LOST);
    assert_int_equal(mts_buffer_fetch(object.act, 0, data, 4, &error), MTS_CODE_DEVICE_LOST);
    assert_int_equal(mts_device_mark(world.device, 0, &error), MTS_CODE_DEVICE_LOST);
    assert_int_equal(mts_device_passed(world.device, 0, &passed, &error), MTS_CODE_DEVICE_LOST);
    assert_false(passed);
    assert_int_equal(mts_device_wait_mark(world.device, 0, &error), MTS_CODE_DEVICE_LOST);
    assert_int_equal(mts_host_create(world.device, 4, &memory, &error), MTS_CODE_DEVICE_LOST);
    free_host(&host); /* still works */
}

/* ---- random sequences against a model ---- */

#define SLOTS 6u
#define STEPS 300
#define SEEDS 12u

/* Memory of the host with a copy on its way. */
typedef struct slot {
    float *memory;
    bool own; /* else the device's */
    bool busy, fetched;
    uint32_t count;
    uint64_t copy; /* number of the copy */
    float expected[FLOATS];
} slot;

typedef struct model {
    uint64_t random;
    float act[FLOATS]; /* when everything enqueued so far has run */
    uint64_t copies, done;
    uint64_t marks[MTS_DEVICE_MARKS];
    slot slots[SLOTS];
} model;

static uint32_t draw(model *m, uint32_t below)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->random >> 33) % below;
}

static void draw_range(model *m, uint32_t *at, uint32_t *count)
{
    *at = draw(m, FLOATS);
    *count = 1 + draw(m, FLOATS - *at);
}

/* All copies up to the model's `done` are through: looks at what was fetched, spoils what was sent. */
static void settle(model *m)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        slot *s = &m->slots[i];
        if (!s->busy || s->copy > m->done) {
            continue;
        }
        if (s->fetched) {
            assert_memory_equal(s->memory, s->expected, s->count * sizeof(float));
        }
        memset(s->memory, 0x7f, FLOATS * sizeof(float));
        s->busy = false;
    }
}

static void finish(model *m)
{
    assert_int_equal(mts_device_wait(world.device, NULL), MTS_CODE_OK);
    m->done = m->copies;
    settle(m);
}

static slot *take_slot(model *m)
{
    slot *s = &m->slots[draw(m, SLOTS)];
    if (s->busy) {
        finish(m);
    }
    s->busy = true;
    s->copy = ++m->copies;
    return s;
}

static void step_copy(model *m, bool fetched)
{
    uint32_t at = 0;
    slot *s = take_slot(m);
    draw_range(m, &at, &s->count);
    s->fetched = fetched;
    if (fetched) {
        memcpy(s->expected, m->act + at, s->count * sizeof(float));
        fetch(at, s->memory, s->count);
        return;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        s->memory[i] = (float)draw(m, 1000);
    }
    memcpy(m->act + at, s->memory, s->count * sizeof(float));
    send(at, s->memory, s->count);
}

static void step_write(model *m)
{
    float data[FLOATS];
    uint32_t at = 0;
    uint32_t count = 0;
    draw_range(m, &at, &count);
    for (uint32_t i = 0; i < count; i++) {
        data[i] = (float)draw(m, 1000);
    }
    memcpy(m->act + at, data, count * sizeof(float));
    assert_int_equal(mts_buffer_write(object.act, at * sizeof(float), data, count * sizeof(float), NULL),
                     MTS_CODE_OK);
    memset(data, 0x7f, sizeof data);
}

static void step_fill(model *m)
{
    const uint32_t one = 0x3f800000u;
    uint32_t at = 0;
    uint32_t count = 0;
    draw_range(m, &at, &count);
    for (uint32_t i = 0; i < count; i++) {
        m->act[at + i] = 1.0f;
    }
    assert_int_equal(mts_buffer_fill(object.act, at * sizeof(float), count * sizeof(float), one, NULL),
                     MTS_CODE_OK);
}

static void step_read(model *m)
{
    float data[FLOATS];
    uint32_t at = 0;
    uint32_t count = 0;
    draw_range(m, &at, &count);
    assert_int_equal(mts_buffer_read(object.act, at * sizeof(float), data, count * sizeof(float), NULL),
                     MTS_CODE_OK);
    assert_memory_equal(data, m->act + at, count * sizeof(float));
    m->done = m->copies;
    settle(m);
}

static void step_submit(model *m)
{
    const bool up = draw(m, 2) == 0;
    submit(up ? object.up : object.down);
    for (uint32_t i = 0; i < COUNT && computes(); i++) {
        m->act[up ? COUNT + i : i] = up ? m->act[i] * 2.0f : m->act[COUNT + i] * 0.5f;
    }
}

static void step_mark(model *m)
{
    const uint32_t index = draw(m, MTS_DEVICE_MARKS);
    const uint32_t what = draw(m, 4);
    if (what < 2) {
        mark(index);
        m->marks[index] = m->copies;
        return;
    }
    if (what == 2) {
        wait_mark(index);
    } else if (!has_passed(index)) {
        return;
    }
    m->done = m->marks[index] > m->done ? m->marks[index] : m->done;
    settle(m);
}

static void run_random(uint64_t seed)
{
    model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->random = seed * 7919 + 1;
    for (uint32_t i = 0; i < SLOTS; i++) {
        m->slots[i].own = i % 3 == 2;
        m->slots[i].memory = m->slots[i].own ? calloc(FLOATS, sizeof(float)) : make_host(FLOATS);
        assert_non_null(m->slots[i].memory);
    }
    assert_int_equal(mts_buffer_fill(object.act, 0, sizeof m->act, 0, NULL), MTS_CODE_OK);
    for (int step = 0; step < STEPS; step++) {
        switch (draw(m, 16)) {
        case 0:
            step_write(m);
            break;
        case 1:
            step_fill(m);
            break;
        case 2:
            step_read(m);
            break;
        case 3:
            finish(m);
            break;
        case 4:
        case 5:
        case 6:
            step_submit(m);
            break;
        case 7:
        case 8:
        case 9:
            step_copy(m, false);
            break;
        case 10:
        case 11:
        case 12:
            step_copy(m, true);
            break;
        default:
            step_mark(m);
            break;
        }
    }
    finish(m);
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (m->slots[i].own) {
            free(m->slots[i].memory);
        } else {
            free_host(&m->slots[i].memory);
        }
    }
    free(m);
}

static void random_sequences_do_what_a_model_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_random(seed);
    }
}

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

static int run_device(void)
{
    char group[MTS_DEVICE_NAME + 64];
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(a_fetched_value_is_there_after_its_mark_and_later_launches_do_not_change_it),
        DEVICE_TEST(runs_of_one_list_in_flight_give_their_own_results),
        DEVICE_TEST(any_memory_of_the_host_can_be_sent_and_fetched),
        DEVICE_TEST(a_mark_that_was_never_set_has_passed),
        DEVICE_TEST(a_mark_that_is_set_again_stands_behind_what_came_since),
        DEVICE_TEST(marks_pass_in_the_order_in_which_they_were_set),
        DEVICE_TEST(a_wait_for_everything_passes_every_mark),
        DEVICE_TEST(a_mark_passes_without_a_wait_and_not_before_the_work_is_done),
        DEVICE_TEST(written_data_may_be_reused_at_once_also_while_the_queue_is_busy),
        DEVICE_TEST(frames_in_flight_allocate_nothing_of_ours),
        DEVICE_TEST(wrong_arguments_are_refused),
        DEVICE_TEST(host_memory_that_is_not_there_is_out_of_memory),
        DEVICE_TEST(a_lost_device_sends_fetches_and_marks_nothing),
        DEVICE_TEST(random_sequences_do_what_a_model_says),
    };
    (void)snprintf(group, sizeof group, "%s:%u", backend->name, backend_index);
    return cmocka_run_group_tests_name(group, tests, NULL, NULL);
}

int main(void)
{
    int failed = 0;
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    for (size_t i = 0; i < count; i++) {
        backend = table[i];
        const uint32_t devices = backend->count();
        if (devices == 0) {
            (void)printf("backend %s is passed over: it has no device on this machine\n", backend->name);
        }
        for (backend_index = 0; backend_index < devices; backend_index++) {
            failed += run_device();
        }
    }
    return failed;
}
