/*
 * measure.h: the latency of a session, from handing over the frame to reading the
 * outputs, on the caller's clock.
 */
#ifndef MTS_KIT_MEASURE_H
#define MTS_KIT_MEASURE_H

#include <stdint.h>

#include "json.h"
#include "mts/mts.h"

#define CLI_WARM_UPS 10u

typedef struct cli_latency {
    double median, p5, p95; /* milliseconds */
    uint32_t runs;
} cli_latency;

/* Of a monotonic clock. */
double cli_now_ms(void);
/* Until that clock says `ms`; returns at once if it has. */
void cli_sleep_until(double ms);
/* Processor time of the process so far, all threads together, in milliseconds. */
double cli_cpu_ms(void);
/* Sorts the times. */
cli_latency cli_latency_of(double *times, uint32_t runs);
/* Warm-ups first, then `runs` measured runs. frame may be NULL. */
mts_status cli_measure(mts_session *session, const mts_frame *frame, uint32_t runs, cli_latency *out);
/* Adds "latency_ms", "precision", "bytes", "launches", "groups", "kernels", "mul_adds" to
 * an object. latency may be NULL.
 */
void cli_measure_json(cli_json *json, const cli_latency *latency, const mts_session_stats *stats);
/* "1.2 MB" */
const char *cli_bytes_text(uint64_t bytes, char *text, size_t size);

#endif
