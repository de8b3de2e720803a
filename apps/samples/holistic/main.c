/*
 * main.c: the program `holistic`: runs the cascade on photos, with one strategy or two,
 * has the findings printed and drawn, and compares times and bytes.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holistic.h"
#include "kit/args.h"
#include "kit/measure.h"
#include "kit/open.h"

#define REPEATS 5u

const char *const cli_program = "holistic";

typedef struct arguments {
    cli_open_options open;
    cli_list images;
    const char *draw;
    uint32_t repeat;
    bool compare;
} arguments;

/* One strategy on one photo. */
typedef struct measured {
    mts_strategy strategy;
    cli_latency latency;
    mts_session_stats stats;
} measured;

typedef struct program {
    const arguments *args;
    cli_open app;
    cli_json json;
    holistic_result result;
    measured runs[2];
    uint32_t run_count;
    char error[CLI_ERROR];
} program;

static int failed(program *p)
{
    return cli_failure(NULL, "%s", p->error);
}

static mts_frame frame_of(const cli_image *image)
{
    mts_frame frame;
    mts_frame_default(&frame);
    frame.data = image->pixels;
    frame.width = image->width;
    frame.height = image->height;
    frame.format = MTS_PIXEL_FORMAT_RGB;
    frame.zero_copy = 1;
    return frame;
}

/* "DIR/name.png" */
static bool draw_path(const char *folder, const char *photo, char *path)
{
    const char *slash = strrchr(photo, '/');
    const char *name = slash ? slash + 1 : photo;
    const char *dot = strrchr(name, '.');
    const int stem = dot ? (int)(dot - name) : (int)strlen(name);
    return snprintf(path, PATH_MAX, "%s/%.*s.png", folder, stem, name) < PATH_MAX;
}

/* The cascade on a photo, drawn and printed. */
static int photo_run(program *p, const char *path)
{
    char out[PATH_MAX];
    cli_image image = {0};
    int status = cli_image_read(path, &image, p->error) ? -1 : failed(p);
    if (status < 0) {
        const mts_frame frame = frame_of(&image);
        status = holistic_run(p->app.session, &frame, &p->result, p->app.error, p->error) ? -1 : failed(p);
    }
    if (status < 0 && p->args->open.json) {
        cli_json_object(&p->json, NULL);
        cli_json_string(&p->json, "file", path);
        cli_json_integer(&p->json, "width", image.width);
        cli_json_integer(&p->json, "height", image.height);
        holistic_json(&p->result, &p->json);
        cli_json_end(&p->json, '}');
    } else if (status < 0) {
        printf("%s, %u x %u\n", path, image.width, image.height);
        holistic_print(&p->result);
    }
    if (status < 0 && p->args->draw) {
        if (!draw_path(p->args->draw, path, out)) {
            status = cli_failure(NULL, "--draw %s: the name is too long", p->args->draw);
        } else if (!holistic_draw(&p->result, &image, p->error) ||
                   !cli_image_write_png(out, &image, p->error)) {
            status = failed(p);
        }
    }
    cli_image_release(&image);
    return status;
}

/* The first photo over and over. */
static int photo_measure(program *p, measured *run)
{
    cli_image image = {0};
    double *times = calloc(p->args->repeat, sizeof *times);
    int status = times ? -1 : cli_failure(NULL, "no memory");
    status = status < 0 && !cli_image_read(p->args->images.items[0], &image, p->error) ? failed(p) : status;
    for (uint32_t i = 0; i < p->args->repeat + 1 && status < 0; i++) { /* the first is a warm-up */
        const mts_frame frame = frame_of(&image);
        const double start = cli_now_ms();
        status = holistic_run(p->app.session, &frame, &p->result, p->app.error, p->error) ? -1 : failed(p);
        times[i > 0 ? i - 1 : 0] = cli_now_ms() - start;
    }
    if (status < 0) {
        run->latency = cli_latency_of(times, p->args->repeat);
        run->stats.size = sizeof run->stats;
        (void)mts_session_stats_get(p->app.session, &run->stats);
    }
    cli_image_release(&image);
    free(times);
    return status;
}

static void table_print(const program *p)
{
    char weights[32];
    char activations[32];
    char peak[32];
    printf("\n%-12s %12s %9s %11s %12s %11s\n", "strategy", "one photo", "launches", "weights", "activations",
           "memory");
    for (uint32_t i = 0; i < p->run_count; i++) {
        const measured *run = &p->runs[i];
        printf("%-12s %9.1f ms %9u %11s %12s %11s\n", cli_strategy_name(run->strategy), run->latency.median,
               run->stats.launches, cli_bytes_text(run->stats.weight_bytes, weights, sizeof weights),
               cli_bytes_text(run->stats.activation_bytes, activations, sizeof activations),
               cli_bytes_text(run->stats.peak_bytes, peak, sizeof peak));
    }
    if (p->run_count == 2 && p->runs[0].stats.peak_bytes > p->runs[1].stats.peak_bytes &&
        p->runs[0].stats.weight_bytes >= p->runs[1].stats.weight_bytes) {
        const uint64_t saved = p->runs[0].stats.peak_bytes - p->runs[1].stats.peak_bytes;
        const uint64_t shared = p->runs[0].stats.weight_bytes - p->runs[1].stats.weight_bytes;
        printf("%s needs %s less memory, %s less weights; launches are those of all twelve tasks at once\n",
               cli_strategy_name(p->runs[1].strategy), cli_bytes_text(saved, peak, sizeof peak),
               cli_bytes_text(shared, weights, sizeof weights));
    }
}

