/*
 * mtsz_train: a new task learns from labelled images on a network that keeps every bit; candidates that
 * train together get what they get alone; a training that was stopped goes on to the same bits; and what
 * is refused.
 */
#include "compress/learn/loss.h"
#include "zip_fixture.h"

#define PICTURES 80u
#define CANDIDATES 5u

static const char *const names[] = {"top", "bottom"};
static uint32_t labels[PICTURES];
static mtsz_train_result told_of[16];
static uint32_t told_results;
static const char *stop_at; /* progress cancels where it is told this */

/* One half of the image is bright: the upper one in images of class 0. */
static int halves(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    uint32_t seed = index * 7919u + 1u;
    (void)context;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t i = 0; i < 3 * width; i++) {
            seed = seed * 1664525u + 1013904223u;
            const bool bright = (y < height / 2) == (index % 3 == 0);
            rgb[y * 3 * width + i] = (unsigned char)((bright ? 130 : 60) + (seed >> 24) % 100);
        }
    }
    return 0;
}

static int broken_halves(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    return index == 17 || halves(context, index, width, height, rgb);
}

static void take_result(void *context, const mtsz_train_result *result)
{
    assert_ptr_equal(context, told_of);
    assert_int_equal(result->number, told_results);
    told_of[told_results++] = *result;
}

static int stopper(void *context, float fraction, const char *what)
{
    (void)context;
    assert_true(fraction >= 0.0f && fraction <= 1.0f);
    return stop_at && strstr(what, stop_at) ? 1 : 0;
}

static mtsz_train_options train_options(mtsz_train_method method)
{
    mtsz_train_options train;
    mtsz_train_options_default(&train);
    for (uint32_t i = 0; i < PICTURES; i++) {
        labels[i] = i % 3 == 0 ? 0 : 1;
    }
    data.count = PICTURES;
    data.image = halves;
    options.progress = stopper;
    stop_at = NULL;
    train.task = "half";
    train.base = "object";
    train.labels = labels;
    train.label_count = PICTURES;
    train.class_names = names;
    train.class_count = 2;
    train.method = method;
    train.candidate_count = CANDIDATES;
    train.batch = 32;
    train.context = told_of;
    train.result = take_result;
    if (method != MTSZ_TRAIN_HEAD) {
        train.candidate_count = 2;
        train.rate = 0.004;
        train.epochs = 3;
        train.patience = 0;
    }
    return train;
}

static mtsz_train_report must_train(const mtsz_train_options *train, const char *out)
{
    mtsz_train_report report = {.size = sizeof report};
    report.summary.size = sizeof report.summary;
    told_results = 0;
    if (mtsz_train(original, &data, train, out, &options, &report) != MTS_STATUS_OK) {
        fail_msg("%s", sentence);
    }
    assert_int_equal(told_results, train->candidate_count);
    assert_true(report.best < told_results && told_of[report.best].loss == report.loss);
    return report;
}

/* Whether a bundle's new task is right for an image that it never saw. */
static bool is_right(const char *path, uint32_t index)
{
    unsigned char rgb[32 * 32 * 3];
    float scores[2];
    (void)halves(NULL, index, 32, 32, rgb);
    assert_int_equal(answer_to(path, "half", rgb, scores, 2), 2);
    return (scores[0] > scores[1]) == (index % 3 == 0);
}

static void expect_same_answers(const char *path)
{
    float before[10], after[10];
    for (uint32_t t = 0; t < 3; t++) {
        const size_t count = answer(original, three[t], 7, before, 10);
        assert_int_equal(answer(path, three[t], 7, after, 10), count);
        assert_memory_equal(before, after, count * sizeof(float));
    }
}

