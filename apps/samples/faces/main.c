/*
 * main.c: the program `faces`: reads a photo or a clip, runs the cascade on each frame,
 * and has it printed and drawn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faces.h"
#include "kit/args.h"
#include "kit/frames.h"
#include "kit/open.h"

#define CLIP_MOST ((size_t)1 << 30)
#define PATH_MOST 1024

const char *const cli_program = "faces";

typedef struct arguments {
    cli_open_options open;
    const char *raw, *yuv, *draw;
    double threshold, overlap;
    uint32_t rotate, repeat;
    bool mirror;
    const char *const *paths; /* detector, faces, picture */
} arguments;

/* What the frames come from: `frame` is the first one, the others follow in memory. */
typedef struct source {
    cli_image image;
    unsigned char *clip;
    mts_frame frame;
    size_t frame_bytes;
    uint32_t count;
} source;

typedef struct program {
    const arguments *args;
    cli_open app;
    cli_cascade *cascade;
    source source;
    cli_image drawn;
    cli_json json;
    char error[CLI_ERROR];
} program;

static int arguments_check(const arguments *args, mts_frame *frame, mts_strategy *strategy)
{
    mts_yuv yuv = MTS_YUV_BT601;
    mts_rotation rotation = MTS_ROTATION_0;
    const int named = cli_open_check(NULL, &args->open, strategy);
    if (named >= 0) {
        return named;
    }
    mts_frame_default(frame);
    if (args->raw && !cli_frame_parse(args->raw, frame)) {
        return cli_usage_error(NULL, "--raw takes FORMAT:WIDTHxHEIGHT, such as nv12:640x480, not '%s'",
                               args->raw);
    }
    if (args->yuv && (!args->raw || !cli_yuv_find(args->yuv, &yuv))) {
        return cli_usage_error(NULL,
                               args->raw ? "--yuv is bt601, bt601-full, bt709 or bt709-full, not '%s'"
                                         : "--yuv %s needs --raw",
                               args->yuv);
    }
    if (!cli_rotation_find(args->rotate, &rotation)) {
        return cli_usage_error(NULL, "--rotate is 0, 90, 180 or 270, not %u", args->rotate);
    }
    frame->yuv = yuv;
    frame->region.rotation = rotation;
    frame->region.mirror = args->mirror ? 1 : 0;
    return -1;
}

static int photo_read(program *p, const char *path)
{
    source *from = &p->source;
    if (!cli_image_read(path, &from->image, p->error)) {
        return cli_failure(NULL, "%s", p->error);
    }
    from->frame.data = from->image.pixels;
    from->frame.width = from->image.width;
    from->frame.height = from->image.height;
    from->frame.format = MTS_PIXEL_FORMAT_RGB;
    from->count = 1;
    return -1;
}

static int clip_read(program *p, const char *path)
{
    source *from = &p->source;
    size_t size = 0;
    from->clip = cli_file_read(path, CLIP_MOST, &size, p->error);
    if (!from->clip) {
        return cli_failure(NULL, "%s", p->error);
    }
    from->frame_bytes = cli_frame_bytes(&from->frame);
    if (size == 0 || size % from->frame_bytes != 0) {
        return cli_failure(NULL, "'%s' has %zu bytes, which are no whole frames of %zu (--raw %s)", path,
                           size, from->frame_bytes, p->args->raw);
    }
    from->frame.data = from->clip;
    from->count = (uint32_t)(size / from->frame_bytes);
    return -1;
}

static int cascade_make(program *p, mts_strategy strategy)
{
    mts_session_options session;
    mts_session_options_default(&session);
    session.strategy = strategy;
    session.precision = p->app.precision;
    session.tuning_ms = p->args->open.tuning_ms;
    const cli_cascade_options options = {
        .detector = p->args->paths[0],
        .faces = p->args->paths[1],
        .rule = {.least_score = (float)p->args->threshold, .overlap = (float)p->args->overlap},
        .session = &session,
    };
    p->cascade = cli_cascade_create(p->app.runtime, &options, p->app.error, p->error);
    return p->cascade ? -1 : cli_failure(NULL, "%s", p->error);
}

