/*
 * mtsc.h: the compiler of the MTS SDK (host only): ONNX and TensorFlow Lite models in, one bundle
 * out.
 *
 *     mtsc_options options;      mtsc_options_default(&options);
 *     mtsc_compiler_create(&options, &compiler);
 *     mtsc_compiler_add_config(compiler, "tasks.json");
 *     mtsc_compiler_write(compiler, "app.mtsb", NULL);
 *     mtsc_compiler_destroy(&compiler);
 *
 * Conventions, for every function here:
 *   - A function returns MTS_STATUS_OK or the reason of its failure, and writes one sentence about
 *     the failure to mtsc_options.error_text and mtsc_options.log. A handle that is NULL, or
 *     options of an unknown size, give INVALID_ARGUMENT without a sentence.
 *   - Every function that uses memory can return OUT_OF_MEMORY, besides what its comment names.
 *   - Every struct begins with its size. The caller sets it: with X_default, or by hand where there
 *     is no such function.
 *   - After the call the library keeps no pointer to an argument, except those that mtsc_options
 *     names.
 *   - Strings are UTF-8. Sizes are in bytes.
 */
#ifndef MTS_MTSC_H
#define MTS_MTSC_H

#include "mts/mts.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tasks that will be written into one bundle.
 *
 * Thread-safety: one thread at a time may use a compiler. Different compilers are independent.
 */
typedef struct mtsc_compiler mtsc_compiler;

/*
 * Options of a compiler, and of every function that writes bundles or models.
 *
 * Ownership: a compiler keeps a copy of this struct. `error_text` and `context` must stay valid as
 * long as the compiler exists; for other functions, until the call returns.
 * Thread-safety: the library calls the callbacks on the caller's thread, or on one other thread at
 * a time while the caller's thread waits.
 */
typedef struct mtsc_options {
    /* sizeof(mtsc_options). */
    size_t size;
    /* 0 (default): weights are shared where they are bit-equal. Above 0: blocks that are nearly
       equal are merged too. No weight of such blocks differs by more than this number times the
       block's largest magnitude. mtsc_summary.deviation reports the largest change. */
    float tolerance;
    /* The caller's buffer for the sentence of the last failure; NULL (default): none. */
    char *error_text;
    /* Bytes of error_text. */
    size_t error_size;
    /* First argument of the callbacks. */
    void *context;
    /* Called with warnings and failures; NULL (default): not called. */
    void (*log)(void *context, mts_log_severity severity, const char *text);
    /* Called with the part that is done, 0..1, and with what is being done. A result other than 0
       makes the call return CANCELLED. NULL (default): not called. */
    int (*progress)(void *context, float fraction, const char *what);
    /* Bytes of memory that reading a model may take beyond what the size of its files allows, which is
       20 MiB and 8 times the size, or 28 times the size if that is more. For trusted models that
       compute their weights or other large constants. Default: 0. */
    uint64_t more_memory;
} mtsc_options;

/* What the channels of input 0 of a model are. */
typedef enum mtsc_color {
    /* No image: the task takes tensors only. */
    MTSC_COLOR_NONE = 0,
    MTSC_COLOR_RGB = 1,
    MTSC_COLOR_BGR = 2,
    MTSC_COLOR_GREY = 3
} mtsc_color;

/* The shape of an input. An input whose dimensions are symbolic or unknown in the model needs
   one. */
typedef struct mtsc_input_shape {
    /* sizeof(mtsc_input_shape). Elements of mtsc_task.shapes are that many bytes apart. */
    size_t size;
    /* Name of the input; NULL: the first input. */
    const char *input;
    /* Number of dimensions, 0..MTS_TENSOR_RANK_MAX. */
    uint32_t rank;
    /* Numbers in each dimension, the slowest first. */
    int64_t dims[MTS_TENSOR_RANK_MAX];
} mtsc_input_shape;

/* An input that becomes a constant when the model is compiled, such as the sampling rate of a
   sound. */
typedef struct mtsc_input_value {
    /* sizeof(mtsc_input_value). Elements of mtsc_task.values are that many bytes apart. */
    size_t size;
    /* Name of the input; never NULL. */
    const char *input;
    /* The value of each of its elements, rounded to the input's type. */
    double number;
} mtsc_input_value;

/*
 * A model, and what a camera app needs to know about it.
 *
 * Ownership: the caller's. mtsc_compiler_add copies all of it.
 */