static void a_head_is_learned_and_the_base_keeps_every_bit(void **state)
{
    mtsz_train_options train = train_options(MTSZ_TRAIN_HEAD);
    static const uint32_t map[3] = {1, 0, 1};
    (void)state;
    train.class_map = map;
    train.class_map_count = 3;
    const mtsz_train_report report = must_train(&train, zipped);
    uint32_t right = 0;
    assert_true(report.accuracy > 85.0); /* a mean over the image knows little of places */
    assert_int_equal(report.images + report.held_out, PICTURES);
    assert_int_equal(report.held_out, 16); /* a fifth of 27 and of 53 */
    assert_int_equal(report.summary.tasks, 9);
    assert_true(report.nodes_common + 2 == report.nodes);
    /* 64 features, two classes, float32: nothing else is stored */
    assert_int_equal(report.bytes_added, (2 * 64 + 2) * sizeof(float));
    assert_true((double)report.bytes_added < 0.015 * (double)report.bytes_base);
    expect_same_answers(zipped);
    for (uint32_t i = PICTURES; i < PICTURES + 10; i++) {
        right += is_right(zipped, i) ? 1 : 0;
    }
    assert_true(right >= 8);
}

/* Of all tasks of a bundle, the one whose features serve is found. */
static void a_base_is_found(void **state)
{
    mtsz_train_options train = train_options(MTSZ_TRAIN_HEAD);
    (void)state;
    train.base = NULL;
    assert_true(must_train(&train, zipped).accuracy > 85.0);
}

static void expect_alone_as_together(mtsz_train_options *train)
{
    mtsz_train_result together[CANDIDATES];
    const uint32_t count = train->candidate_count;
    (void)must_train(train, zipped);
    memcpy(together, told_of, count * sizeof *together);
    train->candidate_count = 1;
    for (uint32_t k = 0; k < count; k++) {
        const mtsz_train_candidate one = {together[k].rate, together[k].decay, together[k].seed};
        train->candidates = &one;
        (void)must_train(train, other);
        assert_memory_equal(&told_of[0].accuracy, &together[k].accuracy, sizeof(double));
        assert_memory_equal(&told_of[0].loss, &together[k].loss, sizeof(double));
        assert_int_equal(told_of[0].best, together[k].best);
        assert_int_equal(told_of[0].epochs, together[k].epochs);
        train->candidates = NULL;
    }
}

static void candidates_get_the_bits_that_they_get_alone(void **state)
{
    mtsz_train_options train = train_options(MTSZ_TRAIN_HEAD);
    (void)state;
    expect_alone_as_together(&train);
    train = train_options(MTSZ_TRAIN_LOW_RANK);
    train.epochs = 2;
    expect_alone_as_together(&train);
}

static void last_layers_are_learned_beside_the_base(void **state)
{
    static const mtsz_train_method methods[] = {MTSZ_TRAIN_LOW_RANK, MTSZ_TRAIN_LAST_BLOCKS, MTSZ_TRAIN_ALL};
    uint64_t added[3];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        mtsz_train_options train = train_options(methods[i]);
        const mtsz_train_report report = must_train(&train, zipped);
        assert_true(report.accuracy == 100.0);
        assert_true((report.nodes_common == 0) == (methods[i] == MTSZ_TRAIN_ALL));
        added[i] = report.bytes_added;
        expect_same_answers(zipped);
        assert_true(is_right(zipped, PICTURES + 1) && is_right(zipped, PICTURES + 2));
        assert_true(told_of[0].best > 0 || told_of[1].best > 0); /* better than the layer it begins with */
    }
    assert_true(added[0] > 0 && added[0] < added[1] && added[1] < added[2]);
}

static void expect_resumed(mtsz_train_options *train)
{
    (void)must_train(train, zipped);
    train->checkpoint = model;
    stop_at = "training: epoch 2 of";
    (void)unlink(other);
    (void)unlink(model);
    assert_int_equal(mtsz_train(original, &data, train, other, &options, NULL), MTS_STATUS_CANCELLED);
    assert_int_not_equal(access(other, F_OK), 0);
    stop_at = NULL;
    const mtsz_train_report report = must_train(train, other);
    assert_int_equal(report.resumed, 2);
    assert_true(hash_of(zipped) == hash_of(other));
    /* A finished training has nothing left to do. */
    const mtsz_train_report again = must_train(train, other);
    assert_true(again.resumed > 2);
    assert_true(hash_of(zipped) == hash_of(other));
}

