/*
 * blocks.c: see blocks.h. Not responsible for kernel parameters (sdk/lower).
 */
#include "plan/blocks.h"

#include "base/size.h"
#include "device/kernel.h"

/*
 * Cycles, measured on processors with AVX-512 (docs/design/kernels.md): PER_CYCLE products
 * of vectors start in a cycle, and a chain of them waits LATENCY for each. A group of
 * pixels is turned over and stored in TURN, a vector in STORE.
 */
enum { PER_CYCLE = 2, LATENCY = 4, TURN = 300, STORE = 2 };
enum {
    LANES = MTS_CHANNEL_BLOCK,
    TURN_PIXEL = 4,     /* turning 16 planes over, for each pixel */
    PIXELS_MOST = 1024, /* of a plane: larger ones are bound by memory, which was not measured */
    SWEEPS = 4,         /* in which layers may change their layout */
};

uint64_t mts_pointwise_by_rows(const mts_pointwise *p, bool turns)
{
    const uint64_t blocks = mts_u64_ceil_div(p->channels, p->lanes);
    const uint64_t pixels = (uint64_t)p->images * p->plane;
    const uint64_t groups = mts_u64_ceil_div(pixels, MTS_ROW_LANES_TILE);
    const uint64_t each = mts_u64_ceil_div(pixels, groups);
    const uint64_t step = mts_u64_max(each / PER_CYCLE, LATENCY);
    return blocks * groups * (p->in_channels * step + (turns ? TURN : each * STORE));
}

uint64_t mts_pointwise_by_pixels(const mts_pointwise *p)
{
    const uint64_t blocks = mts_u64_ceil_div(p->channels, p->rows);
    const uint64_t vectors = mts_u64_ceil_div(p->plane, p->lanes);
    const uint64_t products = mts_u64_ceil_div(p->channels, blocks) * vectors;
    const uint64_t step = mts_u64_max(mts_u64_ceil_div(products, PER_CYCLE), LATENCY);
    return p->images * blocks * (p->in_channels * step + products * STORE);
}

/* Predictions err by some percent: tiles, which were measured on more layers, stay unless
   they lose a sixteenth. */
bool mts_pointwise_prefers_rows(uint64_t by_rows, uint64_t by_pixels)
{
    return by_rows < by_pixels - by_pixels / 16;
}

/* ---- what layers can do ---- */

/* A layer of convolutions. Layers whose values have to lie alike have one root. */
typedef struct option {
    uint32_t parent;    /* union-find */
    bool reads, writes; /* its members can read, or store, blocks */
    bool is_depthwise;
    bool ends;          /* depthwise ones to planes of one pixel, which are the same in both layouts */
    bool blocks;        /* of a root: its layers' values lie in blocks */
    int64_t gain;       /* of a root: cycles that the other choice saves */
    int64_t cost[2][2]; /* cycles by whether its inputs, and its outputs, lie in blocks */
} option;

typedef struct chooser {
    const mts_plan *plan;
    const mts_stitched *stitched;
    const mts_blocks_facts *facts;
    option *nodes;      /* per layer */
    bool *shared;       /* per svalue: it lies in another one's storage, or another one in its own */
    bool *by_pixels;    /* per svalue: a convolution of images reads it */
    uint32_t *layer_of; /* per member */
} chooser;

static uint32_t find_root(option *nodes, uint32_t i)
{
    while (nodes[i].parent != i) {
        nodes[i].parent = nodes[nodes[i].parent].parent;
        i = nodes[i].parent;
    }
    return i;
}

static const mts_shape *shape_of(const chooser *c, uint32_t value)
{
    return &c->stitched->values[value].shape;
}

static uint32_t residual_of(const mts_member *member)
{
    return member->input_count > 4 ? member->inputs[4] : MTS_NONE;
}

/* A convolution of floats that reads its input where it lies, with weights of one block in
   the order of its channels. */
static bool is_plain(const chooser *c, uint32_t member)
{
    const mts_member *m = &c->stitched->members[member];
    const mts_member_plan *how = &c->plan->members[member];
    const mts_node *node = mts_member_node(c->stitched, m);
    const mts_value *weight = node->op == MTS_OP_CONV ? mts_member_operand(c->stitched, m, 1) : NULL;
    return (how->variant == MTS_VARIANT_TILE || how->variant == MTS_VARIANT_DEPTHWISE) && weight &&
           weight->block_count == 1 && !node->scatter && how->input_conversion == MTS_NONE &&
           how->residual_conversion == MTS_NONE && how->codes_conversion == MTS_NONE && !how->bare &&
           !how->fused && c->facts->flat[m->output] && m->inputs[0] != MTS_NONE &&
           c->facts->flat[m->inputs[0]];
}

