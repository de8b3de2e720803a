/*
 * tails.c: see tails.h.
 *
 * A batch is cut into lanes of equally many rows, as many as the batch allows and not as
 * the processors or candidates are, and sums are taken in the order of the lanes: a
 * candidate that trains alone gets the same bits, on any number of processors.
 */
#include "compress/learn/tails.h"

#include <math.h>

#include "compress/learn/loss.h"
#include "compress/learn/tail_inputs.h"
#include "compress/net/threads.h"
#include "compress/train/parameters.h"
#include "compress/train/random.h"

#define LANES 4u           /* of a batch */
#define LANE_ROWS_LEAST 8u /* fewer rows are not worth a lane */
#define MEMORY_MOST ((size_t)4 << 30)
#define DECAY_FIRST 0.9
#define DECAY_SECOND 0.999
#define EPSILON 1e-8f
#define UNIT_OF_NOTHING 1e-2f /* where all numbers are zero, and nothing tells their size */
#define HEAD_NOISE 0.05f      /* by which last layers of candidates differ at the start */

/* Numbers that are trained; the same for all candidates. */
typedef struct array {
    uint32_t node; /* of the tail */
    mts_parameter which;
    size_t count, offset; /* among all of a candidate */
    float unit;           /* the size of such numbers */
} array;

typedef struct lane {
    mts_net_run *run;
    mts_standing standing;
} lane;

struct mts_tails {
    const mts_allocator *allocator;
    mts_arena arena;
    mts_tails_data data;
    const mtsz_train_candidate *candidates;
    uint32_t count;
    array *arrays;
    uint32_t array_count;
    size_t numbers;                /* of all arrays */
    mts_net **nets;                /* [candidate] */
    float *moment, *square, *best; /* [candidate][numbers] */
    uint32_t lanes, lane_rows;     /* of a candidate; of a lane at most */
    lane *all;                     /* [candidate][lanes] */
    /* The call in hand. */
    const mts_learn_step *step;
    const bool *stopped;
};

static float *numbers_of(const mts_tails *t, uint32_t candidate, const array *a)
{
    const mts_net_layer layer = mts_net_layer_of(t->nets[candidate], a->node);
    size_t count = 0;
    return mts_parameter_of(&layer, t->data.plan->tail, a->node, a->which, &count);
}

/* ---- making ---- */

static mts_status nets_make(mts_tails *t, mts_error *error)
{
    t->nets = mts_arena_zero(&t->arena, t->count, sizeof(mts_net *));
    mts_status status = t->nets ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t k = 0; k < t->count && status == MTS_STATUS_OK; k++) {
        status = mts_net_create(t->data.plan->tail, t->allocator, &t->nets[k], error);
    }
    return status;
}

/* The last layer begins as the given one, with `noise` of the candidate's own. */
static void head_start(const mts_tails *t, uint32_t candidate, float noise)
{
    const uint32_t head = t->data.plan->tail->node_count - 1;
    const mts_net_layer layer = mts_net_layer_of(t->nets[candidate], head);
    uint64_t state = t->candidates[candidate].seed;
    for (size_t i = 0; i < (size_t)layer.outputs * layer.inputs; i++) {
        layer.weight[i] = t->data.weight[i] * (1.0f + noise * mts_random_signed(&state));
    }
    memcpy(layer.bias, t->data.bias, layer.outputs * sizeof *layer.bias);
    mts_net_touch(t->nets[candidate], head);
}

