/*
 * partitions.c: is the grouping planner's plan the best there is? Random families of up to 8 tasks, against
 * every partition of the tasks into groups.
 *
 * usage: bench_partitions [--tasks N] [--families N] [--seed N] [--rounds N] [--device BACKEND] [--json FILE]
 *                         [--bundle FILE] [--even] [--small]
 * Up to 5 tasks: every partition (52) is made and run in turns with the plan. 6 to 8 tasks have up to 4140
 * partitions: each set of tasks is run as one group, a partition counts as the sum of its groups, and the 12
 * partitions of the smallest sums are made and run in turns with the plan. All have the plan's slices.
 * Prints, for each family, the plan's latency relative to the fastest partition's, both run again against
 * each other: medians. --even: tasks of one structure. --small: runs of a millisecond, of which some are
 * undisturbed even on a busy machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "bench_backend.h"
#include "bundle/archive.h"
#include "engine/state.h"
#include "tune/tune.h"
#include "mts/mtsc.h"
#include "platform/os/os.h"

enum { TASKS_MOST = 8, ALL_MOST = 5, PARTITIONS_MOST = 52, PROMISING = 12, WARM_RUNS = 2, NAME_MOST = 256 };

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
    double sum, ms; /* of its groups, where they were run by themselves; of itself */
} partition;