/* "out.png", of a clip "out-3.png". */
static bool draw_path(const program *p, uint32_t number, char path[PATH_MOST])
{
    const char *given = p->args->draw;
    const char *dot = strrchr(given, '.');
    const char *slash = strrchr(given, '/');
    const size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - given) : strlen(given);
    const int length = p->source.count == 1
                           ? snprintf(path, PATH_MOST, "%s", given)
                           : snprintf(path, PATH_MOST, "%.*s-%u%s", (int)stem, given, number, given + stem);
    return length >= 0 && length < PATH_MOST;
}

static int draw(program *p, const mts_frame *frame, const frame_result *result)
{
    char path[PATH_MOST];
    if (!draw_path(p, result->number, path)) {
        return cli_failure(NULL, "--draw: the name is too long");
    }
    if (!cli_frame_to_image(frame, &p->drawn, p->error)) {
        return cli_failure(NULL, "%s", p->error);
    }
    faces_draw(p->cascade, result, &p->drawn);
    return cli_image_write_png(path, &p->drawn, p->error) ? -1 : cli_failure(NULL, "%s", p->error);
}

static int frame_run(program *p, uint32_t number)
{
    mts_frame frame = p->source.frame;
    frame.data = (const unsigned char *)frame.data + number * p->source.frame_bytes;
    frame.zero_copy = 1;
    frame_result result = {.number = number};
    cli_frame_shown(&frame, &result.width, &result.height);
    if (!cli_cascade_run(p->cascade, &frame, &result.faces, &result.count, p->error)) {
        return cli_failure(NULL, "frame %u: %s", number, p->error);
    }
    result.times = cli_cascade_last(p->cascade);
    if (p->args->open.json) {
        faces_json(p->cascade, &result, &p->json);
    } else {
        faces_print(p->cascade, &result);
    }
    return p->args->draw ? draw(p, &frame, &result) : -1;
}

/* The first frame over and over. */
static int repeat(program *p, repeated *out)
{
    const uint32_t runs = p->args->repeat;
    double *times = calloc(runs, 3 * sizeof *times);
    mts_frame frame = p->source.frame;
    const cli_face *faces = NULL;
    uint32_t count = 0;
    bool good = times;
    frame.zero_copy = 1;
    for (uint32_t i = 0; i < CLI_WARM_UPS + runs && good; i++) {
        good = cli_cascade_run(p->cascade, &frame, &faces, &count, p->error);
        if (i >= CLI_WARM_UPS && good) {
            const cli_cascade_times last = cli_cascade_last(p->cascade);
            double *const at = times + (i - CLI_WARM_UPS);
            at[0] = last.detector_ms;
            at[runs] = last.tasks_ms;
            at[(size_t)2 * runs] = last.detector_ms + last.tasks_ms;
        }
    }
    if (good) {
        out->detector = cli_latency_of(times, runs);
        out->tasks = cli_latency_of(times + runs, runs);
        out->all = cli_latency_of(times + (size_t)2 * runs, runs);
    }
    free(times);
    return good ? -1 : cli_failure(NULL, "%s", times ? p->error : "no memory");
}

static void json_head(program *p)
{
    mts_device_desc device = {.size = sizeof device};
    (void)mts_runtime_device(p->app.runtime, &device);
    cli_json_object(&p->json, NULL);
    cli_json_object(&p->json, "device");
    cli_json_string(&p->json, "id", device.id);
    cli_json_string(&p->json, "name", device.name);
    cli_json_end(&p->json, '}');
    cli_json_string(&p->json, "file", p->args->paths[2]);
    cli_json_integer(&p->json, "batch", cli_cascade_batch(p->cascade));
    cli_json_array(&p->json, "frames");
}

