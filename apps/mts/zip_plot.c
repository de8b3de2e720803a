/*
 * zip_plot.c: see zip_plot.h.
 */
#include "zip_plot.h"

#include <math.h>
#include <stdlib.h>

#include "kit/args.h"
#include "svg.h"

#define WIDTH 560.0
#define HEIGHT 360.0
#define LEFT 60.0
#define RIGHT 20.0
#define TOP 30.0
#define BOTTOM 50.0
#define TICKS 6.0
#define ROOM 1.3 /* the axis of losses goes beyond the highest measured one, the rest of the line is cut */

/* Where the axes end; both begin at 0. */
typedef struct axes {
    double bytes, loss;
} axes;

void cli_zip_trials_add(cli_zip_trials *trials, const mtsz_zip_trial *trial)
{
    if (trials->count == trials->room) {
        const size_t room = trials->room ? 2 * trials->room : 32;
        mtsz_zip_trial *items = realloc(trials->items, room * sizeof *items);
        if (!items) {
            trials->failed = true;
            return;
        }
        trials->items = items;
        trials->room = room;
    }
    trials->items[trials->count++] = *trial;
}

void cli_zip_trials_release(cli_zip_trials *trials)
{
    free(trials->items);
    *trials = (cli_zip_trials){0};
}

static axes axes_of(const cli_zip_trials *trials, double max_loss)
{
    axes a = {.bytes = 1.0, .loss = max_loss};
    for (size_t i = 0; i < trials->count; i++) {
        const mtsz_zip_trial *trial = &trials->items[i];
        if (!trial->predicted && isfinite(trial->loss) && trial->loss > a.loss) {
            a.loss = trial->loss;
        }
        a.bytes = isfinite(trial->bytes) && trial->bytes > a.bytes ? trial->bytes : a.bytes;
    }
    a.loss = a.loss > 0.0 ? ROOM * a.loss : 1.0;
    return a;
}

static double x_of(const axes *a, double bytes)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * bytes / a->bytes;
}

static double y_of(const axes *a, double loss)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / a->loss;
}

static void draw_line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
    (void)fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

static void draw_axes(FILE *out, const axes *a)
{
    char text[32];
    const char *grid = "stroke=\"#ddd\"";
    const double loss_step = cli_svg_step(a->loss / TICKS), bytes_step = cli_svg_step(a->bytes / TICKS);
    for (double loss = 0.0; loss <= a->loss; loss += loss_step) {
        draw_line(out, LEFT, y_of(a, loss), WIDTH - RIGHT, y_of(a, loss), grid);
        (void)snprintf(text, sizeof text, "%g", loss);
        cli_svg_text(out, LEFT - 6.0, y_of(a, loss) + 4.0, "end", text);
    }
    for (double bytes = 0.0; bytes <= a->bytes; bytes += bytes_step) {
        draw_line(out, x_of(a, bytes), TOP, x_of(a, bytes), HEIGHT - BOTTOM, grid);
        (void)snprintf(text, sizeof text, "%g", bytes);
        cli_svg_text(out, x_of(a, bytes), HEIGHT - BOTTOM + 16.0, "middle", text);
    }
    cli_svg_text(out, WIDTH / 2.0, HEIGHT - 12.0, "middle",
                 "bytes of weights, as a part of what the tasks have without sharing");
    cli_svg_text(out, LEFT, TOP - 12.0, "start",
                 "points of accuracy expected to be lost, mean of the tasks: line predicted, dots measured");
}

/* The points of the predicted line, up to the first one above the axis. */
static void draw_predicted(FILE *out, const axes *a, const cli_zip_trials *trials)
{
    (void)fputs("<polyline fill=\"none\" stroke=\"#888\" points=\"", out);
    for (size_t i = 0; i < trials->count; i++) {
        const mtsz_zip_trial *trial = &trials->items[i];
        if (trial->predicted && isfinite(trial->loss) && trial->loss <= a->loss) {
            (void)fprintf(out, "%.1f,%.1f ", x_of(a, trial->bytes), y_of(a, trial->loss));
        }
    }
    (void)fputs("\"/>\n", out);
}

static void draw_measured(FILE *out, const axes *a, const cli_zip_trials *trials)
{
    for (size_t i = 0; i < trials->count; i++) {
        const mtsz_zip_trial *trial = &trials->items[i];
        if (!trial->predicted && isfinite(trial->loss)) {
            (void)fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
                          x_of(a, trial->bytes), y_of(a, trial->loss), trial->within ? "#06c" : "#c33");
        }
    }
}

int cli_zip_plot(const cli_zip_trials *trials, double max_loss, double bytes, const char *path)
{
    cli_svg svg;
    const axes a = axes_of(trials, max_loss);
    if (trials->failed || !cli_svg_begin(&svg, WIDTH, HEIGHT)) {
        return cli_failure("zip", "no memory for the picture");
    }
    draw_axes(svg.out, &a);
    const char *limit = "stroke=\"#c33\" stroke-dasharray=\"4 3\"";
    if (max_loss > 0.0) {
        draw_line(svg.out, LEFT, y_of(&a, max_loss), WIDTH - RIGHT, y_of(&a, max_loss), limit);
    }
    if (bytes > 0.0) {
        draw_line(svg.out, x_of(&a, bytes), TOP, x_of(&a, bytes), HEIGHT - BOTTOM, limit);
    }
    draw_predicted(svg.out, &a, trials);
    draw_measured(svg.out, &a, trials);
    return cli_svg_finish(&svg, "zip", path);
}
