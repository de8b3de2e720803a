/*
 * arrivals.h: when requests arrive: by a Poisson process, evenly, or as a trace says.
 * Times are milliseconds after the first possible arrival, in ascending order.
 */
#ifndef MTS_APPS_ARRIVALS_H
#define MTS_APPS_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_ARRIVALS_MOST 1000000u
/* Characters of a sentence of what is wrong, with its end. */
#define CLI_ARRIVALS_ERROR 256

typedef enum cli_arrival_kind {
    CLI_ARRIVALS_POISSON = 0, /* gaps are exponential: requests are independent of each other */
    CLI_ARRIVALS_UNIFORM = 1, /* gaps are equal: a camera */
    CLI_ARRIVALS_TRACE = 2,   /* gaps of a file */
    CLI_ARRIVALS_COUNT = 3
} cli_arrival_kind;

extern const char *const cli_arrival_names[CLI_ARRIVALS_COUNT];

typedef struct cli_arrivals {
    double *times_ms; /* on the heap */
    size_t count;
} cli_arrivals;

/*
 * `count` arrivals of a Poisson process (the same for the same seed) or at equal distances,
 * `rate` a second on average. Equal ones begin at 0. False: no memory.
 */
bool cli_arrivals_make(cli_arrival_kind kind, double rate, size_t count, uint64_t seed, cli_arrivals *out);
/*
 * The arrivals of a text: one time in milliseconds a line, not before the line above it; empty
 * lines and lines that begin with # do not count. At most CLI_ARRIVALS_MOST. False: error has
 * a sentence with the number of the line.
 */
bool cli_arrivals_read(const char *text, size_t size, cli_arrivals *out, char error[CLI_ARRIVALS_ERROR]);
/* Arrivals a second: gaps, not arrivals, by the time between first and last. 0: fewer than two. */
double cli_arrivals_rate(const cli_arrivals *arrivals);
/* The same order at another rate. False: no memory, or there is no rate to change. */
bool cli_arrivals_scale(const cli_arrivals *arrivals, double rate, cli_arrivals *out);
void cli_arrivals_release(cli_arrivals *arrivals);

#endif