static int frames_run(program *p)
{
    const bool json = p->args->open.json;
    repeated times = {0};
    int status = -1;
    if (json && !cli_json_begin(&p->json)) {
        return cli_failure(NULL, "no memory");
    }
    if (json) {
        json_head(p);
    } else {
        faces_print_head();
    }
    for (uint32_t i = 0; i < p->source.count && status < 0; i++) {
        status = frame_run(p, i);
    }
    status = status < 0 && p->args->repeat ? repeat(p, &times) : status;
    if (status >= 0) {
        return status;
    }
    if (p->args->repeat && !json) {
        faces_print_repeated(&times);
    }
    if (!json) {
        return CLI_EXIT_OK;
    }
    cli_json_end(&p->json, ']');
    if (p->args->repeat) {
        faces_json_repeated(&times, &p->json);
    }
    cli_json_end(&p->json, '}');
    return cli_json_finish(&p->json) ? CLI_EXIT_OK : cli_failure(NULL, "no memory");
}

static int run(program *p, mts_strategy strategy)
{
    const arguments *args = p->args;
    int status = args->raw ? clip_read(p, args->paths[2]) : photo_read(p, args->paths[2]);
    status = status < 0 ? cli_open_runtime(&p->app, NULL, &args->open) : status;
    status = status < 0 ? cascade_make(p, strategy) : status;
    return status < 0 ? frames_run(p) : status;
}

static void release(program *p)
{
    cli_cascade_destroy(&p->cascade);
    cli_close(&p->app);
    cli_json_release(&p->json);
    cli_image_release(&p->drawn);
    cli_image_release(&p->source.image);
    free(p->source.clip);
}

int main(int argc, char **argv)
{
    arguments args = {.threshold = (double)cli_face_rule_default().least_score,
                      .overlap = (double)cli_face_rule_default().overlap};
    const cli_option options[] = {
        {"raw", 0, CLI_KIND_TEXT, &args.raw, "FORMAT:WxH",
         "the file is a clip of raw frames, such as nv12:640x480", 0, 0},
        {"yuv", 0, CLI_KIND_TEXT, &args.yuv, "HOW",
         "colours of a clip: bt601 (default), bt601-full, bt709, bt709-full", 0, 0},
        {"rotate", 0, CLI_KIND_COUNT, &args.rotate, "DEGREES", "turn frames clockwise: 90, 180 or 270", 0,
         270},
        {"mirror", 0, CLI_KIND_FLAG, &args.mirror, "", "swap left and right, after turning", 0, 0},
        {"threshold", 0, CLI_KIND_NUMBER, &args.threshold, "S", "least score of a face (default 0.7)", 0, 1},
        {"overlap", 0, CLI_KIND_NUMBER, &args.overlap, "X",
         "intersection over union that makes two boxes one face (default 0.4)", 0, 1},
        {"draw", 0, CLI_KIND_TEXT, &args.draw, "FILE.png",
         "draw the faces; of a clip a file for each frame, FILE-0.png", 0, 0},
        {"repeat", 0, CLI_KIND_COUNT, &args.repeat, "N",
         "measure the first frame over N runs, after 10 warm-ups", 1, 1e6},
        CLI_OPEN_SESSION(args.open),
    };
    const cli_usage usage = {
        .positionals = "DETECTOR.mtsb FACES.mtsb PICTURE",
        .summary = "Finds faces, and says of each one what the tasks of the second bundle know.",
        .details =
            "The bundles are made by 'mts compile' from detector.json and faces.json, which lie beside this "
            "program's source.",
        .positional_count = 3,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    cli_common common = {0};
    program p = {.args = &args};
    mts_strategy strategy = MTS_STRATEGY_COMPACT;
    int status = cli_parse(&usage, argc, argv, &common);
    args.open.json = common.json;
    args.paths = common.positionals;
    status = status < 0 ? arguments_check(&args, &p.source.frame, &strategy) : status;
    status = status < 0 ? run(&p, strategy) : status;
    release(&p);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        status = cli_failure(NULL, "cannot write to standard output");
    }
    return status;
}
