/*
 * plan_cache.c: the content of plan files and tuning files, and their keys. A table of
 * fields describes each record, for writing and for reading; the reader trusts no count
 * and no number.
 */
#include "tune/plan_cache.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "device/kernel.h"

#ifndef MTS_VERSION_TEXT
#define MTS_VERSION_TEXT "unversioned"
#endif

#define TASKS_MOST 65536u
#define ENTRIES_MOST 8192u

/* ---- fields ---- */

typedef enum field_type {
    U32 = 0,
    U64 = 1,
    F64 = 2, /* milliseconds or a ratio: finite, not negative */
    TEXT = 3 /* MTS_CONSIDERED_TEXT bytes with a zero at the end */
} field_type;

typedef struct field {
    field_type type;
    uint32_t most; /* of a U32 */
    size_t offset; /* in the record */
} field;

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const field config_fields[] = {
    {U32, MTS_KERNEL_CONFIG_KERNEL_COUNT - 1, offsetof(mts_kernel_config, kernel)},
    {U32, 1024, offsetof(mts_kernel_config, rows)},
    {U32, 65536, offsetof(mts_kernel_config, vectors)},
    {U32, 65536, offsetof(mts_kernel_config, local)},
    {U32, 65536, offsetof(mts_kernel_config, depth)},
    {U32, 65536, offsetof(mts_kernel_config, parts)}};

/* The configuration stands between these two parts of an entry. */
static const field entry_fields[] = {{U64, 0, offsetof(mts_kernel_config_entry, signature)},
                                     {U64, 0, offsetof(mts_kernel_config_entry, kind)},
                                     {U32, UINT32_MAX, offsetof(mts_kernel_config_entry, members)},
                                     {U32, UINT32_MAX, offsetof(mts_kernel_config_entry, tried)}};
static const field entry_times[] = {{F64, 0, offsetof(mts_kernel_config_entry, ms)},
                                    {F64, 0, offsetof(mts_kernel_config_entry, default_ms)}};

static const field plan_fields[] = {{TEXT, 0, offsetof(mts_considered_plan, what)},
                                    {U32, UINT32_MAX, offsetof(mts_considered_plan, of_class)},
                                    {U32, TASKS_MOST, offsetof(mts_considered_plan, groups)},
                                    {U32, MTS_VERDICT_COUNT - 1, offsetof(mts_considered_plan, verdict)},
                                    {U64, 0, offsetof(mts_considered_plan, slice_bytes)},
                                    {U64, 0, offsetof(mts_considered_plan, peak)},
                                    {F64, 0, offsetof(mts_considered_plan, predicted_ms)},
                                    {F64, 0, offsetof(mts_considered_plan, measured_ms)},
                                    {F64, 0, offsetof(mts_considered_plan, relative)}};

static const field sample_fields[] = {{U32, UINT32_MAX, offsetof(mts_planning_sample, of_class)},
                                      {U32, TASKS_MOST, offsetof(mts_planning_sample, tasks)},
                                      {F64, 0, offsetof(mts_planning_sample, latency)},
                                      {F64, 0, offsetof(mts_planning_sample, modelled)},
                                      {U64, 0, offsetof(mts_planning_sample, arena)},
                                      {U64, 0, offsetof(mts_planning_sample, weights)}};

/* Without the two lists and what only concerns one session. */
static const field report_fields[] = {{U32, UINT32_MAX, offsetof(mts_planning_report, layers_tuned)},
                                      {U32, UINT32_MAX, offsetof(mts_planning_report, layers_changed)},
                                      {U32, UINT32_MAX, offsetof(mts_planning_report, candidates)},
                                      {U32, UINT32_MAX, offsetof(mts_planning_report, skipped)},
                                      {U32, 1, offsetof(mts_planning_report, complete)},
                                      {F64, 0, offsetof(mts_planning_report, default_ms)},
                                      {F64, 0, offsetof(mts_planning_report, tuned_ms)},
                                      {F64, 0, offsetof(mts_planning_report, predicted_ms)},
                                      {F64, 0, offsetof(mts_planning_report, model_error)}};

static size_t field_size(const field *f)
{
    return f->type == U32 ? sizeof(uint32_t) : f->type == TEXT ? MTS_CONSIDERED_TEXT : sizeof(uint64_t);
}

/* ---- writing ---- */

typedef struct writer {
    const mts_allocator *allocator;
    unsigned char *data;
    size_t size, capacity;
    bool failed;
} writer;

static void put(writer *w, const void *data, size_t size)
{
    if (w->failed ||
        !mts_alloc_grow(w->allocator, (void **)&w->data, &w->capacity, w->size + size, sizeof *w->data)) {
        w->failed = true;
        return;
    }
    memcpy(w->data + w->size, data, size);
    w->size += size;
}

