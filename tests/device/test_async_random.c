/*
 * Random sequences of copies, runs and events do on every device what a model says that does each at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/async_fixture.h"

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
    float expected[ASYNC_FLOATS];
} slot;

typedef struct model {
    uint64_t random;
    float act[ASYNC_FLOATS]; /* when everything enqueued so far has run */
    uint64_t copies, done;
    uint64_t events[MTS_DEVICE_EVENTS];
    slot slots[SLOTS];
} model;

static uint32_t draw(model *m, uint32_t below)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->random >> 33) % below;
}

static void draw_range(model *m, uint32_t *at, uint32_t *count)
{
    *at = draw(m, ASYNC_FLOATS);
    *count = 1 + draw(m, ASYNC_FLOATS - *at);
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
        memset(s->memory, 0x7f, ASYNC_FLOATS * sizeof(float));
        s->busy = false;
    }
}

static void finish(model *m)
{
    assert_int_equal(mts_device_wait(async.base.device, NULL), MTS_STATUS_OK);
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
        async_fetch(at, s->memory, s->count);
        return;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        s->memory[i] = (float)draw(m, 1000);
    }
    memcpy(m->act + at, s->memory, s->count * sizeof(float));
    async_send(at, s->memory, s->count);
}

static void step_write(model *m)
{
    float data[ASYNC_FLOATS];
    uint32_t at = 0;
    uint32_t count = 0;
    draw_range(m, &at, &count);
    for (uint32_t i = 0; i < count; i++) {
        data[i] = (float)draw(m, 1000);
    }
    memcpy(m->act + at, data, count * sizeof(float));
    assert_int_equal(mts_buffer_write(async.act, at * sizeof(float), data, count * sizeof(float), NULL),
                     MTS_STATUS_OK);
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
    assert_int_equal(mts_buffer_fill(async.act, at * sizeof(float), count * sizeof(float), one, NULL),
                     MTS_STATUS_OK);
}

static void step_read(model *m)
{
    float data[ASYNC_FLOATS];
    uint32_t at = 0;
    uint32_t count = 0;
    draw_range(m, &at, &count);
    assert_int_equal(mts_buffer_read(async.act, at * sizeof(float), data, count * sizeof(float), NULL),
                     MTS_STATUS_OK);
    assert_memory_equal(data, m->act + at, count * sizeof(float));
    m->done = m->copies;
    settle(m);
}

static void step_submit(model *m)
{
    const bool up = draw(m, 2) == 0;
    async_submit(up ? async.up : async.down);
    for (uint32_t i = 0; i < ASYNC_COUNT && async_computes(); i++) {
        m->act[up ? ASYNC_COUNT + i : i] = up ? m->act[i] * 2.0f : m->act[ASYNC_COUNT + i] * 0.5f;
    }
}

static void step_event(model *m)
{
    const uint32_t index = draw(m, MTS_DEVICE_EVENTS);
    const uint32_t what = draw(m, 4);
    if (what < 2) {
        async_event(index);
        m->events[index] = m->copies;
        return;
    }
    if (what == 2) {
        async_wait_event(index);
    } else if (!async_has_passed(index)) {
        return;
    }
    m->done = m->events[index] > m->done ? m->events[index] : m->done;
    settle(m);
}

static void run_random(uint64_t seed)
{
    model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->random = seed * 7919 + 1;
    for (uint32_t i = 0; i < SLOTS; i++) {
        m->slots[i].own = i % 3 == 2;
        m->slots[i].memory = m->slots[i].own ? calloc(ASYNC_FLOATS, sizeof(float)) : async_host(ASYNC_FLOATS);
        assert_non_null(m->slots[i].memory);
    }
    assert_int_equal(mts_buffer_fill(async.act, 0, sizeof m->act, 0, NULL), MTS_STATUS_OK);
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
            step_event(m);
            break;
        }
    }
    finish(m);
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (m->slots[i].own) {
            free(m->slots[i].memory);
        } else {
            async_host_free(&m->slots[i].memory);
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

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, async_open, async_close)

static int run_device(const char *group)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(random_sequences_do_what_a_model_says),
    };
    return cmocka_run_group_tests_name(group, tests, NULL, NULL);
}

int main(void)
{
    return async_every_device(run_device);
}
