/*
 * test_zip_limit.c: zipping under a limit of loss or bytes keeps it and says what it traded; what
 * was shared before stays so; partitions by similarity.
 */
#include "zip_fixture.h"

#include "base/half.h"
#include "compress/zip/change.h"
#include "compress/zip/pam.h"

/* What the callbacks have been told. */
static uint32_t rows, sharing_rows, partly, predicted, measured, within;
static uint64_t saved;
static double within_loss, within_bytes;

static void take_row(void *context, const mtsz_zip_layer *layer)
{
    (void)context;
    rows++;
    assert_non_null(layer->tasks);
    assert_true(isfinite(layer->loss) && layer->loss >= 0.0);
    assert_true(layer->change >= 0.0 && layer->change <= 100.0);
    assert_int_equal(layer->form == MTSZ_FORM_NONE, layer->parts == 0);
    assert_int_equal(layer->form == MTSZ_FORM_NONE, layer->shared == 0);
    assert_int_equal(layer->form == MTSZ_FORM_LOW_RANK, layer->rank > 0);
    assert_true(layer->parts == 0 || strchr(layer->tasks, '+'));
    sharing_rows += layer->parts ? 1 : 0;
    partly += layer->shared > 0 && layer->shared < layer->channels ? 1 : 0;
    saved += layer->bytes_saved;
}

static void take_trial(void *context, const mtsz_zip_trial *trial)
{
    (void)context;
    assert_true(trial->bytes > 0.0 && trial->bytes <= 1.0);
    predicted += trial->predicted ? 1 : 0;
    measured += trial->predicted ? 0 : 1;
    if (trial->within && (!within++ || trial->bytes < within_bytes)) {
        within_bytes = trial->bytes;
        within_loss = trial->loss;
    }
}

/* The last stage has three quarters of the weights. */
static const char *const late[] = {"/blocks/blocks.6", "/blocks/blocks.7"};

static mtsz_zip_options limit_options(uint32_t tasks)
{
    mtsz_zip_options zip = zip_options(0.9, tasks);
    zip.layer = take_row;
    zip.trial = take_trial;
    rows = sharing_rows = partly = predicted = measured = within = 0;
    saved = 0;
    return zip;
}

static double part_of(const mtsz_zip_report *report)
{
    return (double)report->summary.weights_bytes / (double)report->bytes_before;
}

static void a_limit_of_loss_is_kept_and_what_was_traded_is_told(void **state)
{
    (void)state;
    mtsz_zip_options zip = limit_options(3);
    zip.max_loss = 2.0;
    const mtsz_zip_report report = must_zip(original, &zip);
    assert_int_equal(rows, LAYERS);
    assert_int_equal(sharing_rows, report.zipped);
    assert_true(report.zipped > 0);
    assert_int_equal(measured, report.trials);
    assert_true(predicted > 8 && within > 0);
    assert_true(within_loss <= zip.max_loss);
    assert_true(report.loss >= 0.0 && report.loss <= zip.max_loss);
    assert_true(report.loss_worst <= 3.0 * zip.max_loss);
    /* What the table says is saved is what the bundle has less, but for what factors bring with them. */
    const double less = (double)(report.bytes_before - report.summary.weights_bytes);
    assert_true(fabs(less - (double)saved) < 0.01 * (double)report.bytes_before);
    assert_true(fabs(part_of(&report) - within_bytes) < 0.01);
}

static void a_limit_of_bytes_is_kept_in_the_form_that_was_asked_for(void **state)
{
    (void)state;
    mtsz_zip_options zip = limit_options(3);
    zip.layers = late;
    zip.layer_count = 2;
    zip.bytes = 0.88;
    zip.forms = 1u << MTSZ_FORM_FILTERS;
    const mtsz_zip_report filters = must_zip(original, &zip);
    assert_true(part_of(&filters) <= 0.88 && part_of(&filters) > 0.8); /* of the bundle that was written */
    assert_int_equal(filters.rank, 0);
    assert_true(partly > 0);
    float before[16], after[16];
    const size_t count = answer(original, "pet", 3, before, 16); /* is not zipped */
    assert_int_equal(answer(zipped, "pet", 3, after, 16), count);
    assert_memory_equal(before, after, count * sizeof *before);
}

static void low_rank_alone_shares_all_channels_of_a_layer_or_none(void **state)
{
    (void)state;
    mtsz_zip_options zip = limit_options(3);
    zip.layers = late;
    zip.layer_count = 2;
    zip.bytes = 0.88;
    zip.forms = 1u << MTSZ_FORM_LOW_RANK;
    const mtsz_zip_report report = must_zip(original, &zip);
    assert_true(part_of(&report) <= 0.88);
    assert_true(sharing_rows > 0);
    assert_int_equal(partly, 0);
}

