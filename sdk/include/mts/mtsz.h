/*
 * mtsz.h: compression of bundles (host only): makes tasks share weights (zip), removes channels
 * (prune), splits a classifier into small networks (split), and trains a new task on a frozen one
 * (train). Each function reads a bundle and writes another one.
 *
 * The conventions of mtsc.h hold here too, and so do mtsc_options and mtsc_summary. A program that
 * uses this library links libmtsz, and libmtsc for mtsc_options_default.
 *
 * Thread-safety: calls are independent of each other, unless they share options or data. While a
 * call runs, it uses several threads of its own.
 */
#ifndef MTS_MTSZ_H
#define MTS_MTSZ_H

#include "mts/mtsc.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Images to calibrate with, or to train with. Labels are in the options of mtsz_train, which needs
 * them, and of mtsz_split.
 *
 * The library calls a callback with index < count, in any order, and possibly more than once for an
 * index. If a callback cannot provide the image, it returns a number other than 0. The function
 * then fails with IO, and the sentence names the index.
 *
 * Ownership: the caller's. Context and callbacks must stay valid until the function returns.
 * Thread-safety: one thread at a time calls the callbacks. It is not always the same thread.
 */
typedef struct mtsz_data {
    /* sizeof(mtsz_data). */
    size_t size;
    /* Number of images. */
    uint32_t count;
    /* First argument of the callbacks. */
    void *context;
    /* Instead of `frame`, for callers that resize themselves: writes an image as height * width
       pixels of 3 bytes (R, G, B), row by row without gaps, which is all that the input shows. Sides
       of the input are 16384 pixels at most. NULL (default): there are no images, unless `frame`
       gives them. */
    int (*image)(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb);
    /* For tasks that take no frames: writes input number `input` of a task, `count` finite numbers,
       row-major in the shape of that input. NULL (default): there are no tensors. */
    int (*tensor)(void *context, uint32_t index, const char *task, uint32_t input, float *out, size_t count);
    /* For tasks that take frames: describes an image of any size. `frame` comes as
       mts_frame_default makes it; the callback sets data, width, height and format, and the rest
       where it differs. The memory is of kind HOST and stays unchanged until a callback is called
       again. The image becomes the input as in a session: with the task's crop, fit, bars and
       filter where the frame's region does not say otherwise. NULL (default): `image` is called. */
    int (*frame)(void *context, uint32_t index, mts_frame *frame);
} mtsz_data;

/*
 * Sets the size, and no images.
 *
 * @param data written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsz_data_default_sized(mtsz_data *data, size_t size);
/* mtsz_data_default_sized with the size that the struct has in this header. */
#define mtsz_data_default(data) mtsz_data_default_sized((data), sizeof(mtsz_data))

/* ---- zip ---- */

/* Which weights of a shared channel the tasks have in common. */
typedef enum mtsz_form {
    /* All weights of the channel's filter (default). */
    MTSZ_FORM_FILTERS = 0,
    /* The weights that read shared channels. Those that read a task's private channels stay
       private. */
    MTSZ_FORM_UXYZ = 1,
    /* One weight for all channels, and for each task the product of two thin matrices that is added
       to it. Chosen by a search only, see mtsz_zip_options.max_loss. */
    MTSZ_FORM_LOW_RANK = 2,
    /* Nothing is shared. Reported only. */
    MTSZ_FORM_NONE = 3
} mtsz_form;

/* How the channels of two tasks are paired. */
typedef enum mtsz_assignment {
    /* The pairs with the least total difference (default). */
    MTSZ_ASSIGNMENT_OPTIMAL = 0,
    /* The pair with the smallest difference first, then the next pair, and so on, as MTZ's authors
       do. */
    MTSZ_ASSIGNMENT_GREEDY = 1
} mtsz_assignment;

/*
 * What zipping did to a layer.
 *
 * Ownership: the library's. The struct and its strings are valid until the callback returns.
 */
