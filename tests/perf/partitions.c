/*
 * partitions.c: is the grouping planner's plan the best there is? Random families of up to 6 tasks; every
 * partition of the tasks into groups is made and run in turns with the plan.
 *
 * usage: bench_partitions [--tasks N] [--families N] [--seed N] [--rounds N] [--device BACKEND] [--json FILE]
 *                         [--bundle FILE] [--even] [--small]
 * Prints, for each family, the plan's latency relative to the fastest partition's, both run again against
 * each other. The fastest of many rounds counts: other programs can only make a round slower. --even: tasks
 * of one structure. --small: runs of a millisecond, of which some are undisturbed even on a busy machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "bundle/archive.h"
#include "exec/engine_internal.h"
#include "mts/mtsc.h"
#include "platform/os/os.h"

enum { TASKS_MOST = 6, PARTITIONS_MOST = 203, NAME_MOST = 256 };

typedef struct arguments {
    uint32_t tasks, families, rounds;
    uint64_t seed;
    const char *device, *json, *bundle;
    bool even, small;
} arguments;

typedef struct partition {
    uint32_t group_of[TASKS_MOST];
    uint32_t groups;
    mts_engine *engine;
    double ms;
} partition;

typedef struct family {
    char what[NAME_MOST];
    mts_os_map map;
    mts_archive *archive;
    mts_engine *plan;
    double plan_ms;
    partition partitions[PARTITIONS_MOST];
    uint32_t count;
} family;

static void give_up(const char *what, const mts_error *error)
{
    (void)fprintf(stderr, "bench_partitions: %s: %s\n", what, error->text);
    exit(1);
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = mts_hash(state, sizeof *state, 11);
    return *state % below;
}

/* ---- families ---- */

static void open_bundle(family *f, const char *path)
{
    mts_error error = {0};
    const mts_archive_limits limits = mts_archive_limits_default();
    if (mts_os_map_file(path, &f->map, &error) != MTS_CODE_OK ||
        mts_archive_read(f->map.data, f->map.size, path, &limits, mts_allocator_default(), &f->archive,
                         &error) != MTS_CODE_OK) {
        give_up(path, &error);
    }
}

/* Pruning, sharing, sizes and batches by chance. */
static void make_family(family *f, const arguments *args, uint32_t number)
{
    static const mtsc_arch archs[] = {MTSC_ARCH_RESNET18, MTSC_ARCH_RESNET18, MTSC_ARCH_RESNET50,
                                      MTSC_ARCH_VGG16};
    static const char *const names[] = {"resnet18", "resnet18", "resnet50", "vgg16"};
    uint64_t state = args->seed * 1000003u + number;
    double prune[TASKS_MOST];
    uint32_t batch[TASKS_MOST];
    char path[NAME_MOST], message[256] = "";
    mtsc_synth_options o;
    mtsc_options options;
    mtsc_synth_options_default(&o);
    mtsc_options_default(&options);
    options.error_text = message;
    options.error_size = sizeof message;
    const uint64_t arch = draw(&state, args->small ? 3 : 4);
    const bool batches = !args->even && draw(&state, 2) == 0;
    for (uint32_t t = 0; t < args->tasks; t++) {
        prune[t] = t > 0 && args->even ? prune[0] : 0.75 + 0.01 * (double)draw(&state, 20);
        batch[t] = batches ? (uint32_t)1 << draw(&state, 3) : 1;
    }
    o.arch = archs[arch];
    o.tasks = args->tasks;
    o.prune = prune;
    o.prune_count = args->tasks;
    o.batch = batch;
    o.batch_count = args->tasks;
    o.share = 0.1 * (double)draw(&state, 10);
    o.input = 64 + 32 * (uint32_t)draw(&state, args->small ? 2 : 6);
    o.seed = state;
    int length = snprintf(f->what, sizeof f->what, "%s %ux%u share %.1f prune", names[arch], o.input, o.input,
                          o.share);
    for (uint32_t t = 0; t < args->tasks; t++) {
        length += snprintf(f->what + length, sizeof f->what - (size_t)length, " %.2f/%u", prune[t], batch[t]);
    }
    (void)snprintf(path, sizeof path, "/tmp/bench_partitions_%ld.mtsb", (long)getpid());
    if (mtsc_synth(&o, path, &options, NULL) != MTS_STATUS_OK) {
        (void)fprintf(stderr, "bench_partitions: %s\n", message);
        exit(1);
    }
    open_bundle(f, path);
    (void)unlink(path);
}

/* ---- partitions ---- */

/* Restricted growth strings: each partition once. */
static void enumerate(family *f, uint32_t *group_of, uint32_t at, uint32_t groups, uint32_t tasks)
{
    if (at == tasks) {
        partition *p = &f->partitions[f->count++];
        memcpy(p->group_of, group_of, tasks * sizeof *group_of);
        p->groups = groups;
        return;
    }
    for (uint32_t g = 0; g <= groups; g++) {
        group_of[at] = g;
        enumerate(f, group_of, at + 1, g == groups ? groups + 1 : groups, tasks);
    }
}