static mts_status arrays_make(mts_tails *t, mts_error *error)
{
    const mts_graph *tail = t->data.plan->tail;
    t->arrays = mts_arena_zero(&t->arena, (size_t)tail->node_count * MTS_PARAMETER_COUNT, sizeof *t->arrays);
    for (uint32_t n = 0; t->arrays && n < tail->node_count; n++) {
        const mts_net_layer layer = mts_net_layer_of(t->nets[0], n);
        for (int which = 0; which < MTS_PARAMETER_COUNT; which++) {
            array *a = &t->arrays[t->array_count];
            *a = (array){.node = n, .which = (mts_parameter)which, .offset = t->numbers};
            if ((t->data.plan->trains[n] & 1u << which) &&
                mts_parameter_of(&layer, tail, n, a->which, &a->count)) {
                t->numbers += a->count;
                t->array_count++;
            }
        }
    }
    t->moment = mts_arena_zero(&t->arena, t->count, t->numbers * sizeof(float));
    t->square = mts_arena_zero(&t->arena, t->count, t->numbers * sizeof(float));
    t->best = mts_arena_zero(&t->arena, t->count, t->numbers * sizeof(float));
    return t->arrays && t->moment && t->square && t->best ? MTS_STATUS_OK : mts_fail_memory(error);
}

static mts_status lanes_make(mts_tails *t, mts_error *error)
{
    const uint32_t batch = t->data.batch;
    size_t all = 0;
    t->lanes = batch / LANE_ROWS_LEAST < LANES ? batch / LANE_ROWS_LEAST : LANES;
    t->lanes = t->lanes ? t->lanes : 1;
    t->lane_rows = (batch + t->lanes - 1) / t->lanes;
    const size_t bytes = mts_net_run_bytes(t->nets[0], t->lane_rows, MTS_NET_TRAINING);
    t->all = mts_arena_zero(&t->arena, (size_t)t->count * t->lanes, sizeof *t->all);
    if (!t->all) {
        return mts_fail_memory(error);
    }
    if (bytes > MEMORY_MOST / ((size_t)t->count * t->lanes)) {
        all = bytes >> 20;
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "train: %u candidates in batches of %u images take %u times %zu MB: train fewer of "
                        "them, smaller batches, or fewer blocks",
                        t->count, batch, t->count * t->lanes, all);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < t->count * t->lanes && status == MTS_STATUS_OK; i++) {
        status =
            mts_net_run_create(t->nets[i / t->lanes], t->lane_rows, MTS_NET_TRAINING, &t->all[i].run, error);
    }
    return status;
}

static double root_mean_square(const float *numbers, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)numbers[i] * (double)numbers[i];
    }
    return count ? sqrt(sum / (double)count) : 0;
}

/* Size of what is added to a layer whose residual is that of a matrix of zeros: so that a
   change of the matrix counts as much as one of the layer's weights. */
static double unit_beside(const mts_tails *t, uint32_t node)
{
    const mts_graph *tail = t->data.plan->tail;
    for (uint32_t n = node + 1; n < tail->node_count; n++) {
        const mts_node *reader = &tail->nodes[n];
        if (reader->op == MTS_OP_CONV && reader->input_count > 4 &&
            reader->inputs[4] == tail->nodes[node].output) {
            const mts_net_layer layer = mts_net_layer_of(t->nets[0], n);
            const size_t columns = (size_t)layer.rows * layer.columns * layer.inputs;
            return root_mean_square(layer.weight, layer.outputs * columns) * sqrt((double)columns);
        }
    }
    return 0;
}

/* Units, from the first rows: biases may be zero, and count as large as what they are added
   to. Without the noise of a candidate, so that they do not depend on which candidates train together. */
static mts_status units_measure(mts_tails *t, mts_error *error)
{
    const mts_graph *tail = t->data.plan->tail;
    mts_net_run *run = t->all[0].run;
    const uint32_t rows = t->lane_rows < t->data.trained ? t->lane_rows : t->data.trained;
    mts_tail_feed(t->data.plan, t->data.features, NULL, 0, rows, run);
    const mts_status status = mts_net_run_forward(run, rows, 0, tail->node_count, error);
    for (uint32_t i = 0; i < t->array_count && status == MTS_STATUS_OK; i++) {
        array *a = &t->arrays[i];
        double unit = root_mean_square(numbers_of(t, 0, a), a->count);
        if (a->which == MTS_PARAMETER_BIAS) {
            const uint32_t value = tail->nodes[a->node].output;
            const double reach = root_mean_square(mts_net_run_value(run, value),
                                                  rows * mts_shape_count(&tail->values[value].shape));
            unit = reach > 0 ? reach : unit;
        } else if (!(unit > 0)) {
            unit = unit_beside(t, a->node);
        }
        a->unit = unit > 0 ? (float)unit : UNIT_OF_NOTHING;
    }
    return status;
}