typedef struct mtsz_zip_layer {
    /* sizeof(mtsz_zip_layer), set by the library. */
    size_t size;
    /* Name of the layer in the first task. */
    const char *name;
    /* Channels of the layer in each task, and how many of them are shared. `shared` is 0 if the
       layer was rolled back, or the tasks have nothing in common in it. */
    uint32_t channels, shared;
    /* Percentage of changed answers of the task that changed most, see mtsz_zip_options.max_change.
       For a layer that was rolled back, it is the percentage before the roll-back. */
    double change;
    /* Name of the task that changed most. */
    const char *task;
    /* 1: sharing the layer changed too many answers, so it stays private. */
    int rolled_back;
    /* Estimated seconds to the end of zipping, without re-training; 0 with low_rank. */
    double seconds_left;
    /* With mtsz_zip_options.low_rank: the largest rank of a difference, which is that of `task`,
       and the largest relative error that stays, of any task; for a layer that was rolled back,
       the rank that was tried and what it leaves. 0 otherwise. */
    uint32_t rank;
    double deviation;
    /* The rest is 0 and NULL except under max_loss or bytes. There, `change` is that of the layers
       up to this one together, `shared` is the largest of the layer's groups of tasks, and `rank`
       the largest of a difference. */
    /* Points of accuracy that the search expects the layer to cost, mean of the tasks, and bytes of
       weights that it saves. */
    double loss;
    uint64_t bytes_saved;
    /* What the tasks have in common (FILTERS, LOW_RANK or NONE), and how many groups of tasks
       share. */
    mtsz_form form;
    uint32_t parts;
    /* Names of the tasks that share, groups apart by "|": "a+b|c+d". */
    const char *tasks;
} mtsz_zip_layer;

/*
 * A plan that the search under max_loss or bytes has looked at.
 *
 * Ownership: the library's. The struct is valid until the callback returns.
 */
typedef struct mtsz_zip_trial {
    /* sizeof(mtsz_zip_trial), set by the library. */
    size_t size;
    /* Bytes of weights as a part of what the tasks have without sharing anything, and points of
       accuracy that are expected to be lost, mean of the tasks. */
    double bytes, loss;
    /* 1: only predicted, from layers shared one at a time. 0: carried out and measured as a whole. */
    int predicted;
    /* 1: measured, and within the limit. The smallest of these is written. */
    int within;
} mtsz_zip_trial;

/*
 * Which tasks and layers share how much. docs/ZIP.md explains the method.
 *
 * Ownership: the caller's. Lists and context must stay valid until mtsz_zip returns.
 */
typedef struct mtsz_zip_options {
    /* sizeof(mtsz_zip_options). */
    size_t size;
    /* Names of 2 to 64 tasks to zip; NULL (default): all tasks. Other tasks are copied
       unchanged. */
    const char *const *tasks;
    uint32_t task_count;
    /* Part of the channels of each layer that is shared, 0..1; default 0.9. */
    double share;
    /* Default: MTSZ_FORM_FILTERS. */
    mtsz_form form;
    /* Default: MTSZ_ASSIGNMENT_OPTIMAL. */
    mtsz_assignment assignment;
    /* The number of shared channels is a multiple of this, or all channels are shared. Default: 4,
       the length of the vectors that kernels use. */
    uint32_t round;
    /* Only layers whose name begins with one of these prefixes are shared; NULL (default): all
       layers. Other layers stay private (docs/ZIP.md, "Private layers"). */
    const char *const *layers;
    uint32_t layer_count;
    /* Names of those `tasks` whose weights keep every bit. The other tasks take over the filters of
       these. One at most with low_rank, max_loss or bytes. NULL (default): none. */
    const char *const *base;
    uint32_t base_count;
    /* A layer stays private if sharing it would change more than this percentage of the answers of
       any task, 0..100. Default: 100, no limit. docs/ZIP.md ("The gate") says what an answer is,
       and how much of the limit each layer may use. */
    double max_change;
    /* Seconds of training after zipping. All tasks but those of `base` learn to answer as before.
       Default: 0, no training. */
    double retrain_seconds;
    /* Seed of the random numbers; default 1. Equal options and data give equal bundles on one
       machine, except with re-training, which depends on time. */
    uint64_t seed;
    /* First argument of `layer`. */
    void *context;
    /* Called after each layer; NULL (default): not called. */
    void (*layer)(void *context, const mtsz_zip_layer *layer);
    /* Above 0: instead of sharing channels, weights of a layer that differ by a matrix of low rank,
       such as by adapters (LoRA) that were merged into them, become one common weight and two small
       ones for each task. This is the largest relative error (Frobenius norm) that a weight may get
       by it, below 1. Default: 0. share, form, assignment, round and seed are not used, there is no
       re-training, `base` names one task at most, whose weights keep every bit, and max_change is a
       limit of the whole. docs/ZIP.md ("Adapters that were merged"). */
    double low_rank;
    /* With low_rank: the largest rank of a difference; never more than the default. Default: 0, so
       that the two small matrices have at most half of the numbers of the weight. */
    uint32_t max_rank;
    /* Above 0: a limit instead of a ratio. For each layer, the groups of tasks that share, the form
       and the ratio are chosen so that the bundle becomes small, and the tasks are expected to lose
       no more than this many points of accuracy, 100 at most, in the mean, and none more than three
       times as much. The expectation needs no labels; docs/ZIP.md ("A limit") says what it is worth.
       share is not used, form has to be FILTERS, low_rank and retrain_seconds 0, max_change 100.
       Default: 0. */
    double max_loss;
    /* Above 0: the same, with a limit of bytes: in the bundle that is written the weights of all tasks
       take this part, 1 at most, of what they take without sharing anything. Not together with
       max_loss. Default: 0. */
    double bytes;
    /* Called for each plan of the search, with `context`; NULL (default): not called. */
    void (*trial)(void *context, const mtsz_zip_trial *trial);
    /* Forms that the search may choose: bits 1 << MTSZ_FORM_FILTERS and 1 << MTSZ_FORM_LOW_RANK.
       Default: 0, both. LOW_RANK includes one weight without any difference, which is told as
       FILTERS of all channels. */
    uint32_t forms;
} mtsz_zip_options;