static void fill(mts_engine *engine, const mts_archive *archive)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_port *port = &archive->tasks[t].graph->inputs[0];
        const size_t count = mts_shape_count(&port->shape);
        float *data = calloc(count, sizeof *data);
        for (size_t i = 0; data != NULL && i < count; i++) {
            data[i] = (float)((i * 2654435761u + t) % 1000) / 500.0f - 0.9995f;
        }
        if (data == NULL ||
            mts_engine_set_input(engine, t, 0, data, count * sizeof *data, &error) != MTS_CODE_OK) {
            give_up("input", &error);
        }
        free(data);
    }
}

static void make_engines(family *f, mts_device *device)
{
    mts_engine_options options = {.strategy = MTS_STRATEGY_KIND_COMPACT,
                                  .separate_inputs = true,
                                  .grouping = MTS_GROUPING_KIND_MEASURED};
    mts_error error = {0};
    if (mts_engine_create(device, f->archive, &options, &f->plan, &error) != MTS_CODE_OK) {
        give_up("the plan", &error);
    }
    fill(f->plan, f->archive);
    mts_engine_aids aids = {.like = f->plan};
    for (uint32_t i = 0; i < f->count; i++) {
        partition *p = &f->partitions[i];
        const mts_decision decision = {.group_of = p->group_of,
                                       .group_count = p->groups,
                                       .slice_bytes = mts_choice_slice_bytes(&device->info)};
        if (mts_engine_create_decided(device, f->archive, &options, &decision, &aids, &p->engine, &error) !=
            MTS_CODE_OK) {
            give_up("a partition", &error);
        }
        aids.like = p->engine;
        fill(p->engine, f->archive);
    }
}

static void run(mts_engine *engine, double *best)
{
    mts_error error = {0};
    const uint64_t start = mts_os_clock_ns();
    if (mts_engine_submit(engine, &error) != MTS_CODE_OK || mts_engine_wait(engine, &error) != MTS_CODE_OK) {
        give_up("run", &error);
    }
    const double ms = (double)(mts_os_clock_ns() - start) * 1e-6;
    *best = *best <= 0.0 || ms < *best ? ms : *best;
}

static void time_all(family *f, uint32_t rounds)
{
    double ignored = 0.0;
    for (uint32_t r = 0; r < rounds + 2; r++) {
        run(f->plan, r < 2 ? &ignored : &f->plan_ms);
        for (uint32_t i = 0; i < f->count; i++) {
            run(f->partitions[i].engine, r < 2 ? &ignored : &f->partitions[i].ms);
        }
    }
}

static void close_family(family *f)
{
    mts_engine_destroy(&f->plan);
    for (uint32_t i = 0; i < f->count; i++) {
        mts_engine_destroy(&f->partitions[i].engine);
    }
    mts_archive_destroy(&f->archive);
    mts_os_unmap(&f->map);
}

static void groups_text(const uint32_t *group_of, uint32_t tasks, char *text)
{
    for (uint32_t t = 0; t < tasks; t++) {
        text[t] = (char)('A' + group_of[t] % 26);
    }
    text[tasks] = '\0';
}

/*
 * The fastest of many disturbed measurements looks faster than it is: the plan and the partition that seems
 * best run once more, only these two. Prints a family's line; returns the plan's latency relative to that
 * partition's.
 */
static double report(const family *f, uint32_t rounds, FILE *json, bool first)
{
    const uint32_t tasks = f->plan->task_count;
    uint32_t own[TASKS_MOST];
    char plan[TASKS_MOST + 1], best_text[TASKS_MOST + 1];
    double plan_ms = 0.0, best_ms = 0.0;
    const partition *best = &f->partitions[0];
    const partition *worst = best;
    for (uint32_t i = 0; i < f->count; i++) {
        best = f->partitions[i].ms < best->ms ? &f->partitions[i] : best;
        worst = f->partitions[i].ms > worst->ms ? &f->partitions[i] : worst;
    }
    for (uint32_t t = 0; t < tasks; t++) {
        own[t] = f->plan->tasks[t].group;
    }
    groups_text(own, tasks, plan);
    groups_text(best->group_of, tasks, best_text);
    for (uint32_t r = 0; r < 4 * rounds; r++) {
        run(f->plan, &plan_ms);
        run(best->engine, &best_ms);
    }
    const double ratio = plan_ms / best_ms;
    printf("%-6s %8.3f ms  best of %3u: %-6s %8.3f ms  worst %8.3f ms  predicted %8.3f ms  ratio %.3f  again "
           "%8.3f and %8.3f ms: %.3f  %s\n",
           plan, f->plan_ms, f->count, best_text, best->ms, worst->ms, f->plan->stats.predicted_ms,
           f->plan_ms / best->ms, plan_ms, best_ms, ratio, f->what);
    (void)fflush(stdout);
    if (json != NULL) {
        (void)fprintf(
            json,
            "%s\n  {\"family\": \"%s\", \"partitions\": %u, \"plan\": \"%s\", \"best\": \"%s\", "
            "\"first\": {\"plan_ms\": %.4f, \"best_ms\": %.4f, \"worst_ms\": %.4f, \"ratio\": %.4f}, "
            "\"again\": {\"plan_ms\": %.4f, \"best_ms\": %.4f}, \"predicted_ms\": %.4f, "
            "\"planning_ms\": %.1f, \"ratio\": %.4f}",
            first ? "" : ",", f->what, f->count, plan, best_text, f->plan_ms, best->ms, worst->ms,
            f->plan_ms / best->ms, plan_ms, best_ms, f->plan->stats.predicted_ms, f->plan->stats.planning_ms,
            ratio);
        (void)fflush(json);
    }
    return ratio;
}

