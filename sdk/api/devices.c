/*
 * devices.c: the list of devices and the choice among them.
 *
 * An id is the backend's name and, where a machine can have several, a number:
 * "opencl:0", "cpu", "reference". Backends come from the generated registry, in order of
 * preference; GPUs come before all others. The null backend computes nothing, so it opens
 * only by its name and stands in no list; so do devices that have a name instead of a
 * number: "cuda:sm_62", and parts of a device, "opencl:0/1of2".
 *
 * Choosing a device loads no OpenCL driver (which takes 20 ms and more) where a device is
 * known and the system shows no GPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "platform/os/os.h"

static const char *const unlisted_backends[] = {"null"};
static const char *const single_backends[] = {"null", "cpu",
                                              "reference"}; /* one device each: the id needs no number */

static bool backend_in(const mts_backend *backend, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(backend->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool backend_listed(const mts_backend *backend)
{
    return !backend_in(backend, unlisted_backends, sizeof unlisted_backends / sizeof unlisted_backends[0]);
}

static void fill_desc(const mts_device_info *info, mts_device_desc *out)
{
    *out = (mts_device_desc){.size = sizeof *out};
    (void)snprintf(out->name, sizeof out->name, "%s", info->name);
    (void)snprintf(out->driver, sizeof out->driver, "%s", info->driver);
    out->is_gpu = info->is_gpu ? 1 : 0;
    out->compute_units = info->compute_units;
    out->vector_floats = info->vector_floats;

    out->memory_bytes = info->memory_bytes;
    out->reads = info->imports;
}

static void fill_id(const mts_backend *backend, uint32_t index, mts_device_desc *out)
{
    if (backend_in(backend, single_backends, sizeof single_backends / sizeof single_backends[0])) {
        (void)snprintf(out->id, sizeof out->id, "%s", backend->name);
    } else {
        (void)snprintf(out->id, sizeof out->id, "%s:%" PRIu32, backend->name, index);
    }
}

static mts_status describe(const mts_backend *backend, uint32_t index, mts_device_desc *out, mts_error *error)
{
    mts_device_info info = {0};
    const mts_status status = backend->describe(index, &info, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    fill_desc(&info, out);
    fill_id(backend, index, out);
    return MTS_STATUS_OK;
}

/* What an id names. */
typedef struct target {
    const mts_backend *backend;
    uint32_t index;
    const char *name; /* instead of the index; NULL: none */
} target;

static mts_status parse_number(const char *id, const char *text, uint32_t *number, mts_error *error)
{
    char *end = NULL;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value > UINT16_MAX) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "device '%s': the part after ':' is not a device number",
                        id);
    }
    *number = (uint32_t)value;
    return MTS_STATUS_OK;
}

static bool is_name(const char *text)
{
#ifndef MTS_SMALL
    if (strchr(text, '/')) { /* a part of a device */
        return true;
    }
#endif
    return text[0] < '0' || text[0] > '9';
}

static mts_status parse_id(const char *id, target *out, mts_error *error)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    const char *colon = strchr(id, ':');
    const size_t length = colon ? (size_t)(colon - id) : strlen(id);
    *out = (target){.backend = NULL};
    for (size_t i = 0; i < count; i++) {
        if (strlen(table[i]->name) == length && strncmp(table[i]->name, id, length) == 0) {
            out->backend = table[i];
        }
    }
    if (out->backend && out->backend->open_named && colon && is_name(colon + 1)) {
        out->name = colon + 1;
        return MTS_STATUS_OK;
    }
    const mts_status status = colon ? parse_number(id, colon + 1, &out->index, error) : MTS_STATUS_OK;
    if (status == MTS_STATUS_OK && !out->backend) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "device '%s': this build has no backend '%.*s'", id,
                        (int)length, id);
    }
    return status;
}

static bool has_foreign(const mts_device_options *options)
{
    return options->external_context || options->external_queue;
}

#define CANDIDATES_MOST 32

/* Devices that can be described, in the order in which they are preferred. */
typedef struct device_list {
    target devices[CANDIDATES_MOST];
    uint32_t gpus, count;
} device_list;

static void device_list_add(device_list *list, const target *found, bool is_gpu)
{
    if (list->count == CANDIDATES_MOST) {
        return;
    }
    const uint32_t at = is_gpu ? list->gpus : list->count;
    memmove(&list->devices[at + 1], &list->devices[at], (list->count - at) * sizeof list->devices[0]);
    list->devices[at] = *found;
    list->gpus += is_gpu ? 1 : 0;
    list->count++;
}

/*
 * GPUs first, then the others, both in the registry's order; with a context of the
 * caller's only those that take one. Drivers of later backends are not loaded where the
 * first `wanted` devices are known before: where these are GPUs, or where the system
 * shows none. A driver that has one all the same does not bring it before the others.
 */
