/*
 * fake.h: what tests ask of the fake CUDA driver, and what they tell it.
 *
 * The fake is three shared libraries: libcuda.so.1 and libnvrtc.so, which the backend finds by name, and this
 * one, libmts_fake_cuda.so, which both of them and the tests are linked with. It counts calls and live
 * objects, makes calls fail, and holds the properties of the device. Not responsible for doing anything a
 * driver does.
 *
 * Thread-safety: the functions may be called from any thread; the context stack is the calling thread's.
 */
#ifndef MTS_TESTS_CUDA_FAKE_H
#define MTS_TESTS_CUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

/* What is alive now, and what went wrong since the reset. */
typedef struct fake_cuda_counts {
    uint32_t contexts; /* the primary one while it is retained, and those of tests */
    uint32_t streams, events, modules, graphs, execs, links, programs;
    uint32_t device_blocks, host_blocks, registered;
    uint64_t device_bytes;
    uint32_t orphans;  /* objects that were alive when their context went */
    uint32_t misuses;  /* handles that are none, a missing or foreign current context, a copy out of bounds */
    uint32_t pageable; /* asynchronous copies to the device from memory that is not pinned */
    uint32_t damages;  /* blocks of device memory beside which something was written */
} fake_cuda_counts;

/* Of the device and the libraries; fake_cuda_reset takes them from the environment (in brackets). */
#define FAKE_UNITS 2 /* multiprocessors */

typedef struct fake_cuda_properties {
    int devices;        /* 1 [MTS_FAKE_CUDA_DEVICES] */
    int arch;           /* 87: compute capability 8.7 [MTS_FAKE_CUDA_ARCH] */
    int driver;         /* 12020: CUDA 12.2 [MTS_FAKE_CUDA_DRIVER] */
    int nvrtc;          /* 12020 [MTS_FAKE_CUDA_NVRTC] */
    uint64_t memory;    /* bytes, 1 GiB [MTS_FAKE_CUDA_MEMORY] */
    bool integrated;    /* memory is the host's [MTS_FAKE_CUDA_INTEGRATED] */
    bool host_register; /* host memory can be registered [MTS_FAKE_CUDA_HOST_REGISTER] */
    bool run;           /* kernels run; else launches do nothing [MTS_FAKE_CUDA_RUN] */
    int registers;      /* that every kernel is said to use */
    int local_bytes;    /* likewise */
    int group_most;     /* most threads of a block of every kernel, 1024 */
    int resident;       /* blocks of every kernel on a multiprocessor at a time, 2; 0: no cooperative launches */
} fake_cuda_properties;

/* Nothing fails, counters of calls and of mistakes are 0, properties are those of the environment. */
FAKE_API void fake_cuda_reset(void);
FAKE_API fake_cuda_properties *fake_cuda_device(void);
FAKE_API fake_cuda_counts fake_cuda_count(void);
/* Whether nothing is alive and nothing went wrong; else `text` says what. */
FAKE_API bool fake_cuda_clean(char *text, size_t size);

/* Calls since the reset: all; of one function. */
FAKE_API uint32_t fake_cuda_calls(void);
FAKE_API uint32_t fake_cuda_called(const char *name);
/* Name of a call, from 1; "" if there was none. */
FAKE_API const char *fake_cuda_call(uint32_t number);

/*
 * The call-th call from now (1: the next) returns `result`. A call that creates or submits does nothing then;
 * one that releases releases all the same. A result that a real context does not survive (an illegal address,
 * a failed launch, ...) spoils the current context for good.
 */
FAKE_API void fake_cuda_fail(uint32_t call, int result);
/* Likewise, the call-th call of one function. Both may be set; 0 takes it back. */
FAKE_API void fake_cuda_fail_named(const char *name, uint32_t call, int result);
/* Whether the failure that was set last has happened. */
FAKE_API bool fake_cuda_failed(void);

/* The calling thread's current context (NULL: none), and how many it has pushed. */
FAKE_API void *fake_cuda_current(void);
FAKE_API uint32_t fake_cuda_depth(void);

#endif
