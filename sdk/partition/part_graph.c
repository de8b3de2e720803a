/*
 * part_graph.c: a part of a graph: its nodes, the constants that they read, and a port for
 * each value that crosses the border. Ports of links are named "@" and a number, so that
 * tasks which read the same link share the input; other names that begin with "@" get
 * another one.
 */
#include "partition/part_graph.h"

#include <stdio.h>
#include <string.h>

typedef struct copying {
    mts_splitting *s;
    const mts_graph *from;
    mts_graph *to;
    mts_arena *arena;
    uint32_t part, task;
    uint32_t *value_of; /* [value of from]: in `to`, or MTS_NONE */
    uint32_t *units;    /* [node of to]: its unit */
    mts_part_port *inputs, *outputs;
} copying;

static const char *own_name(copying *c, const char *name)
{
    char text[256];
    if (name[0] != '@') {
        return mts_arena_string(c->arena, name);
    }
    (void)snprintf(text, sizeof text, "@%s", name);
    return mts_arena_string(c->arena, text);
}

static const char *link_name(copying *c, uint32_t link)
{
    char text[16];
    (void)snprintf(text, sizeof text, "@%u", link);
    return mts_arena_string(c->arena, text);
}

static bool is_here(const copying *c, uint32_t node)
{
    return mts_splitting_part(c->s, c->task, node) == c->part;
}

static bool is_first(const copying *c)
{
    return c->s->first_part[c->task] == c->part;
}

/* The part that has a value, constants apart. */
static bool value_is_here(const copying *c, const mts_value *value)
{
    return value->kind == MTS_VALUE_NODE ? is_here(c, value->producer) : is_first(c);
}

/* ---- does the task have anything to give? ---- */

static bool gives_link(const copying *c, uint32_t number)
{
    const mts_home *home = &c->s->homes[number];
    return home->link != MTS_NONE && home->part == c->part && home->task == c->task;
}

static bool has_outputs(const copying *c)
{
    for (uint32_t v = 0; v < c->from->value_count; v++) {
        const uint32_t number = c->s->units->number_of[c->task][v];
        if (number != MTS_NONE && gives_link(c, number) && c->s->homes[number].value == v) {
            return true;
        }
    }
    for (uint32_t o = 0; o < c->from->output_count; o++) {
        if (value_is_here(c, &c->from->values[c->from->outputs[o].value])) {
            return true;
        }
    }
    return false;
}

/* ---- values ---- */

static uint32_t add_value(copying *c, const mts_value *value, const char *name)
{
    c->to->values[c->to->value_count] = *value;
    c->to->values[c->to->value_count].name = name;
    return name ? c->to->value_count++ : MTS_NONE;
}

/* An input of the part that holds a link; the same for all values of one number. */
static uint32_t add_link_input(copying *c, uint32_t value, uint32_t link)
{
    const mts_value *v = &c->from->values[value];
    for (uint32_t i = 0; i < c->to->input_count; i++) {
        if (c->inputs[i].link == link) {
            return c->to->inputs[i].value;
        }
    }
    const mts_value input = {
        .kind = MTS_VALUE_INPUT, .dtype = MTS_TYPE_FLOAT32, .shape = v->shape, .producer = MTS_NONE};
    const uint32_t added = add_value(c, &input, link_name(c, link));
    if (added != MTS_NONE) {
        c->inputs[c->to->input_count] = (mts_part_port){.own = MTS_NONE, .link = link};
        c->to->inputs[c->to->input_count++] = (mts_port){
            .name = c->to->values[added].name, .value = added, .dtype = MTS_TYPE_FLOAT32, .shape = v->shape};
    }
    return added;
}

static bool add_own_inputs(copying *c)
{
    for (uint32_t i = 0; is_first(c) && i < c->from->input_count; i++) {
        const mts_port *port = &c->from->inputs[i];
        const uint32_t added =
            add_value(c, &c->from->values[port->value], own_name(c, c->from->values[port->value].name));
        if (added == MTS_NONE) {
            return false;
        }
        c->value_of[port->value] = added;
        c->inputs[i] = (mts_part_port){.own = i, .link = MTS_NONE};
        c->to->inputs[c->to->input_count] = *port;
        c->to->inputs[c->to->input_count].value = added;
        c->to->inputs[c->to->input_count++].name = c->to->values[added].name;
    }
    return true;
}

/* What a node of the part reads: a constant, a value of the part, or a link. */
static uint32_t operand(copying *c, uint32_t value)
{
    const mts_value *v = &c->from->values[value];
    if (c->value_of[value] == MTS_NONE && v->kind == MTS_VALUE_CONST) {
        c->value_of[value] = add_value(c, v, own_name(c, v->name));
    } else if (c->value_of[value] == MTS_NONE && !value_is_here(c, v)) {
        const uint32_t number = c->s->units->number_of[c->task][value];
        c->value_of[value] = add_link_input(c, value, c->s->homes[number].link);
    }
    return c->value_of[value];
}

