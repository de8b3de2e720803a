/*
 * encode.h: what the encoders share: views and destinations of values, vectors of the
 * weight pool, launches and the tasks that their entries work for.
 */
#ifndef MTS_LOWER_ENCODE_H
#define MTS_LOWER_ENCODE_H

#include "device/kernel.h"
#include "lower/lower.h"

/* OUT_OF_MEMORY, or LIMIT if the weight pool is full, with its text. */
mts_status mts_encode_memory(mts_encoding *encoding);
/* Pool owner of a member's constants: MTS_NONE where tasks share weights. */
uint32_t mts_encode_owner(const mts_encoding *encoding, const mts_member *member);

/* ---- values ---- */

/* Row-major strides of dims. */
void mts_encode_strides(const uint32_t dims[MTS_PARAM_RANK], uint32_t stride[MTS_PARAM_RANK]);
mts_dest_params mts_encode_dest(const mts_encoding *encoding, uint32_t storage);
/* A member's output. */
mts_dest_params mts_encode_output(const mts_encoding *encoding, const mts_member *member);
/* A dense storage written as other dimensions with the same elements. */
mts_dest_params mts_encode_dest_as(const mts_encoding *encoding, uint32_t storage,
                                   const uint32_t dims[MTS_PARAM_RANK]);
/* A value where it lies. */
mts_view_params mts_encode_view(const mts_encoding *encoding, uint32_t value);
/* Operand i of a member, broadcast to dims (NULL: as it is); *pool says whether it is a
   constant in the pool. */
mts_view_params mts_encode_operand(mts_encoding *encoding, const mts_member *member, uint32_t input,
                                   const uint32_t dims[MTS_PARAM_RANK], uint32_t *pool);
/*
 * Makes one row of the planes along coordinate 3, where they lie side by side in the result
 * and in each operand, or an operand has one value for all of them: coordinates move one
 * dimension down. false: they do not, and nothing changed. A kernel meets planes one by
 * one, so that planes of one pixel would cost a work-item each.
 */
bool mts_encode_join_planes(mts_dest_params *dest, mts_view_params *const *operands, uint32_t count);
/* Output, input and axis of an operator that works along one dimension of a value, whose
   length it returns. */
uint32_t mts_encode_line(const mts_encoding *encoding, const mts_member *member, uint32_t axis,
                         mts_dest_params *dest, mts_view_params *src, mts_u32 *param_axis);
/* Offset of an optional vector operand in the pool, or MTS_PARAM_NONE. */
uint32_t mts_encode_vector(mts_encoding *encoding, const mts_member *member, uint32_t input,
                           const uint32_t *order, uint32_t count);

/* ---- launches ---- */

/* "conv 3x3 x32 layer1.0.conv1" */
const char *mts_encode_label(mts_encoding *encoding, const mts_layer *layer, const char *what);
/* Appends a launch; it keeps the pointers to kernel, defines and label. */
mts_status mts_encode_launch(mts_encoding *encoding, const mts_encoded_launch *launch);
/*
 * States the entries of the launch that was appended last: their tasks as numbers of task
 * masks, which are copied. `words`: kernel parameters of an entry. An operator's launch
 * with one entry per member of the layer needs no call.
 */
mts_status mts_encode_entries(mts_encoding *encoding, mts_entry_kind kind, uint32_t words,
                              const uint32_t *masks, size_t count);
/* Number of a member's task mask. */
uint32_t mts_encode_task_mask(const mts_encoding *encoding, uint32_t member);
/* Planes that a launch goes over while the kernel parameters of its entries are made. */
typedef struct mts_extent {
    /* Elements of the longest plane, planes of the entry with most of them, and
       entries. */
    uint32_t pitch, planes, count;
    /* mts_entries.heights; NULL where they are not kept. */
    uint32_t *heights;
} mts_extent;

/* An extent of up to `most` entries, which has none; false: memory is short. */
bool mts_extent_open(mts_encoding *encoding, mts_extent *extent, uint32_t most);
/* The next entry. */
void mts_extent_add(mts_extent *extent, uint32_t pitch, uint32_t planes);
/* Appends `launch`, whose grid has a first dimension, over the entries' kernel parameters
   of `words` words each. Its build options are those of the session if it has none. */
mts_status mts_extent_launch(mts_encoding *encoding, const mts_extent *extent, mts_encoded_launch *launch,
                             const void *params, uint32_t words);
/* Launch over `count` kernel parameters of `words` words that each begin with a
 * mts_dest_params. NULL params: memory was short when they were made, which is what the
 * function then returns. */
mts_status mts_encode_dests(mts_encoding *encoding, const char *kernel, const char *label, const void *params,
                            uint32_t words, uint32_t count);
/* The same with at least `items` work-items for each plane; 0: as many as its size asks
   for. */
mts_status mts_encode_dests_over(mts_encoding *encoding, const char *kernel, const char *label,
                                 const void *params, uint32_t words, uint32_t count, uint32_t items);

/* ---- kernel parameters of one launch while they are collected ---- */

typedef struct mts_param_list {
    mts_encoding *encoding;
    /* Bytes of one. */
    size_t size;
    void *params;
    /* Numbers of task masks, one per element. */
    uint32_t *masks;
    size_t count, capacity, mask_capacity;
} mts_param_list;

mts_status mts_param_list_add(mts_param_list *list, const void *params, uint32_t task_mask);
/* Writes the list to the kernel parameters and appends the launch, whose entries they
   are. */
mts_status mts_param_list_launch(const mts_param_list *list, mts_encoded_launch *launch, mts_entry_kind kind);
void mts_param_list_release(mts_param_list *list);

#endif
