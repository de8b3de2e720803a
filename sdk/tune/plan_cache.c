/*
 * plan_cache.c: what a plan file and a tuning file hold, and the keys they lie under. Written and read value
 * by value; a reader trusts no count and no number.
 */
#include "tune/plan_cache.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "device/kernel.h"

#ifndef MTS_VERSION_TEXT
#define MTS_VERSION_TEXT "unversioned"
#endif

#define TASKS_MOST 65536u
#define ENTRIES_MOST 8192u

/* ---- values in a row ---- */

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

static void put_u32(writer *w, uint32_t value)
{
    put(w, &value, sizeof value);
}

static void put_u64(writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void put_f64(writer *w, double value)
{
    put(w, &value, sizeof value);
}

typedef struct reader {
    const unsigned char *at;
    size_t left;
    bool failed;
    bool starved; /* it failed for lack of memory */
} reader;

static void get(reader *r, void *data, size_t size)
{
    memset(data, 0, size);
    if (r->failed || size > r->left) {
        r->failed = true;
        return;
    }
    memcpy(data, r->at, size);
    r->at += size;
    r->left -= size;
}

/* What became of a value that was read. */
static void took(reader *r, mts_status code)
{
    r->failed = r->failed || code != MTS_STATUS_OK;
    r->starved = r->starved || code == MTS_STATUS_OUT_OF_MEMORY;
}

/* A number up to `most`. */
static uint32_t get_u32(reader *r, uint32_t most)
{
    uint32_t value = 0;
    get(r, &value, sizeof value);
    if (value > most) {
        r->failed = true;
        return 0;
    }
    return value;
}

static uint64_t get_u64(reader *r)
{
    uint64_t value = 0;
    get(r, &value, sizeof value);
    return value;
}

/* A number of milliseconds or a ratio: finite, not negative. */
static double get_f64(reader *r)
{
    double value = 0.0;
    get(r, &value, sizeof value);
    if (!isfinite(value) || value < 0.0) {
        r->failed = true;
        return 0.0;
    }
    return value;
}

/* ---- parts ---- */

static void put_choice(writer *w, const mts_kernel_config *choice)
{
    put_u32(w, choice->kernel);
    put_u32(w, choice->rows);
    put_u32(w, choice->vectors);
    put_u32(w, choice->local);
    put_u32(w, choice->depth);
    put_u32(w, choice->parts);
}

static mts_kernel_config get_choice(reader *r)
{
    mts_kernel_config choice = {.kernel = get_u32(r, MTS_KERNEL_CONFIG_KERNEL_COUNT - 1)};
    choice.rows = get_u32(r, 1024);
    choice.vectors = get_u32(r, 65536);
    choice.local = get_u32(r, 65536);
    choice.depth = get_u32(r, 65536);
    choice.parts = get_u32(r, 65536);
    return choice;
}

static void put_choices(writer *w, const mts_kernel_configs *choices)
{
    const size_t count = choices ? choices->count : 0;
    put_u32(w, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const mts_kernel_config_entry *e = &choices->entries[i];
        put_u64(w, e->signature);
        put_u64(w, e->kind);
        put_u32(w, e->members);
        put_u32(w, e->tried);
        put_choice(w, &e->choice);
        put_f64(w, e->ms);
        put_f64(w, e->default_ms);
    }
}

static void get_choices(reader *r, mts_kernel_configs *choices)
{
    const uint32_t count = get_u32(r, ENTRIES_MOST);
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        mts_kernel_config_entry e = {.signature = get_u64(r)};
        e.kind = get_u64(r);
        e.members = get_u32(r, UINT32_MAX);
        e.tried = get_u32(r, UINT32_MAX);
        e.choice = get_choice(r);
        e.ms = get_f64(r);
        e.default_ms = get_f64(r);
        took(r, mts_kernel_configs_add(choices, &e, NULL));
    }
}

static void put_considered(writer *w, const mts_considered_plan *f)
{
    put(w, f->what, sizeof f->what);
    put_u32(w, f->of_class);
    put_u32(w, f->groups);
    put_u32(w, f->verdict);
    put_u64(w, f->slice_bytes);
    put_u64(w, f->peak);
    put_f64(w, f->predicted_ms);
    put_f64(w, f->measured_ms);
    put_f64(w, f->relative);
}

static mts_considered_plan get_considered(reader *r, uint32_t classes)
{
    mts_considered_plan f = {.of_class = 0};
    get(r, f.what, sizeof f.what);
    r->failed = r->failed || f.what[sizeof f.what - 1] != '\0';
    f.of_class = get_u32(r, UINT32_MAX);
    r->failed = r->failed || (f.of_class >= classes && f.of_class != MTS_CONSIDERED_SESSION);
    f.groups = get_u32(r, TASKS_MOST);
    f.verdict = get_u32(r, MTS_VERDICT_COUNT - 1);
    f.slice_bytes = get_u64(r);
    f.peak = get_u64(r);
    f.predicted_ms = get_f64(r);
    f.measured_ms = get_f64(r);
    f.relative = get_f64(r);
    return f;
}

