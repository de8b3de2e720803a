/*
 * zip.h: what the steps of zipping (mtsz_zip, docs/ZIP.md) know; internal to this folder.
 *
 * Order of work: align the channels of all tasks (align.c); then row by row, from the
 * inputs on, gather statistics of original and zipped networks (stats.c), choose and fit
 * the shared filters (merge.c), and see what became of the answers (gate.c). Tasks are
 * numbered 0..count-1 here.
 */
#ifndef MTS_COMPRESS_ZIP_ZIP_H
#define MTS_COMPRESS_ZIP_ZIP_H

#include "compiler/models/options.h"
#include "compress/data/data.h"
#include "compress/net/net.h"
#include "compiler/passes/channels.h"
#include "compress/solve/gram.h"
#include "compress/zip/change.h"
#include "compress/zip/trace.h"
#include "graph/align.h"

#define MTS_ZIP_TASKS_MAX 64u
#define MTS_ZIP_UNKNOWNS_MAX 8192u /* of a filter; longer ones stay as they are */

/* A convolution that every task has. */
typedef struct mts_zip_row {
    const char *name;
    const uint32_t *nodes;                  /* [task] */
    uint32_t outputs, inputs, taps, groups; /* inputs: of one group */
    bool share;         /* may be shared; else each task's filters are only fitted to their changed inputs */
    bool done;          /* its parameters are new */
    bool fit;           /* short enough to be fitted, of as many groups in all tasks */
    uint64_t cost;      /* multiply-adds up to and with this row, of task 0 */
    uint32_t shared;    /* channels in common now, `channels[shared]`, ascending */
    uint32_t *channels; /* room for `outputs` */
    double lost;        /* part of its variance that the last fit left unexplained */
    uint32_t readable;  /* UXYZ: input channels in common, `reads`; FILTERS: all, reads is NULL */
    uint32_t *reads;
    bool reducible; /* its weights may become a common one and differences of low rank */
    uint32_t
        weight_bytes;   /* of a number of its weights, as they are stored: 2 where every task has float16 */
    uint32_t *class_of; /* [task][outputs]: the first task whose filter had the same bits; NULL: not known */
} mts_zip_row;

struct mts_zip_found; /* plan.h */

typedef struct mts_zip {
    const mts_allocator *allocator;
    const mtsc_options *compiler;
    const mtsz_zip_options *options;
    mts_error *error;
    mts_arena arena;
    uint32_t count; /* tasks */
    mts_task *tasks;
    const bool *frozen; /* [task] of the base */
    bool based;         /* some task is */
    uint32_t reference; /* task whose order of channels the others take */
    mts_data *data;
    uint32_t images, gate_images; /* all; those that the gate looks at */
    bool held_out;                /* every third image is for the gate alone, the others to fit to */

    mts_net *originals[MTS_ZIP_TASKS_MAX], *nets[MTS_ZIP_TASKS_MAX];
    mts_net_run *original_runs[MTS_ZIP_TASKS_MAX], *runs[MTS_ZIP_TASKS_MAX];
    uint32_t batch; /* of the runs */
    /* Of originals and of zipped networks, in front of the row whose statistics were gathered
       last, or of an earlier one. */
    mts_zip_trace traces[2][MTS_ZIP_TASKS_MAX];
    mts_zip_trace spares[2][MTS_ZIP_TASKS_MAX]; /* empty: the room of the next ones */
    uint32_t trace_images;                      /* 0: not known yet */
    bool alone; /* the networks before a row are the originals: `runs` are not run for statistics */

    uint32_t row_count;
    mts_zip_row *rows;     /* from the inputs on */
    mts_channels channels; /* of task 0 (after alignment: of every task) */
    bool **common;         /* UXYZ: [group][channel] in common, NULL: not decided yet */

    float *answers[MTS_ZIP_TASKS_MAX]; /* gate: outputs 0 of the originals, [gate_images][elements] */
    mts_change_form forms[MTS_ZIP_TASKS_MAX];
    double change[MTS_ZIP_TASKS_MAX]; /* percent, of the last look */
    double loss[MTS_ZIP_TASKS_MAX];   /* points that are expected by it (change.h) */
    double other_tasks_bytes;         /* weights of tasks that are not zipped */
    uint64_t bytes_all, bytes_zipped; /* that sharing every row would save; that it has saved */
    uint64_t started_ns, cost_done, cost_all;
    uint32_t zipped, rolled_back;

    /* Bytes of the weights of a bundle of all tasks, as `found` and `nets` are; of
       `stored_context`. */
    mts_status (*stored)(void *context, const struct mts_zip_found *found, double *bytes);
    void *stored_context;
} mts_zip;