static void table_json(program *p)
{
    cli_json_array(&p->json, "strategies");
    for (uint32_t i = 0; i < p->run_count; i++) {
        cli_json_object(&p->json, NULL);
        cli_json_string(&p->json, "strategy", cli_strategy_name(p->runs[i].strategy));
        cli_measure_json(&p->json, p->args->repeat ? &p->runs[i].latency : NULL, &p->runs[i].stats);
        cli_json_end(&p->json, '}');
    }
    cli_json_end(&p->json, ']');
}

static int photos_run(program *p)
{
    int status = -1;
    const bool json = p->args->open.json;
    if (json) {
        cli_json_object(&p->json, NULL);
        cli_json_array(&p->json, "photos");
    }
    for (size_t i = 0; i < p->args->images.count && status < 0; i++) {
        status = photo_run(p, p->args->images.items[i]);
    }
    if (json) {
        cli_json_end(&p->json, ']');
    }
    return status;
}

static int run(program *p, const char *bundle, mts_strategy strategy)
{
    const bool json = p->args->open.json;
    int status = cli_open_bundle(&p->app, NULL, &p->args->open, bundle);
    status = status < 0 && !holistic_check(p->app.bundle, p->error) ? failed(p) : status;
    if (status >= 0) {
        return status;
    }
    p->run_count = p->args->compare ? 2 : 1;
    p->runs[0].strategy = p->args->compare ? MTS_STRATEGY_SEQUENTIAL : strategy;
    p->runs[1].strategy = MTS_STRATEGY_COMPACT;
    if (json && !cli_json_begin(&p->json)) {
        return cli_failure(NULL, "no memory");
    }
    for (uint32_t i = 0; i < p->run_count && status < 0; i++) {
        status = cli_open_session(&p->app, NULL, &p->args->open, p->runs[i].strategy);
        status = status < 0 && i + 1 == p->run_count ? photos_run(p) : status;
        status = status < 0 && p->args->repeat ? photo_measure(p, &p->runs[i]) : status;
    }
    if (status >= 0) {
        return status;
    }
    if (!json) {
        if (p->args->repeat) {
            table_print(p);
        }
        return CLI_EXIT_OK;
    }
    table_json(p);
    cli_json_end(&p->json, '}');
    return cli_json_finish(&p->json) ? CLI_EXIT_OK : cli_failure(NULL, "no memory");
}

int main(int argc, char **argv)
{
    arguments args = {.open.separate_inputs = true};
    const cli_option options[] = {
        {"image", 'i', CLI_KIND_LIST, &args.images, "FILE", "a photo; may be repeated", 0, 0},
        {"draw", 0, CLI_KIND_TEXT, &args.draw, "DIR", "draw what was found onto the photos: DIR/NAME.png", 0,
         0},
        {"repeat", 0, CLI_KIND_COUNT, &args.repeat, "N", "measure the first photo over N runs", 1, 1e6},
        {"compare", 0, CLI_KIND_FLAG, &args.compare, "", "measure sequential beside compact (5 runs)", 0, 0},
        CLI_OPEN_SESSION(args.open),
    };
    const cli_usage usage = {
        .positionals = "HOLISTIC.mtsb",
        .summary = "Finds faces, irises, hands, a pose and a mask in photos, by twelve tasks of one session.",
        .details = "The bundle is made by 'mts compile' from holistic.json, which lies beside this program's "
                   "source.",
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    static program p; /* the findings are large */
    cli_common common = {0};
    mts_strategy strategy = MTS_STRATEGY_COMPACT;
    int status = cli_parse(&usage, argc, argv, &common);
    p.args = &args;
    args.open.json = common.json;
    args.repeat = args.compare && args.repeat == 0 ? REPEATS : args.repeat;
    status = status < 0 ? cli_open_check(NULL, &args.open, &strategy) : status;
    if (status < 0 && args.images.count == 0) {
        status = cli_usage_error(NULL, "give a photo: --image FILE");
    }
    if (status < 0 && args.compare && args.open.strategy) {
        status = cli_usage_error(NULL, "--compare runs both strategies: leave --strategy out");
    }
    status = status < 0 ? run(&p, common.positionals[0], strategy) : status;
    cli_json_release(&p.json);
    cli_close(&p.app);
    cli_list_release(&args.images);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        status = cli_failure(NULL, "cannot write to standard output");
    }
    return status;
}