typedef struct mtsc_task {
    /* sizeof(mtsc_task). */
    size_t size;
    /* Name of the task: 1 to 255 of the characters A-Z a-z 0-9 _ . - and unique within a
       compiler. */
    const char *name;
    /* Path of an ONNX or TensorFlow Lite file. The library sees from the content which of them it
       is. */
    const char *model;
    /* Shapes of inputs, and their number; NULL (default): the model gives all shapes. */
    const mtsc_input_shape *shapes;
    uint32_t shape_count;
    /* Colours of the image that input 0 takes; default MTSC_COLOR_NONE. */
    mtsc_color color;
    /* Input values are (pixel - mean) / std for pixels 0..255, by channel. Defaults: 0 and 1. */
    float mean[4], std[4];
    /* Fit and filter of frames whose region has MTS_FIT_TASK or MTS_FILTER_TASK. Defaults:
       MTS_FIT_TASK, which means STRETCH here, and MTS_FILTER_TASK, which means BILINEAR here. */
    mts_fit fit;
    mts_filter filter;
    /* Red, green, blue of letterbox bars, 0..255. The fourth byte is 0. */
    uint8_t fill[4];
    /* Names of the classes of output 0, in order; NULL (default): none. */
    const char *const *labels;
    uint32_t label_count;
    /* For each class of a data set, the index of this task's label. `mts eval` uses it. NULL
       (default): none. */
    const uint32_t *class_map;
    uint32_t class_count;
    /* Inputs that become constants; NULL (default): none. The bundle's task does not have them. */
    const mtsc_input_value *values;
    uint32_t value_count;
    /* Not read. */
    uint32_t reserved;
    /* Left, top, width and height of the part of a frame that the task sees, as parts of the
       frame's width and height, 0..1: {0.25, 0, 0.5, 1} is its middle half. Frames whose region
       gives another part show that one. Default: all 0, which is the whole frame. */
    float crop[4];
} mtsc_task;

/*
 * Sets the size and every default.
 *
 * @param options written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsc_options_default_sized(mtsc_options *options, size_t size);
/* mtsc_options_default_sized with the size that the struct has in this header. */
#define mtsc_options_default(options) mtsc_options_default_sized((options), sizeof(mtsc_options))

/*
 * Sets the size and every default.
 *
 * @param task written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsc_task_default_sized(mtsc_task *task, size_t size);
/* mtsc_task_default_sized with the size that the struct has in this header. */
#define mtsc_task_default(task) mtsc_task_default_sized((task), sizeof(mtsc_task))

/*
 * Creates a compiler without tasks.
 *
 * @param options copied; NULL: the defaults.
 * @param out the new compiler, which the caller releases with mtsc_compiler_destroy; NULL on
 *     failure.
 * @return OK; INVALID_ARGUMENT: `out` is NULL, or an option is out of its range.
 */
MTS_API mts_status mtsc_compiler_create(const mtsc_options *options, mtsc_compiler **out);

/*
 * Releases a compiler and its tasks.
 *
 * @param compiler set to NULL. NULL, and a pointer to NULL, are accepted.
 */
MTS_API void mtsc_compiler_destroy(mtsc_compiler **compiler);

/*
 * Imports a model as a task. A failed call adds nothing.
 *
 * @param compiler gets the task.
 * @param task copied.
 * @return OK; IO: the model cannot be read; MALFORMED: it is no valid ONNX or TensorFlow Lite file;
 *     UNSUPPORTED: an operator or attribute that the library does not know (the sentence names
 *     operator, node, opset and file); INVALID_ARGUMENT: the name is taken or invalid, an input
 *     needs a shape, or a list is missing; CANCELLED: the progress callback asked to stop.
 */
MTS_API mts_status mtsc_compiler_add(mtsc_compiler *compiler, const mtsc_task *task);

/*
 * Adds every task of a JSON task list (docs/CONFIG.md). A failed call adds none of them.
 *
 * @param compiler gets the tasks.
 * @param path of the task list. Paths in it are relative to its folder.
 * @return as mtsc_compiler_add. IO: the list cannot be read; MALFORMED: the list is no JSON;
 *     INVALID_ARGUMENT: a key or a value in the list is wrong.
 */
MTS_API mts_status mtsc_compiler_add_config(mtsc_compiler *compiler, const char *path);

/* What a bundle that was written holds. Its layout is fixed: the reports of mtsz.h contain it. */
typedef struct mtsc_summary {
    /* sizeof(mtsc_summary), set by the caller. */
    size_t size;
    /* Numbers of tasks, of families (tasks that can be stitched), of nodes of all tasks, and of
       stored blocks of weights. */
    uint32_t tasks, families, nodes, blocks;
    /* Bytes of all weights, as stored and as they would be without sharing. */
    uint64_t weights_bytes, weights_bytes_unshared;
    /* Largest absolute change that merging made to a weight; 0 if mtsc_options.tolerance is 0. */
    double deviation;
} mtsc_summary;