/* What zipping did. */
typedef struct mtsz_zip_report {
    /* sizeof(mtsz_zip_report), set by the caller. */
    size_t size;
    /* Summary of the bundle that was written. */
    mtsc_summary summary;
    /* Numbers of layers that can be shared, that are shared, and that were rolled back. */
    uint32_t layers, zipped, rolled_back;
    /* Fraction of the weights of a task's layers that lies in blocks of all tasks; mean over the
       tasks. */
    double shared_weights;
    /* Percentage of answers that changed on the data: mean of the tasks, and that of the worst
       task. Both -1 if there was no data (low_rank only). */
    double change, change_worst;
    /* Seconds that zipping took, and those that re-training took. */
    double zip_seconds, retrain_seconds;
    /* Loss at the beginning of re-training, and at its end. */
    double loss_first, loss_last;
    /* 1: the result of re-training was kept, because it changes no more answers than zipping
       alone. */
    int retrained;
    /* With mtsz_zip_options.low_rank: the largest relative error of a weight; 0 otherwise. And the
       largest rank of a difference, under max_loss or bytes too; 0: there is none. */
    double deviation;
    uint32_t rank;
    /* With max_loss or bytes: points of accuracy that are expected to be lost on the images that were
       held out, mean of the tasks and of the worst task; bytes of the weights of all tasks of the
       bundle, read without sharing anything (summary.weights_bytes_unshared counts what differences
       of low rank add); plans that were carried out, and tasks that were zipped. 0 otherwise. */
    double loss, loss_worst;
    uint64_t bytes_before;
    uint32_t trials, tasks;
} mtsz_zip_report;

/*
 * Sets the size and every default.
 *
 * @param options written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsz_zip_options_default_sized(mtsz_zip_options *options, size_t size);
/* mtsz_zip_options_default_sized with the size that the struct has in this header. */
#define mtsz_zip_options_default(options) mtsz_zip_options_default_sized((options), sizeof(mtsz_zip_options))

/*
 * Makes the tasks of a bundle share weights by multi-task zipping (MTZ, NeurIPS 2018; docs/ZIP.md).
 *
 * @param bundle_path of the bundle to read.
 * @param data images to calibrate with. May be NULL with mtsz_zip_options.low_rank.
 * @param zip NULL: the defaults.
 * @param out_path of the bundle to write, another file than bundle_path, see mtsc_file_write. A
 *     failure writes nothing.
 * @param options NULL: the defaults.
 * @param report written on success; NULL: not wanted.
 * @return OK; INVALID_ARGUMENT: an option is out of its range, the tasks do not align (the sentence
 *     names the first layer that does not), the data does not fit a task, or statistics are
 *     singular; LIMIT: no layer passes max_change, no difference has a low rank, or no plan keeps
 *     max_loss or bytes; UNSUPPORTED: an
 *     operator that cannot be calibrated; NOT_FOUND: no such task or folder; IO: a bundle or an image
 *     cannot be read or written; MALFORMED: it is no bundle; CANCELLED: by `progress`.
 */