static void put_sample(writer *w, const mts_planning_sample *t)
{
    put_u32(w, t->of_class);
    put_u32(w, t->tasks);
    put_f64(w, t->latency);
    put_f64(w, t->modelled);
    put_u64(w, t->arena);
    put_u64(w, t->weights);
}

static mts_planning_sample get_sample(reader *r, uint32_t classes)
{
    mts_planning_sample t = {.of_class = get_u32(r, classes - 1)};
    t.tasks = get_u32(r, TASKS_MOST);
    t.latency = get_f64(r);
    t.modelled = get_f64(r);
    t.arena = get_u64(r);
    t.weights = get_u64(r);
    return t;
}

static double finite_or_zero(double value)
{
    return isfinite(value) && value >= 0.0 ? value : 0.0;
}

static void put_report(writer *w, const mts_planning_report *f)
{
    put_u32(w, f->layers_tuned);
    put_u32(w, f->layers_changed);
    put_u32(w, f->candidates);
    put_u32(w, f->skipped);
    put_u32(w, f->complete);
    put_f64(w, finite_or_zero(f->default_ms));
    put_f64(w, finite_or_zero(f->tuned_ms));
    put_f64(w, finite_or_zero(f->predicted_ms));
    put_f64(w, finite_or_zero(f->model_error));
    put_u32(w, f->plan_count);
    for (uint32_t i = 0; i < f->plan_count; i++) {
        mts_considered_plan tame = f->plans[i];
        tame.predicted_ms = finite_or_zero(tame.predicted_ms);
        tame.measured_ms = finite_or_zero(tame.measured_ms);
        tame.relative = finite_or_zero(tame.relative);
        put_considered(w, &tame);
    }
    put_u32(w, f->sample_count);
    for (uint32_t i = 0; i < f->sample_count; i++) {
        mts_planning_sample tame = f->samples[i];
        tame.latency = finite_or_zero(tame.latency);
        tame.modelled = finite_or_zero(tame.modelled);
        put_sample(w, &tame);
    }
}

static void get_report(reader *r, mts_planning *p)
{
    mts_planning_report *f = &p->report;
    f->layers_tuned = get_u32(r, UINT32_MAX);
    f->layers_changed = get_u32(r, UINT32_MAX);
    f->candidates = get_u32(r, UINT32_MAX);
    f->skipped = get_u32(r, UINT32_MAX);
    f->complete = get_u32(r, 1);
    f->default_ms = get_f64(r);
    f->tuned_ms = get_f64(r);
    f->predicted_ms = get_f64(r);
    f->model_error = get_f64(r);
    const uint32_t plans = get_u32(r, ENTRIES_MOST);
    for (uint32_t i = 0; i < plans && !r->failed; i++) {
        const mts_considered_plan plan = get_considered(r, p->class_count);
        took(r, mts_planning_add_plan(p, &plan));
    }
    const uint32_t samples = get_u32(r, ENTRIES_MOST);
    for (uint32_t i = 0; i < samples && !r->failed; i++) {
        const mts_planning_sample sample = get_sample(r, p->class_count);
        took(r, mts_planning_add_sample(p, &sample));
    }
}

/* ---- keys ---- */

/* Sources of all kernels: a measurement of others is worth nothing. */
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

/* All that latencies and candidates depend on, whatever else the session is. */
static void add_device(const mts_planning *p, mts_text *key)
{
    const mts_device_info *info = &p->device->info;
    const mts_cache *cache = p->how.cache;
    mts_text_add(key, "format %u\nlibrary %s\nkernels %016llx\nbackend %s\ndevice %s\ndriver %s\n",
                 MTS_PLAN_FORMAT, MTS_VERSION_TEXT, (unsigned long long)kernels_hash(), info->backend,
                 info->name, info->driver);
    mts_text_add(key, "gpu %d unified %d gemm %d imports %u\n", info->is_gpu, info->unified_memory,
                 info->gemm, info->imports);
    mts_text_add(key, "units %u vector %u group %u memory %llu buffer %llu local %llu\n", info->compute_units,
                 info->vector_floats, info->work_group_size, (unsigned long long)info->memory_bytes,
                 (unsigned long long)info->buffer_bytes, (unsigned long long)info->local_bytes);
    mts_text_add(key, "arch %u half products %d matrix units %d\n", info->arch, info->half_products,
                 info->matrix_units);
    mts_text_add(key, "precision %s\n", mts_precision_name(p->options.precision));
    mts_text_add(key, "opened %s\n", cache ? cache->setting : "");
}

static void add_session(const mts_planning *p, mts_text *key)
{
    const mts_engine_options *o = &p->options;
    mts_text_add(
        key, "bundle %016llx\nstrategy %d grouping %d separate %d lend %d budget %llu tuning %u\ntasks",
        (unsigned long long)p->archive->hash, (int)o->strategy, (int)p->how.grouping, o->separate_inputs,
        o->lend_inputs, (unsigned long long)o->memory_budget.bytes, p->how.tuning_ms);
    for (uint32_t i = 0; i < p->task_count; i++) {
        mts_text_add(key, " %u:%u", p->tasks[i], p->priorities[i]);
    }
    mts_text_add(key, "\n");
}