static void put_count(writer *w, size_t count)
{
    const uint32_t value = (uint32_t)count;
    put(w, &value, sizeof value);
}

/* A time that is no number is written as 0: it was not measured. */
static void put_record(writer *w, const field *fields, size_t count, const void *record)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = (const unsigned char *)record + fields[i].offset;
        double time = 0.0;
        if (fields[i].type == F64) {
            memcpy(&time, at, sizeof time);
            time = isfinite(time) && time >= 0.0 ? time : 0.0;
        }
        put(w, fields[i].type == F64 ? (const void *)&time : at, field_size(&fields[i]));
    }
}

static void put_config(writer *w, const mts_kernel_config *config)
{
    put_record(w, config_fields, COUNT_OF(config_fields), config);
}

static void put_configs(writer *w, const mts_kernel_configs *configs)
{
    const size_t count = configs ? configs->count : 0;
    put_count(w, count);
    for (size_t i = 0; i < count; i++) {
        const mts_kernel_config_entry *entry = &configs->entries[i];
        put_record(w, entry_fields, COUNT_OF(entry_fields), entry);
        put_config(w, &entry->config);
        put_record(w, entry_times, COUNT_OF(entry_times), entry);
    }
}

static void put_report(writer *w, const mts_planning_report *report)
{
    put_record(w, report_fields, COUNT_OF(report_fields), report);
    put_count(w, report->plan_count);
    for (uint32_t i = 0; i < report->plan_count; i++) {
        put_record(w, plan_fields, COUNT_OF(plan_fields), &report->plans[i]);
    }
    put_count(w, report->sample_count);
    for (uint32_t i = 0; i < report->sample_count; i++) {
        put_record(w, sample_fields, COUNT_OF(sample_fields), &report->samples[i]);
    }
}

/* ---- reading ---- */

typedef struct reader {
    const unsigned char *at;
    size_t left;
    mts_status status; /* the first failure: MALFORMED, or OUT_OF_MEMORY */
} reader;

static void check(reader *r, bool good)
{
    r->status = r->status == MTS_STATUS_OK && !good ? MTS_STATUS_MALFORMED : r->status;
}

static void check_memory(reader *r, mts_status status)
{
    r->status = r->status == MTS_STATUS_OK ? status : r->status;
}

static bool is_valid(const field *f, const void *value)
{
    uint32_t number = 0;
    double time = 0.0;
    switch (f->type) {
    case U32:
        memcpy(&number, value, sizeof number);
        return number <= f->most;
    case F64:
        memcpy(&time, value, sizeof time);
        return isfinite(time) && time >= 0.0;
    case TEXT:
        return ((const char *)value)[MTS_CONSIDERED_TEXT - 1] == '\0';
    case U64:
        break;
    }
    return true;
}

/* A value that is not valid is 0 in the record. */
static void get_record(reader *r, const field *fields, size_t count, void *record)
{
    for (size_t i = 0; i < count; i++) {
        const size_t size = field_size(&fields[i]);
        unsigned char *to = (unsigned char *)record + fields[i].offset;
        check(r, size <= r->left && is_valid(&fields[i], r->at));
        if (r->status != MTS_STATUS_OK) {
            memset(to, 0, size);
            continue;
        }
        memcpy(to, r->at, size);
        r->at += size;
        r->left -= size;
    }
}

/* A number up to `most`. */
static uint32_t get_u32(reader *r, uint32_t most)
{
    uint32_t value = 0;
    get_record(r, &(field){U32, most, 0}, 1, &value);
    return value;
}

static mts_kernel_config get_config(reader *r)
{
    mts_kernel_config config;
    get_record(r, config_fields, COUNT_OF(config_fields), &config);
    return config;
}

static void get_configs(reader *r, mts_kernel_configs *configs)
{
    const uint32_t count = get_u32(r, ENTRIES_MOST);
    for (uint32_t i = 0; i < count && r->status == MTS_STATUS_OK; i++) {
        mts_kernel_config_entry entry = {0};
        get_record(r, entry_fields, COUNT_OF(entry_fields), &entry);
        entry.config = get_config(r);
        get_record(r, entry_times, COUNT_OF(entry_times), &entry);
        check_memory(r, mts_kernel_configs_add(configs, &entry, NULL));
    }
}