/* The original with the filters of all convolutions in float16, as `other`. */
static void write_halves(void)
{
    mts_models models;
    mts_error error = {0};
    assert_int_equal(mts_models_open(original, mts_allocator_default(), &models, &error), MTS_STATUS_OK);
    for (uint32_t t = 0; t < models.count; t++) {
        mts_graph *graph = models.tasks[t].graph;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            mts_value *weight = &graph->values[graph->nodes[n].inputs[1 % graph->nodes[n].input_count]];
            if (graph->nodes[n].op != MTS_OP_CONV || weight->dtype != MTS_TYPE_FLOAT32) {
                continue;
            }
            const size_t count = mts_shape_count(&weight->shape);
            float *numbers = mts_arena_zero(&models.arenas[t], count, sizeof *numbers);
            uint16_t *halves = mts_arena_zero(&models.arenas[t], count, sizeof *halves);
            assert_true(numbers && halves);
            mts_value_read_f32(weight, numbers);
            mts_half_array_from_float(numbers, halves, count);
            weight->dtype = MTS_TYPE_FLOAT16;
            weight->blocks[0].data = halves;
        }
    }
    assert_int_equal(mts_models_write(&models, models.tasks, models.count, other, &options, NULL, &error),
                     MTS_STATUS_OK);
    mts_models_release(&models);
}

static void weights_of_two_bytes_count_as_two(void **state)
{
    (void)state;
    mtsz_zip_options zip = limit_options(3);
    write_halves();
    zip.layers = late;
    zip.layer_count = 2;
    zip.bytes = 0.9;
    zip.forms = 1u << MTSZ_FORM_FILTERS;
    const mtsz_zip_report report = must_zip(other, &zip);
    /* Four bytes a weight would count twice what is saved. */
    const double less = (double)(report.bytes_before - report.summary.weights_bytes);
    assert_true(fabs(less - (double)saved) < 0.01 * (double)report.bytes_before);
    assert_true(part_of(&report) <= 0.9 && part_of(&report) > 0.85);
}

/* The last layers of three tasks, of which the first keeps every bit. */
static mtsz_zip_options base_options(void)
{
    static const char *const base[] = {"object"};
    mtsz_zip_options zip = limit_options(3);
    zip.base = base;
    zip.base_count = 1;
    zip.layers = late;
    zip.layer_count = 2;
    zip.bytes = 0.86;
    return zip;
}

static void a_base_keeps_every_bit_under_a_limit(void **state)
{
    (void)state;
    mtsz_zip_options zip = base_options();
    const mtsz_zip_report report = must_zip(original, &zip);
    assert_true(part_of(&report) <= zip.bytes);
    for (uint32_t i = 0; i < 3; i++) {
        float before[16], after[16];
        const size_t count = answer(original, "object", i, before, 16);
        assert_int_equal(answer(zipped, "object", i, after, 16), count);
        assert_memory_equal(before, after, count * sizeof *before);
    }
}

/* Points that a task's answers to the held out images, every third, lose from one bundle to the other. */
static double bundle_loss(const char *task)
{
    mts_change sums = {.form = MTS_CHANGE_SCORES};
    for (uint32_t i = 2; i < IMAGES; i += 3) {
        float before[16], after[16];
        const size_t count = answer(original, task, i, before, 16);
        assert_int_equal(answer(zipped, task, i, after, 16), count);
        mts_change_add(&sums, before, after, count, 1);
    }
    return mts_change_loss(&sums);
}

static void differences_from_a_base_are_measured_as_they_are_written(void **state)
{
    (void)state;
    mtsz_zip_options zip = base_options();
    zip.forms = 1u << MTSZ_FORM_LOW_RANK;
    const mtsz_zip_report report = must_zip(original, &zip);
    assert_true(report.rank > 0);
    const double mean = 0.5 * (bundle_loss("animal") + bundle_loss("legs"));
    assert_true(fabs(mean - report.loss) < 0.05 * report.loss + 1e-3);
}

static void filters_that_were_equal_before_stay_so(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(1.0, 2);
    const mtsz_zip_report two = must_zip(original, &zip); /* object and animal have one body now */
    assert_int_equal(rename(zipped, other), 0);
    const uint64_t once = two.summary.weights_bytes_unshared - two.summary.weights_bytes;
    zip = zip_options(0.5, 3); /* a third task joins in the first layer, so all others are fitted anew */
    const char *first[] = {"/conv1"};
    zip.layers = first;
    zip.layer_count = 1;
    const mtsz_zip_report ratio = must_zip(other, &zip);
    assert_true(ratio.summary.weights_bytes_unshared - ratio.summary.weights_bytes >= once);
    zip = limit_options(3);
    zip.layers = late + 1;
    zip.layer_count = 1;
    zip.max_loss = 0.5;
    const mtsz_zip_report limited = must_zip(other, &zip);
    assert_true(limited.bytes_before - limited.summary.weights_bytes >= once);
}

/* ---- refusals ---- */

