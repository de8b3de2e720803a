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

/* Tasks on their way into one bundle. */
typedef struct mtsc_compiler mtsc_compiler;

/* Of the compiler and of every method that changes bundles. */
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

/* What the channels of a picture are. */
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

/* A model, and what a camera app needs to know of it. */
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

/* Sets the size and every default. */
MTS_API void mtsc_options_default(mtsc_options *options);
/* Sets the size and every default. */
MTS_API void mtsc_task_default(mtsc_task *task);
/* A compiler without tasks. options may be NULL. */
MTS_API mts_status mtsc_compiler_create(const mtsc_options *options, mtsc_compiler **out);
/* Accepts NULL and pointers to NULL. */
MTS_API void mtsc_compiler_destroy(mtsc_compiler **compiler);
/* Imports a model. IO, MALFORMED, UNSUPPORTED (names operator, node, opset and file), INVALID_ARGUMENT (name
   taken, shape needed). A failed call adds nothing. Everything is copied. */
MTS_API mts_status mtsc_compiler_add(mtsc_compiler *compiler, const mtsc_task *task);
/* Adds every task of a JSON task list (docs/CONFIG.md); paths in it are relative to the file. All or nothing.
 */
MTS_API mts_status mtsc_compiler_add_config(mtsc_compiler *compiler, const char *path);

/* What a bundle that was written holds. */
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

/* An architecture of mtsc_synth. */
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

/* Sets the size and every default. */
MTS_API void mtsc_synth_options_default(mtsc_synth_options *options);
/*
 * Writes a bundle of such networks. Sharing has the form U, X, Y, Z; scale and bias vectors and classifiers
 * are the tasks' own. Tasks of batch 1 take frames. options and summary may be NULL. INVALID_ARGUMENT, LIMIT
 * (more weights than a bundle holds), OUT_OF_MEMORY, IO, NOT_FOUND (no such folder), CANCELLED.
 */
MTS_API mts_status mtsc_synth(const mtsc_synth_options *synth, const char *path, const mtsc_options *options,
                              mtsc_summary *summary);

/* ---- methods that change models: zip, prune, split ---- */

/*
 * Images to calibrate with; labels are never asked for. Callbacks are called by one thread at a time, with
 * index < count, possibly more than once for an index and in any order; non-zero: the image cannot be had,
 * and the method fails with IO and the index. A method that needs images refuses none with INVALID_ARGUMENT.
 */
typedef struct mtsc_data {
    size_t size;    /* sizeof(mtsc_data) */
    uint32_t count; /* images */
    void *context;
    /* Writes a picture as width * height pixels of 3 bytes, R G B, dense. For tasks that take frames; NULL:
       there are none. */
    int (*picture)(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb);
    /* Writes an input of a task, row-major as the port says, `count` numbers. For tasks that take no frames;
       NULL (default): there are none. Numbers that are not finite are INVALID_ARGUMENT. */
    int (*tensor)(void *context, uint32_t index, const char *task, uint32_t input, float *out, size_t count);
} mtsc_data;

/* Sets the size; there are no images. */
MTS_API void mtsc_data_default(mtsc_data *data);

/* What it means that a channel is shared. */
typedef enum mtsc_form {
    MTSC_FORM_FILTERS = 0, /* a shared channel shares its whole filter (default) */
    MTSC_FORM_UXYZ = 1     /* a shared channel shares the part of its filter that reads shared channels */
} mtsc_form;

/* How channels of two tasks are paired. */
typedef enum mtsc_assignment {
    MTSC_ASSIGNMENT_OPTIMAL = 0, /* least total difference (default) */
    MTSC_ASSIGNMENT_GREEDY = 1   /* smallest difference first, as MTZ's authors do */
} mtsc_assignment;

