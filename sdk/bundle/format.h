/*
 * format.h: the bytes of a bundle (docs/FORMAT.md): sections, record sizes and field
 * offsets.
 *
 * Shared by the reader (sdk/bundle) and the writer (sdk/compiler/emit). Records are
 * described by offsets, never by C structs, so no compiler's padding gets into a file.
 * All numbers are little-endian.
 *
 *     header 64 | section table 13 x 32 | section 0 | zeros up to 64 | section 1 | ...
 */
#ifndef MTS_BUNDLE_FORMAT_H
#define MTS_BUNDLE_FORMAT_H

#include <stdint.h>
#include <string.h>

#define MTS_FORMAT_MAGIC "MTSB\r\n\x1a\n" /* 8 bytes; shows transfers that rewrite line ends */
#define MTS_FORMAT_MAGIC_SIZE 8u
/* Version 2 has the crop in its task records. A bundle without a crop is written as
 * version 1, which older readers open; both are read. */
#define MTS_FORMAT_VERSION 2u
#define MTS_FORMAT_VERSION_FIRST 1u
#define MTS_FORMAT_TASK_FIRST 80u /* bytes of a task record in version 1 */
#define MTS_FORMAT_ENDIAN 0x01020304u
#define MTS_FORMAT_ALIGN 64u /* of sections in the file and of blocks in the weights */
#define MTS_FORMAT_HEADER 64u
#define MTS_FORMAT_SECTION 32u /* a row of the section table */

/* X(NAME, text, bytes of a record); the order is the order in the file. */
#define MTS_FORMAT_SECTIONS(X)                                                                               \
    X(STRINGS, "strings", 1)                                                                                 \
    X(TASKS, "tasks", 96)                                                                                    \
    X(PORTS, "ports", 64)                                                                                    \
    X(VALUES, "values", 72)                                                                                  \
    X(NODES, "nodes", 24)                                                                                    \
    X(INPUTS, "inputs", 4)                                                                                   \
    X(ATTRS, "attributes", 4)                                                                                \
    X(SCATTER, "scatter", 4)                                                                                 \
    X(REFS, "block references", 20)                                                                          \
    X(LABELS, "labels", 4)                                                                                   \
    X(CLASSES, "classes", 4)                                                                                 \
    X(BLOCKS, "blocks", 32)                                                                                  \
    X(WEIGHTS, "weights", 1)

typedef enum mts_format_section {
#define MTS_FORMAT_ENUM(NAME, text, stride) MTS_FORMAT_##NAME,
    MTS_FORMAT_SECTIONS(MTS_FORMAT_ENUM)
#undef MTS_FORMAT_ENUM
        MTS_FORMAT_SECTION_COUNT
} mts_format_section;

/* Header. */
#define MTS_HEADER_VERSION 8u
#define MTS_HEADER_ENDIAN 12u
#define MTS_HEADER_SIZE 16u /* u64: of the file */
#define MTS_HEADER_SECTIONS 24u
#define MTS_HEADER_RESERVED 28u /* up to MTS_HEADER_HASH: zero */
#define MTS_HEADER_HASH 56u     /* u64: of bytes 0..55, then, with that as seed, of the section table */

/* Row of the section table. */
#define MTS_SECTION_KIND 0u
#define MTS_SECTION_STRIDE 4u
#define MTS_SECTION_OFFSET 8u /* u64 */
#define MTS_SECTION_RECORDS 16u
#define MTS_SECTION_HASH 24u

/* Task: the records of its graph follow those of the task before it in each section. */
#define MTS_TASK_NAME 0u
#define MTS_TASK_GRAPH 4u
#define MTS_TASK_COLOR 8u
#define MTS_TASK_INTERLEAVED 12u
#define MTS_TASK_MEAN 16u /* f32[4] */
#define MTS_TASK_STD 32u  /* f32[4] */
#define MTS_TASK_VALUES 48u
#define MTS_TASK_NODES 52u
#define MTS_TASK_INPUTS 56u
#define MTS_TASK_OUTPUTS 60u
#define MTS_TASK_LABELS 64u
#define MTS_TASK_CLASSES 68u
#define MTS_TASK_FIT 72u      /* u8: mts_fit */
#define MTS_TASK_FILTER 73u   /* u8: mts_filter */
#define MTS_TASK_RESERVED 74u /* u8[2]: zero */
#define MTS_TASK_FILL 76u     /* u8[4]: red, green, blue of bars, zero */
#define MTS_TASK_CROP 80u     /* f32[4], version 2: left, top, width, height as parts of the frame */

/* Port. */
#define MTS_PORT_NAME 0u
#define MTS_PORT_VALUE 4u
#define MTS_PORT_DTYPE 8u
#define MTS_PORT_RANK 12u
#define MTS_PORT_DIMS 16u /* i64[6] */

/* Value. */
#define MTS_VALUE_NAME 0u
#define MTS_VALUE_KIND 4u
#define MTS_VALUE_DTYPE 8u
#define MTS_VALUE_RANK 12u
#define MTS_VALUE_DIMS 16u /* i64[6] */
#define MTS_VALUE_REFS 64u
#define MTS_VALUE_RESERVED 68u

/* Node. */
#define MTS_NODE_OP 0u
#define MTS_NODE_NAME 4u
#define MTS_NODE_INPUTS 8u
#define MTS_NODE_OUTPUT 12u
#define MTS_NODE_ATTRS 16u /* words */
#define MTS_NODE_SCATTER 20u

/* Block reference. */
#define MTS_REF_BLOCK 0u
#define MTS_REF_OUT_FIRST 4u
#define MTS_REF_OUT_COUNT 8u
#define MTS_REF_IN_FIRST 12u
#define MTS_REF_IN_COUNT 16u

/* Block. */
#define MTS_BLOCK_OFFSET 0u /* u64, in the weights */
#define MTS_BLOCK_SIZE 8u   /* u64 */
#define MTS_BLOCK_HASH 16u  /* u64 */
#define MTS_BLOCK_DTYPE 24u
#define MTS_BLOCK_RESERVED 28u

static inline uint32_t mts_load_u32(const void *bytes)
{
    const unsigned char *b = bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t mts_load_u64(const void *bytes)
{
    const unsigned char *b = bytes;
    return (uint64_t)mts_load_u32(b) | (uint64_t)mts_load_u32(b + 4) << 32;
}

static inline float mts_load_f32(const void *bytes)
{
    const uint32_t bits = mts_load_u32(bytes);
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline void mts_store_u32(void *bytes, uint32_t value)
{
    unsigned char *b = bytes;
    for (unsigned i = 0; i < 4; i++) {
        b[i] = (unsigned char)(value >> (8 * i));
    }
}

static inline void mts_store_u64(void *bytes, uint64_t value)
{
    mts_store_u32(bytes, (uint32_t)value);
    mts_store_u32((unsigned char *)bytes + 4, (uint32_t)(value >> 32));
}

static inline void mts_store_f32(void *bytes, float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    mts_store_u32(bytes, bits);
}

#endif