static void device_list_fill(device_list *list, const mts_device_options *options, uint32_t wanted)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    const bool gpus = mts_os_shows_gpu("/dev");
    *list = (device_list){.count = 0};
    for (size_t i = 0; i < count; i++) {
        const bool first = gpus || !table[i]->loads_drivers;
        const bool known = list->gpus >= wanted || (!first && list->count >= wanted);
        const bool fits = !known && backend_listed(table[i]) &&
                          (table[i]->takes_external || !options || !has_foreign(options));
        const uint32_t devices = fits ? table[i]->count() : 0;
        for (uint32_t device = 0; device < devices; device++) {
            const target found = {.backend = table[i], .index = device};
            mts_device_info info = {0};
            if (table[i]->describe(device, &info, NULL) == MTS_STATUS_OK) {
                device_list_add(list, &found, info.is_gpu && first);
            }
        }
    }
}

/* Number `rank` of the devices. */
static mts_status choose(const mts_device_options *options, uint32_t rank, target *out, mts_error *error)
{
    device_list list;
    device_list_fill(&list, options, rank + 1);
    if (rank < list.count) {
        *out = list.devices[rank];
        return MTS_STATUS_OK;
    }
    return mts_fail(error, MTS_STATUS_NOT_FOUND, "this machine has no %sdevice that this build can open%s",
                    rank > 0 ? "other " : "", has_foreign(options) ? " with the caller's context" : "");
}

uint32_t mts_api_device_count(void)
{
    device_list list;
    device_list_fill(&list, NULL, UINT32_MAX);
    return list.count;
}

mts_status mts_api_device_info(uint32_t index, mts_device_desc *out, mts_error *error)
{
    device_list list;
    device_list_fill(&list, NULL, UINT32_MAX);
    return index < list.count ? describe(list.devices[index].backend, list.devices[index].index, out, error)
                              : mts_fail(error, MTS_STATUS_NOT_FOUND, "there is no device %" PRIu32, index);
}

/* In a context of the caller's the device may be another one than the number says: asked
   when it is open. */
static mts_status open_index(const target *what, const char *id, const mts_device_options *options,
                             mts_device **out, mts_device_desc *desc, mts_error *error)
{
    const uint32_t devices = what->backend->count();
    mts_device_info info;
    if (devices == 0) { /* the backend knows why: no driver, or one that is too old */
        const mts_status reason = what->backend->describe(what->index, &info, error);
        if (reason != MTS_STATUS_OK) {
            return mts_fail_prefix(error, reason, "device '%s'", id);
        }
    }
    if (what->index >= devices) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND,
                        "device '%s': backend '%s' finds %" PRIu32 " devices here", id, what->backend->name,
                        devices);
    }
    const mts_status status = what->backend->open(what->index, options, out, error);
    if (status == MTS_STATUS_OK) {
        fill_desc(&(*out)->info, desc);
        fill_id(what->backend, has_foreign(options) ? (*out)->index : what->index, desc);
    }
    return status;
}

static mts_status open_named(const target *what, const char *id, const mts_device_options *options,
                             mts_device **out, mts_device_desc *desc, mts_error *error)
{
    const mts_status status = what->backend->open_named(what->name, options, out, error);
    if (status == MTS_STATUS_OK) {
        fill_desc(&(*out)->info, desc);
        (void)snprintf(desc->id, sizeof desc->id, "%s", id);
    }
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "device '%s'", id);
}

bool mts_api_device_is_chosen(const char *id)
{
    return !id || strcmp(id, "auto") == 0;
}

mts_status mts_api_device_open(const char *id, uint32_t rank, const mts_device_options *options,
                               mts_device **out, mts_device_desc *desc, mts_error *error)
{
    target what;
    const bool automatic = mts_api_device_is_chosen(id);
    const mts_status status = automatic ? choose(options, rank, &what, error) : parse_id(id, &what, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (has_foreign(options) && !what.backend->takes_external) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "device '%s': backend '%s' takes no context of the caller's", id ? id : "auto",
                        what.backend->name);
    }
    return what.name ? open_named(&what, id, options, out, desc, error)
                     : open_index(&what, automatic ? "auto" : id, options, out, desc, error);
}

uint32_t mts_device_count(void)
{
    return mts_api_device_count();
}

mts_status mts_device_describe(uint32_t index, mts_device_desc *out)
{
    mts_device_desc desc;
    mts_status status = mts_sized_check(out, sizeof *out, "mts_device_desc", NULL);
    MTS_TRY(status, mts_api_device_info(index, &desc, NULL));
    if (status == MTS_STATUS_OK) {
        mts_sized_write(out, &desc);
    }
    return status;
}
