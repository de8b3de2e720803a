/*
 * bench_plot.c: the results of mts bench as a picture (SVG): one bar per strategy and
 * number of tasks.
 *
 * Above: median latency, with a line from the 5th to the 95th percentile. Below: bytes on
 * the device, weights at the bottom, activations and workspace above them in lighter
 * shades.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "command.h"
#include "svg.h"

#define WIDTH 860.0
#define PANEL 240.0 /* height of the plotted area */
#define LEFT 76.0
#define RIGHT 20.0
#define TOP 64.0
#define GAP 84.0 /* between the panels */
#define TICKS 5

static const char *const colors[CLI_BENCH_CONTESTANTS] = {"#7f7f7f", "#1f77b4", "#d62728", "#2ca02c",
                                                          "#9467bd", "#8c564b", "#e377c2", "#bcbd22",
                                                          "#17becf", "#ff7f0e", "#aec7e8", "#98df8a"};

typedef struct panel {
    FILE *out;
    const cli_bench *bench;
    double top;   /* y of the plotted area */
    double most;  /* value at its top */
    double group; /* width of the bars of one number of tasks, with their margin */
} panel;

/* What the bars of a panel show. */
typedef double (*value_of)(const cli_bench_result *result);

static double highest_time(const cli_bench_result *result)
{
    return result->latency.p95;
}

static double peak_bytes(const cli_bench_result *result)
{
    return (double)result->stats.peak_bytes;
}

static double y_of(const panel *p, double value)
{
    return p->top + PANEL - value / p->most * PANEL;
}

static void axes(const panel *p, const char *title, bool bytes, double step)
{
    char text[48];
    cli_svg_text(p->out, LEFT, p->top - 12.0, "start", title);
    for (double value = 0.0; value <= p->most * 1.0001; value += step) {
        const double y = y_of(p, value);
        (void)fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                      LEFT, y, WIDTH - RIGHT, y);
        if (bytes) {
            (void)cli_bytes_text((uint64_t)value, text, sizeof text);
        } else {
            (void)snprintf(text, sizeof text, "%.4g ms", value);
        }
        cli_svg_text(p->out, LEFT - 6.0, y + 4.0, "end", text);
    }
    for (size_t i = 0; i < p->bench->step_count; i++) {
        (void)snprintf(text, sizeof text, "%u tasks", p->bench->steps[i]);
        cli_svg_text(p->out, LEFT + p->group * ((double)i + 0.5), p->top + PANEL + 16.0, "middle", text);
    }
}

static void bar(const panel *p, double x, double width, double from, double to, const char *color,
                double opacity)
{
    (void)fprintf(
        p->out,
        "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n", x,
        y_of(p, to), width, y_of(p, from) - y_of(p, to), color, opacity);
}

static void latency_bar(const panel *p, const cli_bench_result *r, double x, double width, const char *color)
{
    const double middle = x + width / 2.0;
    char text[32];
    bar(p, x, width, 0.0, r->latency.median, color, 0.9);
    (void)fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.2f\" x2=\"%.1f\" y2=\"%.2f\" stroke=\"black\"/>\n",
                  middle, y_of(p, r->latency.p5), middle, y_of(p, r->latency.p95));
    (void)snprintf(text, sizeof text, "%.3g", r->latency.median);
    cli_svg_text(p->out, middle, y_of(p, r->latency.p95) - 3.0, "middle", text);
}

static void memory_bar(const panel *p, const cli_bench_result *r, double x, double width, const char *color)
{
    const double weights = (double)r->stats.weight_bytes;
    const double activations = weights + (double)r->stats.activation_bytes;
    char text[32];
    bar(p, x, width, 0.0, weights, color, 0.95);
    bar(p, x, width, weights, activations, color, 0.6);
    bar(p, x, width, activations, fmax((double)r->stats.peak_bytes, activations), color, 0.3);
    (void)cli_bytes_text(r->stats.peak_bytes, text, sizeof text);
    cli_svg_text(p->out, x + width / 2.0, y_of(p, (double)r->stats.peak_bytes) - 3.0, "middle", text);
}

static void panel_draw(FILE *out, const cli_bench *bench, double top, const char *title, bool bytes)
{
    const value_of value = bytes ? peak_bytes : highest_time;
    panel p = {out, bench, top, 0.0, (WIDTH - LEFT - RIGHT) / (double)bench->step_count};
    for (size_t i = 0; i < bench->result_count; i++) {
        p.most = fmax(p.most, value(&bench->results[i]));
    }
    const double step = cli_svg_step(p.most / TICKS);
    p.most = step * ceil(p.most / step * 1.04);
    p.most = p.most > 0.0 ? p.most : 1.0;
    axes(&p, title, bytes, step);
    const double width = fmin(0.8 * p.group / (double)bench->contestant_count, 70.0);
    for (size_t i = 0; i < bench->result_count; i++) {
        const size_t group = i / bench->contestant_count;
        const double place = (double)(i % bench->contestant_count) - (double)bench->contestant_count / 2.0;
        const double x = LEFT + p.group * ((double)group + 0.5) + place * width;
        const char *color = colors[i % bench->contestant_count];
        (bytes ? memory_bar : latency_bar)(&p, &bench->results[i], x, width * 0.92, color);
    }
}

static void legend(FILE *out, const cli_bench *bench)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s, %s", bench->bundle, bench->device.name);
    cli_svg_text(out, LEFT, 20.0, "start", text);
    const double step = fmin(bench->halves ? 190.0 : 140.0, (WIDTH - LEFT) / (double)bench->contestant_count);
    for (size_t i = 0; i < bench->contestant_count; i++) {
        const double x = LEFT + step * (double)i;
        (void)fprintf(out, "<rect x=\"%.1f\" y=\"28\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x,
                      colors[i]);
        cli_svg_text(out, x + 15.0, 37.0, "start", bench->contestants[i].label);
    }
}

int cli_bench_plot(const cli_bench *bench, const char *path)
{
    cli_svg svg;
    const double height = TOP + PANEL + GAP + PANEL + 40.0;
    if (!cli_svg_begin(&svg, WIDTH, height)) {
        return cli_failure("bench", "no memory for the plot");
    }
    legend(svg.out, bench);
    panel_draw(svg.out, bench, TOP, "latency of one run: median, 5th to 95th percentile", false);
    panel_draw(svg.out, bench, TOP + PANEL + GAP, "device memory: weights, activations, workspace", true);
    return cli_svg_finish(&svg, "bench", path);
}
