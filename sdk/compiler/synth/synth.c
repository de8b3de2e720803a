/*
 * synth.c: mtsc_synth: checks the options, builds each task's network, and writes the
 * bundle.
 */
#include "compiler/synth/synth.h"

#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "compiler/models/bundle.h"
#include "compiler/models/options.h"
#include "graph/align.h"

#define INPUT_LEAST 32u
#define INPUT_MOST 4096u
#define BATCH_MOST 256u
#define CLASSES_MOST 1000000u
#define PRUNE_MOST 0.999

static const char *ratios_defect(const mtsc_synth_options *o)
{
    if (!(o->share >= 0.0 && o->share <= 1.0)) {
        return "synth: share is not from 0 to 1";
    }
    if ((o->prune_count > 0 && !o->prune) || (o->batch_count > 0 && !o->batch)) {
        return "synth: a list with a count has no elements";
    }
    for (uint32_t i = 0; i < o->prune_count; i++) {
        if (!(o->prune[i] >= 0.0 && o->prune[i] <= PRUNE_MOST)) {
            return "synth: a pruning ratio is not from 0 to 0.999";
        }
    }
    for (uint32_t i = 0; i < o->batch_count; i++) {
        if (o->batch[i] < 1 || o->batch[i] > BATCH_MOST) {
            return "synth: a batch is not from 1 to 256";
        }
    }
    return NULL;
}

static const char *options_defect(const mtsc_synth_options *o)
{
    if ((unsigned)o->arch > MTSC_ARCH_MOBILEVIT) {
        return "synth: arch is not one of mtsc_arch";
    }
    if (o->tasks < 1 || o->tasks > mts_archive_limits_default().tasks) {
        return "synth: the number of tasks is not from 1 to 1024";
    }
    if (o->input < INPUT_LEAST || o->input > INPUT_MOST) {
        return "synth: the input is not from 32 to 4096 pixels";
    }
    if (o->classes < 1 || o->classes > CLASSES_MOST) {
        return "synth: the number of classes is not from 1 to 1000000";
    }
    if (o->arch == MTSC_ARCH_MOBILEVIT && o->input % 64 != 0) {
        return "synth: the input of mobilevit is not a multiple of 64 pixels";
    }
    return ratios_defect(o);
}

static bool reads_tokens(const mtsc_synth_options *o)
{
    return o->arch == MTSC_ARCH_BERT_SMALL || o->arch == MTSC_ARCH_BERT_BASE ||
           o->arch == MTSC_ARCH_XLNET_BASE;
}

/* Means and deviations of ImageNet's images; a batch of several, and tokens, cannot come
   from one frame. */
static mts_preprocess preprocess(const mtsc_synth_options *o, uint32_t batch)
{
    if (reads_tokens(o)) {
        return (mts_preprocess){.color = MTS_COLOR_NONE, .std = {1.0f, 1.0f, 1.0f, 1.0f}};
    }
    return (mts_preprocess){.color = batch == 1 ? MTS_COLOR_RGB : MTS_COLOR_NONE,
                            .mean = {123.675f, 116.28f, 103.53f, 0.0f},
                            .std = {58.395f, 57.12f, 57.375f, 1.0f}};
}

static void build_network(mts_synth *s, mts_synth_tensor input)
{
    switch (s->options->arch) {
    case MTSC_ARCH_VGG16:
        mts_synth_vgg16(s, input);
        break;
    case MTSC_ARCH_BERT_SMALL:
    case MTSC_ARCH_BERT_BASE:
        mts_synth_bert(s, input, s->options->arch == MTSC_ARCH_BERT_BASE);
        break;
    case MTSC_ARCH_VIT_TINY:
        mts_synth_vit(s, input);
        break;
    case MTSC_ARCH_XLNET_BASE:
        mts_synth_xlnet(s, input);
        break;
    case MTSC_ARCH_MOBILEVIT:
        mts_synth_mobilevit(s, input);
        break;
    default:
        mts_synth_resnet(s, input);
        break;
    }
}

static void add_task(mts_synth *s)
{
    static const char *const names[] = {"resnet18", "resnet50",  "vgg16",      "bert-small", "bert-base",
                                        "vit-tiny", "resnext50", "xlnet-base", "mobilevit"};
    const mtsc_synth_options *o = s->options;
    mts_task *task = &s->archive->tasks[s->task];
    const uint32_t batch = o->batch_count > 0 ? o->batch[s->task % o->batch_count] : 1;
    char name[16];
    (void)snprintf(name, sizeof name, "t%u", s->task);
    task->name = mts_arena_string(&s->archive->arena, name);
    task->graph = mts_graph_create(&s->archive->arena, names[o->arch]);
    if (!task->name || !task->graph) {
        (void)mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a task");
        return;
    }
    task->preprocess = preprocess(o, batch);
    s->graph = task->graph;
    s->layer = 0;
    s->multiple = 1;
    s->whole_groups = false;
    const mts_shape tokens = mts_shape_make(2, (int64_t[]){batch, o->input});
    const mts_shape pixels = mts_shape_make(4, (int64_t[]){batch, 3, o->input, o->input});
    const mts_synth_tensor input = {
        .value =
            mts_graph_add_input(task->graph, "input", reads_tokens(o) ? MTS_TYPE_INT64 : MTS_TYPE_FLOAT32,
                                reads_tokens(o) ? &tokens : &pixels),
        .width = {3, 3, 0}};
    if (input.value == MTS_NONE) {
        (void)mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a task");
    } else {
        build_network(s, input);
    }
    s->archive->task_count++;
}