static void a_stopped_training_goes_on_to_the_same_bits(void **state)
{
    mtsz_train_options train = train_options(MTSZ_TRAIN_HEAD);
    (void)state;
    expect_resumed(&train);
    train = train_options(MTSZ_TRAIN_LAST_BLOCKS);
    expect_resumed(&train);
}

static void expect_train_refused(mts_status status, const mtsz_train_options *train, const char *words)
{
    (void)unlink(zipped);
    sentence[0] = '\0';
    assert_int_equal(mtsz_train(original, &data, train, zipped, &options, NULL), status);
    if (!strstr(sentence, words)) {
        fail_msg("'%s' is not in: %s", words, sentence);
    }
    assert_int_not_equal(access(zipped, F_OK), 0);
}

static void a_checkpoint_of_something_else_is_refused(void **state)
{
    mtsz_train_options train = train_options(MTSZ_TRAIN_HEAD);
    void *bytes = NULL;
    size_t size = 0;
    mts_error error;
    (void)state;
    train.checkpoint = model;
    train.epochs = 2;
    (void)unlink(model);
    (void)must_train(&train, zipped);
    assert_int_equal(mts_os_file_read(mts_allocator_default(), model, 1u << 24, &bytes, &size, &error),
                     MTS_STATUS_OK);
    train.seed = 2;
    expect_train_refused(MTS_STATUS_INVALID_ARGUMENT, &train, "is of another training");
    train.seed = 1;
    labels[3] = 1;
    expect_train_refused(MTS_STATUS_INVALID_ARGUMENT, &train, "is of another training");
    labels[3] = 0;
    ((unsigned char *)bytes)[size / 2] ^= 1;
    assert_int_equal(mts_os_file_write(model, bytes, size, &error), MTS_STATUS_OK);
    expect_train_refused(MTS_STATUS_MALFORMED, &train, "is damaged");
    for (size_t cut = 0; cut < size; cut += size / 5) {
        assert_int_equal(mts_os_file_write(model, bytes, cut, &error), MTS_STATUS_OK);
        expect_train_refused(MTS_STATUS_MALFORMED, &train, "the checkpoint");
    }
    mts_alloc_free(mts_allocator_default(), bytes);
    train.checkpoint = "/nonexistent/folder/file";
    assert_int_not_equal(mtsz_train(original, &data, &train, zipped, &options, NULL), MTS_STATUS_OK);
}

