/*
 * programs.c: what there is to compile for CUDA, into a folder.
 *
 *     cuda_programs FOLDER
 *
 * writes FOLDER/KERNEL.cu, the whole text of every kernel as the library holds it, and FOLDER/sessions.tsv:
 * compute capability, kernel and options of every program that sessions of synthetic networks build, in every
 * strategy and precision and with tuning, which tries the variants. Sessions run on a device that computes
 * nothing but describes itself as a GPU. Not responsible for compiling: cuda_compile.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/archive.h"
#include "device/kernel.h"
#include "tune/tune.h"
#include "mts/mtsc.h"
#include "platform/null/null.h"
#include "platform/os/os.h"
#include "platform/wrap/wrap.h"

/* Sessions for one of these are like those for the GPUs near it (cuda_compile.py). */
static const char *const gpus[] = {"sm_62", "sm_87", "sm_90"};

static const struct {
    mtsc_arch arch;
    double prune;
    uint32_t input;
} nets[] = {{MTSC_ARCH_RESNET18, 0.9, 64}, {MTSC_ARCH_RESNET50, 0.75, 32}, {MTSC_ARCH_VGG16, 0.8, 32}};

enum { TASKS = 3, TUNING_MS = 300, PATH_MOST = 4096 };

typedef struct list {
    FILE *out;
    uint32_t arch;
} list;

static mts_status list_before(mts_wrap *wrap, const mts_wrap_call *call, mts_error *error)
{
    const list *self = wrap->context;
    (void)error;
    if (call->kind == MTS_WRAP_KIND_KERNEL_CREATE) {
        (void)fprintf(self->out, "%u\t%s\t%s\n", self->arch, call->desc->name, call->desc->defines);
    }
    return MTS_STATUS_OK;
}

static const mts_wrap_hooks list_hooks = {list_before, NULL};

/* What the backend says of a GPU that is not here: a choice of kernels depends on it. */
static mts_status describe_gpu(const char *name, const mts_device_options *options, mts_device_info *info,
                               mts_error *error)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    mts_device *device = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i]->name, "cuda") == 0) {
            const mts_status status = table[i]->open_named(name, options, &device, error);
            *info = device != NULL ? device->info : (mts_device_info){.arch = 0};
            mts_device_destroy(&device);
            return status;
        }
    }
    return mts_fail(error, MTS_STATUS_NOT_FOUND, "this build has no CUDA backend");
}

static mts_status open_gpu(const char *name, FILE *out, mts_device **device, mts_error *error)
{
    const mts_device_options options = {.allocator = mts_allocator_default()};
    mts_null_limits limits;
    mts_null_limits_default(&limits);
    *device = NULL;
    mts_status status = describe_gpu(name, &options, &limits.info, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    list *context = mts_alloc_zero(options.allocator, 1, sizeof *context);
    if (!context) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "no memory");
    }
    *context = (list){out, limits.info.arch};
    limits.info.imports = 0; /* the device of null has none */
    status = mts_null_open(&limits, &options, device, error);
    if (status == MTS_STATUS_OK) {
        status = mts_wrap_make(device, &list_hooks, context, false, device, error);
    }
    if (status != MTS_STATUS_OK) {
        mts_device_destroy(device);
        mts_alloc_free(options.allocator, context);
    }
    return status;
}

static mts_status run_sessions(mts_device *device, const mts_archive *archive, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (int precision = 0; precision < MTS_PRECISION_COUNT; precision++) {
        for (int strategy = 0; strategy < 4 && status == MTS_STATUS_OK; strategy++) {
            const mts_engine_options options = {.strategy = (mts_strategy)strategy,
                                                .precision = (mts_precision)precision};
            const mts_planning_options how = {.tuning_ms = strategy == MTS_STRATEGY_COMPACT ? TUNING_MS : 0};
            mts_engine *engine = NULL;
            status = mts_planned_engine_create(device, archive, &options, &how, &engine, NULL, error);
            mts_engine_destroy(&engine);
        }
    }
    return status;
}

static mts_status run_net(size_t net, const char *path, FILE *out, mts_error *error)
{
    mts_os_map map = {0};
    mts_archive *archive = NULL;
    mtsc_synth_options synth;
    mtsc_synth_options_default(&synth);
    synth.arch = nets[net].arch;
    synth.tasks = TASKS;
    synth.prune = &nets[net].prune;
    synth.prune_count = 1;
    synth.input = nets[net].input;
    mts_status status = mtsc_synth(&synth, path, NULL, NULL) == MTS_STATUS_OK
                            ? mts_os_map_file(path, &map, error)
                            : mts_fail(error, MTS_STATUS_IO, "cannot make %s", path);
    if (status == MTS_STATUS_OK) {
        status = mts_archive_read(map.data, map.size, path, NULL, mts_allocator_default(), &archive, error);
    }
    for (size_t gpu = 0; gpu < sizeof gpus / sizeof gpus[0] && status == MTS_STATUS_OK; gpu++) {
        mts_device *device = NULL;
        status = open_gpu(gpus[gpu], out, &device, error);
        status = status == MTS_STATUS_OK ? run_sessions(device, archive, error) : status;
        mts_device_destroy(&device);
    }
    mts_archive_destroy(&archive);
    mts_os_unmap(&map);
    (void)remove(path);
    return status;
}

static int write_texts(const char *folder)
{
    size_t count = 0;
    const mts_kernel_source *rows = mts_kernel_table(&count);
    for (size_t i = 0; i < count; i++) {
        char path[PATH_MOST];
        (void)snprintf(path, sizeof path, "%s/%s.cu", folder, rows[i].name);
        FILE *file = fopen(path, "w");
        char *text = mts_kernel_text(&rows[i], mts_allocator_default());
        const int bad = !file || !text || fputs(text, file) < 0;
        mts_alloc_free(mts_allocator_default(), text);
        if ((file && fclose(file) != 0) || bad) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    char path[PATH_MOST], bundle[PATH_MOST];
    mts_error error = {0};
    mts_status status = MTS_STATUS_OK;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: cuda_programs FOLDER\n");
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/sessions.tsv", argv[1]);
    (void)snprintf(bundle, sizeof bundle, "%s/net.mtsb", argv[1]);
    if (write_texts(argv[1]) != 0) {
        return 1;
    }
    FILE *out = fopen(path, "w");
    if (!out) {
        perror(path);
        return 1;
    }
    for (size_t net = 0; net < sizeof nets / sizeof nets[0] && status == MTS_STATUS_OK; net++) {
        status = run_net(net, bundle, out, &error);
    }
    if (fclose(out) != 0 || status != MTS_STATUS_OK) {
        (void)fprintf(stderr, "cuda_programs: %s\n", error.text);
        return 1;
    }
    return 0;
}
