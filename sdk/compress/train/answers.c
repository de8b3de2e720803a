/*
 * answers.c: see answers.h.
 */
#include "compress/train/answers.h"

#include <math.h>

#include "compiler/passes/clone.h"

static mts_act *act_of(mts_node *node)
{
    switch (node->op) {
    case MTS_OP_CONV:
        return &node->attrs.conv.act;
    case MTS_OP_SCALE:
    case MTS_OP_UNARY:
        return &node->attrs.unary.act;
    case MTS_OP_BINARY:
        return &node->attrs.binary.act;
    default:
        return NULL;
    }
}

static void port_set(mts_graph *graph, uint32_t index, uint32_t value)
{
    mts_port *port = &graph->outputs[index];
    port->value = value;
    port->dtype = MTS_TYPE_FLOAT32;
    port->shape = graph->values[value].shape;
}

/* `uses` counts the readers of a sigmoid that would be taken off its node. */
static void strip(mts_graph *graph, uint32_t index, const uint32_t *uses)
{
    uint32_t value = graph->outputs[index].value;
    uint32_t producer = graph->values[value].producer;
    while (producer != MTS_NONE && graph->nodes[producer].op == MTS_OP_RESHAPE) {
        value = graph->nodes[producer].inputs[0];
        producer = graph->values[value].producer;
    }
    if (producer == MTS_NONE) {
        return;
    }
    mts_node *node = &graph->nodes[producer];
    mts_act *act = act_of(node);
    if (node->op == MTS_OP_SOFTMAX) {
        port_set(graph, index, node->inputs[0]);
    } else if (act && act->fn == MTS_FN_SIGMOID && node->op == MTS_OP_UNARY) {
        port_set(graph, index, node->inputs[0]);
    } else if (act && act->fn == MTS_FN_SIGMOID && uses[value] == 1) {
        *act = (mts_act){.fn = MTS_FN_NONE};
    }
}

/* Whether a node has become useless as its activation has been passed by. */
static bool is_left_over(const mts_node *node, const uint32_t *uses)
{
    return uses[node->output] == 0 &&
           (node->op == MTS_OP_SOFTMAX || node->op == MTS_OP_UNARY || node->op == MTS_OP_RESHAPE);
}

mts_graph *mts_answers_graph(const mts_graph *graph, mts_arena *arena)
{
    mts_graph *clone = mts_graph_clone(graph, arena);
    uint32_t *uses = mts_arena_zero(arena, graph->value_count, sizeof(*uses));
    if (!clone || !uses) {
        return NULL;
    }
    mts_graph_count_uses(clone, uses);
    for (uint32_t i = 0; i < clone->output_count; i++) {
        strip(clone, i, uses);
    }
    mts_graph_count_uses(clone, uses);
    while (clone->node_count && is_left_over(&clone->nodes[clone->node_count - 1], uses)) {
        uses[clone->nodes[--clone->node_count].inputs[0]]--;
    }
    return clone;
}

mts_answer mts_answer_of(const mts_graph *graph, uint32_t index)
{
    const mts_value *value = &graph->values[graph->outputs[index].value];
    const size_t elements = mts_shape_count(&value->shape);
    mts_answer answer = {.elements = (uint32_t)elements,
                         .computed = value->kind == MTS_VALUE_NODE && elements > 0,
                         .variance = 1};
    if (value->shape.rank >= 2 && value->shape.dims[1] >= 2 &&
        elements == (size_t)(value->shape.dims[0] * value->shape.dims[1])) {
        answer.classes = (uint32_t)value->shape.dims[1];
    }
    return answer;
}

static double differences(const mts_answer *answer, const float *teacher, const float *student,
                          uint32_t images, double weight, float *gradient)
{
    const double scale = weight / (answer->variance * answer->elements);
    const size_t count = (size_t)images * answer->elements;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double difference = (double)student[i] - (double)teacher[i];
        sum += difference * difference;
        gradient[i] = (float)(2 * scale * difference);
    }
    return sum * scale;
}

/* Logarithm of the sum of the exponentials of a row. */
static double log_sum(const float *row, uint32_t count)
{
    float most = row[0];
    double sum = 0;
    for (uint32_t i = 1; i < count; i++) {
        most = row[i] > most ? row[i] : most;
    }
    for (uint32_t i = 0; i < count; i++) {
        sum += exp((double)row[i] - (double)most);
    }
    return (double)most + log(sum);
}

void mts_answer_with_label(const float *scores, uint32_t classes, uint32_t label, float part, float *out)
{
    const double all = log_sum(scores, classes);
    for (uint32_t c = 0; c < classes; c++) {
        const double p =
            (1.0 - (double)part) * exp((double)scores[c] - all) + (c == label ? (double)part : 0.0);
        out[c] = (float)log(fmax(p, 1e-12));
    }
}

/* Kullback-Leibler divergence of a student's row from the teacher's; its gradient is
   added. */
static double divergence(const float *teacher, const float *student, uint32_t classes, double weight,
                         float *gradient)
{
    const double teacher_log = log_sum(teacher, classes);
    const double student_log = log_sum(student, classes);
    double sum = 0;
    for (uint32_t i = 0; i < classes; i++) {
        const double wanted = (double)teacher[i] - teacher_log, got = (double)student[i] - student_log;
        const double p = exp(wanted);
        sum += p * (wanted - got);
        gradient[i] += (float)(weight * (exp(got) - p));
    }
    return sum * weight;
}

void mts_answer_add(mts_answer *answer, const float *values, uint32_t images)
{
    for (uint32_t i = 0; i < images; i++) {
        const float *image = values + (size_t)i * answer->elements;
        for (uint32_t e = 0; e < answer->elements; e++) {
            answer->sums[e] += image[e];
            answer->squares += (double)image[e] * image[e];
        }
    }
}

void mts_answer_measure(mts_answer *answer, uint32_t images)
{
    const double count = (double)images * answer->elements;
    double means = 0;
    for (uint32_t e = 0; e < answer->elements; e++) {
        means += answer->sums[e] * answer->sums[e] / images;
    }
    answer->variance = (answer->squares - means) / count;
    if (!(answer->variance > 1e-9 * answer->squares / count)) {
        answer->variance = answer->squares > 0 ? answer->squares / count : 1;
    }
}

double mts_answer_loss(const mts_answer *answer, const float *teacher, const float *student, uint32_t images,
                       uint32_t batch, uint32_t outputs, float *gradient)
{
    const double weight = 1 / ((double)batch * outputs);
    double loss = differences(answer, teacher, student, images, weight, gradient);
    if (answer->classes) {
        const size_t rows = (size_t)images * (answer->elements / answer->classes);
        const double share = weight / (answer->elements / answer->classes);
        for (size_t i = 0; i < rows; i++) {
            const size_t at = i * answer->classes;
            loss += divergence(teacher + at, student + at, answer->classes, share, gradient + at);
        }
    }
    return loss;
}