static mts_device *open_device(const char *name)
{
    size_t count = 0;
    const mts_backend *const *table = mts_backend_table(&count);
    mts_device *device = NULL;
    mts_error error = {0};
    const mts_device_options options = {.allocator = mts_allocator_default()};
    for (size_t i = 0; i < count && device == NULL; i++) {
        if (strcmp(table[i]->name, name) == 0 && table[i]->count() > 0) {
            (void)table[i]->open(0, &options, &device, &error);
        }
    }
    return device;
}

static bool arguments_take(arguments *args, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--even") == 0) {
            args->even = true;
            continue;
        }
        if (strcmp(argv[i], "--small") == 0) {
            args->small = true;
            continue;
        }
        if (value == NULL) {
            return false;
        }
        if (strcmp(argv[i], "--tasks") == 0) {
            args->tasks = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--families") == 0) {
            args->families = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--rounds") == 0) {
            args->rounds = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0) {
            args->seed = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--device") == 0) {
            args->device = value;
        } else if (strcmp(argv[i], "--json") == 0) {
            args->json = value;
        } else if (strcmp(argv[i], "--bundle") == 0) {
            args->bundle = value;
        } else {
            return false;
        }
        i++;
    }
    return args->tasks >= 1 && args->tasks <= TASKS_MOST && args->rounds > 0 && args->families > 0;
}

int main(int argc, char **argv)
{
    arguments args = {.tasks = 4, .families = 6, .rounds = 30, .seed = 1, .device = "opencl"};
    double worst = 0.0;
    (void)setenv("POCL_AFFINITY", "1", 0);
    if (!arguments_take(&args, argc, argv)) {
        (void)fprintf(stderr,
                      "usage: bench_partitions [--tasks 1..%d] [--families N] [--seed N] [--rounds N]\n"
                      "       [--even] [--small] [--device BACKEND] [--json FILE] [--bundle FILE]\n",
                      TASKS_MOST);
        return 2;
    }
    mts_device *device = open_device(args.device);
    if (device == NULL) {
        (void)fprintf(stderr, "bench_partitions: no device '%s'\n", args.device);
        return 77;
    }
    FILE *json = args.json != NULL ? fopen(args.json, "w") : NULL;
    if (json != NULL) {
        (void)fprintf(json, "{\"device\": \"%s\", \"rounds\": %u, \"seed\": %llu, \"families\": [",
                      device->info.name, args.rounds, (unsigned long long)args.seed);
    }
    for (uint32_t i = 0; i < (args.bundle != NULL ? 1 : args.families); i++) {
        family *f = calloc(1, sizeof *f);
        uint32_t group_of[TASKS_MOST] = {0};
        if (f == NULL) {
            return 1;
        }
        if (args.bundle != NULL) {
            open_bundle(f, args.bundle);
            (void)snprintf(f->what, sizeof f->what, "%s", args.bundle);
            args.tasks = f->archive->task_count <= TASKS_MOST ? f->archive->task_count : 0;
        } else {
            make_family(f, &args, i);
        }
        if (args.tasks == 0) {
            (void)fprintf(stderr, "bench_partitions: at most %d tasks\n", TASKS_MOST);
            return 2;
        }
        enumerate(f, group_of, 0, 0, args.tasks);
        make_engines(f, device);
        time_all(f, args.rounds);
        const double ratio = report(f, args.rounds, json, i == 0);
        worst = ratio > worst ? ratio : worst;
        close_family(f);
        free(f);
    }
    printf("largest ratio %.3f\n", worst);
    if (json != NULL) {
        (void)fprintf(json, "\n], \"largest_ratio\": %.4f}\n", worst);
        (void)fclose(json);
    }
    mts_device_destroy(&device);
    return 0;
}
