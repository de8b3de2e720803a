/*
 * v4l2_player.h: a camera's driver that is played: it offers formats, hands out buffers with paddings, loses
 * frames, and goes away. A test sets what it is like and looks at what it did.
 */
#ifndef MTS_TESTS_CAMERA_V4L2_PLAYER_H
#define MTS_TESTS_CAMERA_V4L2_PLAYER_H

#include "camera/v4l2.h"

#define BUFFERS 8

typedef struct player {
    /* what it is like */
    bool planes; /* the API of several planes */
    uint32_t capabilities;
    uint32_t codes[4]; /* formats that it lists, 0 ends */
    uint32_t width, height;
    uint32_t buffers_most;
    uint32_t vanish_at;  /* frame before which it goes away, UINT32_MAX: never */
    uint32_t broken_at;  /* frame that is marked as an error */
    uint32_t empty_at;   /* frame that says that it has no bytes */
    uint32_t again_at;   /* frame that is said to lie where the one before it lies */
    uint32_t hiccups_at; /* frame before which taking fails 3 times */
    uint32_t silent_at;  /* frame from which on none comes */
    uint32_t signals;    /* calls that are interrupted before one is made, UINT32_MAX: all of them */
    int open_errno, set_errno;
    uint32_t sets_code; /* what S_FMT makes of it; 0: what was asked for */
    uint32_t colorspace, encoding, quantization;
    size_t cut; /* bytes that buffers are too short */
    size_t data_offset;
    /* what it does */
    uint32_t code, memories;
    size_t lines[3], sizes[3];
    unsigned char *memory[BUFFERS][3];
    bool queued[BUFFERS], mapped[BUFFERS][3];
    uint32_t count, frame, next;
    bool opened, streaming;
    uint32_t interrupted; /* calls since the last that was made */
    int hiccups, fps;
} player;

extern player camera;
/* The system calls behind which the player stands. */
extern const v4l2_calls player_calls;

/* A camera as most are; the setup of a test. */
int player_make(void **state);
/* Fails if anything is left of a camera that was closed; the teardown of a test. */
int player_check(void **state);
/* How many memories a buffer of this format has. */
uint32_t player_memories(uint32_t code);
/* Every byte of frame n is n plus its plane and its place. */
unsigned char player_byte(uint32_t frame, uint32_t memory, size_t at);

#endif