MTS_API mts_status mtsz_zip(const char *bundle_path, const mtsz_data *data, const mtsz_zip_options *zip,
                            const char *out_path, const mtsc_options *options, mtsz_zip_report *report);

/* ---- prune ---- */

/* What makes a channel important. */
typedef enum mtsz_criterion {
    /* The sum of its absolute weights (default of pruning). */
    MTSZ_CRITERION_L1 = 0,
    /* The part of its activations that is not zero. */
    MTSZ_CRITERION_APOZ = 1,
    /* Its mean activation. */
    MTSZ_CRITERION_AVG = 2,
    /* A large mean activation, or many large activations (sensAI, Eq. 1 and 2; docs/PRUNE.md). */
    MTSZ_CRITERION_HYBRID = 3
} mtsz_criterion;

/* The quantity of which mtsz_prune_options.ratio is a fraction. */
typedef enum mtsz_target {
    /* The channels of each layer (default). Layers whose channels are coupled count as one
       layer. */
    MTSZ_TARGET_LAYER = 0,
    /* All channels of a network. The least important ones are removed first, in whatever layer. */
    MTSZ_TARGET_GLOBAL = 1,
    /* The multiply-adds. */
    MTSZ_TARGET_FLOPS = 2,
    /* The bytes of the weights. */
    MTSZ_TARGET_BYTES = 3
} mtsz_target;

/*
 * Which channels are removed. docs/PRUNE.md explains the method.
 *
 * Ownership: the caller's. The list must stay valid until mtsz_prune returns.
 */
typedef struct mtsz_prune_options {
    /* sizeof(mtsz_prune_options). */
    size_t size;
    /* Names of the tasks to prune; NULL (default): all tasks. Other tasks are copied unchanged. */
    const char *const *tasks;
    uint32_t task_count;
    /* Default: MTSZ_CRITERION_L1. */
    mtsz_criterion criterion;
    /* Default: MTSZ_TARGET_LAYER. */
    mtsz_target target;
    /* Part that is removed, 0..0.99; default 0.5. */
    double ratio;
    /* The number of channels that a layer keeps is a multiple of this; default 1. Layers with fewer
       channels are not rounded. */
    uint32_t round;
    /* 1 (default): the weights of layers that read removed channels are fitted by least squares, so
       that the layers compute nearly what they did before. 0: weights stay as they are. */
    int refit;
    /* 1: aligned tasks lose the same channels, so they still share weights. The mean of the
       channels' importance decides. 0 (default): each task is pruned alone. */
    int together;
} mtsz_prune_options;

/* What pruning did. The summary is that of the bundle; all other numbers are of the pruned tasks
   only. */
typedef struct mtsz_prune_report {
    /* sizeof(mtsz_prune_report), set by the caller. */
    size_t size;
    /* Summary of the bundle that was written. */
    mtsc_summary summary;
    /* Number of channels that could be removed, and how many of them were kept. */
    uint64_t channels, channels_kept;
    /* Multiply-adds before and after pruning; bytes of weights before and after. */
    uint64_t mul_adds, mul_adds_kept, weights_bytes, weights_bytes_kept;
} mtsz_prune_report;

/*
 * Sets the size and every default.
 *
 * @param options written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsz_prune_options_default_sized(mtsz_prune_options *options, size_t size);
/* mtsz_prune_options_default_sized with the size that the struct has in this header. */
#define mtsz_prune_options_default(options)                                                                  \
    mtsz_prune_options_default_sized((options), sizeof(mtsz_prune_options))