/* ---- files ---- */

/* Whether what was read is what was written. */
static bool finish(mts_planning *p, mts_cache_kind kind, const reader *r, mts_os_cache_file *file)
{
    mts_cache_release(p->how.cache, file);
    if (r->failed) {
        mts_cache_undo(p->how.cache, kind, r->starved ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_MALFORMED,
                       r->starved ? "does not fit into memory" : "contradicts itself");
    }
    return !r->failed;
}

static void store(mts_planning *p, mts_cache_kind kind, mts_text *key, writer *w)
{
    const bool made = !key->failed && !w->failed;
    mts_cache_store(p->how.cache, kind, made ? mts_text_get(key) : NULL, w->data, w->size);
    mts_text_release(key);
    mts_alloc_free(p->allocator, w->data);
}

/* ---- plans ---- */

/* Each group lies in one class, and groups ascend with the classes: those of higher priority run first. */
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
    r->failed = r->failed || tasks != p->task_count;
    for (uint32_t i = 0; i < p->task_count && !r->failed; i++) {
        p->group_of[i] = get_u32(r, p->task_count - 1);
    }
    took(r, r->failed ? MTS_STATUS_MALFORMED : check_groups(p));
    p->decision.slice_bytes = get_u64(r);
    const uint32_t chosen = get_u32(r, 1);
    get_choices(r, &p->planned);
    p->decision.choices = chosen != 0 ? &p->planned : NULL;
    get_report(r, p);
    r->failed = r->failed || r->left != 0;
}

/* Forgets what a file has left; the groups are those of the classes again. */
static void forget(mts_planning *p)
{
    p->decision.slice_bytes = mts_kernel_config_slice_bytes(&p->device->info);
    p->decision.choices = NULL;
    p->planned.count = 0;
    p->report = (mts_planning_report){
        .allocator = p->allocator, .plans = p->report.plans, .samples = p->report.samples};
    memcpy(p->group_of, p->class_of, p->task_count * sizeof *p->group_of);
}

void mts_plan_cache_refuse(mts_planning *p)
{
    mts_cache_undo(p->how.cache, MTS_CACHE_PLANS, MTS_STATUS_MALFORMED, "holds a plan that cannot be made");
    forget(p);
}

bool mts_plan_cache_load(mts_planning *p)
{
    mts_text key;
    mts_os_cache_file file;
    bool found = false;
    mts_text_init(&key, p->allocator);
    add_device(p, &key);
    add_session(p, &key);
    if (!key.failed && mts_cache_load(p->how.cache, MTS_CACHE_PLANS, mts_text_get(&key), &file)) {
        reader r = {.at = file.body, .left = file.size};
        read_plan(&r, p);
        found = finish(p, MTS_CACHE_PLANS, &r, &file);
        if (!found) {
            forget(p);
        }
    }
    mts_text_release(&key);
    return found;
}

void mts_plan_cache_store(mts_planning *p)
{
    mts_text key;
    writer w = {.allocator = p->allocator};
    mts_text_init(&key, p->allocator);
    add_device(p, &key);
    add_session(p, &key);
    put_u32(&w, p->task_count);
    for (uint32_t i = 0; i < p->task_count; i++) {
        put_u32(&w, p->group_of[i]);
    }
    put_u64(&w, p->decision.slice_bytes);
    put_u32(&w, p->decision.choices ? 1 : 0);
    put_choices(&w, p->decision.choices);
    put_report(&w, &p->report);
    store(p, MTS_CACHE_PLANS, &key, &w);
}

/* ---- tunings ---- */

static void read_tuning(reader *r, mts_planning *p, mts_kernel_configs *choices)
{
    get_choices(r, choices);
    const uint32_t failed = get_u32(r, ENTRIES_MOST);
    for (uint32_t i = 0; i < failed && !r->failed; i++) {
        const mts_kernel_config choice = get_choice(r);
        took(r, mts_planning_failed(p, &choice));
    }
    r->failed = r->failed || r->left != 0;
}

void mts_tuning_cache_load(mts_planning *p)
{
    mts_text key;
    mts_os_cache_file file;
    mts_text_init(&key, p->allocator);
    add_device(p, &key);
    if (!key.failed && mts_cache_load(p->how.cache, MTS_CACHE_TUNINGS, mts_text_get(&key), &file)) {
        reader r = {.at = file.body, .left = file.size};
        read_tuning(&r, p, &p->choices);
        if (!finish(p, MTS_CACHE_TUNINGS, &r, &file)) {
            p->choices.count = 0;
            mts_planning_forgive(p, 0);
        }
    }
    mts_text_release(&key);
}

void mts_tuning_cache_store(mts_planning *p)
{
    mts_text key;
    writer w = {.allocator = p->allocator};
    mts_text_init(&key, p->allocator);
    add_device(p, &key);
    put_choices(&w, &p->choices);
    put_u32(&w, (uint32_t)p->failed_count);
    for (size_t i = 0; i < p->failed_count; i++) {
        put_choice(&w, &p->failed[i]);
    }
    store(p, MTS_CACHE_TUNINGS, &key, &w);
}