mts_status mts_tails_create(const mts_tails_data *data, const mtsz_train_candidate *candidates,
                            uint32_t count, const mts_allocator *allocator, mts_tails **out, mts_error *error)
{
    mts_tails *t = mts_alloc_zero(allocator, 1, sizeof *t);
    *out = NULL;
    if (!t) {
        return mts_fail_memory(error);
    }
    t->allocator = allocator;
    mts_arena_init(&t->arena, allocator);
    t->data = *data;
    t->candidates = candidates;
    t->count = count;
    mts_status status = nets_make(t, error);
    MTS_TRY(status, arrays_make(t, error));
    MTS_TRY(status, lanes_make(t, error));
    if (status == MTS_STATUS_OK) {
        head_start(t, 0, 0.0f);
        status = units_measure(t, error);
    }
    for (uint32_t k = 0; k < count && status == MTS_STATUS_OK; k++) {
        head_start(t, k, HEAD_NOISE);
    }
    if (status != MTS_STATUS_OK) {
        mts_tails_destroy(&t);
    }
    *out = t;
    return status;
}

void mts_tails_destroy(mts_tails **tails)
{
    mts_tails *t = *tails;
    if (!t) {
        return;
    }
    for (uint32_t i = 0; t->all && i < t->count * t->lanes; i++) {
        mts_net_run_destroy(&t->all[i].run);
    }
    for (uint32_t k = 0; t->nets && k < t->count; k++) {
        mts_net_destroy(&t->nets[k]);
    }
    mts_arena_release(&t->arena);
    mts_alloc_free(t->allocator, t);
    *tails = NULL;
}

/* ---- a step ---- */

/* Forwards, loss and backwards for a lane's rows of the batch. */
static mts_status lane_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    const mts_tails *t = context;
    const mts_learn_plan *plan = t->data.plan;
    const mts_learn_step *step = t->step;
    const uint32_t first = job % t->lanes * t->lane_rows;
    mts_net_run *run = t->all[job].run;
    (void)worker;
    if (t->stopped[job / t->lanes] || first >= step->count) {
        return MTS_STATUS_OK;
    }
    const uint32_t rows = step->count - first < t->lane_rows ? step->count - first : t->lane_rows;
    mts_tail_feed(plan, t->data.features, step->rows + first, 0, rows, run);
    const mts_status status = mts_net_run_forward(run, rows, 0, plan->tail->node_count, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const float *scores = mts_net_run_value(run, plan->tail->outputs[0].value);
    float *gradient = mts_net_run_output_gradient(run, 0);
    for (uint32_t r = 0; r < rows; r++) {
        const size_t at = (size_t)r * t->data.classes;
        (void)mts_cross_entropy(scores + at, t->data.classes, t->data.labels[step->rows[first + r]],
                                1.0 / step->count, gradient + at);
    }
    return mts_net_run_backward(run, rows, error);
}

typedef struct update {
    float rate, decay, epsilon; /* of the array, its unit included; decay of its values */
} update;

/* Adam with decoupled weight decay (Loshchilov, Hutter 2019); gradients[lanes] are summed in
   their order. */
