/*
 * open.h: a device and a bundle ready for a subcommand, with one place for the sentence
 * of a failure.
 */
#ifndef MTS_KIT_OPEN_H
#define MTS_KIT_OPEN_H

#include "args.h"
#include "files.h"
#include "mts/mts.h"
#include "precision.h"
#include "progress.h"
#include "strategy.h"

typedef struct cli_open {
    mts_runtime *runtime;
    mts_bundle *bundle;
    mts_session *session;
    char *task_names; /* the copy that `tasks` points into */
    mts_precision precision;
    cli_list tasks; /* named with --tasks; empty: all */
    char error[CLI_ERROR];
} cli_open;

typedef struct cli_open_options {
    const char *device;    /* id or number in the list; NULL: auto */
    const char *devices;   /* several, "a,b", in place of one; or NULL */
    const char *placement; /* "auto", "stages" or "groups"; NULL: auto */
    const char *tasks;     /* "a,b" or NULL */
    const char *strategy;  /* NULL: compact */
    const char *precision; /* NULL: float32 */
    bool check, no_cache, json;
    bool separate_inputs;                      /* a frame per task */
    bool zero_copy_inputs;                     /* read where the program has them */
    bool persistent;                           /* a frame as few persistent launches */
    bool packed_channels;                      /* four channels side by side */
    bool planes;                               /* one channel after the other */
    bool images, no_images;                    /* of weights */
    mts_grouping grouping;                     /* FAMILY if not set */
    uint64_t memory_budget;                    /* bytes that the session may take, 0: any */
    uint32_t tuning_ms;                        /* for measuring kernels, 0: none */
    const char *priorities;                    /* "a=2,b=1" or NULL */
    mts_use replay;                            /* AUTO if not set */
    bool gemm;                                 /* let --tune try a library's matrix products */
    uint32_t flush_launches, frames_in_flight; /* as in mts.h; 0: its defaults */
    uint32_t threads;                          /* likewise */
    const char *queue;                         /* name of an mts_queue_mode; NULL: the driver's */
    mts_when_full when_full;
    void *context; /* handed to done, which takes the place of the progress bar */
    void (*done)(void *context, mts_ticket ticket, mts_status status);
    /* In a process of others: the log goes here in place of standard error, and the process's
       environment stays as it is. NULL: it is our own. */
    void (*log)(void *context, mts_log_severity severity, const char *text);
    void *log_context;
} cli_open_options;

/* Rows of an option table for the device and the session, and for what else
   cli_open_options holds. */
#define CLI_OPEN_QUEUE(o)                                                                                    \
    {                                                                                                        \
        "queue", 0, CLI_KIND_TEXT, &(o).queue, "MODE",                                                       \
            "hints for a phone's GPU: background, smooth or fast (default: none)", 0, 0                      \
    }
#define CLI_OPEN_DEVICES(o)                                                                                  \
    {"devices",                                                                                              \
     0,                                                                                                      \
     CLI_KIND_TEXT,                                                                                          \
     &(o).devices,                                                                                           \
     "A,B",                                                                                                  \
     "several devices, as opencl:0/0of2,opencl:0/1of2: each runs a part (docs/PLACEMENT.md)",                \
     0,                                                                                                      \
     0},                                                                                                     \
    {                                                                                                        \
        "placement", 0, CLI_KIND_TEXT, &(o).placement, "HOW",                                                \
            "with --devices: auto (default), stages or groups", 0, 0                                         \
    }