/*
 * Removes channels of tasks, together with all weights that belong to them (docs/PRUNE.md).
 *
 * @param bundle_path of the bundle to read.
 * @param data images to calibrate with. May be NULL for MTSZ_CRITERION_L1 without refit.
 * @param prune NULL: the defaults.
 * @param out_path of the bundle to write, another file than bundle_path, see mtsc_file_write. A
 *     failure writes nothing.
 * @param options NULL: the defaults.
 * @param report written on success; NULL: not wanted.
 * @return OK; INVALID_ARGUMENT: an option is out of its range, a task has no channel that can be
 *     removed, the ratio is too small or too large for the tasks, the data does not fit a task, or
 *     statistics are singular; UNSUPPORTED: an operator that cannot be calibrated; NOT_FOUND: no
 *     such task or folder; IO: a bundle or an image cannot be read or written; MALFORMED: it is no
 *     bundle; CANCELLED: by `progress`.
 */
MTS_API mts_status mtsz_prune(const char *bundle_path, const mtsz_data *data, const mtsz_prune_options *prune,
                              const char *out_path, const mtsc_options *options, mtsz_prune_report *report);

/* ---- split ---- */

/* Which classes come into one group. */
typedef enum mtsz_grouping {
    /* Classes whose images look alike to the network (default). */
    MTSZ_GROUPING_FEATURES = 0,
    /* Any, by the seed: to compare with. */
    MTSZ_GROUPING_RANDOM = 1
} mtsz_grouping;

/*
 * Which classifier is split, and how. docs/SPLIT.md explains the method.
 *
 * Ownership: the caller's. The name must stay valid until mtsz_split returns.
 */
typedef struct mtsz_split_options {
    /* sizeof(mtsz_split_options). */
    size_t size;
    /* Name of the task, a classifier; there is no default. */
    const char *task;
    /* Number of subnets, 2 to the number of classes; default 2. */
    uint32_t groups;
    /* Part of the multiply-adds behind the trunk that each subnet loses, 0..0.99; default 0.5. */
    double ratio;
    /* Default: MTSZ_CRITERION_HYBRID. */
    mtsz_criterion criterion;
    /* Seconds of training for each subnet; default 0: no training. */
    double retrain_seconds;
    /* Seed of the random numbers; default 1. */
    uint64_t seed;
    /* The first layers, with up to this part of the multiply-adds, are the trunk; 0..0.99, default
       0. They stay as they are. All subnets have them in common, so they are computed once. */
    double trunk;
    /* 1: the whole classifier stays in the bundle too; 0 (default): it does not. */
    int keep;
    /* Class of each image of the data, of the task's: subnets learn these beside what the whole
       network answers. NULL (default): labels are not used. */
    const uint32_t *labels;
    uint32_t label_count;
    /* Default: MTSZ_GROUPING_FEATURES. */
    mtsz_grouping grouping;
    /* 1: the threshold of MTSZ_CRITERION_HYBRID is searched for each group, on images that are held
       out meanwhile (docs/SPLIT.md); 0 (default): it is that of pruning. */
    int search;
} mtsz_split_options;

/* What splitting did. */
typedef struct mtsz_split_report {
    /* sizeof(mtsz_split_report), set by the caller. */
    size_t size;
    /* Summary of the bundle that was written. */
    mtsc_summary summary;
    /* Multiply-adds of the whole classifier, and of all subnets together. */
    uint64_t mul_adds, mul_adds_groups;
    /* Percentage of images for which the subnets together give another answer than the
       classifier. */
    double change;
} mtsz_split_report;

/*
 * Sets the size and every default.
 *
 * @param options written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsz_split_options_default_sized(mtsz_split_options *options, size_t size);
/* mtsz_split_options_default_sized with the size that the struct has in this header. */
#define mtsz_split_options_default(options)                                                                  \
    mtsz_split_options_default_sized((options), sizeof(mtsz_split_options))

/*
 * Splits a classifier into K subnets. Each of them knows one group of the classes (sensAI, MLSys
 * 2021; docs/SPLIT.md). The subnets are tasks NAME.1ofK to NAME.KofK with labels and class_map. The
 * last label of each subnet is "none of these".
 *
 * @param bundle_path of the bundle to read.
 * @param data images to calibrate with.
 * @param split may not be NULL, because it names the task.
 * @param out_path of the bundle to write, another file than bundle_path, see mtsc_file_write. A
 *     failure writes nothing.
 * @param options NULL: the defaults.
 * @param report written on success; NULL: not wanted.
 * @return OK; INVALID_ARGUMENT: an option is out of its range, a subnet's name is taken, the data
 *     does not fit the task, or statistics are singular; UNSUPPORTED: the task is no classifier
 *     with a last fully connected layer, or has an operator that cannot be calibrated; NOT_FOUND:
 *     no such task or folder; IO: a bundle or an image cannot be read or written; MALFORMED: it is
 *     no bundle; CANCELLED: by `progress`.
 */