typedef struct family {
    char what[NAME_MOST];
    mts_os_map map;
    mts_archive *archive;
    mts_engine *plan;
    mts_planning_report report;
    double plan_ms;
    double set_ms[1 << TASKS_MOST]; /* of each set as one group, more than ALL_MOST tasks only */
    partition partitions[PARTITIONS_MOST];
    uint32_t count, seen; /* those that are run; all */
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
    if (mts_os_map_file(path, &f->map, &error) != MTS_STATUS_OK ||
        mts_archive_read(f->map.data, f->map.size, path, &limits, mts_allocator_default(), &f->archive,
                         &error) != MTS_STATUS_OK) {
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

static double sum_of(const family *f, const uint32_t *group_of, uint32_t groups, uint32_t tasks)
{
    double sum = 0.0;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t set = 0;
        for (uint32_t t = 0; t < tasks; t++) {
            set |= group_of[t] == g ? 1u << t : 0;
        }
        sum += f->set_ms[set];
    }
    return sum;
}

/* Takes a partition in: all of them, or those of the smallest sums. */
static void take(family *f, const uint32_t *group_of, uint32_t groups, uint32_t tasks)
{
    const uint32_t most = tasks <= ALL_MOST ? PARTITIONS_MOST : PROMISING;
    partition taken = {.groups = groups, .sum = sum_of(f, group_of, groups, tasks)};
    memcpy(taken.group_of, group_of, tasks * sizeof *group_of);
    uint32_t at = f->count;
    f->seen++;
    f->count += f->count < most ? 1 : 0;
    while (at > 0 && f->partitions[at - 1].sum > taken.sum) {
        if (at < most) {
            f->partitions[at] = f->partitions[at - 1];
        }
        at--;
    }
    if (at < most) {
        f->partitions[at] = taken;
    }
}

/* Restricted growth strings: each partition once. */
static void enumerate(family *f, uint32_t *group_of, uint32_t at, uint32_t groups, uint32_t tasks)
{
    if (at == tasks) {
        take(f, group_of, groups, tasks);
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
    for (uint32_t i = 0; i < engine->tasks.count; i++) {
        const uint32_t t = engine->tasks.items[i].task;
        const mts_port *port = &archive->tasks[t].graph->inputs[0];
        const size_t count = mts_shape_count(&port->shape);
        float *data = calloc(count, sizeof *data);
        for (size_t k = 0; data && k < count; k++) {
            data[k] = (float)((k * 2654435761u + t) % 1000) / 500.0f - 0.9995f;
        }
        if (!data ||
            mts_engine_set_input(engine, t, 0, data, count * sizeof *data, &error) != MTS_STATUS_OK) {
            give_up("input", &error);
        }
        free(data);
    }
}

static mts_engine_options options_of_plan(void)
{
    return (mts_engine_options){.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
}

static void make_plan(family *f, mts_device *device)
{
    const mts_engine_options options = options_of_plan();
    const mts_planning_options how = {.grouping = MTS_GROUPING_MEASURED};
    mts_error error = {0};
    if (mts_planned_engine_create(device, f->archive, &options, &how, &f->plan, &f->report, &error) !=
        MTS_STATUS_OK) {
        give_up("the plan", &error);
    }
    fill(f->plan, f->archive);
}

/* With the plan's slices: groups are compared, nothing else. `set`: tasks by their bits. */
static mts_engine *make_engine(const family *f, mts_device *device, uint32_t set, const partition *p,
                               const mts_engine *like)
{
    mts_engine_options options = options_of_plan();
    uint32_t tasks[TASKS_MOST];
    mts_engine *engine = NULL;
    mts_error error = {0};
    mts_engine_build build = {.like = like};
    const mts_decision decision = {.group_of = p->group_of, .slice_bytes = f->report.slice_bytes};
    options.tasks = tasks;
    for (uint32_t t = 0; t < TASKS_MOST; t++) {
        if ((set >> t & 1) != 0) {
            tasks[options.task_count++] = t;
        }
    }
    if (mts_engine_create(device, f->archive, &options, &decision, &build, &engine, &error) !=
        MTS_STATUS_OK) {
        give_up("a partition", &error);
    }
    fill(engine, f->archive);
    return engine;
}

static double run(mts_engine *engine)
{
    mts_error error = {0};
    const uint64_t start = mts_os_clock_ns();
    if (mts_engine_submit(engine, &error) != MTS_STATUS_OK ||
        mts_engine_wait(engine, &error) != MTS_STATUS_OK) {
        give_up("run", &error);
    }
    return (double)(mts_os_clock_ns() - start) * 1e-6;
}

static int compare_times(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *times, uint32_t count)
{
    qsort(times, count, sizeof *times, compare_times);
    return count % 2 == 1 ? times[count / 2] : 0.5 * (times[count / 2 - 1] + times[count / 2]);
}

static double *room_for(size_t times)
{
    double *room = calloc(times, sizeof *room);
    if (!room) {
        (void)fprintf(stderr, "bench_partitions: not enough memory\n");
        exit(1);
    }
    return room;
}

/* Runs engines in turns; medians[i] is that of engines[i]. */
static void time_in_turns(mts_engine *const *engines, uint32_t count, uint32_t rounds, double *medians)
{
    double *times = room_for((size_t)count * rounds);
    for (uint32_t r = 0; r < WARM_RUNS + rounds; r++) {
        for (uint32_t i = 0; i < count; i++) {
            const double ms = run(engines[i]);
            if (r >= WARM_RUNS) {
                times[(size_t)i * rounds + r - WARM_RUNS] = ms;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        medians[i] = median(&times[(size_t)i * rounds], rounds);
    }
    free(times);
}

/* Every set as one group, the largest first, whose kernels serve the others. */
static void time_sets(family *f, mts_device *device, uint32_t rounds)
{
    const partition one_group = {.groups = 1};
    mts_engine *previous = NULL;
    for (uint32_t set = (1u << f->archive->task_count) - 1; set > 0; set--) {
        mts_engine *engine = make_engine(f, device, set, &one_group, previous ? previous : f->plan);
        mts_engine_destroy(&previous);
        time_in_turns(&engine, 1, rounds, &f->set_ms[set]);
        previous = engine;
    }
    mts_engine_destroy(&previous);
}

static void time_all(family *f, mts_device *device, uint32_t rounds)
{
    mts_engine *engines[PARTITIONS_MOST + 1] = {f->plan};
    double medians[PARTITIONS_MOST + 1];
    for (uint32_t i = 0; i < f->count; i++) {
        partition *p = &f->partitions[i];
        p->engine = make_engine(f, device, (1u << f->archive->task_count) - 1, p, engines[i]);
        engines[i + 1] = p->engine;
    }
    time_in_turns(engines, f->count + 1, rounds, medians);
    f->plan_ms = medians[0];
    for (uint32_t i = 0; i < f->count; i++) {
        f->partitions[i].ms = medians[i + 1];
    }
}

static void close_family(family *f)
{
    mts_engine_destroy(&f->plan);
    mts_planning_report_release(&f->report);
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
    const uint32_t tasks = f->plan->tasks.count;
    uint32_t own[TASKS_MOST];
    char plan[TASKS_MOST + 1], best_text[TASKS_MOST + 1];
    double again[2];
    const partition *best = &f->partitions[0];
    const partition *worst = best;
    for (uint32_t i = 0; i < f->count; i++) {
        best = f->partitions[i].ms < best->ms ? &f->partitions[i] : best;
        worst = f->partitions[i].ms > worst->ms ? &f->partitions[i] : worst;
    }
    for (uint32_t t = 0; t < tasks; t++) {
        own[t] = f->plan->tasks.items[t].group;
    }
    groups_text(own, tasks, plan);
    groups_text(best->group_of, tasks, best_text);
    mts_engine *const two[2] = {f->plan, best->engine};
    time_in_turns(two, 2, 4 * rounds, again);
    const double plan_ms = again[0];
    const double best_ms = again[1];
    const double ratio = plan_ms / best_ms;
    printf("%-8s %8.3f ms  best of %4u: %-8s %8.3f ms  worst %8.3f ms  predicted %8.3f ms  ratio %.3f  again "
           "%8.3f and %8.3f ms: %.3f  %s\n",
           plan, f->plan_ms, f->seen, best_text, best->ms, worst->ms, f->report.predicted_ms,
           f->plan_ms / best->ms, plan_ms, best_ms, ratio, f->what);
    (void)fflush(stdout);
    if (json) {
        (void)fprintf(
            json,
            "%s\n  {\"family\": \"%s\", \"partitions\": %u, \"run\": %u, \"plan\": \"%s\", \"best\": \"%s\", "
            "\"first\": {\"plan_ms\": %.4f, \"best_ms\": %.4f, \"worst_ms\": %.4f, \"ratio\": %.4f}, "
            "\"again\": {\"plan_ms\": %.4f, \"best_ms\": %.4f}, \"predicted_ms\": %.4f, "
            "\"planning_ms\": %.1f, \"ratio\": %.4f}",
            first ? "" : ",", f->what, f->seen, f->count, plan, best_text, f->plan_ms, best->ms, worst->ms,
            f->plan_ms / best->ms, plan_ms, best_ms, f->report.predicted_ms, f->report.planning_ms, ratio);
        (void)fflush(json);
    }
    return ratio;
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
        if (!value) {
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
        (void)fprintf(
            stderr,
            "usage: bench_partitions [--tasks 1..%d] [--families N] [--seed N] [--rounds N]\n"
            "       [--even] [--small] [--device BACKEND] [--json FILE] [--bundle FILE]\n"
            "up to %d tasks: every partition is run in turns with the plan; more: the %d whose groups,\n"
            "run by themselves, take the least in sum. Latencies are medians.\n",
            TASKS_MOST, ALL_MOST, PROMISING);
        return 2;
    }
    mts_error error = {0};
    mts_device *device = bench_backend_open(args.device, &error);
    if (!device) {
        (void)fprintf(stderr, "bench_partitions: no device '%s'\n", args.device);
        return 77;
    }
    FILE *json = args.json ? fopen(args.json, "w") : NULL;
    if (json) {
        (void)fprintf(json, "{\"device\": \"%s\", \"rounds\": %u, \"seed\": %llu, \"families\": [",
                      device->info.name, args.rounds, (unsigned long long)args.seed);
    }
    for (uint32_t i = 0; i < (args.bundle ? 1 : args.families); i++) {
        family *f = calloc(1, sizeof *f);
        uint32_t group_of[TASKS_MOST] = {0};
        if (!f) {
            return 1;
        }
        if (args.bundle) {
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
        make_plan(f, device);
        if (args.tasks > ALL_MOST) {
            time_sets(f, device, args.rounds);
        }
        enumerate(f, group_of, 0, 0, args.tasks);
        time_all(f, device, args.rounds);
        const double ratio = report(f, args.rounds, json, i == 0);
        worst = ratio > worst ? ratio : worst;
        close_family(f);
        free(f);
    }
    printf("largest ratio %.3f\n", worst);
    if (json) {
        (void)fprintf(json, "\n], \"largest_ratio\": %.4f}\n", worst);
        (void)fclose(json);
    }
    mts_device_destroy(&device);
    return 0;
}