#define CLI_OPEN_SESSION(o)                                                                                   \
    {"device", 0, CLI_KIND_TEXT, &(o).device, "N|ID", "device, see 'mts devices' (default: auto)", 0, 0},     \
        {"strategy", 0, CLI_KIND_TEXT, &(o).strategy, "S", "compact (default), sequential, netfuse or dense", \
         0,          0},                                                                                      \
        {"precision",                                                                                         \
         0,                                                                                                   \
         CLI_KIND_TEXT,                                                                                       \
         &(o).precision,                                                                                      \
         "P",                                                                                                 \
         "auto (default), float32, float16-storage or float16",                                               \
         0,                                                                                                   \
         0},                                                                                                  \
        {"threads",                                                                                           \
         0,                                                                                                   \
         CLI_KIND_COUNT,                                                                                      \
         &(o).threads,                                                                                        \
         "N",                                                                                                 \
         "threads of device cpu (default: one each processor)",                                               \
         1,                                                                                                   \
         MTS_THREADS_MOST},                                                                                   \
        {"check", 0, CLI_KIND_FLAG, &(o).check, "", "watch the use of the device (slow)", 0, 0},              \
        CLI_OPEN_QUEUE(o), {"tune",                                                                           \
                            0,                                                                                \
                            CLI_KIND_COUNT,                                                                   \
                            &(o).tuning_ms,                                                                   \
                            "MS",                                                                             \
                            "measure kernels for this long (default: do not)",                                \
                            1,                                                                                \
                            1e9},                                                                             \
    {                                                                                                         \
        "no-cache", 0, CLI_KIND_FLAG, &(o).no_cache, "", "build kernels anew, keep none on disk", 0, 0        \
    }
#define CLI_OPEN_PERSISTENT(o)                                                                               \
    {                                                                                                        \
        "persistent", 0, CLI_KIND_FLAG, &(o).persistent, "",                                                 \
            "a frame as few persistent launches, where the device can", 0, 0                                 \
    }
#define CLI_OPEN_PACKED(o)                                                                                   \
    {                                                                                                        \
        "packed-channels", 0, CLI_KIND_FLAG, &(o).packed_channels, "",                                       \
            "convolutions of OpenCL and CUDA devices take four channels side by side", 0, 0                  \
    }
#define CLI_OPEN_LAYOUT(o)                                                                                   \
    CLI_OPEN_PACKED(o), {"planes", 0, CLI_KIND_FLAG, &(o).planes, "", "they never do", 0, 0},                \
        {"images", 0, CLI_KIND_FLAG, &(o).images, "", "OpenCL: they read weights through images", 0, 0},     \
    {                                                                                                        \
        "no-images", 0, CLI_KIND_FLAG, &(o).no_images, "", "they never do", 0, 0                             \
    }
#define CLI_OPEN_OPTIONS(o)                                                                                  \
    {"tasks", 0, CLI_KIND_TEXT, &(o).tasks, "A,B", "only these tasks (default: all)", 0, 0},                 \
        CLI_OPEN_SESSION(o), CLI_OPEN_DEVICES(o),                                                            \
        {"gemm", 0, CLI_KIND_FLAG, &(o).gemm, "", "let --tune try CLBlast for dense products", 0, 0},        \
        CLI_OPEN_PERSISTENT(o), CLI_OPEN_LAYOUT(o),                                                          \
    {                                                                                                        \
        "priority", 0, CLI_KIND_TEXT, &(o).priorities, "A=2,B=1",                                            \
            "tasks with higher numbers run first (default: 0)", 0, 0                                         \
    }

/* Names of the strategy and the precision. -1 to go on, else the exit status, with the
   message printed. */
int cli_open_check(const char *name, const cli_open_options *options, mts_strategy *strategy);
/*
 * cli_open_runtime is the first half of cli_open_bundle, for programs that open their
 * bundles themselves. All return -1 to go on, else the exit status, with the message
 * printed. `name` is the subcommand's. What is open is closed by cli_close in any case.
 */
int cli_open_runtime(cli_open *app, const char *name, const cli_open_options *options);
int cli_open_bundle(cli_open *app, const char *name, const cli_open_options *options, const char *path);
/* Makes app->session (a previous one is destroyed). */
int cli_open_session(cli_open *app, const char *name, const cli_open_options *options, mts_strategy strategy);
void cli_close(cli_open *app);

/* The value of --placement; false: there is none of that name. NULL: AUTO. */
bool cli_placement_find(const char *name, mts_placement *out);

/* Number of tasks that the session runs and the index-th of them in the bundle. */
uint32_t cli_task_count(const cli_open *app);
mts_task_desc cli_task(const cli_open *app, uint32_t index);

#endif
