/*
 * bench_print.c: the results of mts bench as a table and as JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "command.h"

const char *const cli_bench_inputs_names[CLI_BENCH_INPUTS_COUNT] = {"zero-copy", "copied", "uploaded"};
static const char *const inputs_text[CLI_BENCH_INPUTS_COUNT] = {
    "inputs read where the program has them", "inputs in device memory", "inputs uploaded in every run"};

static const cli_bench_result *first_of(const cli_bench *bench, const cli_bench_result *result)
{
    return result - (size_t)(result - bench->results) % bench->contestant_count;
}

/* Of the first column: the longest label. */
static int label_width(const cli_bench *bench)
{
    size_t width = 18;
    for (size_t i = 0; i < bench->contestant_count; i++) {
        const size_t own = strlen(bench->contestants[i].label);
        width = own > width ? own : width;
    }
    return (int)width;
}

static void errors_print(const cli_bench_result *r)
{
    if (r->contestant->precision != MTS_PRECISION_FLOAT32) {
        printf(" %10.2e %10.2e", r->error_most, r->error_mean);
    }
    printf("\n");
}

static void row_print(const cli_bench *bench, const cli_bench_result *r)
{
    char weights[32], activations[32], peak[32], share[16] = "", device[16] = "";
    const double gflops = cli_bench_gflops(r);
    if (bench->has_ceilings && bench->ceilings.gflops > 0.0) {
        (void)snprintf(share, sizeof share, "%.0f %%", 100.0 * gflops / bench->ceilings.gflops);
    }
    if (r->device >= 0.0) {
        (void)snprintf(device, sizeof device, "%.2f", r->device);
    }
    printf("%5u  %-*s %8.2f ms %8.2f %8.2f %7.3f %8s %7.2f %11s %12s %11s %8u %8.1f M %7.1f %6s", r->tasks,
           label_width(bench), r->contestant->label, r->latency.median, r->latency.p5, r->latency.p95,
           r->submit, device,
           r->latency.median > 0.0 ? first_of(bench, r)->latency.median / r->latency.median : 0.0,
           cli_bytes_text(r->stats.weight_bytes, weights, sizeof weights),
           cli_bytes_text(r->stats.activation_bytes, activations, sizeof activations),
           cli_bytes_text(r->stats.peak_bytes, peak, sizeof peak),
           r->stats.persistent_launches > 0 ? r->stats.persistent_launches : r->stats.launches,
           (double)r->stats.mul_adds / 1e6, gflops, share);
    errors_print(r);
}

/* Where float16 was asked for and the device has no fast products. */
static void precisions_print(const cli_bench *bench)
{
    bool other = false;
    for (size_t i = 0; i < bench->result_count; i++) {
        other = other || bench->results[i].stats.precision != bench->results[i].contestant->precision;
    }
    if (bench->halves) {
        printf(
            "\nerrors: of the outputs against float32 of the same strategy, relative to an output's largest "
            "value\n");
    }
    if (other) {
        printf("float16 runs as float16-storage: this device multiplies float16 no faster than float32\n");
    }
}

void cli_bench_print_text(const cli_bench *bench)
{
    printf("%s, %s\n", bench->device.id, bench->device.name);
    if (bench->has_ceilings) {
        printf("multiply-add peak %.1f GFLOP/s, copy %.1f GB/s, measured now\n", bench->ceilings.gflops,
               bench->ceilings.copy_gbps);
    }
    if (bench->load_before >= 0.0) {
        printf("load of the machine: %.2f before, %.2f after\n", bench->load_before, bench->load_after);
    }
    printf("%s; %s; median of %u runs after %u, in turns\n\n",
           bench->common ? "one common frame" : "one frame per task", inputs_text[bench->inputs], bench->runs,
           bench->warm_ups);
    printf("tasks  %-*s %11s %8s %8s %7s %8s %7s %11s %12s %11s %8s %10s %7s %6s%s\n", label_width(bench),
           "strategy", "median", "p5", "p95", "submit", "device", "faster", "weights", "activations", "peak",
           "launches", "mul-adds", "GFLOP/s", "peak", bench->halves ? "  max error mean error" : "");
    for (size_t i = 0; i < bench->result_count; i++) {
        row_print(bench, &bench->results[i]);
    }
    precisions_print(bench);
    for (size_t i = 0; i < bench->result_count; i++) {
        const cli_bench_result *r = &bench->results[i];
        const bool measured = r->stats.predicted_ms > 0.0 || bench->tuning_ms > 0;
        if (measured) {
            printf("%s%5u  %-18s planned in %.1f ms", i == 0 ? "\n" : "", r->tasks, r->contestant->label,
                   r->stats.planning_ms);
            if (r->stats.predicted_ms > 0.0) {
                printf(", %.2f ms predicted", r->stats.predicted_ms);
            }
            printf("\n");
        }
    }
}

static void ceiling_json(cli_json *json, const char *key, bool known, double value)
{
    if (known) {
        cli_json_number(json, key, value);
    } else {
        cli_json_raw(json, key, "null");
    }
}

void cli_bench_load_json(cli_json *json, const cli_bench *bench)
{
    cli_json_array(json, "load");
    ceiling_json(json, NULL, bench->load_before >= 0.0, bench->load_before);
    ceiling_json(json, NULL, bench->load_after >= 0.0, bench->load_after);
    cli_json_end(json, ']');
}

