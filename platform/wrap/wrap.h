/*
 * wrap.h: a device around a device, with a place to look at and refuse every call.
 *
 * check, fault and trace are sets of hooks over this one pass-through. It owns the inner
 * device, gives every object a number, and forwards through the front (mts_buffer_create
 * ...), so that the inner device's arguments are checked again.
 *
 * Thread-safety: like the inner device.
 */
#ifndef MTS_PLATFORM_WRAP_WRAP_H
#define MTS_PLATFORM_WRAP_WRAP_H

#include "device/device.h"

typedef enum mts_wrap_kind {
    MTS_WRAP_KIND_DEVICE_DESTROY = 0,
    MTS_WRAP_KIND_BUFFER_CREATE = 1,
    MTS_WRAP_KIND_BUFFER_DESTROY = 2,
    MTS_WRAP_KIND_BUFFER_WRITE = 3,
    MTS_WRAP_KIND_BUFFER_READ = 4,
    MTS_WRAP_KIND_BUFFER_FILL = 5,
    MTS_WRAP_KIND_KERNEL_CREATE = 6,
    MTS_WRAP_KIND_KERNEL_DESTROY = 7,
    MTS_WRAP_KIND_LIST_CREATE = 8,
    MTS_WRAP_KIND_LIST_DESTROY = 9,
    MTS_WRAP_KIND_LIST_SUBMIT = 10,
    MTS_WRAP_KIND_WAIT = 11,
    MTS_WRAP_KIND_LIST_PROFILE = 12,
    MTS_WRAP_KIND_LIST_UPDATE = 13,
    MTS_WRAP_KIND_BUFFER_WRITE_ASYNC = 14, /* an asynchronous buffer_write */
    MTS_WRAP_KIND_BUFFER_FETCH = 15,
    MTS_WRAP_KIND_EVENT_RECORD = 16,
    MTS_WRAP_KIND_EVENT_QUERY = 17,
    MTS_WRAP_KIND_HOST_CREATE = 18,
    MTS_WRAP_KIND_HOST_DESTROY = 19,
    MTS_WRAP_KIND_LIST_TRACE = 20,
    MTS_WRAP_KIND_LIST_CALIBRATE = 21,
    MTS_WRAP_KIND_BUFFER_MAP = 22,
    MTS_WRAP_KIND_BUFFER_UNMAP = 23,
    MTS_WRAP_KIND_COUNT = 24
} mts_wrap_kind;

typedef enum mts_wrap_type {
    MTS_WRAP_TYPE_BUFFER = 0,
    MTS_WRAP_TYPE_KERNEL = 1,
    MTS_WRAP_TYPE_LIST = 2,
    MTS_WRAP_TYPE_HOST = 3 /* host memory: the caller holds the inner device's */
} mts_wrap_type;

/* The outer object; its first member is what the caller holds. */
typedef struct mts_wrap_object {
    union {
        mts_buffer buffer;
        mts_kernel kernel;
        mts_command_list list;
    } base;
    union {
        mts_buffer *buffer;
        mts_kernel *kernel;
        mts_command_list *list;
        void *host;
    } inner; /* NULL once destroyed */
    struct mts_wrap_object *next;
    mts_wrap_type type;
    uint32_t id; /* from 1, in order of creation */
    bool dead;
    size_t size;          /* of host memory */
    char *name;           /* of a kernel */
    mts_launch *launches; /* of a list: the outer objects */
    void *extra;          /* the hooks' own, freed with the object */
} mts_wrap_object;

/* One call, before or after it ran. What does not apply is 0. */
typedef struct mts_wrap_call {
    mts_wrap_kind kind;
    mts_wrap_object *object; /* of a create: only after, and only if it succeeded */
    size_t offset, size;
    const void *data; /* of a transfer: the caller's */
    uint32_t event;
    bool passed;     /* of event_query: what the inner device answered; only after */
    bool imported;   /* of a create: the buffer is the caller's memory */
    bool overwrites; /* of a map */
    const mts_kernel_desc *desc;
    const mts_launch *launches;
    size_t count; /* of launches */
} mts_wrap_call;

typedef struct mts_wrap mts_wrap;
typedef struct mts_wrap_hooks {
    /* Anything but OK refuses the call, which then returns that. NULL: all pass. */
    mts_status (*before)(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error);
    /* NULL: nothing to do. Not called for a refused call. */
    void (*after)(mts_wrap *wrap, const mts_wrap_call *call, mts_status status);
} mts_wrap_hooks;

struct mts_wrap {
    mts_device base;
    mts_device *inner;
    const mts_wrap_hooks *hooks;
    void *context;            /* the hooks' own, freed with the device */
    mts_wrap_object *objects; /* newest first; dead ones too if they are kept */
    uint32_t last_id;
    bool keep_dead; /* destroyed objects keep their memory until the device goes, so that later use is noticed
                     */
};

/*
 * Takes *inner (NULL afterwards) and `context` (from the inner device's allocator). On
 * failure both stay the caller's. out may be inner, which then gets the outer device.
 * Objects that are alive when the device is destroyed are destroyed with it.
 */
mts_status mts_wrap_make(mts_device **inner, const mts_wrap_hooks *hooks, void *context, bool keep_dead,
                         mts_device **out, mts_error *error);
/* The live host memory object that contains the byte at `memory`; NULL: the wrap made
   none that does. */
mts_wrap_object *mts_wrap_host_find(const mts_wrap *wrap, const void *memory);
/* "buffer_create" ...; never NULL. */
const char *mts_wrap_kind_name(mts_wrap_kind kind);
const char *mts_wrap_type_name(mts_wrap_type type);

#endif
