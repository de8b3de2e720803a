/*
 * table.c: lines for people. Labels and names come from files: what is not printable is
 * not printed.
 */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kit/frames.h"
#include "kit/measure.h"

#define EVERY_MS 100.0
#define WIDTH 96

void table_begin(table *screen, bool wanted)
{
    struct winsize size = {0};
    *screen = (table){.live = wanted && isatty(STDOUT_FILENO) == 1, .columns = WIDTH};
    if (screen->live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_row > 1) {
        screen->columns = size.ws_col <= WIDTH ? size.ws_col - 1u : WIDTH;
        screen->rows = size.ws_row - 1u; /* lines that scroll away cannot be drawn over */
    }
}

static void line_print(table *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line_print(table *screen, const char *format, ...)
{
    char line[WIDTH * 4];
    va_list arguments;
    if (screen->rows > 0 && screen->lines >= screen->rows) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *at = line; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = '?';
        }
    }
    printf("%s%.*s%s\n", screen->live ? "\r" : "", (int)screen->columns, line, screen->live ? "\x1b[K" : "");
    screen->lines++;
}

static void task_print(table *screen, const task_result *result)
{
    char score[16] = "";
    if (result->score >= 0) {
        (void)snprintf(score, sizeof score, "%.1f %%", 100.0 * result->score);
    }
    line_print(screen, "%-20.20s %-28.28s %8s %8.2f %8.2f %9llu", result->task.name, result->text, score,
               result->p50_ms, result->p95_ms, (unsigned long long)result->runs);
}

static void print(table *screen, const table_facts *facts, double rate)
{
    double p50 = 0, p95 = 0;
    const source_info *from = facts->source;
    const tally *count = facts->count;
    tally_latency(count, &p50, &p95);
    screen->lines = 0;
    const bool yuv = from->format >= MTS_PIXEL_FORMAT_NV12;
    line_print(screen, "%s", facts->uri);
    line_print(screen, "%ux%u %s%s%s%s%s", from->width, from->height, cli_format_name(from->format),
               yuv ? " " : "", yuv ? cli_yuv_name(from->yuv) : "", facts->device ? ", on " : "",
               facts->device ? facts->device : "");
    line_print(screen,
               "%llu frames, %llu answered, %llu dropped; %.1f a second; latency %.2f ms, p95 %.2f ms",
               (unsigned long long)count->came, (unsigned long long)count->answered,
               (unsigned long long)count->dropped, rate, p50, p95);
    if (facts->faces) {
        line_print(screen, "%s", facts->faces);
    }
    if (facts->results->count > 0) {
        line_print(screen, "%-20s %-28s %8s %8s %8s %9s", "task", "answer", "score", "p50 ms", "p95 ms",
                   "runs");
    }
    for (uint32_t i = 0; i < facts->results->count; i++) {
        task_print(screen, &facts->results->tasks[i]);
    }
    (void)fflush(stdout);
}

bool table_due(const table *screen)
{
    return screen->live && (screen->lines == 0 || cli_now_ms() - screen->drawn_ms >= EVERY_MS);
}

void table_draw(table *screen, const table_facts *facts)
{
    screen->drawn_ms = cli_now_ms();
    if (screen->lines > 0) {
        printf("\x1b[%uA", screen->lines);
    }
    print(screen, facts, tally_rate(facts->count));
}

void table_end(table *screen, const table_facts *facts)
{
    if (screen->live && screen->lines > 0) {
        printf("\x1b[%uA", screen->lines);
    }
    screen->rows = 0; /* nothing is drawn over it */
    print(screen, facts, tally_rate_overall(facts->count));
}