/*
 * Finds what the tasks share, and writes a bundle (see mtsc_file_write). The tasks stay in the
 * compiler, so the function can be called again.
 *
 * @param compiler holds at least one task.
 * @param path of the bundle to write.
 * @param summary written on success; NULL: not wanted.
 * @return OK; INVALID_ARGUMENT: no task, no path, or a summary without its size; LIMIT: more than a
 *     bundle can hold; IO or NOT_FOUND: see mtsc_file_write; CANCELLED: by `progress`.
 */
MTS_API mts_status mtsc_compiler_write(mtsc_compiler *compiler, const char *path, mtsc_summary *summary);

/*
 * Writes one task of a bundle as plain ONNX (opset 13).
 *
 * @param bundle_path of the bundle to read.
 * @param task name of the task.
 * @param onnx_path of the file to write, see mtsc_file_write.
 * @param options NULL: the defaults.
 * @return OK; IO: the bundle cannot be read; MALFORMED: it is no bundle; NOT_FOUND: no such task or
 *     folder; UNSUPPORTED: an operator that ONNX cannot express; INVALID_ARGUMENT: a path or the
 *     name is missing.
 */
MTS_API mts_status mtsc_export(const char *bundle_path, const char *task, const char *onnx_path,
                               const mtsc_options *options);

/*
 * Writes all tasks of a bundle as one ONNX model (opset 13) in which each block of weights is stored
 * once, so that another run-time can run them in one call. Names of inputs, outputs and nodes begin
 * with the name of their task and a slash: "age/image". Weights are stored as the bundle has them
 * (float32, float16 or int8), and nodes make float32 weights of them, which a run-time computes once.
 *
 * @param bundle_path of the bundle to read.
 * @param onnx_path of the file to write, see mtsc_file_write.
 * @param separate_inputs 1: each task has inputs of its own. 0: inputs that hold the same data in a
 *     session with one frame for all tasks are one input, with the name that it has in the first task.
 * @param options NULL: the defaults.
 * @return as mtsc_export; besides LIMIT: the model is larger than the 2 GiB that an ONNX file may
 *     have; INVALID_ARGUMENT: `separate_inputs` is another number.
 */
MTS_API mts_status mtsc_export_stitched(const char *bundle_path, const char *onnx_path,
                                        uint32_t separate_inputs, const mtsc_options *options);

/* What mtsc_append made. */
typedef struct mtsc_append_report {
    /* sizeof(mtsc_append_report), set by the caller. */
    size_t size;
    /* Tasks of the bundle that results, and those that the first bundle did not have. */
    uint32_t tasks, tasks_added;
    /* Blocks of weights that the first bundle did not have, and their bytes. */
    uint32_t blocks_added;
    uint64_t weights_added;
    /* Bytes of the first bundle, of the one that results, and of the file that was written. */
    uint64_t base_bytes, result_bytes, written_bytes;
} mtsc_append_report;

/*
 * Writes a bundle with the tasks of two bundles. Blocks of weights that both have, byte by byte, are
 * stored once; no weight is changed or cut anew. Or writes a patch: what the result has and the
 * first bundle has not (docs/FORMAT.md). Applied to that bundle, a patch gives the same bytes as the
 * two bundles do.
 *
 * @param bundle_path of the first bundle.
 * @param extra_path of the bundle whose tasks are appended, or of a patch that is applied.
 * @param output_path of the file to write, see mtsc_file_write; neither of the two.
 * @param patch 0: a bundle is written. 1: a patch.
 * @param options NULL: the defaults.
 * @param report written on success; NULL: not wanted.
 * @return OK; NOT_FOUND: no such file; IO: it cannot be read or written; MALFORMED: a bundle or the
 *     patch is damaged; UNSUPPORTED: it has another format version; INVALID_ARGUMENT: both bundles
 *     have a task of one name, the patch was made for another bundle, a path is missing or leads to
 *     a file that is read, `patch` is another number, or 1 where the second file is a patch; LIMIT:
 *     too many tasks or blocks.
 */
MTS_API mts_status mtsc_append(const char *bundle_path, const char *extra_path, const char *output_path,
                               uint32_t patch, const mtsc_options *options, mtsc_append_report *report);

/*
 * Writes a file; all functions here write their files in this way. The data goes to a temporary
 * file, which is synchronised to disk and then renamed. So a reader never sees half a file, and a
 * failure leaves the old file as it was. If `path` is a link, the function replaces its target.
 *
 * @param path of the file.
 * @param data `size` bytes; NULL where size is 0.
 * @param size in bytes.
 * @param options NULL: the defaults.
 * @return OK; NOT_FOUND: the folder does not exist; IO: writing failed, or `path` is a directory,
 *     device, pipe or socket; INVALID_ARGUMENT: the path or the data is missing.
 */
