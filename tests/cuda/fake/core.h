/*
 * core.h: what the fake driver and the fake compiler share: the guard of every call, and who is alive.
 *
 * Private to tests/cuda/fake. Objects are found again by their address; an address that is no live object of
 * the kind is a mistake of the caller and counted.
 */
#ifndef MTS_TESTS_CUDA_FAKE_CORE_H
#define MTS_TESTS_CUDA_FAKE_CORE_H

#include "cuda/fake/fake.h"
#include "platform/cuda/cuda_types.h"

typedef enum fake_kind {
    FAKE_KIND_CONTEXT = 0,
    FAKE_KIND_STREAM,
    FAKE_KIND_EVENT,
    FAKE_KIND_MODULE,
    FAKE_KIND_GRAPH,
    FAKE_KIND_EXEC,
    FAKE_KIND_LINK,
    FAKE_KIND_PROGRAM,
    FAKE_KIND_DEVICE_BLOCK,
    FAKE_KIND_HOST_BLOCK,
    FAKE_KIND_REGISTERED,
    FAKE_KIND_COUNT
} fake_kind;

typedef struct fake_context fake_context;

/* First member of everything that is counted. */
typedef struct fake_object {
    struct fake_object *next, *previous;
    fake_kind kind;
    fake_context *context; /* NULL: of none */
} fake_object;

struct fake_context {
    fake_object object;
    uint32_t retained; /* 0: does not exist */
    int broken;        /* what it died of; 0: it lives */
    CUdevice device;
};

/* What a call needs before it may do anything. */
typedef enum fake_need {
    FAKE_NEED_NOTHING = 0,
    FAKE_NEED_INIT,   /* cuInit */
    FAKE_NEED_CONTEXT /* a current context that lives */
} fake_need;

/*
 * Begins a call: takes the lock, counts, and says what the call has to return instead of doing anything, or
 * 0. Releasing calls go on nevertheless. Ends with fake_leave, which returns its argument.
 */
FAKE_API int fake_enter(const char *name, fake_need need);
FAKE_API int fake_leave(int result);
FAKE_API void fake_initialized(void); /* by cuInit */

FAKE_API void fake_object_add(fake_object *object, fake_kind kind, fake_context *context);
FAKE_API void fake_object_remove(fake_object *object);
/* The object at that address if it is one of the kind; else NULL, and the mistake is counted. One of another
   context than the current one is a mistake too. */
FAKE_API void *fake_object_find(const void *address, fake_kind kind);
/* The first of a kind and context after `after` (NULL: from the start), or NULL. */
FAKE_API fake_object *fake_object_next(const fake_object *after, fake_kind kind, const fake_context *context);
/* Counts an asynchronous copy for which the driver waits. */
FAKE_API void fake_pageable(void);
FAKE_API void fake_misuse(const char *what);
FAKE_API void fake_damage(const char *what, size_t size, ptrdiff_t at);
FAKE_API void fake_orphan(void);
FAKE_API void fake_device_bytes(int64_t change);

/* The calling thread's stack of contexts. NULL of pop: it was empty. */
FAKE_API fake_context *fake_current(void);
FAKE_API bool fake_push(fake_context *context);
FAKE_API fake_context *fake_pop(void);

#endif