static bool is_pointwise(const chooser *c, uint32_t member)
{
    const mts_member *m = &c->stitched->members[member];
    const mts_attrs_conv *conv = &mts_member_node(c->stitched, m)->attrs.conv;
    bool unit = c->plan->members[member].variant == MTS_VARIANT_TILE && conv->group == 1;
    for (int i = 0; i < 2; i++) {
        unit = unit && conv->kernel[i] == 1 && conv->stride[i] == 1;
    }
    for (int i = 0; i < 4; i++) {
        unit = unit && conv->pad[i] == 0;
    }
    return unit;
}

static bool is_depthwise(const chooser *c, uint32_t member)
{
    const mts_member *m = &c->stitched->members[member];
    const mts_attrs_conv *conv = &mts_member_node(c->stitched, m)->attrs.conv;
    const int64_t *in = shape_of(c, m->inputs[0])->dims;
    const int64_t *out = shape_of(c, m->output)->dims;
    return c->plan->members[member].variant == MTS_VARIANT_DEPTHWISE && conv->dilation[0] == 1 &&
           in[1] == out[1] && residual_of(m) == MTS_NONE && mts_plan_by_rows(conv, (uint64_t)out[3]);
}

/* Whether a value may lie in blocks, as far as it alone tells. */
static bool is_divisible(const chooser *c, uint32_t value)
{
    const mts_shape *shape = shape_of(c, value);
    return c->facts->flat[value] && !c->facts->forced[value] && !c->facts->dense[value] &&
           !c->shared[value] && shape->rank == 4 && shape->dims[1] % LANES == 0 &&
           shape->dims[2] * shape->dims[3] <= PIXELS_MOST;
}

/* Whether a depthwise convolution stores one pixel of each channel for readers that take
   any distance between channels: fully connected layers, but no convolutions of images. */
static bool is_end(const chooser *c, uint32_t member)
{
    const uint32_t value = c->stitched->members[member].output;
    const mts_shape *shape = shape_of(c, value);
    return !c->facts->forced[value] && !c->shared[value] && !c->by_pixels[value] && shape->rank == 4 &&
           shape->dims[1] % LANES == 0 && shape->dims[2] * shape->dims[3] == 1;
}

static void open_layer(chooser *c, uint32_t index)
{
    const mts_layer *layer = &c->stitched->layers[index];
    const mts_fusion *fusion = &c->plan->fusions[index];
    option *n = &c->nodes[index];
    *n = (option){.parent = index, .reads = layer->op == MTS_OP_CONV, .writes = true};
    n->reads = n->reads && fusion->into == MTS_NONE && !mts_plan_fuses(c->plan, index);
    n->ends = true;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        c->layer_of[m] = index;
        n->reads = n->reads && is_plain(c, m) && (is_pointwise(c, m) || is_depthwise(c, m));
        n->is_depthwise = n->reads && c->plan->members[m].variant == MTS_VARIANT_DEPTHWISE;
        n->ends = n->ends && n->is_depthwise && is_end(c, m);
        n->writes = n->writes && is_divisible(c, c->stitched->members[m].output);
    }
    n->writes = n->writes && n->reads && !n->ends;
}

static void find_readers(chooser *c)
{
    for (uint32_t m = 0; m < c->stitched->member_count; m++) {
        const mts_member *member = &c->stitched->members[m];
        const mts_variant variant = c->plan->members[m].variant;
        for (uint32_t i = 0;
             variant != MTS_VARIANT_NONE && variant != MTS_VARIANT_FC && i < member->input_count; i++) {
            if (member->inputs[i] != MTS_NONE) {
                c->by_pixels[member->inputs[i]] = true;
            }
        }
    }
}

void mts_blocks_find_shared(const mts_stitched *stitched, const mts_place *places, bool *shared)
{
    for (uint32_t v = 0; v < stitched->value_count; v++) {
        uint32_t plane = 0;
        const uint32_t root = mts_place_root(places, v, &plane);
        shared[v] = shared[v] || root != v;
        shared[root] = shared[root] || root != v;
    }
}

/* ---- what has to lie alike ---- */

static uint32_t producer_of(const chooser *c, uint32_t value)
{
    const uint32_t member = value != MTS_NONE ? c->stitched->values[value].member : MTS_NONE;
    return member != MTS_NONE ? c->layer_of[member] : MTS_NONE;
}

/* The values of both layers lie alike; a value without a layer is planes. */
static void tie(chooser *c, uint32_t a, uint32_t b)
{
    const uint32_t x = a != MTS_NONE ? find_root(c->nodes, a) : find_root(c->nodes, b);
    const uint32_t y = b != MTS_NONE ? find_root(c->nodes, b) : x;
    const bool writes = a != MTS_NONE && b != MTS_NONE && c->nodes[x].writes && c->nodes[y].writes;
    c->nodes[y].parent = x;
    c->nodes[x].writes = writes;
}

