/*
 * model_fixture.h: what the tests of the importer have in common: an ONNX model that is written node by node, the
 * arena that it is read into, and the error.
 */
#ifndef MTS_TESTS_COMPILER_MODEL_FIXTURE_H
#define MTS_TESTS_COMPILER_MODEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "support/onnx_model.h"

#define DIMS(...)                                                                                            \
    (const int64_t[])                                                                                        \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define INTS(...) (int)(sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t)), DIMS(__VA_ARGS__)

static mts_arena arena;
static mts_error error;
static onnx_model model;

static inline int open_model(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    error = (mts_error){0};
    return 0;
}

static inline int close_model(void **state)
{
    (void)state;
    onnx_model_end(&model);
    mts_arena_release(&arena);
    return 0;
}

#endif