static mts_status count_families(const mts_archive *archive, uint32_t *families, mts_error *error)
{
    const mts_allocator *allocator = archive->arena.allocator;
    const mts_graph **graphs = mts_alloc_zero(allocator, archive->task_count, sizeof *graphs);
    uint32_t *family = mts_alloc_zero(allocator, archive->task_count, sizeof *family);
    mts_status status = MTS_STATUS_OUT_OF_MEMORY;
    if (graphs && family) {
        for (uint32_t t = 0; t < archive->task_count; t++) {
            graphs[t] = archive->tasks[t].graph;
        }
        status = mts_graph_families(graphs, archive->task_count, allocator, family, families, error);
    } else {
        (void)mts_fail(error, status, "not enough memory to compare the tasks");
    }
    mts_alloc_free(allocator, graphs);
    mts_alloc_free(allocator, family);
    return status;
}

static mts_status build(mts_synth *s, const mtsc_options *options)
{
    mts_archive *archive = s->archive;
    archive->tasks = mts_arena_zero(&archive->arena, s->options->tasks, sizeof(*archive->tasks));
    if (!archive->tasks) {
        return mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the tasks");
    }
    for (s->task = 0; s->task < s->options->tasks && s->status == MTS_STATUS_OK; s->task++) {
        const float fraction = 0.7f * (float)s->task / (float)s->options->tasks;
        s->status = mts_options_progress(options, fraction, "making weights", s->error);
        if (s->status == MTS_STATUS_OK) {
            add_task(s);
        }
    }
    if (s->status != MTS_STATUS_OK) {
        return s->status;
    }
    archive->blocks = mts_arena_zero(&archive->arena, s->block_count, sizeof(*archive->blocks));
    if (!archive->blocks) {
        return mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the blocks");
    }
    memcpy(archive->blocks, s->blocks, s->block_count * sizeof(*s->blocks));
    archive->block_count = (uint32_t)s->block_count;
    return MTS_STATUS_OK;
}

static mts_status summarize(const mts_synth *s, mtsc_summary *summary)
{
    mtsc_summary all = {.tasks = s->archive->task_count,
                        .blocks = s->archive->block_count,
                        .weights_bytes = s->bytes,
                        .weights_bytes_unshared = s->bytes_unshared};
    for (uint32_t t = 0; t < s->archive->task_count; t++) {
        all.nodes += s->archive->tasks[t].graph->node_count;
    }
    const mts_status status = count_families(s->archive, &all.families, s->error);
    if (status == MTS_STATUS_OK) {
        mts_sized_write(summary, &all);
    }
    return status;
}

static mts_status synthesize(const mtsc_synth_options *synth, const char *path, const mtsc_options *options,
                             mtsc_summary *summary, mts_error *error)
{
    const mts_allocator *allocator = mts_allocator_default();
    mts_synth s = {.options = synth, .allocator = allocator, .error = error, .status = MTS_STATUS_OK};
    s.archive = mts_archive_create(allocator);
    if (!s.archive) {
        return mts_fail_memory(error);
    }
    mts_status status = build(&s, options);
    MTS_TRY(status, mts_options_progress(options, 0.7f, "writing the bundle", error));
    if (status == MTS_STATUS_OK && summary) {
        status = summarize(&s, summary);
    }
    MTS_TRY(status, mts_bundle_write(s.archive, path, allocator, error));
    mts_alloc_free(allocator, s.shared);
    mts_alloc_free(allocator, s.blocks);
    mts_archive_destroy(&s.archive);
    return status;
}

void mtsc_synth_options_default_sized(mtsc_synth_options *options, size_t size)
{
    const mtsc_synth_options defaults = {.size = sizeof(mtsc_synth_options),
                                         .arch = MTSC_ARCH_RESNET18,
                                         .tasks = 8,
                                         .share = 0.9,
                                         .input = 224,
                                         .classes = 10,
                                         .seed = 1};
    mts_sized_default(options, size, &defaults);
}

static mts_status check_arguments(const mtsc_synth_options *synth, const char *path,
                                  const mtsc_summary *summary, mts_error *error)
{
    const mts_status status =
        summary ? mts_sized_check(summary, sizeof *summary, "mtsc_summary", error) : MTS_STATUS_OK;
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const char *defect =
        path && *path ? options_defect(synth) : "synth: the path of the bundle to write is missing";
    return defect ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "%s", defect) : MTS_STATUS_OK;
}

mts_status mtsc_synth(const mtsc_synth_options *synth, const char *path, const mtsc_options *options,
                      mtsc_summary *summary)
{
    mtsc_options own;
    mtsc_synth_options networks;
    mts_error error = {0};
    mtsc_synth_options_default(&networks);
    mts_status status = mts_options_take(options, &own, &error);
    MTS_TRY(status, mts_sized_read(&networks, sizeof networks, synth, "mtsc_synth_options", &error));
    MTS_TRY(status, check_arguments(&networks, path, summary, &error));
    MTS_TRY(status, synthesize(&networks, path, &own, summary, &error));
    return mts_options_finish(&own, status, &error);
}