/* Statistics of a row in one task. */
typedef struct mts_zip_stats {
    mts_gram gram; /* inputs of the zipped network, targets of the original one: covariances */
} mts_zip_stats;

/* options.c: why these options are refused, or NULL. */
const char *mts_zip_options_defect(const mtsz_zip_options *o, const mtsz_data *data);
/* Whether a limit is asked for in place of a ratio. */
bool mts_zip_limited(const mtsz_zip_options *o);

/* rows.c: finds the rows of the aligned tasks. INVALID_ARGUMENT names task and layer that
   do not align. */
mts_status mts_zip_rows_find(mts_zip *zip);
/* Channels of each row to be shared: options.share of `outputs`, rounded. */
uint32_t mts_zip_row_target(const mts_zip *zip, const mts_zip_row *row);
/*
 * Sums up in bytes_all what sharing every row as asked would save; after the channels are
 * known. INVALID_ARGUMENT: UXYZ, and no row writes channels that are free to be put into
 * order.
 */
mts_status mts_zip_rows_sum(mts_zip *zip);
/* Bytes that sharing `shared` channels of a row saves. */
uint64_t mts_zip_row_saving(const mts_zip *zip, const mts_zip_row *row, uint32_t shared);
/* UXYZ: lists the input channels in common of a row (reads). False if memory is short. */
bool mts_zip_row_reads(mts_zip *zip, mts_zip_row *row);
/* UXYZ: the channels that were chosen for the values that a row writes, or NULL: free to
   choose. */
bool **mts_zip_row_common(mts_zip *zip, const mts_zip_row *row);

/* The row's channels are each task's own again. */
void mts_zip_row_undo(mts_zip *zip, mts_zip_row *row);
/* Numbers in the weights of a graph's layers. */
double mts_zip_weights(const mts_graph *graph);
/* Bytes of a graph's constants. */
double mts_zip_bytes(const mts_graph *graph);

/* align.c: brings the channels of every task into the order of the reference's. Rewrites
 * the graphs of tasks.
 */
mts_status mts_zip_align(mts_zip *zip);

/* The image of the data that is number i of `count` to fit to, or of `count` to compare answers
   on; counts are at most those of mts_zip_images_fit and mts_zip_images_gate. */
uint32_t mts_zip_image_fit(const mts_zip *zip, uint32_t i, uint32_t count);
uint32_t mts_zip_image_gate(const mts_zip *zip, uint32_t i, uint32_t count);
uint32_t mts_zip_images_fit(const mts_zip *zip);
uint32_t mts_zip_images_gate(const mts_zip *zip);

/* stats.c: nets and runs of all tasks; statistics of a row, [task]. */
mts_status mts_zip_nets_create(mts_zip *zip);
void mts_zip_nets_destroy(mts_zip *zip);
mts_status mts_zip_stats_gather(mts_zip *zip, const mts_zip_row *row, mts_zip_stats *stats);
void mts_zip_stats_release(mts_zip *zip, mts_zip_stats *stats);
/* Forgets what the walk over the rows has computed: the next one begins in front. */
void mts_zip_traces_drop(mts_zip *zip);
/* Whether traces in front of a row fit into the memory set aside: of all tasks that are
   zipped, so many `networks` of each. */
bool mts_zip_traces_fit(const mts_zip *zip, const mts_zip_row *row, uint32_t networks, uint32_t images);
/* Images that traces hold. */
uint32_t mts_zip_trace_images(const mts_zip *zip);
/* Images that a row's statistics take of a task, at least. */
uint32_t mts_zip_stats_images(const mts_zip *zip, const mts_zip_row *row, uint32_t t);

/*
 * merge.c: fits a row with `shared` common channels (0: each task on its own) and writes
 * the filters, scales and biases into zip->nets. row->shared and row->channels receive
 * what is common. *unexplained: mean over channels and tasks of the part of a
 * pre-activation's variance that is lost.
 */
mts_status mts_zip_merge(mts_zip *zip, mts_zip_row *row, uint32_t shared, const mts_zip_stats *stats,
                         double *unexplained);

/* gate.c: remembers the answers of the originals; then: fills zip->change, *worst is a
   task. */
mts_status mts_zip_gate_open(mts_zip *zip);
mts_status mts_zip_gate_look(mts_zip *zip, uint32_t *worst);
/* Change over all images, mean and worst, in percent. */
mts_status mts_zip_gate_final(mts_zip *zip, double *mean, double *worst);

#endif
