/*
 * phone.h: one measurement of one bundle, on one device, with one setting.
 */
#ifndef MTS_SAMPLES_PHONE_H
#define MTS_SAMPLES_PHONE_H

#include <stddef.h>

#include "kit/json.h"
#include "kit/measure.h"
#include "mts/mts.h"

/* What a session is asked for beside the defaults. */
typedef struct phone_setting {
    const char *name;
    mts_precision precision;
    mts_use packed_channels, weight_images, replay;
    mts_queue_mode queue;
} phone_setting;

extern const phone_setting phone_settings[];
extern const size_t phone_setting_count;

/* What a session is opened with. */
typedef struct phone_way {
    const char *device, *bundle, *cache;
    const phone_setting *setting;
    double seconds; /* of measured runs; 0: one run, for its outputs */
} phone_way;

/* What came of it. */
typedef struct phone_result {
    char error[512]; /* "": none */
    char device[128], driver[128];
    float *outputs; /* of all tasks, one after another; the caller frees them */
    size_t *sizes;  /* numbers of each output; likewise */
    size_t count, output_count;
    double create_ms, first_ms;
    cli_latency latency;
    mts_session_stats stats;
} phone_result;

/* Opens everything, runs it on the same random inputs every time, and closes it. Whatever fails
 * is told by result->error. */
void phone_measure(const phone_way *way, phone_result *result);
void phone_result_release(phone_result *result);
/* The largest difference of an output, relative to its largest number; 0 if there is no other. */
double phone_difference(const phone_result *result, const phone_result *expected);

#endif