static void forbid(chooser *c, uint32_t value)
{
    const uint32_t layer = producer_of(c, value);
    if (layer != MTS_NONE) {
        c->nodes[find_root(c->nodes, layer)].writes = false;
    }
}

/* The inputs of a layer's members lie alike, those of depthwise ones as their outputs
   unless these are planes of one pixel, and so do residuals. */
static void tie_layer(chooser *c, uint32_t index)
{
    const mts_layer *layer = &c->stitched->layers[index];
    const option *n = &c->nodes[index];
    const uint32_t first = producer_of(c, c->stitched->members[layer->first].inputs[0]);
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const mts_member *member = &c->stitched->members[m];
        for (uint32_t i = 0; !n->reads && i < member->input_count; i++) {
            forbid(c, member->inputs[i]);
        }
        if (!n->reads) {
            continue;
        }
        const uint32_t producer = producer_of(c, member->inputs[0]);
        if (n->is_depthwise && !n->ends) {
            tie(c, index, producer);
        } else if (producer != first) {
            forbid(c, member->inputs[0]);
            forbid(c, c->stitched->members[layer->first].inputs[0]);
        }
        if (residual_of(member) != MTS_NONE) {
            tie(c, index, producer_of(c, residual_of(member)));
        }
    }
}

/* ---- what it costs ---- */

static int64_t depthwise_cost(const chooser *c, const mts_member *m, bool blocks)
{
    const mts_attrs_conv *conv = &mts_member_node(c->stitched, m)->attrs.conv;
    const int64_t *in = shape_of(c, m->inputs[0])->dims;
    const int64_t *out = shape_of(c, m->output)->dims;
    const int64_t taps = conv->kernel[0] * conv->kernel[1], stride = conv->stride[0];
    const int64_t pixels = out[2] * out[3];
    const int64_t in_lanes = pixels * (taps + 2 * stride) / PER_CYCLE;
    const int64_t by_rows = LANES * out[2] * (int64_t)mts_u64_ceil_div((uint64_t)out[3], LANES) * taps *
                            (stride + 2) / (2 * PER_CYCLE);
    const int64_t turned = in_lanes + TURN_PIXEL * (in[2] * in[3] + pixels);
    const bool narrow = out[3] <= (int64_t)MTS_ROWS_NARROW;
    const int64_t groups = out[0] * (int64_t)mts_u64_ceil_div((uint64_t)out[1], LANES);
    return groups * (blocks ? in_lanes : narrow ? turned : by_rows);
}

static mts_pointwise pointwise_of(const chooser *c, const mts_member *m)
{
    const int64_t *out = shape_of(c, m->output)->dims;
    const uint64_t pixels = (uint64_t)out[2] * (uint64_t)out[3];
    return (mts_pointwise){.channels = (uint32_t)out[1],
                           .in_channels = (uint32_t)shape_of(c, m->inputs[0])->dims[1],
                           .images = (uint32_t)out[0],
                           .plane = mts_row_lanes_pixels((uint32_t)pixels),
                           .lanes = LANES,
                           .rows = c->facts->tile_rows};
}

static void find_depthwise_cost(chooser *c, const mts_layer *layer, option *n)
{
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        n->cost[0][0] += depthwise_cost(c, &c->stitched->members[m], false);
        n->cost[1][1] += depthwise_cost(c, &c->stitched->members[m], true);
    }
    n->cost[0][1] = n->cost[0][0]; /* not asked: both operands lie alike, or the output is planes */
    n->cost[1][0] = n->cost[1][1];
}

/* The members of a layer are computed in one way. */
static void find_pointwise_cost(chooser *c, const mts_layer *layer, option *n)
{
    uint64_t turned = 0, stored = 0, by_pixels = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const mts_pointwise p = pointwise_of(c, &c->stitched->members[m]);
        turned += mts_pointwise_by_rows(&p, true);
        stored += mts_pointwise_by_rows(&p, false);
        by_pixels += mts_pointwise_by_pixels(&p);
    }
    n->cost[0][0] = (int64_t)(mts_pointwise_prefers_rows(turned, by_pixels) ? turned : by_pixels);
    n->cost[1][0] = (int64_t)turned;
    n->cost[0][1] = n->cost[1][1] = (int64_t)stored;
}

/* Once for each layer, since the choice asks for them in every sweep. */
static void find_cost(chooser *c, uint32_t index)
{
    option *n = &c->nodes[index];
    const mts_layer *layer = &c->stitched->layers[index];
    if (n->is_depthwise) {
        find_depthwise_cost(c, layer, n);
    } else if (n->reads) {
        find_pointwise_cost(c, layer, n);
    }
}

/* ---- the choice ---- */

