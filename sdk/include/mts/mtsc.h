/*
 * mtsc.h: the compiler API of the MTS SDK (host only): ONNX models in, one bundle out.
 *
 * Conventions are those of mts.h; the sentence of a failure goes to mtsc_options.error_text.
 * Thread-safety: a compiler belongs to one thread at a time; different compilers are independent.
 */
#ifndef MTS_MTSC_H
#define MTS_MTSC_H

#include "mts/mts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mtsc_compiler mtsc_compiler;

typedef struct mtsc_options {
    size_t size;     /* sizeof(mtsc_options) */
    float tolerance; /* 0 (default): blocks are shared when bit-equal. > 0: blocks that differ by at most this
                        times the block's largest magnitude are merged onto one copy; the deviation is
                        reported */
    char *error_text; /* caller's buffer for the sentence of the last failure, or NULL (default) */
    size_t error_size;
    void *context; /* handed to the callbacks */
    void (*log)(void *context, mts_log_severity severity, const char *text);
    int (*progress)(void *context, float fraction, const char *what); /* non-zero cancels */
} mtsc_options;

typedef enum mtsc_color {
    MTSC_COLOR_NONE = 0, /* not a picture: raw tensors only */
    MTSC_COLOR_RGB = 1,
    MTSC_COLOR_BGR = 2,
    MTSC_COLOR_GREY = 3
} mtsc_color;

/* A given input size, for models whose dimensions are symbolic or unknown. */
typedef struct mtsc_input_shape {
    const char *input; /* name; NULL: the first input */
    uint32_t rank;
    int64_t dims[MTS_TENSOR_RANK_MAX];
} mtsc_input_shape;

typedef struct mtsc_task {
    size_t size;       /* sizeof(mtsc_task) */
    const char *name;  /* [A-Za-z0-9_.-]+, unique */
    const char *model; /* path of the ONNX file */
    const mtsc_input_shape *shapes;
    uint32_t shape_count;
    mtsc_color color;      /* default: NONE */
    float mean[4], std[4]; /* y = (x - mean) / std on 0..255; default 0 and 1 */
    const char *const *labels;
    uint32_t label_count;
    const uint32_t *class_map;
    uint32_t class_count;
} mtsc_task;

MTS_API void mtsc_options_default(mtsc_options *options);
MTS_API void mtsc_task_default(mtsc_task *task);
MTS_API mts_status mtsc_compiler_create(const mtsc_options *options, mtsc_compiler **out);
MTS_API void mtsc_compiler_destroy(mtsc_compiler **compiler);
/* Imports a model. IO, MALFORMED, UNSUPPORTED (names operator, node, opset and file), INVALID_ARGUMENT (name
   taken, shape needed). A failed call adds nothing. Everything is copied. */
MTS_API mts_status mtsc_compiler_add(mtsc_compiler *compiler, const mtsc_task *task);
/* Adds every task of a JSON task list (docs/CONFIG.md); paths in it are relative to the file. All or nothing.
 */
MTS_API mts_status mtsc_compiler_add_config(mtsc_compiler *compiler, const char *path);

typedef struct mtsc_summary {
    size_t size; /* sizeof(mtsc_summary), set by the caller */
    uint32_t tasks, families, nodes, blocks;
    uint64_t weights_bytes, weights_bytes_unshared;
    double deviation; /* largest |difference| of a merged weight; 0 when tolerance is 0 */
} mtsc_summary;

/* Discovers sharing and writes the bundle as mtsc_file_write does. summary may be NULL. */
MTS_API mts_status mtsc_compiler_write(mtsc_compiler *compiler, const char *path, mtsc_summary *summary);

/* Writes one task of a bundle as plain ONNX (opset 13). options may be NULL. */
MTS_API mts_status mtsc_export(const char *bundle_path, const char *task, const char *onnx_path,
                               const mtsc_options *options);

/*
 * How all functions here write: under a temporary name, synchronised, then renamed, so that nobody sees half
 * a file and a failure leaves the old one. A link's target is replaced, not the link; what exists and is no
 * file (a directory, device, pipe or socket) is refused with IO. NOT_FOUND: no such folder. options may be
 * NULL.
 */
MTS_API mts_status mtsc_file_write(const char *path, const void *data, size_t size,
                                   const mtsc_options *options);

typedef enum mtsc_arch { MTSC_ARCH_RESNET18 = 0, MTSC_ARCH_RESNET50 = 1, MTSC_ARCH_VGG16 = 2 } mtsc_arch;

/* Networks with random weights and given ratios of pruning and sharing, as in the papers' evaluations. */
typedef struct mtsc_synth_options {
    size_t size;         /* sizeof(mtsc_synth_options) */
    mtsc_arch arch;      /* default: RESNET18 */
    uint32_t tasks;      /* 1..1024, named t0, t1, ...; default 8 */
    const double *prune; /* ratios 0..0.999 that the tasks take in turn; NULL (default): 0. A width of the
                            architecture becomes round((1 - prune) width), at least 1 */
    uint32_t prune_count;
    double share;   /* shared / all channels of a layer, 0..1; default 0.9; rounded, of the narrowest task */
    uint32_t input; /* rows and columns of the picture, 32..4096; default 224 */
    const uint32_t *batch; /* batches 1..256 that the tasks take in turn; NULL (default): 1 */
    uint32_t batch_count;
    uint32_t classes; /* outputs; default 10 */
    uint64_t seed;    /* default 1. Equal options give equal bundles */
} mtsc_synth_options;

MTS_API void mtsc_synth_options_default(mtsc_synth_options *options);
/*
 * Writes a bundle of such networks. Sharing has the form U, X, Y, Z; scale and bias vectors and classifiers
 * are the tasks' own. Tasks of batch 1 take frames. options and summary may be NULL. INVALID_ARGUMENT, LIMIT
 * (more weights than a bundle holds), OUT_OF_MEMORY, IO, NOT_FOUND (no such folder), CANCELLED.
 */
MTS_API mts_status mtsc_synth(const mtsc_synth_options *synth, const char *path, const mtsc_options *options,
                              mtsc_summary *summary);

#ifdef __cplusplus
}
#endif

#endif
