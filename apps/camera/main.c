/*
 * main.c: the command line of mts_camera: a source of frames, a bundle, and what is to be
 * shown of it.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/frames.h"
#include "networks.h"
#include "pipeline.h"

const char *const cli_program = "mts_camera";

#define TIMEOUT_DEFAULT 5.0
#define IN_FLIGHT_DEFAULT 3u

typedef struct arguments {
    networks_options networks;
    pipeline_options show;
    source_request source;
    const char *json, *format, *yuv, *size;
    uint32_t rotate, frames;
    double timeout;
    bool drop, block, pace;
    char name[256]; /* of the source */
} arguments;

static volatile sig_atomic_t stop;

static void stop_set(int number)
{
    (void)number;
    stop = 1;
}

/* The first one ends the loop, the second one the program. */
static void signals_take(void)
{
    struct sigaction action = {.sa_handler = stop_set, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader of --json - that goes away is a failure to write */
}

static int size_read(arguments *args)
{
    double sides[2];
    if (args->size) {
        if (cli_numbers(args->size, 'x', sides, 2) != 2 || sides[0] < 1 || sides[1] < 1 || sides[0] > 16384 ||
            sides[1] > 16384 || sides[0] != floor(sides[0]) || sides[1] != floor(sides[1])) {
            return cli_usage_error(NULL, "--size takes WIDTHxHEIGHT, not '%s'", args->size);
        }
        args->source.width = (uint32_t)sides[0];
        args->source.height = (uint32_t)sides[1];
    }
    return -1;
}

static int names_read(arguments *args)
{
    mts_pixel_format format;
    mts_yuv yuv;
    args->source.format = -1;
    args->source.yuv = -1;
    if (args->format) {
        if (!cli_format_find(args->format, &format)) {
            return cli_usage_error(NULL,
                                   "--format %s: the library takes nv12, nv21, i420, yuyv, uyvy, rgb, bgr, "
                                   "rgba, bgra and grey",
                                   args->format);
        }
        args->source.format = (int)format;
    }
    if (args->yuv) {
        if (!cli_yuv_find(args->yuv, &yuv)) {
            return cli_usage_error(NULL, "--yuv takes bt601, bt601-full, bt709 or bt709-full, not '%s'",
                                   args->yuv);
        }
        args->source.yuv = (int)yuv;
    }
    return -1;
}

static int arguments_check(arguments *args, const char *uri)
{
    int status = size_read(args);
    status = status < 0 ? names_read(args) : status;
    if (status >= 0) {
        return status;
    }
    if (!cli_rotation_find(args->rotate, &args->show.rotation)) {
        return cli_usage_error(NULL, "--rotate takes 0, 90, 180 or 270, not %u", args->rotate);
    }
    if (args->drop && args->block) {
        return cli_usage_error(NULL, "give --drop-oldest or --block, not both");
    }
    args->networks.when_full = args->drop ? MTS_WHEN_FULL_DROP_OLDEST : MTS_WHEN_FULL_BLOCK;
    status = networks_check(&args->networks);
    if (status >= 0) {
        return status;
    }
    if (args->show.headless && args->show.window) {
        return cli_usage_error(NULL, "give --headless or --window, not both");
    }
    args->show.uri = source_name(uri, args->name, sizeof args->name);
    args->show.frames = args->frames;
    args->show.timeout_ms = (uint32_t)(args->timeout * 1e3);
    args->show.stop = &stop;
    args->source.uri = uri;
    args->source.held = args->networks.in_flight + 1;
    args->source.paced = args->pace || !args->show.headless;
    args->source.timeout_ms = args->show.timeout_ms;
    args->source.stop = &stop;
    return -1;
}

static int run(cli_open *app, arguments *args, pipeline *p, mts_device_desc *device)
{
    char error[CLI_ERROR] = "";
    if (!feed_make(&p->feed)) {
        return cli_failure(NULL, "no memory");
    }
    camera_status ended = source_open(&args->source, &p->source, error);
    if (ended != CAMERA_OK) {
        return ended == CAMERA_END     ? CLI_EXIT_OK
               : ended == CAMERA_USAGE ? cli_usage_error(NULL, "%s", error)
                                       : (cli_failure(NULL, "%s", error), (int)ended);
    }
    args->networks.when_full =
        feed_when_full(p->source->info.live, args->networks.in_flight, args->drop, args->block);
    const int status = networks_open(app, &args->networks, &p->feed, &p->faces);
    if (status >= 0) {
        return status;
    }
    if (app->runtime && mts_runtime_device(app->runtime, device) == MTS_STATUS_OK) {
        args->show.device = device->id;
        p->source->imports =
            !args->show.png && !args->show.window && (device->reads >> MTS_MEMORY_DMABUF & 1u) != 0;
    }
    if (args->networks.bundle && !results_make(&p->results, app)) {
        return cli_failure(NULL, "no memory");
    }
    /* last, so that nothing that cannot be had empties what an earlier run recorded */
    if (args->json && !record_open(&p->record, args->json, error)) {
        return cli_failure(NULL, "%s", error);
    }
    if (p->source->info.note[0]) {
        (void)fprintf(stderr, "%s: %s\n", cli_program, p->source->info.note);
    }
    p->options = &args->show;
    ended = pipeline_end(p, pipeline_run(p));
    return ended == CAMERA_OK ? CLI_EXIT_OK : (cli_failure(NULL, "%s", p->reason), (int)ended);
}

static const char details[] =
    "SOURCE is one of\n"
    "  test://smpte?width=640&height=480&fps=30&format=nv12&frames=100   a picture of videotestsrc\n"
    "  v4l2:///dev/video0?width=1280&height=720&fps=30                   a camera, decoded if need be\n"
    "  csi://0?width=1280&height=720&fps=30                              a camera of a Jetson\n"
    "  file:///path/video.mp4    rtsp://host/stream                      what GStreamer decodes\n"
    "  gst://ELEMENT ! ELEMENT                                           a pipeline of GStreamer\n"
    "  v4l2-raw:///dev/video0?width=640&height=480&format=yuyv           a camera without GStreamer\n"
    "  raw:///path/clip?format=nv12&width=640&height=480&loop=1          raw pixels; '-': standard input\n"
    "Exit status: 0, 1 failure, 2 usage, 3 no such source, 4 no usable format, 5 the source vanished, 6 "
    "frames\n"
    "stopped. See docs/CAMERA.md.";

static int parse(arguments *args, int argc, char **argv, cli_common *common)
{
    const cli_option options[] = {
        {"bundle", 'b', CLI_KIND_TEXT, &args->networks.bundle, "FILE", "the tasks to run (default: none)", 0,
         0},
        {"detector", 0, CLI_KIND_TEXT, &args->networks.detector, "FILE",
         "a bundle that finds faces (docs/CASCADE.md)", 0, 0},
        {"faces", 0, CLI_KIND_TEXT, &args->networks.faces, "FILE", "with it: a bundle of tasks for each face",
         0, 0},
        {"every", 0, CLI_KIND_LIST, &args->networks.every, "TASK=N",
         "run a task every n-th frame, or Nhz times a second; may be repeated", 0, 0},
        {"headless", 0, CLI_KIND_FLAG, &args->show.headless, "", "no table; clips run as fast as they can", 0,
         0},
        {"pace", 0, CLI_KIND_FLAG, &args->pace, "", "clips keep their rate with --headless, too", 0, 0},
        {"png", 0, CLI_KIND_TEXT, &args->show.png, "DIR", "write frames with the answers on them", 0, 0},
        {"png-every", 0, CLI_KIND_COUNT, &args->show.png_every, "N", "each n-th of them (default 1)", 1, 1e9},
        {"json", 0, CLI_KIND_TEXT, &args->json, "FILE", "write a line of JSON per frame ('-': print)", 0, 0},
        {"frames", 'n', CLI_KIND_COUNT, &args->frames, "N", "stop after N frames", 1, 4e9},
        {"seconds", 0, CLI_KIND_NUMBER, &args->show.seconds, "S", "stop after S seconds", 0.001, 1e9},
        {"timeout", 0, CLI_KIND_NUMBER, &args->timeout, "S", "give up if no frame comes (default 5)", 0.01,
         3600},
        {"window", 0, CLI_KIND_FLAG, &args->show.window, "", "show the frames in a window (GStreamer)", 0, 0},
        {"window-sink", 0, CLI_KIND_TEXT, &args->show.sink, "ELEMENT", "what shows them (default: any)", 0,
         0},
        {"size", 0, CLI_KIND_TEXT, &args->size, "WxH", "size of the frames that the source gives", 0, 0},
        {"fps", 0, CLI_KIND_NUMBER, &args->source.fps, "F", "their rate", 0.01, 1000},
        {"format", 0, CLI_KIND_TEXT, &args->format, "F", "their format: nv12, i420, yuyv, rgb, ...", 0, 0},
        {"yuv", 0, CLI_KIND_TEXT, &args->yuv, "Y", "their colours: bt601, bt709, bt601-full, bt709-full", 0,
         0},
        {"rotate", 0, CLI_KIND_COUNT, &args->rotate, "D", "degrees clockwise until they are upright", 0, 270},
        {"mirror", 0, CLI_KIND_FLAG, &args->show.mirror, "", "swap left and right", 0, 0},
        {"in-flight", 0, CLI_KIND_COUNT, &args->networks.in_flight, "N", "frames under way (default 3)", 1,
         15},
        {"drop-oldest", 0, CLI_KIND_FLAG, &args->drop, "", "drop frames when all are (default: cameras)", 0,
         0},
        {"block", 0, CLI_KIND_FLAG, &args->block, "", "wait when all are (default: clips)", 0, 0},
        {"flush", 0, CLI_KIND_COUNT, &args->networks.open.flush_launches, "N",
         "OpenCL: hand over every N launches", 1, 1000},
        CLI_OPEN_OPTIONS(args->networks.open),
    };
    const cli_usage usage = {
        .name = NULL,
        .positionals = "SOURCE",
        .summary = "Runs a bundle's tasks on the frames of a camera or a clip.",
        .details = details,
        .positional_count = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return cli_parse(&usage, argc, argv, common);
}

/* What was printed has to have arrived; a failure that is known already says more. */
static int output_check(int status)
{
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    return written || status != CLI_EXIT_OK
               ? status
               : cli_failure(NULL, "standard output cannot be written: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    arguments args = {.show.png_every = 1,
                      .networks.in_flight = IN_FLIGHT_DEFAULT,
                      .timeout = TIMEOUT_DEFAULT,
                      .source.format = -1};
    cli_common common = {0};
    cli_open app = {0};
    pipeline p = {0};
    mts_device_desc device = {.size = sizeof device};
    int status = parse(&args, argc, argv, &common);
    status = status < 0 ? arguments_check(&args, common.positionals[0]) : status;
    if (status < 0) {
        signals_take();
        status = run(&app, &args, &p, &device);
    }
    /* sessions give back frames, to the source; only then may it go */
    cli_cascade_destroy(&p.faces.cascade);
    cli_close(&app);
    results_release(&p.results);
    source_close(&p.source);
    feed_release(&p.feed);
    cli_list_release(&args.networks.every);
    return output_check(status);
}
