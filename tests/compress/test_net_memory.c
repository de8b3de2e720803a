/*
 * test_net_memory.c: nets on threads, short memory, and sizes that are refused.
 */
#include "net_sample.h"

/* ---- threads ---- */

#define JOBS 200

typedef struct ledger {
    pthread_mutex_t mutex;
    uint32_t runs[JOBS], next[64]; /* [worker]: the least job that it may run now */
    uint32_t fail_from;            /* jobs from here on fail; JOBS: none */
    bool in_order;
} ledger;

static mts_status note_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    ledger *l = context;
    (void)pthread_mutex_lock(&l->mutex);
    l->runs[job]++;
    /* how far a job gets before the next one starts is the system's affair; a worker only goes forward */
    l->in_order = l->in_order && worker < mts_threads_count() && job >= l->next[worker];
    if (worker < 64) {
        l->next[worker] = job + 1;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    return job >= l->fail_from ? mts_fail(error, MTS_STATUS_LIMIT, "job %u", job) : MTS_STATUS_OK;
}

static void jobs_run_once_each(void **state)
{
    ledger l = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fail_from = JOBS, .in_order = true};
    mts_error error = {0};
    (void)state;
    assert_true(mts_threads_count() >= 1 && mts_threads_count() <= 64);
    fixture_must(mts_threads_run(JOBS, note_job, &l, &error), &error);
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_int_equal(l.runs[i], 1);
    }
    assert_true(l.in_order);
    memset(l.next, 0, sizeof l.next);
    fixture_must(mts_threads_run(0, note_job, &l, &error), &error);
    fixture_must(mts_threads_run(1, note_job, &l, &error), &error);
    assert_int_equal(l.runs[0], 2);
    assert_true(l.in_order);
}

static void the_first_failure_wins_and_stops_the_others(void **state)
{
    ledger l = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fail_from = 50, .in_order = true};
    mts_error error = {0};
    uint32_t ran = 0;
    (void)state;
    assert_int_equal(mts_threads_run(JOBS, note_job, &l, &error), MTS_STATUS_LIMIT);
    assert_string_equal(error.text, "job 50");
    for (uint32_t i = 0; i < JOBS; i++) {
        ran += l.runs[i];
    }
    assert_true(ran >= 51 && ran < 51 + mts_threads_count());
    assert_int_equal(mts_threads_run(JOBS, note_job, &l, NULL), MTS_STATUS_LIMIT);
}

typedef struct team {
    const sample *s;
    float answers[16][35];
} team;

static mts_status answer_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    team *t = context;
    mts_net_run *run = NULL;
    (void)worker;
    mts_status status = mts_net_run_create(t->s->net, 7, MTS_NET_INFERENCE, &run, error);
    if (status == MTS_STATUS_OK) {
        memcpy(mts_net_run_input(run, 0), mts_net_run_input(t->s->run, 0), 7 * 216 * sizeof(float));
        status = mts_net_run_forward(run, 7, 0, t->s->f.graph->node_count, error);
        memcpy(t->answers[job], mts_net_run_value(run, t->s->output), sizeof t->answers[job]);
    }
    mts_net_run_destroy(&run);
    return status;
}

static void runs_of_one_net_side_by_side_agree(void **state)
{
    sample s;
    team t = {.s = &s};
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    fixture_must(mts_threads_run(16, answer_job, &t, &error), &error);
    for (int i = 0; i < 16; i++) {
        assert_true(difference(t.answers[i], mts_net_run_value(s.run, s.output), 35) <= 1e-5);
    }
    close_sample(&s);
}

/* ---- memory ---- */

static mts_status live_a_life(const mts_graph *graph, const mts_allocator *allocator, mts_error *error)
{
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    mts_status status = mts_net_create(graph, allocator, &net, error);
    status = status ? status : mts_net_run_create(net, 2, MTS_NET_TRAINING, &run, error);
    status = status ? status : mts_net_run_forward(run, 2, 0, graph->node_count, error);
    status = status ? status : mts_net_run_backward(run, 2, error);
    mts_net_run_destroy(&run);
    mts_net_destroy(&net);
    return status;
}

static void short_memory_is_reported_and_nothing_leaks(void **state)
{
    fixture f;
    mts_fault_allocator fault;
    mts_error error = {0};
    (void)state;
    build_sample(&f);
    mts_fault_allocator_init(&fault, 0);
    fixture_must(live_a_life(f.graph, &fault.allocator, &error), &error);
    assert_int_equal(fault.alive, 0);
    const size_t calls = fault.calls;
    assert_true(calls > 10);
    for (size_t at = 1; at <= calls; at++) {
        mts_fault_allocator_init(&fault, at);
        error = (mts_error){0};
        assert_int_equal(live_a_life(f.graph, &fault.allocator, &error), MTS_STATUS_OUT_OF_MEMORY);
        assert_true(error.text[0] != '\0');
        assert_int_equal(fault.alive, 0);
    }
    mts_fault_allocator_init(&fault, 1);
    mts_net *net = NULL;
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_net_destroy(&net);
    mts_net_destroy(&net);
    mts_net_destroy(NULL);
    mts_net_run_destroy(NULL);
    fixture_end(&f);
}

