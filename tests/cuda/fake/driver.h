/*
 * driver.h: the objects of the fake driver and what its files ask of each other.
 *
 * Private to tests/cuda/fake. Everything happens under the lock that fake_enter takes. Work given to a stream
 * waits in its queue until a call waits for the stream, as on a device that is slow, so that memory which is reused too
 * early is noticed. Asking for an event lets the device take one step.
 */
#ifndef MTS_TESTS_CUDA_FAKE_DRIVER_H
#define MTS_TESTS_CUDA_FAKE_DRIVER_H

#include "cuda/fake/core.h"

/* The functions must be what the backend takes them for. */
#define MTS_CU_REQUIRED(result, name, parameters) FAKE_API result name parameters;
#define MTS_CU_OPTIONAL(result, name, parameters) FAKE_API result name parameters;
#define MTS_RTC_REQUIRED(result, name, parameters) FAKE_API result name parameters;
#define MTS_RTC_OPTIONAL(result, name, parameters) FAKE_API result name parameters;
#include "platform/cuda/symbols.def"
#undef MTS_CU_REQUIRED
#undef MTS_CU_OPTIONAL
#undef MTS_RTC_REQUIRED
#undef MTS_RTC_OPTIONAL

typedef struct fake_three {
    unsigned int x, y, z;
} fake_three;

/* ---- memory.c ---- */

typedef struct fake_block {
    fake_object object;
    char *base;
    size_t size;
    char *map; /* of device memory: with the guards around it */
    size_t map_size;
} fake_block;

/* The block of that kind which has [p, p + size), or NULL. */
fake_block *fake_block_at(const void *p, size_t size, fake_kind kind);
/* Whether kernels may use an address: device memory, or host memory that the device was told of. */
bool fake_block_reaches(const void *p);
/* Reports blocks of the context that were written beside; false if there is one. */
bool fake_blocks_whole(fake_context *context);
void fake_blocks_release(fake_context *context);

/* ---- module.c ---- */

#define FAKE_SOURCES 8 /* further buffers that the combined program reads */
typedef void (*fake_kernel)(void *act, const void *pool, const void *table, unsigned int first);
typedef void (*fake_mixed_kernel)(void *act, const void *pool, const void *table, unsigned int first,
                                  const void *, const void *, const void *, const void *, const void *,
                                  const void *, const void *, const void *);
struct emulated_world;

struct CUfunc_st {
    struct CUfunc_st *next;
    struct CUmod_st *module;
    fake_kernel run;
    char name[96];
};

struct CUmod_st {
    fake_object object;
    void *library; /* of dlopen */
    struct emulated_world *world;
    struct CUfunc_st *functions;
};

/* The function if it belongs to a module that is loaded; else NULL, and the mistake is counted. */
CUfunction fake_function_find(CUfunction function);
size_t fake_module_shared(const struct CUmod_st *module);
void fake_modules_release(fake_context *context);

/* ---- stream.c ---- */

/* The signature that every kernel of the SDK has; a real driver reads it from the program. */
typedef struct fake_launch {
    CUfunction function;
    fake_three grid, block;
    void *act, *pool, *table;
    unsigned int first;
    bool mixed; /* the combined program, which has sources too */
    void *sources[FAKE_SOURCES];
} fake_launch;

typedef enum fake_work_kind {
    FAKE_WORK_LAUNCH = 0,
    FAKE_WORK_COPY,
    FAKE_WORK_FILL,
    FAKE_WORK_EVENT
} fake_work_kind;

typedef struct fake_work {
    struct fake_work *next;
    fake_work_kind kind;
    fake_launch launch;
    void *to; /* of a copy or a filling, in words */
    const void *from;
    size_t size;
    unsigned int word;
    CUevent event;
    uint64_t record; /* of the event */
    char taken[];    /* what a copy from pageable memory took at once */
} fake_work;

struct CUevent_st {
    fake_object object;
    CUstream stream;  /* where it was recorded last and has not happened yet, or NULL */
    uint64_t records; /* that were asked for; only the last one counts */
    bool happened;
    uint64_t ns;
};

struct CUstream_st {
    fake_object object;
    fake_work *first, *last;
};

/* NULL: the stream that every context has. */
CUstream fake_stream_find(CUstream stream);
/* Adds a copy of the work to the queue, with `taken` bytes. */
CUresult fake_stream_add(CUstream stream, const fake_work *work, const void *taken, size_t taken_size);
/* Does the first work of a stream, if there is any. What fails breaks the context, and is returned. */
CUresult fake_stream_step(CUstream stream);
/* Does all the work of a stream, of a context's streams. What fails breaks the context, and is returned. */
CUresult fake_stream_drain(CUstream stream);
CUresult fake_streams_drain(fake_context *context);
void fake_streams_release(fake_context *context);

/* ---- launch.c ---- */

/* Whether a device could begin it; kernelParams are read. */
CUresult fake_launch_make(fake_launch *out, CUfunction function, fake_three grid, fake_three block,
                          unsigned int shared, void **parameters);
CUresult fake_launch_run(const fake_launch *launch);

/* ---- graph.c, link.c ---- */
void fake_graphs_release(fake_context *context);
void fake_links_release(fake_context *context);

#endif
