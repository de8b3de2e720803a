/*
 * fuzz_bytes.h: what fuzz targets have in common: numbers taken from the input, and files that hold it.
 */
#ifndef MTS_TESTS_FUZZ_BYTES_H
#define MTS_TESTS_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
} fuzz_bytes;

/* 0 where the input has ended. */
static inline uint32_t fuzz_u8(fuzz_bytes *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

static inline uint32_t fuzz_u32(fuzz_bytes *in)
{
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) {
        number = number << 8 | fuzz_u8(in);
    }
    return number;
}

/* Mostly up to `most`, sometimes anything. */
static inline uint32_t fuzz_size(fuzz_bytes *in, uint32_t most)
{
    const uint32_t kind = fuzz_u8(in);
    return kind < 220 ? kind % (most + 1) : kind < 240 ? fuzz_u32(in) % (4 * most + 1) : fuzz_u32(in);
}

/* Path of a file of this process in memory. */
static inline const char *fuzz_path(const char *ending)
{
    static char path[4][64];
    static int next;
    char *out = path[next++ % 4];
    (void)snprintf(out, sizeof path[0], "/dev/shm/mts_fuzz_%ld%s", (long)getpid(), ending);
    return out;
}

static inline void fuzz_put(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        abort();
    }
}

#endif