static void limits_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const double losses[] = {-1.0, 100.5, (double)NAN, (double)INFINITY};
    static const double parts[] = {-0.1, 1.5, (double)NAN};
    const mtsz_zip_options plain = zip_options(0.9, 3);
    mtsz_zip_options zip = plain;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        zip.max_loss = losses[i];
        expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip,
                       "max_loss is not between 0 and 100");
    }
    zip = plain;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        zip.bytes = parts[i];
        expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "bytes is not a part of 0 to 1");
    }
    zip.bytes = 0.5;
    zip.max_loss = 1.0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "two limits");
    zip.max_loss = 0.0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, NULL, &zip, "no images");
    mtsz_data none = data;
    none.count = 0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &none, &zip, "image");
    const char *const bases[] = {"object", "animal"};
    zip.base = bases;
    zip.base_count = 2;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "one task as base");
    zip.base_count = 0;
    zip.forms = 1u << MTSZ_FORM_UXYZ;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "forms has bits");
    zip.forms = 0;
    zip.form = MTSZ_FORM_UXYZ;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "uxyz does not go with");
    zip.form = MTSZ_FORM_LOW_RANK;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "form is neither");
    zip.form = MTSZ_FORM_FILTERS;
    zip.low_rank = 1e-3;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "low_rank does not go with");
    zip.low_rank = 0.0;
    zip.max_change = 5.0;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "do not go with");
    zip = plain;
    zip.forms = 1;
    expect_refused(MTS_STATUS_INVALID_ARGUMENT, original, &data, &zip, "forms goes with");
}

static void limits_that_nothing_keeps_say_what_is_possible(void **state)
{
    (void)state;
    mtsz_zip_options zip = zip_options(0.9, 3);
    zip.bytes = 0.05;
    zip.layers = late + 1;
    zip.layer_count = 1;
    expect_refused(MTS_STATUS_LIMIT, original, &data, &zip, "sharing all that can be shared leaves 0.");
}

/* ---- parts ---- */

static void medoids_find_the_parts_that_are_there(void **state)
{
    (void)state;
    enum { COUNT = 7 };
    static const double places[COUNT] = {0.0, 10.0, 0.5, 10.2, 9.9, 0.2, 30.0};
    static const uint32_t expected[COUNT] = {0, 1, 0, 1, 1, 0, 2};
    double distances[COUNT * COUNT];
    uint32_t group[COUNT];
    for (uint32_t i = 0; i < COUNT * COUNT; i++) {
        distances[i] = fabs(places[i / COUNT] - places[i % COUNT]);
    }
    assert_true(fabs(mts_pam(distances, COUNT, 3, group) - 0.8) < 1e-9);
    assert_memory_equal(group, expected, sizeof expected);
    (void)mts_pam(distances, COUNT, 1, group);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(group[i], 0);
    }
    assert_true(mts_pam(distances, COUNT, COUNT, group) <= 0.0);
}

/* Scores and the probabilities that softmax makes of them lose the same. */
static void the_expected_loss_is_fifty_times_the_divergence(void **state)
{
    (void)state;
    static const float scores[2] = {1.0f, 0.0f}, others[2] = {0.0f, 0.0f};
    float p[2], q[2] = {0.5f, 0.5f};
    p[0] = 1.0f / (1.0f + expf(-1.0f));
    p[1] = 1.0f - p[0];
    const double nats = (double)p[0] * log(2.0 * (double)p[0]) + (double)p[1] * log(2.0 * (double)p[1]);
    mts_change sums = {.form = MTS_CHANGE_SCORES}, same = {.form = MTS_CHANGE_PROBABILITIES};
    mts_change_add(&sums, scores, others, 2, 1);
    mts_change_add(&same, p, q, 2, 1);
    assert_true(fabs(mts_change_loss(&sums) - 50.0 * nats) < 1e-5);
    assert_true(fabs(mts_change_loss(&same) - 50.0 * nats) < 1e-5);
    /* A class that both rule out loses nothing; answers that are no numbers are worse than any. */
    static const float masked[3] = {1.0f, 0.0f, -INFINITY}, others_masked[3] = {0.0f, 0.0f, -INFINITY};
    static const float broken_answer[2] = {NAN, NAN};
    sums = (mts_change){.form = MTS_CHANGE_SCORES};
    mts_change_add(&sums, masked, others_masked, 3, 1);
    assert_true(fabs(mts_change_loss(&sums) - 50.0 * nats) < 1e-5);
    for (mts_change_form form = MTS_CHANGE_SCORES; form <= MTS_CHANGE_PROBABILITIES; form++) {
        sums = (mts_change){.form = form};
        mts_change_add(&sums, p, broken_answer, 2, 1);
        assert_true(isnan(mts_change_loss(&sums)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_loss_is_kept_and_what_was_traded_is_told),
        cmocka_unit_test(a_limit_of_bytes_is_kept_in_the_form_that_was_asked_for),
        cmocka_unit_test(weights_of_two_bytes_count_as_two),
        cmocka_unit_test(low_rank_alone_shares_all_channels_of_a_layer_or_none),
        cmocka_unit_test(a_base_keeps_every_bit_under_a_limit),
        cmocka_unit_test(differences_from_a_base_are_measured_as_they_are_written),
        cmocka_unit_test(filters_that_were_equal_before_stay_so),
        cmocka_unit_test(limits_that_make_no_sense_are_refused),
        cmocka_unit_test(limits_that_nothing_keeps_say_what_is_possible),
        cmocka_unit_test(medoids_find_the_parts_that_are_there),
        cmocka_unit_test(the_expected_loss_is_fifty_times_the_divergence),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