/* What became of a layer; names live during the call only. */
typedef struct mtsc_zip_layer {
    const char *name;
    uint32_t channels, shared; /* of each task; shared 0: rolled back, or nothing in common */
    double change;             /* of the task that changed most, see mtsc_zip_options.max_change, after it; of
                                  a layer that was rolled back, the change for which it was */
    const char *task;          /* that task */
    int rolled_back;
    double seconds_left; /* estimate, without re-training */
} mtsc_zip_layer;

/* Which tasks and layers share how much. */
typedef struct mtsc_zip_options {
    size_t size;              /* sizeof(mtsc_zip_options) */
    const char *const *tasks; /* to zip, 2 to 64; NULL (default): all. The others are written as they are */
    uint32_t task_count;
    double share; /* shared / all channels of each layer, 0..1; default 0.9 */
    mtsc_form form;
    mtsc_assignment assignment;
    uint32_t round; /* shared channels are a multiple of this, or all; default 4, a kernel's vector. 1: any */
    /* Only layers whose name begins with one of these are shared; NULL (default): all. Others behind a zipped
       one stay private, but are fitted to their changed inputs: weights there that were equal in several
       tasks before are fitted apart. The same holds for layers that are rolled back (max_change). */
    const char *const *layers;
    uint32_t layer_count;
    const char *const *base; /* tasks of `tasks` that keep every bit; the others take over their filters */
    uint32_t base_count;
    double max_change; /* in percent; default 100 (no gate). A layer after which more of some task's answers
                          would have changed stays private (see layers). An answer is the largest of a task's
                          first output; where that is no vector of classes, change is the root mean square
                          difference in percent of the output's standard deviation. Layers may use up the
                          limit in proportion to the bytes that have been saved by then */
    double retrain_seconds; /* 0 (default): none. > 0: afterwards all that is not of `base` is trained for
                               this long to answer as before (distillation), without labels */
    uint64_t seed;          /* default 1. Equal options, data and machine give equal bundles, but not with
                               re-training, which goes by time */
    void *context;
    void (*layer)(void *context, const mtsc_zip_layer *layer); /* told of each layer; NULL (default): not */
} mtsc_zip_options;

/* What zipping did. */
typedef struct mtsc_zip_report {
    size_t size; /* sizeof(mtsc_zip_report), set by the caller */
    mtsc_summary summary;
    uint32_t layers, zipped, rolled_back;
    double
        shared_weights; /* of a task's weights of layers, the part that lies in blocks of all tasks; mean */
    double change, change_worst; /* over the data, as max_change: mean of the tasks, worst task */
    double zip_seconds, retrain_seconds;
    double loss_first, loss_last; /* of re-training */
    int retrained; /* 1: what re-training made was kept, because fewer answers change with it */
} mtsc_zip_report;

/* Sets the size and every default. */
MTS_API void mtsc_zip_options_default(mtsc_zip_options *options);
/*
 * Multi-task zipping: makes the tasks of a bundle share weights (MTZ, NeurIPS 2018, with the merge in closed
 * form, per-task scale and bias; docs/ZIP.md), and writes a new bundle. options and report may be NULL.
 *
 * INVALID_ARGUMENT: tasks that do not align (named, with the first layer that does not), data that does not
 * fit a task, statistics that are singular (task and layer). LIMIT: no layer passes max_change (task and
 * layer). UNSUPPORTED: an operator that cannot be calibrated (node and task). CANCELLED. The input bundle is
 * only read; a failure writes nothing.
 */
MTS_API mts_status mtsc_zip(const char *bundle_path, const mtsc_data *data, const mtsc_zip_options *zip,
                            const char *out_path, const mtsc_options *options, mtsc_zip_report *report);

/* By what a channel is important. */
typedef enum mtsc_criterion {
    MTSC_CRITERION_L1 = 0,    /* sum of a channel's absolute weights (default) */
    MTSC_CRITERION_APOZ = 1,  /* part of its activations that is zero */
    MTSC_CRITERION_AVG = 2,   /* its mean activation */
    MTSC_CRITERION_HYBRID = 3 /* mostly small activations, unless their mean is large (sensAI, Eq. 1 and 2) */
} mtsc_criterion;

