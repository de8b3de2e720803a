/*
 * schedule_plot.c: see schedule_plot.h.
 *
 * A launch is a bar from its start to its end, in the first row that is free then. Its
 * colour is that of its task group, its filled part the occupancy. A browser shows a
 * bar's numbers where the mouse is.
 */
#include "schedule_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"
#include "svg.h"

#define WIDTH 1200.0
#define LEFT 20.0
#define RIGHT 20.0
#define LEGEND_TOP 54.0
#define LINE 16.0
#define ROW 40.0
#define ROW_GAP 6.0
#define BAR_LEAST 0.6 /* pixels */
#define TICKS 10.0
#define NAME_MOST 150u /* characters of the tasks of a group */

enum { ROWS_MOST = 32, GROUPS_MOST = 16, COLORS = 12 };

static const char *const colors[COLORS] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b",
                                           "#e377c2", "#bcbd22", "#17becf", "#393b79", "#637939", "#843c39"};
#define COLOR_OF_SEVERAL "#7f7f7f"

typedef struct picture {
    FILE *out;
    const cli_schedule *schedule;
    double top, end_ms;
    uint32_t rows, groups;
    uint32_t *row; /* per launch */
} picture;

double cli_schedule_occupancy(const mts_launch_profile *launch, uint32_t units)
{
    if (launch->tiles == 0 || units == 0) {
        return 1.0;
    }
    const uint32_t rounds = launch->tiles / units + (launch->tiles % units != 0 ? 1 : 0);
    return (double)launch->tiles / ((double)rounds * (double)units);
}

static const char *color_of(const mts_launch_profile *l)
{
    return l->group == UINT32_MAX ? COLOR_OF_SEVERAL : colors[l->group % COLORS];
}

/* Launches come in any order of time. */
static void find_rows(picture *p, const uint32_t *order)
{
    double free_at[ROWS_MOST] = {0.0};
    for (uint32_t i = 0; i < p->schedule->count; i++) {
        const mts_launch_profile *l = &p->schedule->launches[order[i]];
        uint32_t row = 0;
        while (row + 1 < ROWS_MOST && row < p->rows && free_at[row] > l->start_ms + 1e-9) {
            row++;
        }
        p->row[order[i]] = row;
        p->rows = row + 1 > p->rows ? row + 1 : p->rows;
        free_at[row] = fmax(free_at[row], l->start_ms + l->duration_ms);
        p->end_ms = fmax(p->end_ms, l->start_ms + l->duration_ms);
        p->groups = l->group != UINT32_MAX && l->group + 1 > p->groups ? l->group + 1 : p->groups;
    }
}

typedef struct started {
    double start;
    uint32_t index;
} started;

static int compare_starts(const void *left, const void *right)
{
    const started *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start ? 1 : a->index < b->index ? -1 : 1;
}

/* False: no memory. */
static bool lay_out(picture *p)
{
    const uint32_t count = p->schedule->count;
    started *starts = calloc((size_t)count + 1, sizeof *starts);
    uint32_t *order = calloc((size_t)count + 1, sizeof *order);
    p->row = calloc((size_t)count + 1, sizeof *p->row);
    p->rows = 1;
    const bool done = starts && order && p->row;
    for (uint32_t i = 0; done && i < count; i++) {
        starts[i] = (started){p->schedule->launches[i].start_ms, i};
    }
    if (done && count > 0) {
        qsort(starts, count, sizeof *starts, compare_starts);
    }
    for (uint32_t i = 0; done && i < count; i++) {
        order[i] = starts[i].index;
    }
    if (done) {
        find_rows(p, order);
    }
    free(starts);
    free(order);
    return done;
}

void cli_schedule_group_name(const cli_open *app, uint32_t group, char *text, size_t size)
{
    int length = snprintf(text, size, "group %u:", group);
    for (uint32_t i = 0; i < cli_task_count(app); i++) {
        const mts_task_desc task = cli_task(app, i);
        mts_task_stats stats = {.size = sizeof stats};
        if (mts_session_task_stats(app->session, task.name, &stats) != MTS_STATUS_OK ||
            stats.group != group) {
            continue;
        }
        if (length < 0 || (size_t)length + strlen(task.name) + 8 > size) {
            (void)snprintf(text + strlen(text), size - strlen(text), " ...");
            return;
        }
        length += snprintf(text + length, size - (size_t)length, " %s", task.name);
    }
}

static void legend_line(const picture *p, uint32_t line, const char *color, const char *text)
{
    const double y = LEGEND_TOP + LINE * line;
    (void)fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", LEFT, y,
                  color);
    cli_svg_text(p->out, LEFT + 16.0, y + 9.0, "start", text);
}

static uint32_t legend_lines(const picture *p)
{
    return (p->groups > GROUPS_MOST ? GROUPS_MOST + 1 : p->groups) + 1;
}

