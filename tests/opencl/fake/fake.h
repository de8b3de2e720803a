/*
 * fake.h: an OpenCL library in front of the machine's, which can import foreign memory, and what tests tell
 * it.
 *
 * It has the name of the system's loader and hands out the functions of the real one, but for a few: it says
 * more extensions, and makes buffers of file descriptors (memfd instead of dma-buf) and of what poses as a
 * hardware buffer. Memory that has to be acquired is a copy, made when the queue comes to the acquiring: who
 * forgets that reads what was there before.
 */
#ifndef MTS_TESTS_OPENCL_FAKE_H
#define MTS_TESTS_OPENCL_FAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))
#define FAKE_HARDWARE_BUFFER 0x41484221u

/* What poses as an AHardwareBuffer. */
typedef struct fake_hardware_buffer {
    uint32_t magic; /* FAKE_HARDWARE_BUFFER */
    int fd;
} fake_hardware_buffer;

typedef struct fake_opencl {
    const char *extensions;    /* more than the driver says; NULL: none */
    const char *missing;       /* a function that is not there; NULL: all are */
    bool knows_no_consistency; /* as drivers before that property */
    int fail;                  /* what the next import, or acquiring, returns; 0: it succeeds */
    int fail_launch;           /* likewise of a launch */
    uint32_t asked;            /* extension texts that were handed out: the library is in use */
    uint32_t imports;
    atomic_uint alive; /* a driver may let go of a buffer a little after its last command has run */
    uint32_t acquires, releases;
    atomic_uint acquired;              /* memory objects, now */
    uint32_t misuses;                  /* of rules that a real driver does not check */
    bool refuses_hints;                /* a driver that does not take what it says to have */
    intptr_t perf, priority;           /* hints of the last context; 0: none */
    uint64_t queue_priority, throttle; /* of the last queue that was made with properties */

    uint64_t written, read; /* bytes that were copied to and from buffers */
    uint32_t maps, unmaps;
    const char *platform;      /* its name, which the table of quirks is asked for; NULL: the driver's */
    const char *fails;         /* a function of recordings or of mapping that fails; NULL: none does */
    uint32_t fails_from;       /* only calls from this one on */
    bool simultaneous;         /* a recording of cl_khr_command_buffer may be enqueued twice */
    uint32_t mutable_version;  /* of mutable dispatch, major << 22 | minor << 12 | patch */
    uint32_t record_most;      /* launches of a recording of cl_qcom_recordable_queues */
    uint64_t clock_ns;         /* goes on with launches, */
    uint32_t plain_ns;         /* by this with one by itself */
    uint32_t record_ns;        /* and by this with one of a recording */
    uint32_t records, replays; /* recordings that were made, and enqueued */
    uint32_t changes;          /* launches that were changed in place, or came with other arguments */
    int32_t records_alive;
} fake_opencl;

/* The library's own state. */
FAKE_API fake_opencl *fake_opencl_state(void);
/* The machine's own function; NULL: it has none. */
void *fake_opencl_real(const char *name);
/* Declares a pointer to the machine's function of that name. */
#define FAKE_REAL(type, name, ...)                                                                           \
    type (*name)(__VA_ARGS__) = NULL;                                                                        \
    {                                                                                                        \
        void *const symbol = fake_opencl_real(#name);                                                        \
        memcpy(&name, &symbol, sizeof symbol);                                                               \
    }
typedef void (*fake_function)(void);
/* Functions of queues and recordings that stand in front of the machine's, NULL: not one of them. */
fake_function fake_opencl_queue_function(const char *name);
fake_function fake_opencl_record_function(const char *name);
fake_function fake_opencl_memory_function(const char *name);
/* Whether a buffer is mapped. */
bool fake_opencl_is_mapped(const void *buffer);
/* Whether this call of that function is to fail. */
bool fake_opencl_fails(const char *name);
/* Whether it says an extension. */
bool fake_opencl_says(const char *extension);

/* What "libnativewindow.so" counts, and whether it refuses to lock. */
typedef struct fake_window {
    bool fail, has_planes;
    uint32_t width, height,
        stride; /* what all buffers say of themselves; width 0: bytes, as many as they have */
    uint32_t locks;
    int32_t held, locked;
} fake_window;

/* "fake_window_state" of that library. */
typedef fake_window *(*fake_window_state_fn)(void);
/* "fake_opencl_state" of the library. */
typedef fake_opencl *(*fake_opencl_state_fn)(void);

#endif
