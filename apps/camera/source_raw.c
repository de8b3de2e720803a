/*
 * source_raw.c: raw pixels, frame behind frame, in a file, a pipe or standard input
 * ("raw://-").
 *
 *     raw://path?format=nv12&width=640&height=480&fps=30&loop=1
 *
 * A regular file is known to be too short before the first frame; a pipe may end
 * anywhere, and may come to a halt: nothing here blocks longer than its limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "kit/frames.h"
#include "uri.h"

#define FPS_DEFAULT 30.0
#define WRITER_NAP_MS 10.0 /* a pipe without a writer cannot be waited for */

typedef struct raw_source {
    source base;
    char path[URI_PATH];
    int fd;
    int flags; /* that standard input had, and has again in the end; -1: they were not changed */
    bool pipe, loop, paced;
    bool begun;   /* a byte has been read */
    bool rewound; /* and none since it started again */
    size_t frame_bytes, filled;
    uint64_t number;
    double fps, start_ms;
    uint32_t slot_count;
    int filling; /* slot, or -1 */
    unsigned char **slots;
    bool *out;
} raw_source;

/* A slot to read into; false: all are out. */
static bool slot_find(raw_source *raw)
{
    for (uint32_t i = 0; raw->filling < 0 && i < raw->slot_count; i++) {
        if (!raw->out[i]) {
            raw->filling = (int)i;
            raw->filled = 0;
        }
    }
    return raw->filling >= 0;
}

/* Until bytes can be read, at most until `end_ms`. */
static void readable_wait(const raw_source *raw, double end_ms)
{
    struct pollfd entry = {.fd = raw->fd, .events = POLLIN};
    const double left = end_ms - cli_now_ms();
    if (left <= 0) {
        return;
    }
    if (raw->pipe && !raw->begun) {
        clock_nap(left < WRITER_NAP_MS ? left : WRITER_NAP_MS);
        return;
    }
    (void)poll(&entry, 1, (int)ceil(left));
}

/* The file has no more bytes. OK: it starts again, or a pipe's writer is still to
   come. */
static camera_status end_reached(raw_source *raw, char *error)
{
    if (raw->filled > 0) {
        return source_fail(error, CAMERA_VANISHED,
                           "'%s' ends in the middle of frame %llu: %zu of its %zu bytes are there", raw->path,
                           (unsigned long long)raw->number, raw->filled, raw->frame_bytes);
    }
    if (raw->pipe) {
        return raw->begun ? CAMERA_END : CAMERA_OK;
    }
    if (!raw->loop || !raw->begun) {
        return CAMERA_END;
    }
    if (raw->rewound) { /* cut to nothing while it was read: it would be started again for ever */
        return source_fail(error, CAMERA_VANISHED, "'%s' has no bytes any more, after %llu frames", raw->path,
                           (unsigned long long)raw->number);
    }
    raw->rewound = lseek(raw->fd, 0, SEEK_SET) == 0;
    return raw->rewound ? CAMERA_OK : CAMERA_END;
}

/* Reads on. OK: the frame in hand is whole. */
static camera_status frame_fill(raw_source *raw, double end_ms, char *error)
{
    while (raw->filled < raw->frame_bytes) {
        const ssize_t got =
            read(raw->fd, raw->slots[raw->filling] + raw->filled, raw->frame_bytes - raw->filled);
        if (got > 0) {
            raw->filled += (size_t)got;
            raw->begun = true;
            raw->rewound = false;
            continue;
        }
        if (got == 0) {
            const camera_status status = end_reached(raw, error);
            if (status != CAMERA_OK) {
                return status;
            }
        } else if (errno == EINTR) {
            return CAMERA_WAITING;
        } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
            return source_fail(error, CAMERA_VANISHED, "reading '%s' failed: %s", raw->path, strerror(errno));
        }
        if (got < 0 || raw->pipe) {
            if (cli_now_ms() >= end_ms) {
                return CAMERA_WAITING;
            }
            readable_wait(raw, end_ms);
        }
    }
    return CAMERA_OK;
}

static camera_status raw_next(source *self, uint32_t timeout_ms, source_frame *frame, char *error)
{
    raw_source *raw = (raw_source *)self;
    const double end_ms = cli_now_ms() + timeout_ms;
    if (!slot_find(raw)) {
        return source_fail(error, CAMERA_FAILURE, "all %u frames of '%s' are out", raw->slot_count,
                           raw->path);
    }
    const camera_status status = frame_fill(raw, end_ms, error);
    if (status != CAMERA_OK) {
        return status;
    }
    if (raw->paced) {
        const double due_ms =
            raw->number ? raw->start_ms + (double)raw->number * 1e3 / raw->fps : cli_now_ms();
        clock_nap((due_ms < end_ms ? due_ms : end_ms) - cli_now_ms());
        if (cli_now_ms() < due_ms) {
            return CAMERA_WAITING;
        }
    }
    if (raw->number == 0) {
        raw->start_ms = cli_now_ms();
    }
    mts_frame_default(&frame->frame);
    frame->frame.data = raw->slots[raw->filling];
    frame->frame.width = raw->base.info.width;
    frame->frame.height = raw->base.info.height;
    frame->frame.format = raw->base.info.format;
    frame->frame.yuv = raw->base.info.yuv;
    frame->token = raw->slots[raw->filling];
    frame->number = raw->number++;
    frame->time_ms = (double)frame->number * 1e3 / raw->fps;
    raw->out[raw->filling] = true;
    raw->filling = -1;
    return CAMERA_OK;
}

