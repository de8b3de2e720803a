/*
 * core.c: calls counted, calls that fail on request, live objects, and the properties of the fake device.
 *
 * The only state of the fake that outlives its objects; tests read and set it through fake.h.
 */
#include "cuda/fake/core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_KEPT 65536 /* names of the first calls */
#define DEPTH_MOST 32

typedef struct failure {
    uint32_t left; /* calls until it happens; 0: none is set */
    int result;
    char name[64]; /* "": any call */
} failure;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static fake_cuda_properties properties;
static fake_object *objects;
static uint32_t alive[FAKE_KIND_COUNT];
static uint64_t device_bytes;
static uint32_t orphans, misuses, damages, pageable;
static bool is_initialized, is_configured, has_failed;
static failure failures[2]; /* of any call, of a named one */
static uint32_t calls;
static const char *names[CALLS_KEPT];

static _Thread_local fake_context *stack[DEPTH_MOST];
static _Thread_local uint32_t depth;

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void configure(void)
{
    properties = (fake_cuda_properties){
        .devices = (int)from_environment("MTS_FAKE_CUDA_DEVICES", 1),
        .arch = (int)from_environment("MTS_FAKE_CUDA_ARCH", 87),
        .driver = (int)from_environment("MTS_FAKE_CUDA_DRIVER", 12020),
        .nvrtc = (int)from_environment("MTS_FAKE_CUDA_NVRTC", 12020),
        .memory = from_environment("MTS_FAKE_CUDA_MEMORY", (uint64_t)1 << 30),
        .integrated = from_environment("MTS_FAKE_CUDA_INTEGRATED", 0) != 0,
        .host_register = from_environment("MTS_FAKE_CUDA_HOST_REGISTER", 1) != 0,
        .run = from_environment("MTS_FAKE_CUDA_RUN", 1) != 0,
        .registers = 40,
        .local_bytes = 0,
        .group_most = 1024,
        .resident = 2,
    };
    is_configured = true;
}

void fake_cuda_reset(void)
{
    (void)pthread_mutex_lock(&mutex);
    configure();
    memset(failures, 0, sizeof failures);
    has_failed = false;
    calls = orphans = misuses = damages = pageable = 0;
    (void)pthread_mutex_unlock(&mutex);
}

fake_cuda_properties *fake_cuda_device(void)
{
    if (!is_configured) {
        configure();
    }
    return &properties;
}

fake_cuda_counts fake_cuda_count(void)
{
    (void)pthread_mutex_lock(&mutex);
    const fake_cuda_counts counts = {
        .contexts = alive[FAKE_KIND_CONTEXT],
        .streams = alive[FAKE_KIND_STREAM],
        .events = alive[FAKE_KIND_EVENT],
        .modules = alive[FAKE_KIND_MODULE],
        .graphs = alive[FAKE_KIND_GRAPH],
        .execs = alive[FAKE_KIND_EXEC],
        .links = alive[FAKE_KIND_LINK],
        .programs = alive[FAKE_KIND_PROGRAM],
        .device_blocks = alive[FAKE_KIND_DEVICE_BLOCK],
        .host_blocks = alive[FAKE_KIND_HOST_BLOCK],
        .registered = alive[FAKE_KIND_REGISTERED],
        .device_bytes = device_bytes,
        .orphans = orphans,
        .misuses = misuses,
        .pageable = pageable,
        .damages = damages,
    };
    (void)pthread_mutex_unlock(&mutex);
    return counts;
}

bool fake_cuda_clean(char *text, size_t size)
{
    const fake_cuda_counts c = fake_cuda_count();
    (void)snprintf(
        text, size,
        "contexts %u, streams %u, events %u, modules %u, graphs %u, execs %u, links %u, programs %u, "
        "device blocks %u, host blocks %u, registered %u, orphans %u, misuses %u, damages %u",
        c.contexts, c.streams, c.events, c.modules, c.graphs, c.execs, c.links, c.programs, c.device_blocks,
        c.host_blocks, c.registered, c.orphans, c.misuses, c.damages);
    return c.contexts + c.streams + c.events + c.modules + c.graphs + c.execs + c.links + c.programs +
               c.device_blocks + c.host_blocks + c.registered + c.orphans + c.misuses + c.damages ==
           0;
}

uint32_t fake_cuda_calls(void)
{
    return calls;
}

uint32_t fake_cuda_called(const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < calls && i < CALLS_KEPT; i++) {
        count += strcmp(names[i], name) == 0;
    }
    return count;
}

