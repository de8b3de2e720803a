/*
 * v4l2.h: the system calls that a V4L2 camera takes, so that a test can play a camera,
 * and what was agreed with one.
 */
#ifndef MTS_CAMERA_V4L2_H
#define MTS_CAMERA_V4L2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/videodev2.h>

#include "source.h"

#define V4L2_PLANES_MOST 3

/* As the system calls of these names: negative and errno on failure. */
typedef struct v4l2_calls {
    void *context;
    int (*open)(void *context, const char *path);
    int (*close)(void *context, int fd);
    int (*ioctl)(void *context, int fd, unsigned long request, void *argument);
    void *(*map)(void *context, int fd, size_t length, uint64_t offset); /* NULL: failure */
    int (*unmap)(void *context, void *memory, size_t length);
    int (*wait)(void *context, int fd, uint32_t timeout_ms); /* poll for a frame: 1, 0: in vain */
} v4l2_calls;

/* Repeats a call that a signal interrupts, but not for ever. */
int v4l2_ioctl(const v4l2_calls *calls, int fd, unsigned long request, void *argument);

/* What a camera delivers. */
typedef struct v4l2_shape {
    uint32_t type; /* V4L2_BUF_TYPE_VIDEO_CAPTURE or _MPLANE */
    mts_pixel_format format;
    mts_yuv yuv;
    uint32_t width, height;
    double fps;
    uint32_t memories;               /* planes that lie in memory of their own, 1..3 */
    size_t stride[V4L2_PLANES_MOST]; /* of the format's planes, not of the memories */
    size_t offset[V4L2_PLANES_MOST]; /* of the format's planes in their memory */
    size_t needed[V4L2_PLANES_MOST]; /* bytes of each memory that a frame takes */
} v4l2_shape;

/*
 * Agrees on a format that the library takes, with what is wanted, and on a rate. OK,
 * ABSENT (it is no camera, or busy), FORMAT, VANISHED; `note` is a source's.
 */
camera_status v4l2_negotiate(const v4l2_calls *calls, int fd, const char *path, const source_request *wanted,
                             v4l2_shape *shape, char note[160], char *error);

/* source_v4l2_open with other system calls. */
camera_status v4l2_open(const source_request *request, const char *rest, const v4l2_calls *calls,
                        source **out, char *error);

#endif
