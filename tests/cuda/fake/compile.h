/*
 * compile.h: from a program's text to a shared library's bytes, by the C++ compiler of this machine.
 */
#ifndef MTS_TESTS_CUDA_FAKE_COMPILE_H
#define MTS_TESTS_CUDA_FAKE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_DEFINES_MOST 64

typedef struct fake_compile {
    const char *source, *name;
    uint32_t arch; /* 62: compute capability 6.2 */
    bool binary;   /* for that device, not PTX */
    const char *defines[FAKE_DEFINES_MOST];
    size_t define_count;
} fake_compile;

/* Code and log are on the heap; the log may be NULL. What was made once lies in the folder that
   MTS_FAKE_CUDA_CACHE names. */
bool fake_compile_run(const fake_compile *what, void **code, size_t *size, char **log);

#endif