static void legend(const picture *p, const cli_open *app)
{
    char text[NAME_MOST + 32];
    for (uint32_t g = 0; g < p->groups && g < GROUPS_MOST; g++) {
        cli_schedule_group_name(app, g, text, NAME_MOST);
        legend_line(p, g, colors[g % COLORS], text);
    }
    if (p->groups > GROUPS_MOST) {
        (void)snprintf(text, sizeof text, "and %u more groups, whose colours repeat",
                       p->groups - GROUPS_MOST);
        legend_line(p, GROUPS_MOST, "white", text);
    }
    legend_line(
        p, legend_lines(p) - 1, COLOR_OF_SEVERAL,
        "launches that work for several groups. Filled: the part of the device's units that have work");
}

static void heading(const picture *p)
{
    const cli_schedule *s = p->schedule;
    char text[1024];
    double busy = 0.0, full = 0.0;
    uint32_t low = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const double occupancy = cli_schedule_occupancy(&s->launches[i], s->device->compute_units);
        busy += s->launches[i].duration_ms;
        full += s->launches[i].duration_ms * occupancy;
        low += occupancy < 0.5 ? 1 : 0;
    }
    (void)snprintf(text, sizeof text, "%s: %u launches, strategy %s, on %s (%u units)", s->bundle, s->count,
                   s->strategy, s->device->name, s->device->compute_units);
    (void)fputs("<title>", p->out);
    cli_svg_escaped(p->out, text);
    (void)fputs("</title>\n<g font-weight=\"bold\">", p->out);
    cli_svg_text(p->out, LEFT, 20.0, "start", text);
    (void)snprintf(
        text, sizeof text,
        "%s: %.3f ms; tiles fill %.0f %% of the units on average, less than half of them in %u launches",
        s->how, p->end_ms, busy > 0.0 ? 100.0 * full / busy : 100.0, low);
    (void)fputs("</g>\n", p->out);
    cli_svg_text(p->out, LEFT, 37.0, "start", text);
}

static double x_of(const picture *p, double ms)
{
    return LEFT + (p->end_ms > 0.0 ? ms / p->end_ms : 0.0) * (WIDTH - LEFT - RIGHT);
}

static void axis(const picture *p)
{
    const double step = cli_svg_step(p->end_ms / TICKS);
    const double bottom = p->top + p->rows * (ROW + ROW_GAP);
    for (uint32_t i = 0; i * step <= p->end_ms && i < 100; i++) {
        char text[32];
        const double x = x_of(p, i * step);
        (void)fprintf(p->out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", x, p->top - 4.0, bottom);
        (void)snprintf(text, sizeof text, "%.4g ms", i * step);
        cli_svg_text(p->out, x, bottom + 14.0, i == 0 ? "start" : "middle", text);
    }
}

static void bar(const picture *p, uint32_t index)
{
    const mts_launch_profile *l = &p->schedule->launches[index];
    const double occupancy = cli_schedule_occupancy(l, p->schedule->device->compute_units);
    const double x = x_of(p, l->start_ms), y = p->top + p->row[index] * (ROW + ROW_GAP);
    const double width = fmax(x_of(p, l->start_ms + l->duration_ms) - x, BAR_LEAST);
    (void)fprintf(p->out, "<g fill=\"%s\"><title>%u: ", color_of(l), index);
    cli_svg_escaped(p->out, l->label);
    (void)fprintf(p->out, "&#10;%.4f ms from %.4f ms, %u tiles fill %.0f %%, for %u task(s), ",
                  l->duration_ms, l->start_ms, l->tiles, 100.0 * occupancy, l->tasks);
    cli_svg_escaped(p->out, l->kernel);
    (void)fprintf(p->out,
                  "</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" opacity=\".3\"/>", x, y,
                  width, ROW);
    (void)fprintf(p->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/></g>\n", x,
                  y + ROW * (1.0 - occupancy), width, ROW * occupancy);
}

int cli_schedule_plot(const cli_open *app, const cli_schedule *schedule, const char *path)
{
    picture p = {.schedule = schedule};
    cli_svg svg;
    if (!lay_out(&p)) {
        free(p.row);
        return cli_failure(schedule->command, "no memory for the picture");
    }
    p.top = LEGEND_TOP + LINE * legend_lines(&p) + 16.0;
    if (!cli_svg_begin(&svg, WIDTH, p.top + p.rows * (ROW + ROW_GAP) + 26.0)) {
        free(p.row);
        return cli_failure(schedule->command, "no memory for the picture");
    }
    p.out = svg.out;
    heading(&p);
    legend(&p, app);
    axis(&p);
    for (uint32_t i = 0; i < schedule->count; i++) {
        bar(&p, i);
    }
    free(p.row);
    return cli_svg_finish(&svg, schedule->command, path);
}