static void groups_json(cli_json *json, const cli_bench_result *r)
{
    cli_json_array(json, "groups");
    for (uint32_t group = 0; group < r->stats.groups; group++) {
        cli_json_array(json, NULL);
        for (uint32_t t = 0; t < r->tasks; t++) {
            if (r->groups[t].group == group) {
                cli_json_string(json, NULL, r->groups[t].name);
            }
        }
        cli_json_end(json, ']');
    }
    cli_json_end(json, ']');
}

static void result_json(cli_json *json, const cli_bench *bench, const cli_bench_result *r)
{
    const double gflops = cli_bench_gflops(r);
    cli_json_object(json, NULL);
    cli_json_integer(json, "tasks", r->tasks);
    cli_json_string(json, "strategy", r->contestant->name);
    cli_json_string(json, "precision", cli_precision_name(r->contestant->precision));
    cli_json_string(json, "precision_used", cli_precision_name(r->stats.precision));
    cli_json_string(json, "grouping",
                    r->contestant->grouping == MTS_GROUPING_MEASURED ? "measured" : "family");
    cli_json_object(json, "latency_ms");
    cli_json_number(json, "median", r->latency.median);
    cli_json_number(json, "p5", r->latency.p5);
    cli_json_number(json, "p95", r->latency.p95);
    cli_json_end(json, '}');
    cli_json_number(json, "submit_ms", r->submit);
    cli_json_number(json, "cpu_ms", r->cpu);
    if (r->device >= 0.0) {
        cli_json_number(json, "device_ms", r->device);
    } else {
        cli_json_raw(json, "device_ms", "null");
    }
    cli_json_object(json, "bytes");
    cli_json_integer(json, "weights", r->stats.weight_bytes);
    cli_json_integer(json, "activations", r->stats.activation_bytes);
    cli_json_integer(json, "workspace", r->stats.workspace_bytes);
    cli_json_integer(json, "peak", r->stats.peak_bytes);
    cli_json_end(json, '}');
    cli_json_integer(json, "launches", r->stats.launches);
    cli_json_integer(json, "persistent_launches", r->stats.persistent_launches);
    cli_json_integer(json, "kernels", r->stats.kernels);
    cli_json_integer(json, "mul_adds", r->stats.mul_adds);
    cli_json_number(json, "gflops", gflops);
    if (bench->has_ceilings && bench->ceilings.gflops > 0.0) {
        cli_json_number(json, "share_of_peak", gflops / bench->ceilings.gflops);
    } else {
        cli_json_raw(json, "share_of_peak", "null");
    }
    cli_json_number(json, "planning_ms", r->stats.planning_ms);
    ceiling_json(json, "predicted_ms", r->stats.predicted_ms > 0.0, r->stats.predicted_ms);
    cli_json_number(json, "difference", r->difference);
    if (r->contestant->precision != MTS_PRECISION_FLOAT32) {
        cli_json_object(json, "error");
        cli_json_number(json, "max_relative", r->error_most);
        cli_json_number(json, "mean_relative", r->error_mean);
        cli_json_end(json, '}');
    }
    groups_json(json, r);
    if (bench->samples) {
        cli_json_array(json, "samples_ms");
        for (uint32_t i = 0; i < bench->runs; i++) {
            cli_json_number(json, NULL, r->samples[i]);
        }
        cli_json_end(json, ']');
    }
    cli_json_end(json, '}');
}

static void bench_json(cli_json *json, const cli_bench *bench)
{
    cli_json_object(json, NULL);
    cli_json_string(json, "device", bench->device.name);
    cli_json_string(json, "device_id", bench->device.id);
    cli_json_string(json, "driver", bench->device.driver);
    cli_json_string(json, "version", mts_version());
    ceiling_json(json, "peak_gflops", bench->has_ceilings, bench->ceilings.gflops);
    ceiling_json(json, "copy_gbps", bench->has_ceilings, bench->ceilings.copy_gbps);
    cli_json_string(json, "bundle", bench->bundle);
    cli_json_string(json, "frames", bench->common ? "common" : "separate");
    cli_json_string(json, "inputs", cli_bench_inputs_names[bench->inputs]);
    cli_json_string(json, "replay",
                    bench->replay == MTS_USE_ON    ? "on"
                    : bench->replay == MTS_USE_OFF ? "off"
                                                   : "auto");
    cli_json_integer(json, "warmup", bench->warm_ups);
    cli_json_integer(json, "runs", bench->runs);
    cli_json_integer(json, "budget", bench->budget);
    cli_bench_load_json(json, bench);
    cli_json_array(json, "results");
    for (size_t i = 0; i < bench->result_count; i++) {
        result_json(json, bench, &bench->results[i]);
    }
    cli_json_end(json, ']');
    cli_json_array(json, "peers");
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

int cli_bench_json_end(cli_json *json, bool print, const char *path)
{
    char error[CLI_ERROR] = "";
    if (path && !cli_json_write(json, path, error)) {
        cli_json_release(json);
        return cli_failure("bench", "%s", error);
    }
    if (!print) {
        cli_json_release(json);
        return CLI_EXIT_OK;
    }
    return cli_json_finish(json) ? CLI_EXIT_OK : cli_failure("bench", "no memory");
}

int cli_bench_print_json(const cli_bench *bench, bool print, const char *path)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("bench", "no memory");
    }
    bench_json(&json, bench);
    return cli_bench_json_end(&json, print, path);
}