static bool add_node(copying *c, const mts_node *node)
{
    mts_node *copy = &c->to->nodes[c->to->node_count];
    *copy = *node;
    copy->inputs = mts_arena_zero(c->arena, node->input_count, sizeof *copy->inputs);
    bool good = copy->inputs;
    for (uint32_t i = 0; good && i < node->input_count; i++) {
        copy->inputs[i] = node->inputs[i] == MTS_NONE ? MTS_NONE : operand(c, node->inputs[i]);
        good = node->inputs[i] == MTS_NONE || copy->inputs[i] != MTS_NONE;
    }
    if (good) {
        const mts_value *output = &c->from->values[node->output];
        copy->output = add_value(c, output, own_name(c, output->name));
        good = copy->output != MTS_NONE;
    }
    if (good) {
        c->to->values[copy->output].producer = c->to->node_count++;
        c->value_of[node->output] = copy->output;
    }
    return good;
}

/* ---- outputs ---- */

static bool add_output(copying *c, const mts_port *port, const char *name, mts_part_port meaning)
{
    if (!name) {
        return false;
    }
    c->outputs[c->to->output_count] = meaning;
    c->to->outputs[c->to->output_count] = *port;
    c->to->outputs[c->to->output_count++].name = name;
    return true;
}

static bool add_outputs(copying *c)
{
    for (uint32_t o = 0; o < c->from->output_count; o++) {
        mts_port port = c->from->outputs[o];
        if (value_is_here(c, &c->from->values[port.value])) {
            port.value = operand(c, port.value);
            const mts_part_port meaning = {.own = o, .link = MTS_NONE};
            if (port.value == MTS_NONE || !add_output(c, &port, own_name(c, port.name), meaning)) {
                return false;
            }
        }
    }
    for (uint32_t v = 0; v < c->from->value_count; v++) {
        const uint32_t number = c->s->units->number_of[c->task][v];
        if (number == MTS_NONE || !gives_link(c, number) || c->s->homes[number].value != v) {
            continue;
        }
        const mts_port port = {
            .value = c->value_of[v], .dtype = MTS_TYPE_FLOAT32, .shape = c->from->values[v].shape};
        const mts_part_port meaning = {.own = MTS_NONE, .link = c->s->homes[number].link};
        if (!add_output(c, &port, link_name(c, meaning.link), meaning)) {
            return false;
        }
    }
    return true;
}

/* ---- the graph ---- */

static bool open(copying *c)
{
    const mts_graph *from = c->from;
    const uint32_t values = from->value_count;
    c->to = mts_arena_zero(c->arena, 1, sizeof *c->to);
    c->value_of = mts_arena_zero(&c->s->out->arena, values, sizeof *c->value_of);
    c->inputs = mts_arena_zero(&c->s->out->arena, values, sizeof *c->inputs);
    c->outputs = mts_arena_zero(&c->s->out->arena, (size_t)values + from->output_count, sizeof *c->outputs);
    c->units = mts_arena_zero(&c->s->out->arena, from->node_count, sizeof *c->units);
    if (!c->to || !c->value_of || !c->inputs || !c->outputs || !c->units) {
        return false;
    }
    for (uint32_t v = 0; v < values; v++) {
        c->value_of[v] = MTS_NONE;
    }
    c->to->arena = c->arena;
    c->to->name = mts_arena_string(c->arena, from->name);
    c->to->values = mts_arena_zero(c->arena, values, sizeof *c->to->values);
    c->to->nodes = mts_arena_zero(c->arena, from->node_count, sizeof *c->to->nodes);
    c->to->inputs = mts_arena_zero(c->arena, values, sizeof *c->to->inputs);
    c->to->outputs = mts_arena_zero(c->arena, (size_t)values + from->output_count, sizeof *c->to->outputs);
    return c->to->name && c->to->values && c->to->nodes && c->to->inputs && c->to->outputs;
}

static bool fill(copying *c)
{
    bool good = add_own_inputs(c);
    for (uint32_t n = 0; good && n < c->from->node_count; n++) {
        if (is_here(c, n)) {
            c->units[c->to->node_count] = c->s->units->unit_of[c->task][n];
            good = add_node(c, &c->from->nodes[n]);
        }
    }
    return good && add_outputs(c);
}

mts_status mts_part_graph(mts_splitting *s, uint32_t number, uint32_t task, mts_part *part, bool *used,
                          mts_error *error)
{
    const mts_task *whole = &s->units->archive->tasks[s->units->tasks[task]];
    copying c = {.s = s, .from = whole->graph, .arena = &part->archive->arena, .part = number, .task = task};
    *used = has_outputs(&c);
    if (!*used) {
        return MTS_STATUS_OK;
    }
    if (!open(&c) || !fill(&c)) {
        return mts_fail_memory(error);
    }
    const uint32_t index = part->archive->task_count;
    mts_task *made = &part->archive->tasks[index];
    *made = (mts_task){.name = whole->name, .graph = c.to};
    if (s->first_part[task] == number) {
        made->preprocess = whole->preprocess;
    } else {
        for (int i = 0; i < 4; i++) {
            made->preprocess.std[i] = 1.0f;
        }
    }
    part->inputs[index] = c.inputs;
    part->outputs[index] = c.outputs;
    part->units[index] = c.units;
    const mts_status status = mts_graph_verify(c.to, error);
    return status == MTS_STATUS_OK
               ? status
               : mts_fail_prefix(error, status, "part %u of task %s", number, whole->name);
}