MTS_API mts_status mtsc_file_write(const char *path, const void *data, size_t size,
                                   const mtsc_options *options);

/* An operator of a model format that models may have. */
typedef struct mtsc_operator {
    /* sizeof(mtsc_operator), set by the caller. */
    size_t size;
    /* "ONNX" or "TensorFlow Lite". Strings live as long as the program. */
    const char *format;
    /* The operator as the format calls it. */
    const char *name;
    /* ONNX: the first and the last opset in which it is known. TensorFlow Lite: both are its number
       in the schema. Number 32 marks an operator of MediaPipe. */
    uint32_t first, last;
} mtsc_operator;

/*
 * Tells which operators models may have. An operator may be refused all the same, for example with
 * an operand that has to be a constant; the message of mtsc_compiler_add says so.
 *
 * @param index 0 for the first operator.
 * @param out written on success.
 * @return OK; NOT_FOUND: `index` is not below the number of operators; INVALID_ARGUMENT: `out` is
 *     NULL or its size is not known.
 */
MTS_API mts_status mtsc_operator_at(uint32_t index, mtsc_operator *out);

/* An architecture of mtsc_synth. */
typedef enum mtsc_arch {
    MTSC_ARCH_RESNET18 = 0,
    MTSC_ARCH_RESNET50 = 1,
    MTSC_ARCH_VGG16 = 2,
    /* Transformers. BERT reads int64 numbers of tokens, 0..1023, [batch, input]. */
    MTSC_ARCH_BERT_SMALL = 3,
    MTSC_ARCH_BERT_BASE = 4,
    MTSC_ARCH_VIT_TINY = 5,
    /* ResNeXt50 of 32 convolution groups of 4 channels; pruned widths are multiples of 32. */
    MTSC_ARCH_RESNEXT50 = 6,
    /* XLNet (base); tokens as for BERT. */
    MTSC_ARCH_XLNET_BASE = 7,
    /* MobileViT-S; rows and columns of the image are multiples of 64. */
    MTSC_ARCH_MOBILEVIT = 8
} mtsc_arch;

/*
 * Describes networks with random weights and given ratios of pruning and sharing. The papers were
 * evaluated with such networks.
 *
 * Ownership: the caller's; mtsc_synth only reads it.
 */
typedef struct mtsc_synth_options {
    /* sizeof(mtsc_synth_options). */
    size_t size;
    /* Default: MTSC_ARCH_RESNET18. */
    mtsc_arch arch;
    /* 1..1024 tasks, named t0, t1, ...; default 8. */
    uint32_t tasks;
    /* Pruning ratios, 0..0.999; task i has prune[i % prune_count]. NULL (default): 0 for all. A
       layer keeps round((1 - ratio) * width) of its channels, at least 1; transformers round it up to
       a multiple of their heads, ResNeXt of its convolution groups. */
    const double *prune;
    uint32_t prune_count;
    /* Part of a layer's channels that is shared, 0..1; default 0.9. It is counted in the narrowest
       task, and rounded to whole channels. */
    double share;
    /* Rows and columns of the image, 32..4096 pixels, or the number of tokens; default 224. */
    uint32_t input;
    /* Batches, 1..256; task i has batch[i % batch_count]. NULL (default): 1 for all. */
    const uint32_t *batch;
    uint32_t batch_count;
    /* Outputs of each classifier, 1..1000000; default 10. */
    uint32_t classes;
    /* Seed of the random numbers; default 1. Equal options give equal bundles. */
    uint64_t seed;
} mtsc_synth_options;

/*
 * Sets the size and every default.
 *
 * @param options written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsc_synth_options_default_sized(mtsc_synth_options *options, size_t size);
/* mtsc_synth_options_default_sized with the size that the struct has in this header. */
#define mtsc_synth_options_default(options)                                                                  \
    mtsc_synth_options_default_sized((options), sizeof(mtsc_synth_options))

/*
 * Writes a bundle of networks with random weights. Layers share weights as MTSZ_FORM_UXYZ says
 * (mtsz.h). Each task has its own scales, biases and classifier. Tasks of batch 1 take frames.
 *
 * @param synth the networks; see mtsc_synth_options.
 * @param path of the bundle to write, see mtsc_file_write.
 * @param options NULL: the defaults.
 * @param summary written on success; NULL: not wanted.
 * @return OK; INVALID_ARGUMENT: an option is out of its range; LIMIT: more weights than a bundle
 *     holds; IO or NOT_FOUND: see mtsc_file_write; CANCELLED: by `progress`.
 */
MTS_API mts_status mtsc_synth(const mtsc_synth_options *synth, const char *path, const mtsc_options *options,
                              mtsc_summary *summary);

#ifdef __cplusplus
}
#endif

#endif
