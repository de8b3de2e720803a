/*
 * source_v4l2.c: a camera through V4L2 alone, for boards without GStreamer. Its buffers
 * are mapped and handed out: no pixel is copied here.
 *
 *     v4l2-raw:///dev/video0?width=640&height=480&fps=30&format=yuyv
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "uri.h"
#include "v4l2.h"

#define BUFFERS_MOST 32u
#define HICCUPS_MOST 8u /* failures one after another that may still pass */
#define HICCUP_NAP_MS 5.0

typedef struct lent_memory {
    unsigned char *start[V4L2_PLANES_MOST];
    size_t length[V4L2_PLANES_MOST];
    uint32_t index;
    bool is_out; /* the caller has it, not the driver */
} lent_memory;

typedef struct v4l2_source {
    source base;
    v4l2_calls calls;
    char path[URI_PATH];
    int fd;
    v4l2_shape shape;
    lent_memory memories[BUFFERS_MOST];
    uint32_t memory_count;
    bool streaming;
    uint32_t hiccups;
    uint64_t number;
    double first_ms;
} v4l2_source;

/* A struct v4l2_buffer that is ready for the calls about buffer `index`. */
typedef struct buffer_call {
    struct v4l2_buffer buffer;
    struct v4l2_plane planes[V4L2_PLANES_MOST];
} buffer_call;

static void call_begin(const v4l2_source *camera, uint32_t index, buffer_call *call)
{
    *call = (buffer_call){0};
    call->buffer.index = index;
    call->buffer.type = camera->shape.type;
    call->buffer.memory = V4L2_MEMORY_MMAP;
    if (camera->shape.type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE) {
        call->buffer.m.planes = call->planes;
        call->buffer.length = camera->shape.memories;
    }
}

static camera_status vanished(const v4l2_source *camera, const char *what, char *error)
{
    return source_fail(error, CAMERA_VANISHED, "the camera '%s' vanished after %llu frames: %s: %s",
                       camera->path, (unsigned long long)camera->number, what, strerror(errno));
}

/* Failing once is not the end: drivers report a lost frame so. OK: try again. */
static camera_status hiccup(v4l2_source *camera, char *error)
{
    if (++camera->hiccups > HICCUPS_MOST) {
        return vanished(camera, "taking a frame failed again and again", error);
    }
    clock_nap(HICCUP_NAP_MS);
    return CAMERA_OK;
}

static bool queue(v4l2_source *camera, uint32_t index)
{
    buffer_call call;
    call_begin(camera, index, &call);
    return v4l2_ioctl(&camera->calls, camera->fd, VIDIOC_QBUF, &call.buffer) == 0;
}

/* A buffer with a whole frame. OK, WAITING (in vain this time) or VANISHED. */
static camera_status dequeue(v4l2_source *camera, buffer_call *call, char *error)
{
    call_begin(camera, 0, call);
    if (camera->calls.ioctl(camera->calls.context, camera->fd, VIDIOC_DQBUF, &call->buffer) < 0) {
        if (errno == EINTR) {
            return CAMERA_WAITING;
        }
        if (errno != EAGAIN && errno != EIO) {
            return vanished(camera, "taking a frame failed", error);
        }
        const camera_status status = hiccup(camera, error);
        return status == CAMERA_OK ? CAMERA_WAITING : status;
    }
    if (call->buffer.index >= camera->memory_count) {
        return source_fail(error, CAMERA_VANISHED, "the driver of '%s' names a buffer that it was not given",
                           camera->path);
    }
    if (camera->memories[call->buffer.index].is_out) { /* its pixels are in use */
        return source_fail(error, CAMERA_VANISHED,
                           "the driver of '%s' names buffer %u, which it does not have", camera->path,
                           call->buffer.index);
    }
    camera->hiccups = 0;
    const bool planes = camera->shape.type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    bool whole = !(call->buffer.flags & V4L2_BUF_FLAG_ERROR);
    for (uint32_t i = 0; i < camera->shape.memories; i++) {
        const size_t used = planes ? call->planes[i].bytesused : call->buffer.bytesused;
        const size_t before = planes ? call->planes[i].data_offset : 0;
        whole = whole && used >= before + camera->shape.needed[i] &&
                before + camera->shape.needed[i] <= camera->memories[call->buffer.index].length[i];
    }
    if (whole) {
        return CAMERA_OK;
    }
    return queue(camera, call->buffer.index) ? CAMERA_WAITING
                                             : vanished(camera, "giving a buffer back failed", error);
}

