/*
 * archive.h: the content of a bundle in memory: tasks, their graphs, and the weight
 * blocks they refer to.
 *
 * The compiler fills one and writes it (sdk/compiler/models/bundle.h); the reader here is
 * the only loader, it verifies everything once, and afterwards the content is trusted.
 * Not responsible for mapping files (platform/os).
 */
#ifndef MTS_BUNDLE_ARCHIVE_H
#define MTS_BUNDLE_ARCHIVE_H

#include "graph/graph.h"

#define MTS_COLOR_NONE 0u /* no image: a raw tensor */
#define MTS_COLOR_RGB 1u
#define MTS_COLOR_BGR 2u
#define MTS_COLOR_GREY 3u

/* What turns a camera frame into graph input 0: y[c] = (x[c] - mean[c]) / std[c], x in
   0..255. */
typedef struct mts_preprocess {
    uint32_t color;       /* MTS_COLOR_ */
    uint32_t interleaved; /* 1: the model wants [N,H,W,C] */
    float mean[4], std[4];
    /* How a frame fits where the caller does not say: mts_fit, mts_filter, and the colour
       of bars. */
    uint32_t fit, filter;
    uint8_t fill[4];
    /* Left, top, width and height of the part of a frame that the task sees where the
     * caller gives no region, as parts of the frame's width and height. All 0: the whole
     * frame. */
    float crop[4];
} mts_preprocess;

/* Whether two tasks make equal inputs of equal frames, where the inputs have one
   shape. */
bool mts_preprocess_same(const mts_preprocess *a, const mts_preprocess *b);

/* Whether these four numbers are all 0, or a rectangle that lies inside of the frame. */
bool mts_preprocess_crop_valid(const float crop[4]);

/* Whether input 0 of a task takes images: its colour is known, and the input is one
 * image, or a batch of them, of the channels that go with it. */
bool mts_preprocess_takes_frames(const mts_preprocess *preprocess, const mts_graph *graph);

typedef struct mts_task {
    const char *name; /* unique in the archive, [A-Za-z0-9_.-]+ */
    mts_graph *graph; /* consts: blocks[].block is an index into mts_archive.blocks */
    mts_preprocess preprocess;
    uint32_t label_count; /* names of the classes of output 0, may be 0 */
    const char **labels;
    uint32_t class_count; /* `mts eval`: this task's label of each class of a data set, may be 0 */
    uint32_t *class_map;
} mts_task;

typedef struct mts_block {
    const void *data; /* 64-byte aligned in a bundle */
    size_t size;      /* bytes */
    mts_type dtype;
    uint64_t hash; /* mts_hash(data, size, dtype) */
} mts_block;

typedef struct mts_archive {
    mts_arena arena; /* everything but the blocks' bytes */
    uint64_t hash;   /* of the whole content: part of cache keys */
    uint32_t task_count, block_count;
    mts_task *tasks;
    mts_block *blocks;
} mts_archive;

/* Upper limits of what a reader accepts; a bundle beyond them is refused with LIMIT. */
typedef struct mts_archive_limits {
    uint64_t file_bytes;
    uint32_t tasks, nodes_per_task, values_per_task, blocks;
} mts_archive_limits;
mts_archive_limits mts_archive_limits_default(void);

/*
 * Reads a bundle. The caller keeps `bytes` (64-byte aligned, else INVALID_ARGUMENT) valid
 * for as long as the archive. `name` is only for messages. Errors: MALFORMED with the
 * place and the reason, UNSUPPORTED (version), LIMIT, OUT_OF_MEMORY.
 */
mts_status mts_archive_read(const void *bytes, size_t size, const char *name,
                            const mts_archive_limits *limits, const mts_allocator *allocator,
                            mts_archive **out, mts_error *error);
/* Empty archive to be filled by the compiler. NULL if memory is short. */
mts_archive *mts_archive_create(const mts_allocator *allocator);
void mts_archive_destroy(mts_archive **archive);
/* Index of the task with this name, or MTS_NONE. */
uint32_t mts_archive_find(const mts_archive *archive, const char *name);
/* Whether two tasks' inputs of this index hold the same data where tasks share inputs. */
bool mts_archive_same_input(const mts_archive *archive, uint32_t one, uint32_t other, uint32_t input);
/*
 * Bytes of the blocks that a graph's constants refer to, at `size` bytes a number, or as
 * they are `stored` where that is less. Each counts once, and not if seen[block] is `mark`,
 * which it becomes.
 */
uint64_t mts_archive_block_bytes(const mts_archive *archive, const mts_graph *graph, size_t size, bool stored,
                                 uint32_t *seen, uint32_t mark);

#endif
