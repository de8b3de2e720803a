/*
 * profile_print.c: a profile as tables and as JSON.
 */
#include <stdio.h>

#include "command.h"
#include "profile_report.h"

double cli_profile_gflops(uint64_t mul_adds, double ms)
{
    return ms > 0.0 ? 2e-6 * (double)mul_adds / ms : 0.0;
}

double cli_profile_gbps(uint64_t bytes, double ms)
{
    return ms > 0.0 ? 1e-6 * (double)bytes / ms : 0.0;
}

static double share(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

/* The columns that rows of launches and of kinds have in common; what does not apply
   stays empty. */
static void columns_print(const cli_profile *profile, double ms, uint64_t mul_adds, uint64_t bytes)
{
    char gflops[16] = "", peak[16] = "", gbps[16] = "";
    const double rate = cli_profile_gflops(mul_adds, ms);
    if (mul_adds > 0) {
        (void)snprintf(gflops, sizeof gflops, "%.1f", rate);
    }
    if (mul_adds > 0 && profile->has_ceilings) {
        (void)snprintf(peak, sizeof peak, "%.0f %%", 100.0 * share(rate, profile->ceilings.gflops));
    }
    if (bytes > 0) {
        (void)snprintf(gbps, sizeof gbps, "%.1f", cli_profile_gbps(bytes, ms));
    }
    printf("%9.3f %5.1f %% %9s %6s %7s", ms, 100.0 * share(ms, profile->busy_ms), gflops, peak, gbps);
}

static void summary_print(const cli_profile *profile)
{
    printf("%s, %s; strategy %s in %s, %s\n", profile->device.id, profile->device.name, profile->strategy,
           cli_precision_name(profile->stats.precision),
           profile->common ? "one common frame" : "one frame per task");
    if (profile->has_ceilings) {
        printf("multiply-add peak %.1f GFLOP/s, copy %.1f GB/s, measured now\n", profile->ceilings.gflops,
               profile->ceilings.copy_gbps);
    }
    printf(
        "a run takes %.3f ms (median of %u, %.3f to %.3f); the medians of its %u launches add up to %.3f ms, "
        "of the gaps before them to %.3f ms\n\n",
        profile->latency.median, profile->runs, profile->latency.p5, profile->latency.p95, profile->count,
        profile->busy_ms, profile->span_ms - profile->busy_ms);
}

void cli_profile_print_text(const cli_profile *profile)
{
    summary_print(profile);
    printf("   #    at ms        ms   share   GFLOP/s   peak    GB/s  launch\n");
    for (uint32_t i = 0; i < profile->count; i++) {
        const mts_launch_profile *l = &profile->launches[i];
        printf("%4u %8.3f ", i, l->start_ms);
        columns_print(profile, l->duration_ms, l->mul_adds, l->bytes);
        printf("  %s\n", l->label);
    }
    printf("\nlaunches            ms   share   GFLOP/s   peak    GB/s  of this kind\n");
    for (uint32_t i = 0; i < profile->kind_count; i++) {
        const cli_profile_kind *k = &profile->kinds[i];
        printf("%8u     ", k->launches);
        columns_print(profile, k->ms, k->mul_adds, k->bytes);
        printf("  %s\n", k->name);
    }
    printf("%8u     ", profile->count);
    columns_print(profile, profile->busy_ms, profile->stats.mul_adds, 0);
    printf("  all\n");
}

static void measured_json(cli_json *json, const cli_profile *profile, double ms, uint64_t mul_adds,
                          uint64_t bytes)
{
    const double gflops = cli_profile_gflops(mul_adds, ms);
    cli_json_number(json, "ms", ms);
    cli_json_number(json, "share", share(ms, profile->busy_ms));
    cli_json_integer(json, "mul_adds", mul_adds);
    cli_json_integer(json, "bytes", bytes);
    cli_json_number(json, "gflops", gflops);
    if (profile->has_ceilings) {
        cli_json_number(json, "share_of_peak", share(gflops, profile->ceilings.gflops));
    } else {
        cli_json_raw(json, "share_of_peak", "null");
    }
    cli_json_number(json, "gbps", cli_profile_gbps(bytes, ms));
}

static void launches_json(cli_json *json, const cli_profile *profile)
{
    cli_json_array(json, "profile");
    for (uint32_t i = 0; i < profile->count; i++) {
        const mts_launch_profile *l = &profile->launches[i];
        cli_json_object(json, NULL);
        cli_json_string(json, "label", l->label);
        cli_json_string(json, "kind", l->kind);
        cli_json_string(json, "kernel", l->kernel);
        if (l->group != UINT32_MAX) {
            cli_json_integer(json, "group", l->group);
        } else {
            cli_json_raw(json, "group", "null");
        }
        cli_json_integer(json, "computations", l->computations);
        cli_json_integer(json, "tasks", l->tasks);
        cli_json_number(json, "start_ms", l->start_ms);
        measured_json(json, profile, l->duration_ms, l->mul_adds, l->bytes);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
    cli_json_array(json, "kinds");
    for (uint32_t i = 0; i < profile->kind_count; i++) {
        const cli_profile_kind *k = &profile->kinds[i];
        cli_json_object(json, NULL);
        cli_json_string(json, "kind", k->name);
        cli_json_integer(json, "launches", k->launches);
        measured_json(json, profile, k->ms, k->mul_adds, k->bytes);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

int cli_profile_print_json(const cli_profile *profile)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("profile", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_string(&json, "device", profile->device.name);
    cli_json_string(&json, "device_id", profile->device.id);
    cli_json_string(&json, "driver", profile->device.driver);
    cli_json_string(&json, "version", mts_version());
    cli_json_string(&json, "bundle", profile->bundle);
    cli_json_string(&json, "strategy", profile->strategy);
    cli_json_string(&json, "frames", profile->common ? "common" : "separate");
    if (profile->has_ceilings) {
        cli_json_number(&json, "peak_gflops", profile->ceilings.gflops);
        cli_json_number(&json, "copy_gbps", profile->ceilings.copy_gbps);
    } else {
        cli_json_raw(&json, "peak_gflops", "null");
        cli_json_raw(&json, "copy_gbps", "null");
    }
    cli_measure_json(&json, &profile->latency, &profile->stats);
    cli_json_number(&json, "busy_ms", profile->busy_ms);
    cli_json_number(&json, "span_ms", profile->span_ms);
    launches_json(&json, profile);
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("profile", "no memory");
}