/* Adds to the gains of the roots before and behind a layer. */
static void add_gains(chooser *c, uint32_t index)
{
    const uint32_t producer =
        producer_of(c, c->stitched->members[c->stitched->layers[index].first].inputs[0]);
    option *in = producer != MTS_NONE ? &c->nodes[find_root(c->nodes, producer)] : NULL;
    option *out = &c->nodes[find_root(c->nodes, index)];
    const bool from = in && in->blocks;
    const option *n = &c->nodes[index];
    const int64_t now = n->cost[from][out->blocks];
    if (in == out) {
        out->gain += now - n->cost[!from][!out->blocks];
        return;
    }
    out->gain += now - n->cost[from][!out->blocks];
    if (in) {
        in->gain += now - n->cost[!from][out->blocks];
    }
}

/* Every root changes its choice where that saves cycles. */
static bool sweep(chooser *c)
{
    bool changed = false;
    for (uint32_t i = 0; i < c->stitched->layer_count; i++) {
        c->nodes[i].gain = 0;
    }
    for (uint32_t i = 0; i < c->stitched->layer_count; i++) {
        if (c->nodes[i].reads) {
            add_gains(c, i);
        }
    }
    for (uint32_t i = 0; i < c->stitched->layer_count; i++) {
        option *n = &c->nodes[i];
        if (n->parent == i && n->writes && n->gain > 0) {
            n->blocks = !n->blocks;
            changed = true;
        }
    }
    return changed;
}

static bool lies_in_blocks(const chooser *c, uint32_t layer)
{
    return layer != MTS_NONE && c->nodes[find_root(c->nodes, layer)].blocks;
}

/* What all layers cost if blocks are where they save cycles, from all in blocks or none
   on. */
static int64_t settle(chooser *c, bool blocks)
{
    int64_t cost = 0;
    for (uint32_t i = 0; i < c->stitched->layer_count; i++) {
        c->nodes[i].blocks = blocks && c->nodes[i].parent == i && c->nodes[i].writes;
    }
    for (uint32_t i = 0; i < SWEEPS && sweep(c); i++) {
    }
    for (uint32_t i = 0; i < c->stitched->layer_count; i++) {
        const uint32_t input = c->stitched->members[c->stitched->layers[i].first].inputs[0];
        const bool from = c->nodes[i].reads && lies_in_blocks(c, producer_of(c, input));
        cost += c->nodes[i].reads ? c->nodes[i].cost[from][lies_in_blocks(c, i)] : 0;
    }
    return cost;
}

mts_status mts_blocks_choose(const mts_plan *plan, const mts_blocks_facts *facts, bool *blocks,
                             mts_arena *arena, mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    chooser c = {.plan = plan, .stitched = s, .facts = facts};
    c.nodes = mts_arena_zero(arena, s->layer_count, sizeof *c.nodes);
    c.layer_of = mts_arena_zero(arena, s->member_count, sizeof *c.layer_of);
    c.shared = mts_arena_zero(arena, s->value_count, sizeof *c.shared);
    c.by_pixels = mts_arena_zero(arena, s->value_count, sizeof *c.by_pixels);
    if (!c.nodes || !c.layer_of || !c.shared || !c.by_pixels) {
        return mts_fail_memory(error);
    }
    mts_blocks_find_shared(s, facts->places, c.shared);
    find_readers(&c);
    for (uint32_t i = 0; i < s->layer_count; i++) {
        open_layer(&c, i);
    }
    for (uint32_t i = 0; i < s->layer_count; i++) {
        tie_layer(&c, i);
        find_cost(&c, i);
    }
    /* A layer alone may have to turn what it stores, so that none begins. What is settled
       last stays. */
    const int64_t from_planes = settle(&c, false);
    const int64_t from_blocks = settle(&c, true);
    if (from_planes <= from_blocks) {
        (void)settle(&c, false);
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        blocks[s->members[m].output] = lies_in_blocks(&c, c.layer_of[m]);
    }
    return MTS_STATUS_OK;
}

bool mts_blocks_end(const mts_plan *plan, const bool *blocks, uint32_t member)
{
    const mts_member *m = &plan->stitched->members[member];
    return MTS_HAS_ROW_LANES && plan->members[member].variant == MTS_VARIANT_DEPTHWISE &&
           m->inputs[0] != MTS_NONE && blocks[m->inputs[0]] && !blocks[m->output];
}

mts_storage mts_storage_of_blocks(const mts_shape *shape, uint32_t lanes)
{
    mts_storage s = {.region = MTS_REGION_TRANSIENT, .lanes = lanes};
    mts_shape_pad(shape, s.dims);
    s.row = s.dims[5];
    /* PIXELS_MOST of blocks at most; those of packs are not rounded up */
    s.pitch = lanes == LANES ? mts_row_lanes_pixels(s.dims[4] * s.dims[5]) : s.dims[4] * s.dims[5];
    return s;
}