MTS_API mts_status mtsz_split(const char *bundle_path, const mtsz_data *data, const mtsz_split_options *split,
                              const char *out_path, const mtsc_options *options, mtsz_split_report *report);

/* ---- train ---- */

/* Which part of the base task's network a new task has for itself. The rest is frozen: it keeps
   every bit, is stored once and is computed once for both tasks. */
typedef enum mtsz_train_method {
    /* The last fully connected layer (default). */
    MTSZ_TRAIN_HEAD = 0,
    /* That, and two small matrices beside each convolution of the last blocks (LoRA). */
    MTSZ_TRAIN_LOW_RANK = 1,
    /* That, and all weights of the last blocks. */
    MTSZ_TRAIN_LAST_BLOCKS = 2,
    /* Everything: full fine-tuning of a copy, which shares nothing. To compare with. */
    MTSZ_TRAIN_ALL = 3
} mtsz_train_method;

/* One of several trainings that run together. */
typedef struct mtsz_train_candidate {
    /* Highest learning rate of Adam, relative to the size of the numbers that it changes; above 0,
       1 at most. */
    double rate;
    /* Weight decay (decoupled, as in AdamW): a step takes rate * decay of a weight; 0..10. */
    double decay;
    /* Seed of the weights at the start. */
    uint64_t seed;
} mtsz_train_candidate;

/*
 * How the training of a candidate went.
 *
 * Ownership: the library's. The struct is valid until the callback returns.
 */
typedef struct mtsz_train_result {
    /* sizeof(mtsz_train_result), set by the library. */
    size_t size;
    /* Its number, 0.., and what it was trained with. */
    uint32_t number;
    double rate, decay;
    uint64_t seed;
    /* Percentage of right answers to the held-out images, and the mean cross-entropy there, at the
       epoch `best`. */
    double accuracy, loss;
    /* Epochs that were trained, and the one whose weights are kept: 0 is the start. */
    uint32_t epochs, best;
} mtsz_train_result;

/*
 * Which task is trained, and how. docs/TRAIN.md explains the method.
 *
 * Ownership: the caller's. Lists, strings and context must stay valid until mtsz_train returns.
 */
typedef struct mtsz_train_options {
    /* sizeof(mtsz_train_options). */
    size_t size;
    /* Name of the new task; there is no default. */
    const char *task;
    /* Name of the task whose network the new one grows from, a classifier. NULL (default): the only
       task of the bundle that is one; where there are several, the one whose features tell the
       classes apart best, by a quick training on a part of the images. */
    const char *base;
    /* Class of each image of the data, 0..class_count - 1; there is no default. */
    const uint32_t *labels;
    uint32_t label_count;
    /* Names of the classes, which become the task's labels; 2 to 4096, no default. Each class needs
       two images at least. */
    const char *const *class_names;
    uint32_t class_count;
    /* For `mts eval`: the task's label of each class of a data set. NULL (default): the task has
       none. */
    const uint32_t *class_map;
    uint32_t class_map_count;
    /* Default: MTSZ_TRAIN_HEAD. */
    mtsz_train_method method;
    /* Blocks at the end that LOW_RANK and LAST_BLOCKS train; 1..1000, default 1. A block ends where
       one value alone goes on to the rest of the network, and has a convolution. */
    uint32_t blocks;
    /* Rank of the matrices of LOW_RANK; 1..64, default 2. */
    uint32_t rank;
    /* Candidates that are trained together; the best one becomes the task. 1..256, default 8. One:
       `rate`, `decay` and `seed` as they are. Several: rates from a quarter to four times `rate`,
       decays from none to four times `decay`, and seeds from `seed` on. */
    uint32_t candidate_count;
    /* NULL (default): candidates as above. */
    const mtsz_train_candidate *candidates;
    /* See mtsz_train_candidate. Default: 0 and -1, which stand for the method's own. */
    double rate, decay;
    /* Most rounds over the images, 1..10000; default 0: the method's own (40 or 12). Rates fall to
       nothing along a cosine until then. */
    uint32_t epochs;
    /* A candidate that has not got better for so many epochs stops; 0: never. Default: 10. */
    uint32_t patience;
    /* Images of a step, 1..4096; default 64. */
    uint32_t batch;
    /* Part of the images of each class that is held out to choose by, above 0 to 0.9; default 0.2. */
    double held_out;
    /* Forms of each image that are trained with, 1..16: the image, its mirror image, and both moved
       by some pixels. Tasks that take tensors have one. Default: 2. */
    uint32_t forms;
    /* Seed of what is held out, of the order of the images, and of the weights of the first
       candidate; default 1. Equal options and data give equal bundles on one machine. */
    uint64_t seed;
    /* File that holds the training so far; it is written after epochs, at most once a second, and at
       the end. If it is there, training goes on from it, and ends with the bits that an undisturbed
       training has. NULL (default): none. */
    const char *checkpoint;
    /* First argument of `result`. */
    void *context;
    /* Called for each candidate at the end; NULL (default): not called. */
    void (*result)(void *context, const mtsz_train_result *result);
} mtsz_train_options;