/* What the ratio of pruning is a ratio of. */
typedef enum mtsc_target {
    MTSC_TARGET_LAYER = 0,  /* `ratio` of the channels of every group of coupled channels (default) */
    MTSC_TARGET_GLOBAL = 1, /* `ratio` of all channels, the least important of the network first */
    MTSC_TARGET_FLOPS = 2,  /* until `ratio` of the multiply-adds are gone */
    MTSC_TARGET_BYTES = 3   /* until `ratio` of the weights' bytes are gone */
} mtsc_target;

/* Which channels go. */
typedef struct mtsc_prune_options {
    size_t size;              /* sizeof(mtsc_prune_options) */
    const char *const *tasks; /* to prune; NULL (default): all. The others are written as they are */
    uint32_t task_count;
    mtsc_criterion criterion;
    mtsc_target target;
    double ratio;   /* 0..0.99; default 0.5 */
    uint32_t round; /* channels kept are a multiple of this where a layer has as many; default 1 */
    int refit; /* 1 (default): readers of what went are fitted to what they computed before (least squares) */
    int together; /* 1: aligned tasks lose the same channels, by their mean importance, and go on sharing.
                     0 (default) */
} mtsc_prune_options;

/* What pruning did. */
typedef struct mtsc_prune_report {
    size_t size; /* sizeof(mtsc_prune_report), set by the caller */
    mtsc_summary summary;
    uint64_t channels, channels_kept; /* of all tasks that were pruned, as are the following */
    uint64_t mul_adds, mul_adds_kept, weights_bytes, weights_bytes_kept;
} mtsc_prune_report;

/* Sets the size and every default. */
MTS_API void mtsc_prune_options_default(mtsc_prune_options *options);
/* Removes channels with all their weights (docs/PRUNE.md). data may be NULL where no activations are needed
   (L1 without refit). Errors as mtsc_zip; INVALID_ARGUMENT too where nothing can be removed. */
MTS_API mts_status mtsc_prune(const char *bundle_path, const mtsc_data *data, const mtsc_prune_options *prune,
                              const char *out_path, const mtsc_options *options, mtsc_prune_report *report);

/* Which classifier is split, and how. */
typedef struct mtsc_split_options {
    size_t size;              /* sizeof(mtsc_split_options) */
    const char *task;         /* a classifier of the bundle */
    uint32_t groups;          /* 2..its classes; default 2 */
    double ratio;             /* of the multiply-adds that each subnet loses, 0..0.99; default 0.5 */
    mtsc_criterion criterion; /* default HYBRID */
    double retrain_seconds;   /* of each subnet, as in mtsc_zip_options; default 0 */
    uint64_t seed;            /* default 1 */
    double trunk; /* of the multiply-adds, 0..0.99: layers at the beginning that stay as they are in all
                     subnets and are computed once for all of them; default 0 */
    int keep;     /* 1: the task stays in the bundle too. 0 (default) */
} mtsc_split_options;

/* What splitting did. */
typedef struct mtsc_split_report {
    size_t size; /* sizeof(mtsc_split_report), set by the caller */
    mtsc_summary summary;
    uint64_t mul_adds, mul_adds_groups; /* of the whole model; of all subnets together */
    double change;                      /* of the combined answers over the data, percent of images */
} mtsc_split_report;

/* Sets the size and every default. */
MTS_API void mtsc_split_options_default(mtsc_split_options *options);
/*
 * Splits a classifier into subnets that know a group of its classes each (sensAI, MLSys 2021; docs/SPLIT.md):
 * tasks NAME.1ofK .. NAME.KofK with labels and class_map, the last label of each "none of these". Errors as
 * mtsc_zip; UNSUPPORTED where the task is no classifier with a last fully connected layer.
 */
MTS_API mts_status mtsc_split(const char *bundle_path, const mtsc_data *data, const mtsc_split_options *split,
                              const char *out_path, const mtsc_options *options, mtsc_split_report *report);

#ifdef __cplusplus
}
#endif

#endif