static void raw_release(source *self, source_frame *frame)
{
    raw_source *raw = (raw_source *)self;
    for (uint32_t i = 0; i < raw->slot_count; i++) {
        if (raw->slots[i] == frame->token) {
            raw->out[i] = false;
        }
    }
}

static void raw_close(source *self)
{
    raw_source *raw = (raw_source *)self;
    for (uint32_t i = 0; raw->slots && i < raw->slot_count; i++) {
        free(raw->slots[i]);
    }
    if (raw->flags >= 0) {
        (void)fcntl(raw->fd, F_SETFL, raw->flags);
    }
    if (raw->fd > STDIN_FILENO) {
        (void)close(raw->fd);
    }
    free(raw->slots);
    free(raw->out);
    free(raw);
}

static const source_class raw_class = {raw_next, raw_release, raw_close};

static bool slots_make(raw_source *raw, uint32_t count)
{
    raw->slots = calloc(count, sizeof *raw->slots);
    raw->out = calloc(count, sizeof *raw->out);
    if (!raw->slots || !raw->out) {
        return false;
    }
    for (raw->slot_count = 0; raw->slot_count < count; raw->slot_count++) {
        raw->slots[raw->slot_count] = malloc(raw->frame_bytes);
        if (!raw->slots[raw->slot_count]) {
            return false;
        }
    }
    return true;
}

static camera_status file_open(raw_source *raw, char *error)
{
    struct stat file;
    const bool standard = strcmp(raw->path, "-") == 0;
    raw->fd = standard ? STDIN_FILENO : open(raw->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (raw->fd < 0 || fstat(raw->fd, &file) != 0) {
        return source_fail(error, CAMERA_ABSENT, "cannot open '%s': %s", raw->path, strerror(errno));
    }
    if (S_ISDIR(file.st_mode)) {
        return source_fail(error, CAMERA_ABSENT, "'%s' is a directory", raw->path);
    }
    raw->pipe = !S_ISREG(file.st_mode);
    if (standard && raw->pipe) {
        raw->flags = fcntl(raw->fd, F_GETFL); /* shared with other processes that have it open */
        (void)fcntl(raw->fd, F_SETFL, raw->flags | O_NONBLOCK);
    }
    raw->base.info.live = false;
    if (!raw->pipe && (uint64_t)file.st_size < raw->frame_bytes) {
        return source_fail(error, CAMERA_FORMAT, "'%s' has %llu bytes, and a frame of %ux%u in %s has %zu",
                           raw->path, (unsigned long long)file.st_size, raw->base.info.width,
                           raw->base.info.height, cli_format_name(raw->base.info.format), raw->frame_bytes);
    }
    return CAMERA_OK;
}

static camera_status raw_make(raw_source *raw, const source_request *wanted, char *error)
{
    if (wanted->format < 0 || wanted->width == 0 || wanted->height == 0) {
        return source_fail(error, CAMERA_USAGE,
                           "raw pixels have no header: say raw://%s?format=nv12&width=640&height=480",
                           raw->path);
    }
    const mts_pixel_format format = (mts_pixel_format)wanted->format;
    raw->paced = wanted->paced;
    raw->fps = wanted->fps > 0 ? wanted->fps : FPS_DEFAULT;
    raw->base.info = (source_info){.format = format,
                                   .yuv = wanted->yuv < 0 ? MTS_YUV_BT601 : (mts_yuv)wanted->yuv,
                                   .width = wanted->width,
                                   .height = wanted->height,
                                   .fps = raw->fps};
    const mts_frame frame = {.format = format, .width = wanted->width, .height = wanted->height};
    raw->frame_bytes = cli_frame_bytes(&frame);
    const camera_status status = file_open(raw, error);
    if (status != CAMERA_OK) {
        return status;
    }
    return slots_make(raw, wanted->held + 1) ? CAMERA_OK : source_fail(error, CAMERA_FAILURE, "no memory");
}

camera_status source_raw_open(const source_request *request, const char *rest, source **out, char *error)
{
    source_request wanted = *request;
    raw_source *raw = calloc(1, sizeof *raw);
    *out = NULL;
    if (!raw) {
        return source_fail(error, CAMERA_FAILURE, "no memory");
    }
    raw->base.type = &raw_class;
    raw->fd = -1;
    raw->flags = -1;
    raw->filling = -1;
    const uri_key keys[] = {URI_COMMON(wanted), {"loop", URI_KIND_FLAG, &raw->loop}};
    camera_status status = uri_read(rest, raw->path, keys, sizeof keys / sizeof keys[0], error);
    status = status == CAMERA_OK ? uri_size_check(&wanted, error) : status;
    status = status == CAMERA_OK ? raw_make(raw, &wanted, error) : status;
    if (status != CAMERA_OK) {
        raw_close(&raw->base);
        return status;
    }
    *out = &raw->base;
    return CAMERA_OK;
}