const char *fake_cuda_call(uint32_t number)
{
    return number && number <= calls && number <= CALLS_KEPT ? names[number - 1] : "";
}

static void set_failure(failure *set, const char *name, uint32_t call, int result)
{
    (void)pthread_mutex_lock(&mutex);
    set->left = call;
    set->result = result;
    (void)snprintf(set->name, sizeof set->name, "%s", name);
    has_failed = false;
    (void)pthread_mutex_unlock(&mutex);
}

void fake_cuda_fail(uint32_t call, int result)
{
    set_failure(&failures[0], "", call, result);
}

void fake_cuda_fail_named(const char *name, uint32_t call, int result)
{
    set_failure(&failures[1], name, call, result);
}

bool fake_cuda_failed(void)
{
    return has_failed;
}

void *fake_cuda_current(void)
{
    return fake_current();
}

uint32_t fake_cuda_depth(void)
{
    return depth;
}

static int next_failure(const char *name)
{
    int result = 0;
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        failure *f = &failures[i];
        if (f->left > 0 && (!f->name[0] || strcmp(f->name, name) == 0) && --f->left == 0) {
            result = f->result;
            has_failed = true;
        }
    }
    return result;
}

static bool breaks_context(int result)
{
    return result == CUDA_ERROR_ECC_UNCORRECTABLE || result == CUDA_ERROR_ILLEGAL_ADDRESS ||
           result == CUDA_ERROR_LAUNCH_TIMEOUT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
           result == CUDA_ERROR_ASSERT ||
           (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED);
}

static int check_context(const char *name)
{
    const fake_context *current = fake_current();
    if (!current || current->retained == 0) {
        fake_misuse(name);
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return current->broken;
}

int fake_enter(const char *name, fake_need need)
{
    (void)pthread_mutex_lock(&mutex);
    if (!is_configured) {
        configure();
    }
    if (calls < CALLS_KEPT) {
        names[calls] = name;
    }
    calls++;
    const int failed = next_failure(name);
    if (failed && need == FAKE_NEED_CONTEXT && breaks_context(failed) && fake_current()) {
        fake_current()->broken = failed;
    }
    if (failed || need == FAKE_NEED_NOTHING) {
        return failed;
    }
    if (!is_initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return need == FAKE_NEED_CONTEXT ? check_context(name) : 0;
}

int fake_leave(int result)
{
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

void fake_initialized(void)
{
    is_initialized = true;
}

void fake_object_add(fake_object *object, fake_kind kind, fake_context *context)
{
    object->kind = kind;
    object->context = context;
    object->previous = NULL;
    object->next = objects;
    if (objects) {
        objects->previous = object;
    }
    objects = object;
    alive[kind]++;
}

void fake_object_remove(fake_object *object)
{
    if (object->previous) {
        object->previous->next = object->next;
    } else {
        objects = object->next;
    }
    if (object->next) {
        object->next->previous = object->previous;
    }
    alive[object->kind]--;
}

void *fake_object_find(const void *address, fake_kind kind)
{
    for (fake_object *at = objects; at; at = at->next) {
        if (at == address && at->kind == kind) {
            if (at->context && at->context != fake_current()) {
                fake_misuse("an object of another context");
            }
            return at;
        }
    }
    fake_misuse("no such object");
    return NULL;
}

fake_object *fake_object_next(const fake_object *after, fake_kind kind, const fake_context *context)
{
    fake_object *at = after ? after->next : objects;
    while (at && (at->kind != kind || at->context != context)) {
        at = at->next;
    }
    return at;
}

void fake_pageable(void)
{
    pageable++;
}

void fake_misuse(const char *what)
{
    misuses++;
    (void)fprintf(stderr, "fake driver: misuse: %s (%s)\n", what,
                  calls && calls <= CALLS_KEPT ? names[calls - 1] : "?");
}

void fake_damage(const char *what, size_t size, ptrdiff_t at)
{
    damages++;
    (void)fprintf(stderr, "fake driver: %s: block of %zu bytes, at byte %td\n", what, size, at);
}

void fake_orphan(void)
{
    orphans++;
}

void fake_device_bytes(int64_t change)
{
    device_bytes = (uint64_t)((int64_t)device_bytes + change);
}

fake_context *fake_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

bool fake_push(fake_context *context)
{
    if (depth == DEPTH_MOST) {
        return false;
    }
    stack[depth++] = context;
    return true;
}

fake_context *fake_pop(void)
{
    return depth ? stack[--depth] : NULL;
}
