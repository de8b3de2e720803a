/*
 * arrivals.c: arrival times (arrivals.h).
 */
#include "arrivals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST 64

const char *const cli_arrival_names[CLI_ARRIVALS_COUNT] = {"poisson", "uniform", "trace"};

/* SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Above 0, at most 1. */
static double random_part(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 1.0) / 9007199254740992.0;
}

static bool reserve(cli_arrivals *out, size_t count)
{
    *out = (cli_arrivals){.times_ms = calloc(count + 1, sizeof *out->times_ms)};
    out->count = out->times_ms ? count : 0;
    return out->times_ms;
}

bool cli_arrivals_make(cli_arrival_kind kind, double rate, size_t count, uint64_t seed, cli_arrivals *out)
{
    const double gap = 1e3 / rate;
    double at = 0.0;
    if (!reserve(out, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        at = kind == CLI_ARRIVALS_POISSON ? at - gap * log(random_part(&seed)) : (double)i * gap;
        out->times_ms[i] = at;
    }
    return true;
}

/* A whole line as a time; false: it is none. */
static bool time_read(const char *line, size_t length, double *ms)
{
    char copy[LINE_MOST];
    char *end = NULL;
    if (length == 0 || length >= sizeof copy) {
        return false;
    }
    memcpy(copy, line, length);
    copy[length] = '\0';
    *ms = strtod(copy, &end);
    return end == copy + length && isfinite(*ms) && *ms >= 0.0;
}

static bool line_take(cli_arrivals *out, const char *line, size_t length, size_t number, char *error)
{
    double ms = 0.0;
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\r' || line[length - 1] == '\t')) {
        length--;
    }
    if (length == 0 || line[0] == '#') {
        return true;
    }
    if (!time_read(line, length, &ms)) {
        (void)snprintf(error, CLI_ARRIVALS_ERROR, "line %zu is no time in milliseconds from 0", number);
        return false;
    }
    if (out->count > 0 && ms < out->times_ms[out->count - 1]) {
        (void)snprintf(error, CLI_ARRIVALS_ERROR, "line %zu: %g is before %g, the arrival above it", number,
                       ms, out->times_ms[out->count - 1]);
        return false;
    }
    if (out->count == CLI_ARRIVALS_MOST) {
        (void)snprintf(error, CLI_ARRIVALS_ERROR, "line %zu: there are more than %u arrivals", number,
                       CLI_ARRIVALS_MOST);
        return false;
    }
    out->times_ms[out->count++] = ms;
    return true;
}

bool cli_arrivals_read(const char *text, size_t size, cli_arrivals *out, char error[CLI_ARRIVALS_ERROR])
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n' ? 1 : 0;
    }
    if (!reserve(out, lines < CLI_ARRIVALS_MOST ? lines : CLI_ARRIVALS_MOST)) {
        (void)snprintf(error, CLI_ARRIVALS_ERROR, "no memory for %zu arrivals", lines);
        return false;
    }
    out->count = 0;
    bool good = true;
    for (size_t at = 0, number = 1; at < size && good; number++) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - (text + at)) : size - at;
        good = line_take(out, text + at, length, number, error);
        at += length + 1;
    }
    if (good && out->count == 0) {
        (void)snprintf(error, CLI_ARRIVALS_ERROR, "there are no arrivals in it");
        good = false;
    }
    if (!good) {
        cli_arrivals_release(out);
    }
    return good;
}

double cli_arrivals_rate(const cli_arrivals *arrivals)
{
    if (arrivals->count < 2) {
        return 0.0;
    }
    const double ms = arrivals->times_ms[arrivals->count - 1] - arrivals->times_ms[0];
    return ms > 0.0 ? 1e3 * (double)(arrivals->count - 1) / ms : 0.0;
}

bool cli_arrivals_scale(const cli_arrivals *arrivals, double rate, cli_arrivals *out)
{
    const double has = cli_arrivals_rate(arrivals);
    *out = (cli_arrivals){0};
    if (has <= 0.0 || rate <= 0.0 || !reserve(out, arrivals->count)) {
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        out->times_ms[i] = (arrivals->times_ms[i] - arrivals->times_ms[0]) * has / rate;
    }
    return true;
}

void cli_arrivals_release(cli_arrivals *arrivals)
{
    free(arrivals->times_ms);
    *arrivals = (cli_arrivals){0};
}