static void get_report(reader *r, mts_planning *p)
{
    get_record(r, report_fields, COUNT_OF(report_fields), &p->report);
    const uint32_t plans = get_u32(r, ENTRIES_MOST);
    for (uint32_t i = 0; i < plans && r->status == MTS_STATUS_OK; i++) {
        mts_considered_plan plan = {0};
        get_record(r, plan_fields, COUNT_OF(plan_fields), &plan);
        check(r, plan.of_class < p->class_count || plan.of_class == MTS_CONSIDERED_SESSION);
        check_memory(r, mts_planning_add_plan(p, &plan));
    }
    const uint32_t samples = get_u32(r, ENTRIES_MOST);
    for (uint32_t i = 0; i < samples && r->status == MTS_STATUS_OK; i++) {
        mts_planning_sample sample = {0};
        get_record(r, sample_fields, COUNT_OF(sample_fields), &sample);
        check(r, sample.of_class < p->class_count);
        check_memory(r, mts_planning_add_sample(p, &sample));
    }
}

/* ---- keys ---- */

/* Of the sources of all kernels: a measurement of others is worth nothing. */
static uint64_t kernels_hash(void)
{
    size_t count = 0;
    uint64_t hash = 0;
    const mts_kernel_source *table = mts_kernel_table(&count);
    for (size_t i = 0; i < count; i++) {
        hash = mts_kernel_hash(&table[i], hash);
    }
    return hash;
}

void mts_plan_cache_device_key(const mts_device_info *info, mts_precision precision, const mts_cache *cache,
                               mts_text *key)
{
    mts_text_add(key, "format %u\nlibrary %s\nkernels %016llx\nbackend %s\ndevice %s\ndriver %s\n",
                 MTS_PLAN_FORMAT, MTS_VERSION_TEXT, (unsigned long long)kernels_hash(), info->backend,
                 info->name, info->driver);
    mts_text_add(key, "gpu %d unified %d gemm %d imports %u\n", info->is_gpu, info->unified_memory,
                 info->gemm, info->imports);
    mts_text_add(key, "units %u vector %u group %u memory %llu buffer %llu local %llu\n", info->compute_units,
                 info->vector_floats, info->work_group_size, (unsigned long long)info->memory_bytes,
                 (unsigned long long)info->buffer_bytes, (unsigned long long)info->local_bytes);
    mts_text_add(
        key, "arch %u half products %d byte products %d row lanes %d matrix units %d overlaps %d launch %u\n",
        info->arch, info->half_products, info->byte_products, info->row_lanes, info->matrix_units,
        info->overlaps, info->launch_ns);
    mts_text_add(key, "image texels %llu multiple %u\n", (unsigned long long)info->image_texels,
                 info->group_multiple);
    mts_text_add(key, "precision %s\n", mts_precision_name(precision));
    mts_text_add(key, "opened %s\n", cache ? cache->setting : "");
}

static void add_session(const mts_planning *p, mts_text *key)
{
    const mts_engine_options *o = &p->options;
    mts_text_add(key,
                 "bundle %016llx\nstrategy %d grouping %d separate %d zero-copy %d budget %llu tuning %u "
                 "packed %d images %d\ntasks",
                 (unsigned long long)p->archive->hash, (int)o->strategy, (int)p->how.grouping,
                 o->separate_inputs, o->zero_copy_inputs, (unsigned long long)o->memory_budget.bytes,
                 p->how.tuning_ms, (int)o->packed_channels, (int)o->weight_images);
    for (uint32_t i = 0; i < p->task_count; i++) {
        mts_text_add(key, " %u:%u", p->tasks[i], p->priorities[i]);
    }
    mts_text_add(key, "\n");
}

/* ---- files ---- */

/* The key of the device's tunings, or of the session's plan. */
static void make_key(const mts_planning *p, mts_cache_kind kind, mts_text *key)
{
    mts_text_init(key, p->allocator);
    mts_plan_cache_device_key(&p->device->info, p->options.precision, p->how.cache, key);
    if (kind == MTS_CACHE_PLANS) {
        add_session(p, key);
    }
}

/* False: there is no file. */
static bool load(mts_planning *p, mts_cache_kind kind, mts_os_cache_file *file, reader *r)
{
    mts_text key;
    make_key(p, kind, &key);
    const bool found = !key.failed && mts_cache_load(p->how.cache, kind, mts_text_get(&key), file);
    mts_text_release(&key);
    *r = found ? (reader){.at = file->body, .left = file->size} : (reader){0};
    return found;
}

/* Whether everything that was read is valid. */
static bool finish(mts_planning *p, mts_cache_kind kind, reader *r, mts_os_cache_file *file)
{
    check(r, r->left == 0);
    mts_cache_release(p->how.cache, file);
    if (r->status != MTS_STATUS_OK) {
        mts_cache_undo(p->how.cache, kind, r->status,
                       r->status == MTS_STATUS_OUT_OF_MEMORY ? "does not fit into memory"
                                                             : "contradicts itself");
    }
    return r->status == MTS_STATUS_OK;
}