static void frame_make(v4l2_source *camera, const buffer_call *call, source_frame *out)
{
    const v4l2_shape *shape = &camera->shape;
    lent_memory *memory = &camera->memories[call->buffer.index];
    const unsigned char *start[V4L2_PLANES_MOST];
    for (uint32_t i = 0; i < V4L2_PLANES_MOST; i++) {
        const uint32_t from = shape->memories > 1 ? i : 0;
        const size_t before =
            shape->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE ? call->planes[from].data_offset : 0;
        start[i] = shape->stride[i] ? memory->start[from] + before + shape->offset[i] : NULL;
    }
    mts_frame_default(&out->frame);
    out->frame.data = start[0];
    out->frame.width = shape->width;
    out->frame.height = shape->height;
    out->frame.stride = (uint32_t)shape->stride[0];
    out->frame.format = shape->format;
    out->frame.yuv = shape->yuv;
    for (uint32_t i = 0; i < 2; i++) {
        out->frame.chroma[i] = start[i + 1];
        out->frame.chroma_stride[i] = (uint32_t)shape->stride[i + 1];
    }
    const double now_ms =
        (double)call->buffer.timestamp.tv_sec * 1e3 + (double)call->buffer.timestamp.tv_usec / 1e3;
    camera->first_ms = camera->number ? camera->first_ms : now_ms;
    memory->is_out = true;
    out->token = memory;
    out->number = camera->number++;
    out->time_ms = now_ms - camera->first_ms;
}

static camera_status v4l2_next(source *self, uint32_t timeout_ms, source_frame *frame, char *error)
{
    v4l2_source *camera = (v4l2_source *)self;
    const double end_ms = cli_now_ms() + timeout_ms;
    for (;;) {
        buffer_call call;
        const double left = end_ms - cli_now_ms();
        const int ready =
            camera->calls.wait(camera->calls.context, camera->fd, left > 0 ? (uint32_t)left + 1 : 0);
        if (ready < 0) {
            return errno == EINTR ? CAMERA_WAITING : vanished(camera, "waiting for a frame failed", error);
        }
        if (ready == 0) {
            return CAMERA_WAITING;
        }
        const camera_status status = dequeue(camera, &call, error);
        if (status == CAMERA_OK) {
            frame_make(camera, &call, frame);
        }
        if (status != CAMERA_WAITING || cli_now_ms() >= end_ms) {
            return status;
        }
    }
}

/* A camera that has vanished shows at the next frame. */
static void v4l2_release(source *self, source_frame *frame)
{
    lent_memory *memory = frame->token;
    memory->is_out = false;
    (void)queue((v4l2_source *)self, memory->index);
}

static void v4l2_close(source *self)
{
    v4l2_source *camera = (v4l2_source *)self;
    const v4l2_calls *calls = &camera->calls;
    int type = (int)camera->shape.type;
    if (camera->streaming) {
        (void)v4l2_ioctl(calls, camera->fd, VIDIOC_STREAMOFF, &type);
    }
    for (uint32_t i = 0; i < camera->memory_count; i++) {
        for (uint32_t p = 0; p < V4L2_PLANES_MOST; p++) {
            if (camera->memories[i].start[p]) {
                (void)calls->unmap(calls->context, camera->memories[i].start[p],
                                   camera->memories[i].length[p]);
            }
        }
    }
    if (camera->fd >= 0) {
        (void)calls->close(calls->context, camera->fd);
    }
    free(camera);
}

static const source_class v4l2_class = {v4l2_next, v4l2_release, v4l2_close};

static camera_status memory_map(v4l2_source *camera, uint32_t index, char *error)
{
    const bool planes = camera->shape.type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    lent_memory *memory = &camera->memories[index];
    buffer_call call;
    memory->index = index;
    call_begin(camera, index, &call);
    if (v4l2_ioctl(&camera->calls, camera->fd, VIDIOC_QUERYBUF, &call.buffer) < 0) {
        return vanished(camera, "asking for a buffer failed", error);
    }
    for (uint32_t i = 0; i < camera->shape.memories; i++) {
        const size_t length = planes ? call.planes[i].length : call.buffer.length;
        const uint64_t offset = planes ? call.planes[i].m.mem_offset : call.buffer.m.offset;
        if (length < camera->shape.needed[i]) {
            return source_fail(error, CAMERA_FORMAT,
                               "the buffers of '%s' have %zu bytes, its frames take %zu", camera->path,
                               length, camera->shape.needed[i]);
        }
        memory->start[i] = camera->calls.map(camera->calls.context, camera->fd, length, offset);
        memory->length[i] = length;
        if (!memory->start[i]) {
            return source_fail(error, CAMERA_FAILURE, "mapping a buffer of '%s' failed: %s", camera->path,
                               strerror(errno));
        }
    }
    return queue(camera, index) ? CAMERA_OK : vanished(camera, "giving a buffer failed", error);
}

