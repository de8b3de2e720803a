/*
 * attrs.c: attribute words; see attrs.h.
 */
#include "bundle/attrs.h"

#include <string.h>

typedef enum stream_mode { STREAM_COUNT, STREAM_ENCODE, STREAM_DECODE } stream_mode;

typedef struct stream {
    stream_mode mode;
    uint32_t *words;
    uint32_t count;
} stream;

static void word(stream *s, void *field)
{
    if (s->mode == STREAM_ENCODE) {
        memcpy(&s->words[s->count], field, sizeof(uint32_t));
    } else if (s->mode == STREAM_DECODE) {
        memcpy(field, &s->words[s->count], sizeof(uint32_t));
    }
    s->count++;
}

static void u32(stream *s, uint32_t *field)
{
    word(s, field);
}

static void f32(stream *s, float *field)
{
    word(s, field);
}

static void i32s(stream *s, int32_t *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        word(s, &fields[i]);
    }
}

static void u32s(stream *s, uint32_t *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        word(s, &fields[i]);
    }
}

static void f32s(stream *s, float *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        word(s, &fields[i]);
    }
}

/* Low word first. */
static void i64s(stream *s, int64_t *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t low = (uint32_t)(uint64_t)fields[i];
        uint32_t high = (uint32_t)((uint64_t)fields[i] >> 32);
        word(s, &low);
        word(s, &high);
        fields[i] = (int64_t)((uint64_t)high << 32 | low);
    }
}

static void act(stream *s, mts_act *a)
{
    u32(s, &a->fn);
    f32(s, &a->a);
    f32(s, &a->b);
}

static void conv(stream *s, mts_attrs_conv *a)
{
    u32s(s, a->kernel, 2);
    u32s(s, a->stride, 2);
    u32s(s, a->dilation, 2);
    i32s(s, a->pad, 4);
    u32(s, &a->group);
    u32s(s, a->output_pad, 2);
    act(s, &a->act);
}

static void matmul(stream *s, mts_attrs_matmul *a)
{
    f32(s, &a->alpha);
    f32(s, &a->beta);
}

static void unary(stream *s, mts_attrs_unary *a)
{
    act(s, &a->act);
}

static void binary(stream *s, mts_attrs_binary *a)
{
    u32(s, &a->kind);
    act(s, &a->act);
}

static void pool(stream *s, mts_attrs_pool *a)
{
    u32(s, &a->kind);
    u32s(s, a->kernel, 2);
    u32s(s, a->stride, 2);
    u32s(s, a->dilation, 2);
    i32s(s, a->pad, 4);
    u32(s, &a->ceil);
    u32(s, &a->include_pad);
}

static void reduce(stream *s, mts_attrs_reduce *a)
{
    u32(s, &a->kind);
    u32(s, &a->axes);
    u32(s, &a->keep);
}

static void softmax(stream *s, mts_attrs_softmax *a)
{
    u32(s, &a->axis);
    u32(s, &a->log);
}

static void lrn(stream *s, mts_attrs_lrn *a)
{
    u32(s, &a->size);
    f32(s, &a->alpha);
    f32(s, &a->beta);
    f32(s, &a->bias);
}

static void concat(stream *s, mts_attrs_concat *a)
{
    u32(s, &a->axis);
}

static void slice(stream *s, mts_attrs_slice *a)
{
    i64s(s, a->start, MTS_TENSOR_RANK_MAX);
    i64s(s, a->step, MTS_TENSOR_RANK_MAX);
    i64s(s, a->size, MTS_TENSOR_RANK_MAX);
}

static void pad(stream *s, mts_attrs_pad *a)
{
    u32(s, &a->mode);
    f32(s, &a->value);
    i64s(s, a->before, MTS_TENSOR_RANK_MAX);
    i64s(s, a->after, MTS_TENSOR_RANK_MAX);
}

static void gather(stream *s, mts_attrs_gather *a)
{
    u32(s, &a->axis);
}

static void transpose(stream *s, mts_attrs_transpose *a)
{
    u32s(s, a->perm, MTS_TENSOR_RANK_MAX);
}

static void reshape(stream *s, mts_attrs_reshape *a)
{
    u32(s, &a->shape.rank);
    i64s(s, a->shape.dims, MTS_TENSOR_RANK_MAX);
}

static void resize(stream *s, mts_attrs_resize *a)
{
    u32(s, &a->mode);
    u32(s, &a->coord);
    u32(s, &a->round);
    u32(s, &a->exclude_outside);
    u32s(s, a->out, 2);
    f32s(s, a->scale, 2);
    f32s(s, a->roi_start, 2);
    f32s(s, a->roi_end, 2);
    f32(s, &a->cubic_a);
    f32(s, &a->extrapolation);
}

/* False if there is no such operator. */
static bool stream_attrs(stream *s, mts_op op, mts_attrs *attrs)
{
    switch (op) { /* NOLINT(bugprone-branch-clone): scale and unary have the same attributes */
#define STREAM_CASE(NAME, text, least, most, member)                                                         \
    case MTS_OP_##NAME:                                                                                      \
        member(s, &attrs->member);                                                                           \
        return true;
        MTS_OPS(STREAM_CASE)
#undef STREAM_CASE
    case MTS_OP_COUNT:
        break;
    }
    return false;
}

uint32_t mts_attrs_words(mts_op op)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    stream s = {.mode = STREAM_COUNT};
    return stream_attrs(&s, op, &attrs) ? s.count : UINT32_MAX;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the stream */
void mts_attrs_encode(mts_op op, const mts_attrs *attrs, uint32_t *words)
{
    mts_attrs copy = *attrs;
    stream s = {.mode = STREAM_ENCODE, .words = words};
    (void)stream_attrs(&s, op, &copy);
}

void mts_attrs_decode(mts_op op, const uint32_t *words, mts_attrs *attrs)
{
    uint32_t copy[MTS_ATTRS_WORDS_MAX];
    memset(attrs, 0, sizeof(*attrs));
    const uint32_t count = mts_attrs_words(op);
    if (count > MTS_ATTRS_WORDS_MAX) {
        return;
    }
    memcpy(copy, words, count * sizeof(*copy));
    stream s = {.mode = STREAM_DECODE, .words = copy};
    (void)stream_attrs(&s, op, attrs);
}