static void store(mts_planning *p, mts_cache_kind kind, writer *w)
{
    mts_text key;
    make_key(p, kind, &key);
    const bool made = !key.failed && !w->failed;
    mts_cache_store(p->how.cache, kind, made ? mts_text_get(&key) : NULL, w->data, w->size);
    mts_text_release(&key);
    mts_alloc_free(p->allocator, w->data);
}

/* ---- plans ---- */

/* Each group lies in one class, and groups ascend with the classes: those of higher
   priority run first. */
static mts_status check_groups(mts_planning *p)
{
    uint32_t last = 0;
    uint32_t *class_of_group = mts_arena_zero(&p->arena, p->task_count, sizeof *class_of_group);
    if (!class_of_group) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    for (uint32_t t = 0; t < p->task_count; t++) {
        uint32_t *number = &class_of_group[p->group_of[t]]; /* plus 1; 0: no task so far */
        if (*number != 0 && *number != p->class_of[t] + 1) {
            return MTS_STATUS_MALFORMED;
        }
        *number = p->class_of[t] + 1;
    }
    for (uint32_t g = 0; g < p->task_count; g++) {
        if (class_of_group[g] != 0 && class_of_group[g] < last) {
            return MTS_STATUS_MALFORMED;
        }
        last = class_of_group[g] != 0 ? class_of_group[g] : last;
    }
    return MTS_STATUS_OK;
}

static void read_plan(reader *r, mts_planning *p)
{
    const uint32_t tasks = get_u32(r, TASKS_MOST);
    check(r, tasks == p->task_count);
    for (uint32_t i = 0; i < p->task_count && r->status == MTS_STATUS_OK; i++) {
        p->group_of[i] = get_u32(r, p->task_count - 1);
    }
    if (r->status == MTS_STATUS_OK) {
        r->status = check_groups(p);
    }
    get_record(r, &(field){U64, 0, 0}, 1, &p->decision.slice_bytes);
    const uint32_t configured = get_u32(r, 1);
    get_configs(r, &p->planned);
    p->decision.configs = configured != 0 ? &p->planned : NULL;
    get_report(r, p);
}

/* Undoes what reading a file has set; the groups are those of the classes again. */
static void forget(mts_planning *p)
{
    p->decision.slice_bytes = p->usual_slice_bytes;
    p->decision.configs = NULL;
    p->planned.count = 0;
    mts_planning_report_clear(&p->report);
    memcpy(p->group_of, p->class_of, p->task_count * sizeof *p->group_of);
}

void mts_plan_cache_refuse(mts_planning *p)
{
    mts_cache_undo(p->how.cache, MTS_CACHE_PLANS, MTS_STATUS_MALFORMED,
                   "holds a plan that cannot be created");
    forget(p);
}

bool mts_plan_cache_load(mts_planning *p)
{
    reader r;
    mts_os_cache_file file;
    if (!load(p, MTS_CACHE_PLANS, &file, &r)) {
        return false;
    }
    read_plan(&r, p);
    const bool valid = finish(p, MTS_CACHE_PLANS, &r, &file);
    if (!valid) {
        forget(p);
    }
    return valid;
}

void mts_plan_cache_store(mts_planning *p)
{
    writer w = {.allocator = p->allocator};
    put_count(&w, p->task_count);
    put(&w, p->group_of, p->task_count * sizeof *p->group_of);
    put(&w, &p->decision.slice_bytes, sizeof p->decision.slice_bytes);
    put_count(&w, p->decision.configs ? 1 : 0);
    put_configs(&w, p->decision.configs);
    put_report(&w, &p->report);
    store(p, MTS_CACHE_PLANS, &w);
}

/* ---- tunings ---- */

void mts_tuning_cache_load(mts_planning *p)
{
    reader r;
    mts_os_cache_file file;
    if (!load(p, MTS_CACHE_TUNINGS, &file, &r)) {
        return;
    }
    get_configs(&r, &p->measured);
    const uint32_t failed = get_u32(&r, ENTRIES_MOST);
    for (uint32_t i = 0; i < failed && r.status == MTS_STATUS_OK; i++) {
        const mts_kernel_config config = get_config(&r);
        check_memory(&r, mts_planning_add_failed(p, &config));
    }
    if (!finish(p, MTS_CACHE_TUNINGS, &r, &file)) {
        p->measured.count = 0;
        mts_planning_keep_failed(p, 0);
    }
}

void mts_tuning_cache_store(mts_planning *p)
{
    writer w = {.allocator = p->allocator};
    put_configs(&w, &p->measured);
    put_count(&w, p->failed_count);
    for (size_t i = 0; i < p->failed_count; i++) {
        put_config(&w, &p->failed[i]);
    }
    store(p, MTS_CACHE_TUNINGS, &w);
}