static void a_store_without_memory_fails(void **state)
{
    fixture f;
    mts_error error = {0};
    mts_net *net = NULL;
    (void)state;
    build_sample(&f);
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_fault_allocator fault;
    mts_arena arena;
    mts_fault_allocator_init(&fault, 0);
    mts_arena_init(&arena, &fault.allocator);
    mts_graph *clone = mts_graph_clone(f.graph, &arena);
    assert_non_null(clone);
    fault.fail_at = fault.calls + 1; /* the arena's next block */
    while (mts_arena_zero(&arena, 1, 256)) {
    }
    fault.fail_at = fault.calls + 1;
    assert_false(mts_net_store(net, NULL, clone));
    mts_arena_release(&arena);
    assert_int_equal(fault.alive, 0);
    mts_net_destroy(&net);
    fixture_end(&f);
}

static void the_bytes_of_a_run_are_foretold(void **state)
{
    sample s;
    mts_fault_allocator fault;
    mts_error error = {0};
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    (void)state;
    open_sample(&s);
    const size_t small = mts_net_run_bytes(s.net, 1, MTS_NET_INFERENCE);
    const size_t large = mts_net_run_bytes(s.net, 100, MTS_NET_INFERENCE);
    assert_true(large > 50 * small / 2 && large < 100 * small);
    assert_true(mts_net_run_bytes(s.net, 100, MTS_NET_TRAINING) > large);
    assert_int_equal(mts_net_run_bytes(s.net, UINT32_MAX, MTS_NET_TRAINING) > large, 1);
    mts_fault_allocator_init(&fault, 0);
    fixture_must(mts_net_create(s.f.graph, &fault.allocator, &net, &error), &error);
    assert_int_equal(mts_net_run_create(net, 0, MTS_NET_INFERENCE, &run, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    mts_net_destroy(&net);
    assert_int_equal(fault.alive, 0);
    close_sample(&s);
}

/* ---- hostile graphs ---- */

static void shapes_without_elements_or_with_too_many_are_refused(void **state)
{
    static const int64_t sizes[3] = {0, (int64_t)1 << 40, -3};
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture f;
        mts_net *net = NULL;
        mts_error error = {0};
        fixture_begin(&f, 1);
        const mts_shape shape = fixture_shape4(1, 3, sizes[i], 8);
        fixture_output(&f, "y", fixture_input(&f, &(mts_shape){.rank = 1, .dims = {4}}));
        f.graph->values[0].shape = shape;
        const mts_status status = mts_net_create(f.graph, mts_allocator_default(), &net, &error);
        assert_int_equal(status, i == 1 ? MTS_STATUS_LIMIT : MTS_STATUS_MALFORMED);
        assert_null(net);
        assert_non_null(strstr(error.text, "value 'x'"));
        fixture_end(&f);
    }
}

static void *modest_alloc(void *context, size_t size)
{
    (void)context;
    return size > (size_t)1 << 30 ? NULL : malloc(size);
}

static void modest_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void batches_beyond_memory_are_refused(void **state)
{
    const mts_allocator modest = {.alloc = modest_alloc, .free = modest_free};
    fixture f;
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    mts_error error = {0};
    (void)state;
    fixture_begin(&f, 1);
    const mts_shape shape = fixture_shape4(1, 1, 1 << 15, 1 << 15);
    const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    const uint32_t x = fixture_input(&f, &shape);
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_UNARY, &x, 1, &attrs));
    fixture_must(mts_net_create(f.graph, &modest, &net, &error), &error);
    assert_int_equal(mts_net_run_create(net, UINT32_MAX, MTS_NET_TRAINING, &run, &error),
                     MTS_STATUS_OUT_OF_MEMORY);
    assert_null(run);
    assert_true(mts_net_run_bytes(net, UINT32_MAX, MTS_NET_INFERENCE) > (size_t)1 << 60);
    mts_net_destroy(&net);
    fixture_end(&f);
}

static void vectors_by_image_are_refused_by_name(void **state)
{
    fixture f;
    mts_net *net = NULL;
    mts_error error = {0};
    (void)state;
    fixture_begin(&f, 1);
    const mts_shape shape = fixture_shape4(2, 3, 4, 4), weight = fixture_shape4(5, 3, 1, 1);
    const mts_shape rows = mts_shape_make(2, (const int64_t[]){2, 5});
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const uint32_t inputs[3] = {fixture_input(&f, &shape), fixture_const(&f, &weight, 0.0f, 1.0f),
                                fixture_const(&f, &rows, 1.0f, 0.5f)};
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_CONV, inputs, 3, &attrs));
    assert_int_equal(mts_net_create(f.graph, mts_allocator_default(), &net, &error), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "'conv' (conv)"));
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_once_each),
        cmocka_unit_test(the_first_failure_wins_and_stops_the_others),
        cmocka_unit_test(runs_of_one_net_side_by_side_agree),
        cmocka_unit_test(short_memory_is_reported_and_nothing_leaks),
        cmocka_unit_test(a_store_without_memory_fails),
        cmocka_unit_test(the_bytes_of_a_run_are_foretold),
        cmocka_unit_test(shapes_without_elements_or_with_too_many_are_refused),
        cmocka_unit_test(batches_beyond_memory_are_refused),
        cmocka_unit_test(vectors_by_image_are_refused_by_name),
    };
    mts_error error = {0};
    omp_set_num_threads(1); /* tiny convolutions on a busy machine: threads would only wait for each other */
    if (net_device_open("reference", NULL, &reference, &error) != MTS_STATUS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&reference);
    return failed;
}