static void array_update(const update *u, const float *const *gradients, uint32_t lanes, size_t count,
                         float *values, float *restrict moment, float *restrict square)
{
    for (size_t i = 0; i < count; i++) {
        float gradient = gradients[0][i];
        for (uint32_t l = 1; l < lanes; l++) {
            gradient += gradients[l][i];
        }
        moment[i] += (float)(1 - DECAY_FIRST) * (gradient - moment[i]);
        square[i] += (float)(1 - DECAY_SECOND) * (gradient * gradient - square[i]);
        const float kept = values[i] - u->decay * values[i];
        values[i] = kept - u->rate * moment[i] / (sqrtf(square[i]) + u->epsilon);
    }
}

static void candidate_update(const mts_tails *t, uint32_t candidate, const array *a)
{
    const mtsz_train_candidate *how = &t->candidates[candidate];
    const double number = (double)t->step->number, rate = how->rate * t->step->part;
    const double spread = sqrt(1 - pow(DECAY_SECOND, number));
    const update u = {.rate = (float)(rate * (double)a->unit * spread / (1 - pow(DECAY_FIRST, number))),
                      .decay = a->which == MTS_PARAMETER_WEIGHT ? (float)(rate * how->decay) : 0.0f,
                      .epsilon = (float)((double)EPSILON * spread)};
    const float *gradients[LANES];
    uint32_t lanes = 0;
    for (uint32_t l = 0; l < t->lanes && l * t->lane_rows < t->step->count; l++) {
        const mts_net_layer layer = mts_net_run_gradient(t->all[candidate * t->lanes + l].run, a->node);
        size_t count = 0;
        gradients[lanes++] = mts_parameter_of(&layer, t->data.plan->tail, a->node, a->which, &count);
    }
    const size_t at = candidate * t->numbers + a->offset;
    array_update(&u, gradients, lanes, a->count, numbers_of(t, candidate, a), t->moment + at, t->square + at);
}

static void touch_all(const mts_tails *t, uint32_t candidate)
{
    for (uint32_t i = 0; i < t->array_count; i++) {
        if (i == 0 || t->arrays[i].node != t->arrays[i - 1].node) {
            mts_net_touch(t->nets[candidate], t->arrays[i].node);
        }
    }
}

static void update_job(void *context, uint32_t job)
{
    const mts_tails *t = context;
    const uint32_t candidate = job / t->array_count;
    if (!t->stopped[candidate]) {
        candidate_update(t, candidate, &t->arrays[job % t->array_count]);
    }
}

static mts_status tails_train(void *self, const mts_learn_step *steps, uint32_t count, const bool *stopped,
                              mts_status (*after)(void *context, uint32_t step, mts_error *error),
                              void *context, mts_error *error)
{
    mts_tails *t = self;
    mts_status status = MTS_STATUS_OK;
    t->stopped = stopped;
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        t->step = &steps[i];
        status = mts_threads_run(t->count * t->lanes, lane_job, t, error);
        if (status == MTS_STATUS_OK) {
            mts_threads_each(t->count * t->array_count, update_job, t);
            for (uint32_t k = 0; k < t->count; k++) {
                touch_all(t, k);
            }
            status = after(context, i, error);
        }
    }
    return status;
}

/* ---- what is held out ---- */

/* A lane sees its part of the rows. */
static mts_status measure_job(void *context, uint32_t job, uint32_t worker, mts_error *error)
{
    const mts_tails *t = context;
    const mts_learn_plan *plan = t->data.plan;
    lane *l = &t->all[job];
    const uint32_t held = t->data.rows - t->data.trained, part = job % t->lanes;
    const uint32_t end = t->data.trained + (uint32_t)((uint64_t)held * (part + 1) / t->lanes);
    uint32_t first = t->data.trained + (uint32_t)((uint64_t)held * part / t->lanes);
    mts_status status = MTS_STATUS_OK;
    (void)worker;
    l->standing = (mts_standing){0};
    for (; !t->stopped[job / t->lanes] && first < end && status == MTS_STATUS_OK; first += t->lane_rows) {
        const uint32_t rows = end - first < t->lane_rows ? end - first : t->lane_rows;
        mts_tail_feed(plan, t->data.features, NULL, first, rows, l->run);
        status = mts_net_run_forward(l->run, rows, 0, plan->tail->node_count, error);
        const float *scores = mts_net_run_value(l->run, plan->tail->outputs[0].value);
        for (uint32_t r = 0; r < rows; r++) {
            const uint32_t label = t->data.labels[first + r];
            const float *row = scores + (size_t)r * t->data.classes;
            l->standing.right += mts_is_right(row, t->data.classes, label) ? 1 : 0;
            l->standing.loss += mts_log_sum(row, t->data.classes) - (double)row[label];
        }
    }
    return status;
}

