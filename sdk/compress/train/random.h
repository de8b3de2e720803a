/*
 * random.h: the random numbers of training, which are the same on every machine: SplitMix64
 * (Steele, Lea, Flood 2014).
 */
#ifndef MTS_COMPRESS_TRAIN_RANDOM_H
#define MTS_COMPRESS_TRAIN_RANDOM_H

#include <stdint.h>

static inline uint64_t mts_random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A whole number below `end`. */
static inline uint32_t mts_random_below(uint64_t *state, uint32_t end)
{
    return (uint32_t)((mts_random_next(state) >> 32) * end >> 32);
}

/* A number of -1..1. */
static inline float mts_random_signed(uint64_t *state)
{
    return (float)(mts_random_next(state) >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

/* Puts items into a random order. */
static inline void mts_random_shuffle(uint64_t *state, uint32_t *items, uint32_t count)
{
    for (uint32_t left = count; left > 1; left--) {
        const uint32_t other = mts_random_below(state, left);
        const uint32_t item = items[left - 1];
        items[left - 1] = items[other];
        items[other] = item;
    }
}

#endif