static void what_makes_no_sense_is_refused(void **state)
{
    const mts_status bad = MTS_STATUS_INVALID_ARGUMENT;
    mtsz_train_options train = train_options(MTSZ_TRAIN_HEAD);
    static const char *const same[] = {"a", "a"};
    (void)state;
#define REFUSED(status, change, words)                                                                       \
    do {                                                                                                     \
        train = train_options(MTSZ_TRAIN_HEAD);                                                              \
        change;                                                                                              \
        expect_train_refused(status, &train, words);                                                         \
    } while (0)
    REFUSED(bad, train.task = NULL, "has no name");
    REFUSED(bad, train.task = "a/b", "cannot be called");
    REFUSED(bad, train.task = "animal", "has a task 'animal' already");
    REFUSED(MTS_STATUS_NOT_FOUND, train.base = "nothing", "no task 'nothing'");
    REFUSED(bad, train.labels = NULL, "0 labels for 80 images");
    REFUSED(bad, train.label_count = 79, "79 labels for 80 images");
    REFUSED(bad, labels[9] = 2, "image 9 has label 2");
    REFUSED(bad, labels[9] = UINT32_MAX, "image 9 has label");
    REFUSED(bad, memset(labels, 0, sizeof labels), "class 'bottom' has 0 images");
    REFUSED(bad, (memset(labels, 0, sizeof labels), labels[5] = 1), "class 'bottom' has 1 image:");
    REFUSED(bad, train.class_count = 1, "from 2 to 4096 classes, not 1");
    REFUSED(bad, train.class_names = NULL, "not 0");
    REFUSED(bad, train.class_names = same, "both called 'a'");
    REFUSED(bad, train.class_map_count = 1, "class_map is NULL");
    REFUSED(bad, train.method = (mtsz_train_method)9, "method");
    REFUSED(bad, train.candidate_count = 0, "candidates");
    REFUSED(bad, train.rate = (double)NAN, "rate");
    REFUSED(bad, train.rate = -0.1, "rate");
    REFUSED(bad, train.decay = (double)NAN, "decay");
    REFUSED(bad, train.decay = (double)INFINITY, "decay");
    REFUSED(bad, train.held_out = (double)NAN, "held_out");
    REFUSED(bad, train.held_out = 0.95, "held_out");
    REFUSED(bad, train.batch = 0, "batch");
    REFUSED(bad, train.forms = 0, "forms");
    REFUSED(bad, train.rank = 65, "rank");
    REFUSED(bad, train.blocks = 0, "blocks");
    REFUSED(MTS_STATUS_IO, data.image = broken_halves, "image 17");
#undef REFUSED
    train = train_options(MTSZ_TRAIN_HEAD);
    const mtsz_train_candidate nan_rate = {(double)NAN, 0, 1};
    train.candidates = &nan_rate;
    train.candidate_count = 1;
    expect_train_refused(bad, &train, "candidate 0 has rate nan");
    train = train_options(MTSZ_TRAIN_HEAD);
    data.count = 0;
    expect_train_refused(bad, &train, "80 labels for 0 images");
    train = train_options(MTSZ_TRAIN_HEAD);
    assert_int_equal(mtsz_train(original, &data, NULL, zipped, &options, NULL), bad);
    assert_int_equal(mtsz_train(original, NULL, &train, zipped, &options, NULL), bad);
    assert_int_equal(mtsz_train(original, &data, &train, original, &options, NULL), bad);
    assert_non_null(strstr(sentence, "write another file"));
}

static void the_gradient_of_cross_entropy_is_its_difference(void **state)
{
    float scores[5] = {0.3f, -1.2f, 2.5f, 0.0f, 40.0f}, gradient[5], unused[5];
    (void)state;
    for (uint32_t label = 0; label < 5; label++) {
        (void)mts_cross_entropy(scores, 5, label, 0.5, gradient);
        for (uint32_t i = 0; i < 5; i++) {
            const float kept = scores[i];
            scores[i] = kept + 0.01f;
            const double up = mts_cross_entropy(scores, 5, label, 1, unused);
            scores[i] = kept - 0.01f;
            const double down = mts_cross_entropy(scores, 5, label, 1, unused);
            scores[i] = kept;
            assert_true(fabs(0.5 * (up - down) / 0.02 - (double)gradient[i]) < 1e-3);
        }
    }
    assert_true(mts_is_right(scores, 5, 4) && !mts_is_right(scores, 5, 2));
    scores[1] = NAN;
    assert_false(mts_is_right(scores, 5, 4) || mts_is_right(scores, 5, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_learned_and_the_base_keeps_every_bit),
        cmocka_unit_test(a_base_is_found),
        cmocka_unit_test(candidates_get_the_bits_that_they_get_alone),
        cmocka_unit_test(last_layers_are_learned_beside_the_base),
        cmocka_unit_test(a_stopped_training_goes_on_to_the_same_bits),
        cmocka_unit_test(a_checkpoint_of_something_else_is_refused),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(the_gradient_of_cross_entropy_is_its_difference),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