static mts_status tails_measure(void *self, const bool *stopped, mts_standing *standings, mts_error *error)
{
    mts_tails *t = self;
    t->stopped = stopped;
    const mts_status status = mts_threads_run(t->count * t->lanes, measure_job, t, error);
    for (uint32_t k = 0; k < t->count; k++) {
        standings[k] = (mts_standing){0};
        for (uint32_t l = 0; l < t->lanes; l++) {
            standings[k].right += t->all[k * t->lanes + l].standing.right;
            standings[k].loss += t->all[k * t->lanes + l].standing.loss / (t->data.rows - t->data.trained);
        }
    }
    return status;
}

/* ---- numbers ---- */

static void tails_keep(void *self, uint32_t candidate)
{
    const mts_tails *t = self;
    for (uint32_t i = 0; i < t->array_count; i++) {
        const array *a = &t->arrays[i];
        memcpy(t->best + candidate * t->numbers + a->offset, numbers_of(t, candidate, a),
               a->count * sizeof(float));
    }
}

static void tails_save(void *self, uint32_t candidate, float *state)
{
    const mts_tails *t = self;
    const size_t at = candidate * t->numbers, bytes = t->numbers * sizeof(float);
    for (uint32_t i = 0; i < t->array_count; i++) {
        const array *a = &t->arrays[i];
        memcpy(state + a->offset, numbers_of(t, candidate, a), a->count * sizeof(float));
    }
    memcpy(state + t->numbers, t->moment + at, bytes);
    memcpy(state + 2 * t->numbers, t->square + at, bytes);
    memcpy(state + 3 * t->numbers, t->best + at, bytes);
}

static void tails_load(void *self, uint32_t candidate, const float *state)
{
    const mts_tails *t = self;
    const size_t at = candidate * t->numbers, bytes = t->numbers * sizeof(float);
    for (uint32_t i = 0; i < t->array_count; i++) {
        const array *a = &t->arrays[i];
        memcpy(numbers_of(t, candidate, a), state + a->offset, a->count * sizeof(float));
    }
    touch_all(t, candidate);
    memcpy(t->moment + at, state + t->numbers, bytes);
    memcpy(t->square + at, state + 2 * t->numbers, bytes);
    memcpy(t->best + at, state + 3 * t->numbers, bytes);
}

mts_learner mts_tails_learner(mts_tails *tails)
{
    return (mts_learner){.self = tails,
                         .floats = 4 * tails->numbers,
                         .train = tails_train,
                         .measure = tails_measure,
                         .keep = tails_keep,
                         .save = tails_save,
                         .load = tails_load};
}

void mts_tails_best(const mts_tails *tails, uint32_t candidate, mts_net *whole)
{
    const mts_tails *t = tails;
    const mts_learn_plan *plan = t->data.plan;
    for (uint32_t i = 0; i < t->array_count; i++) {
        const array *a = &t->arrays[i];
        const mts_net_layer layer = mts_net_layer_of(whole, plan->cut + a->node);
        size_t count = 0;
        float *to = mts_parameter_of(&layer, plan->whole, plan->cut + a->node, a->which, &count);
        memcpy(to, t->best + candidate * t->numbers + a->offset, a->count * sizeof(float));
        mts_net_touch(whole, plan->cut + a->node);
    }
}