/* What training did. */
typedef struct mtsz_train_report {
    /* sizeof(mtsz_train_report), set by the caller. */
    size_t size;
    /* Summary of the bundle that was written. */
    mtsc_summary summary;
    /* Number of the candidate that became the task, and its accuracy and loss on held-out images,
       see mtsz_train_result. */
    uint32_t best;
    double accuracy, loss;
    /* Images that were trained with, and that were held out. */
    uint32_t images, held_out;
    /* Nodes of the new task that it has in common with its base, and all its nodes. */
    uint32_t nodes_common, nodes;
    /* Bytes of weights that the new task adds, and those of its base. */
    uint64_t bytes_added, bytes_base;
    /* Seconds of the frozen part, once for all candidates, and of training. */
    double frozen_seconds, train_seconds;
    /* Epoch of the checkpoint that training went on from; 0: from the start. */
    uint32_t resumed;
} mtsz_train_report;

/*
 * Sets the size and every default.
 *
 * @param options written; NULL is accepted.
 * @param size of the struct in the caller's header; no byte behind it is written
 */
MTS_API void mtsz_train_options_default_sized(mtsz_train_options *options, size_t size);
/* mtsz_train_options_default_sized with the size that the struct has in this header. */
#define mtsz_train_options_default(options)                                                                  \
    mtsz_train_options_default_sized((options), sizeof(mtsz_train_options))

/*
 * Trains a new task from labelled images on the frozen network of a task of a bundle (docs/TRAIN.md).
 * The bundle that is written has all tasks as they were, and the new one behind them. The new task
 * takes what its base takes, and its one output is a score for each class, behind a softmax where the
 * base has one.
 *
 * @param bundle_path of the bundle to read.
 * @param data images to train with.
 * @param train may not be NULL, because it names the task and has the labels.
 * @param out_path of the bundle to write, another file than bundle_path, see mtsc_file_write. A
 *     failure writes nothing.
 * @param options NULL: the defaults.
 * @param report written on success; NULL: not wanted.
 * @return OK; INVALID_ARGUMENT: an option is out of its range, the name is taken, a label is no class,
 *     a class has less than two images, the data does not fit the base, the checkpoint is of another
 *     training, or no candidate ends in finite numbers; UNSUPPORTED: the base is no classifier with a
 *     last fully connected layer, or has an operator that cannot be run or trained here; LIMIT: what
 *     the frozen part computes of the images is larger than 4 GB; NOT_FOUND: no such task or folder;
 *     IO: a bundle, an image or the checkpoint cannot be read or written; MALFORMED: it is no bundle,
 *     or no checkpoint; CANCELLED: by `progress`.
 */
MTS_API mts_status mtsz_train(const char *bundle_path, const mtsz_data *data, const mtsz_train_options *train,
                              const char *out_path, const mtsc_options *options, mtsz_train_report *report);

#ifdef __cplusplus
}
#endif

#endif
