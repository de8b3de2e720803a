/*
 * world.h: emulate.h's struct emulated_world as C sees it.
 */
#ifndef MTS_TESTS_CUDA_FAKE_WORLD_H
#define MTS_TESTS_CUDA_FAKE_WORLD_H

#include "cuda/fake/driver.h"

typedef struct emulated_world {
    fake_three thread, block, block_size, grid_size;
    void *driver;
    void (*meet)(void *driver, int whole_block, int line);
    unsigned int *shared_begin, *shared_end;
    const char *meets;
} emulated_world;

#endif