/* Two buffers stay with the driver while `held` are out. */
static camera_status stream_start(v4l2_source *camera, uint32_t held, char *error)
{
    struct v4l2_requestbuffers wanted = {.count = held + 2 < BUFFERS_MOST ? held + 2 : BUFFERS_MOST,
                                         .type = camera->shape.type,
                                         .memory = V4L2_MEMORY_MMAP};
    if (v4l2_ioctl(&camera->calls, camera->fd, VIDIOC_REQBUFS, &wanted) < 0) {
        return source_fail(error, CAMERA_ABSENT, "'%s' has no buffers to map: %s", camera->path,
                           strerror(errno));
    }
    if (wanted.count < held + 1) {
        return source_fail(error, CAMERA_ABSENT, "'%s' has %u buffers, and %u frames are in flight",
                           camera->path, wanted.count, held);
    }
    wanted.count = wanted.count < BUFFERS_MOST ? wanted.count : BUFFERS_MOST;
    while (camera->memory_count < wanted.count) {
        const camera_status status = memory_map(camera, camera->memory_count++, error);
        if (status != CAMERA_OK) {
            return status;
        }
    }
    int type = (int)camera->shape.type;
    if (v4l2_ioctl(&camera->calls, camera->fd, VIDIOC_STREAMON, &type) < 0) {
        return source_fail(error, CAMERA_ABSENT, "'%s' does not start: %s", camera->path, strerror(errno));
    }
    camera->streaming = true;
    return CAMERA_OK;
}

static camera_status camera_make(v4l2_source *camera, const source_request *wanted, char *error)
{
    camera->fd = camera->calls.open(camera->calls.context, camera->path);
    if (camera->fd < 0) {
        return source_fail(error, CAMERA_ABSENT, "cannot open the camera '%s': %s", camera->path,
                           strerror(errno));
    }
    const camera_status status = v4l2_negotiate(&camera->calls, camera->fd, camera->path, wanted,
                                                &camera->shape, camera->base.info.note, error);
    if (status != CAMERA_OK) {
        return status;
    }
    source_info *info = &camera->base.info;
    info->format = camera->shape.format;
    info->yuv = camera->shape.yuv;
    info->width = camera->shape.width;
    info->height = camera->shape.height;
    info->fps = camera->shape.fps;
    info->live = true;
    return stream_start(camera, wanted->held, error);
}

camera_status v4l2_open(const source_request *request, const char *rest, const v4l2_calls *calls,
                        source **out, char *error)
{
    source_request wanted = *request;
    v4l2_source *camera = calloc(1, sizeof *camera);
    *out = NULL;
    if (!camera) {
        return source_fail(error, CAMERA_FAILURE, "no memory");
    }
    camera->base.type = &v4l2_class;
    camera->calls = *calls;
    camera->fd = -1;
    const uri_key keys[] = {URI_COMMON(wanted)};
    camera_status status = uri_read(rest, camera->path, keys, sizeof keys / sizeof keys[0], error);
    status = status == CAMERA_OK ? uri_size_check(&wanted, error) : status;
    status = status == CAMERA_OK ? camera_make(camera, &wanted, error) : status;
    if (status != CAMERA_OK) {
        v4l2_close(&camera->base);
        return status;
    }
    *out = &camera->base;
    return CAMERA_OK;
}

static int system_open(void *context, const char *path)
{
    (void)context;
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static int system_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static int system_ioctl(void *context, int fd, unsigned long request, void *argument)
{
    (void)context;
    return ioctl(fd, request, argument);
}

static void *system_map(void *context, int fd, size_t length, uint64_t offset)
{
    (void)context;
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return memory == MAP_FAILED ? NULL : memory;
}

static int system_unmap(void *context, void *memory, size_t length)
{
    (void)context;
    return munmap(memory, length);
}

static int system_wait(void *context, int fd, uint32_t timeout_ms)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    (void)context;
    return poll(&entry, 1, (int)timeout_ms);
}

camera_status source_v4l2_open(const source_request *request, const char *rest, source **out, char *error)
{
    const v4l2_calls calls = {.open = system_open,
                              .close = system_close,
                              .ioctl = system_ioctl,
                              .map = system_map,
                              .unmap = system_unmap,
                              .wait = system_wait};
    return v4l2_open(request, rest, &calls, out, error);
}
