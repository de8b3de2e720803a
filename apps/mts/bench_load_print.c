/*
 * bench_load_print.c: latencies under load as text and as JSON (docs/SCENARIOS.md has the
 * schema).
 */
#include "bench_load.h"

#include <stdio.h>

#include "command.h"

static double part_of(const cli_load *load, size_t contestant, const cli_load_result *r)
{
    return load->saturation[contestant] > 0.0 ? r->offered / load->saturation[contestant] : 0.0;
}

void cli_load_print_text(const cli_load *load)
{
    const cli_bench *bench = load->run.bench;
    char peak[32];
    printf("%s: %u tasks a request, %zu requests for each row, arrivals %s, %u with the device at a time\n",
           bench->bundle, load->run.tasks, load->requests, cli_arrival_names[load->kind], load->slots);
    printf("%s, %s\n", bench->device.id, bench->device.name);
    if (bench->load_before >= 0.0) {
        printf("load of the machine: %.2f before, %.2f after\n", bench->load_before, bench->load_after);
    }
    for (size_t c = 0; c < bench->contestant_count; c++) {
        printf("\n%s: at most %.1f requests a second; %s on the device\n", bench->contestants[c].label,
               load->saturation[c], cli_bytes_text(load->stats[c].peak_bytes, peak, sizeof peak));
        printf("%9s %6s %9s %8s %8s %8s %8s %8s %8s %7s %7s %8s\n", "offered/s", "load", "done/s", "mean",
               "p50", "p90", "p99", "p99.9", "max", "queue", "most", "cpu");
        for (size_t i = 0; i < load->rate_count; i++) {
            const cli_load_result *r = &load->results[c][i];
            printf("%9.1f %6.2f %9.1f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %7.2f %7zu %8.2f\n", r->offered,
                   part_of(load, c, r), r->summary.throughput, r->summary.mean_ms, r->summary.p50_ms,
                   r->summary.p90_ms, r->summary.p99_ms, r->summary.p999_ms, r->summary.most_ms,
                   r->summary.queue_mean, r->summary.queue_most, r->cpu_ms);
        }
    }
    printf("\nmean to max: ms from arrival to answer; queue: requests in the system that an arrival finds, "
           "and the most;\ncpu: ms of the processor a request\n");
}

static void rate_json(cli_json *json, const cli_load *load, size_t contestant, const cli_load_result *r)
{
    cli_json_object(json, NULL);
    cli_json_number(json, "offered_per_s", r->offered);
    cli_json_number(json, "load", part_of(load, contestant, r));
    cli_json_number(json, "throughput_per_s", r->summary.throughput);
    cli_json_object(json, "latency_ms");
    cli_json_number(json, "mean", r->summary.mean_ms);
    cli_json_number(json, "p50", r->summary.p50_ms);
    cli_json_number(json, "p90", r->summary.p90_ms);
    cli_json_number(json, "p99", r->summary.p99_ms);
    cli_json_number(json, "p99_9", r->summary.p999_ms);
    cli_json_number(json, "max", r->summary.most_ms);
    cli_json_end(json, '}');
    cli_json_object(json, "queue");
    cli_json_number(json, "mean", r->summary.queue_mean);
    cli_json_integer(json, "max", r->summary.queue_most);
    cli_json_end(json, '}');
    cli_json_number(json, "cpu_ms", r->cpu_ms);
    cli_json_end(json, '}');
}

static void load_json(cli_json *json, const cli_load *load)
{
    const cli_bench *bench = load->run.bench;
    cli_json_object(json, NULL);
    cli_json_string(json, "bundle", bench->bundle);
    cli_json_string(json, "device", bench->device.name);
    cli_json_string(json, "device_id", bench->device.id);
    cli_json_string(json, "driver", bench->device.driver);
    cli_json_string(json, "version", mts_version());
    cli_json_string(json, "arrivals", cli_arrival_names[load->kind]);
    cli_json_integer(json, "requests", load->requests);
    cli_json_integer(json, "in_flight", load->slots);
    cli_json_integer(json, "tasks", load->run.tasks);
    cli_json_string(json, "inputs", cli_bench_inputs_names[bench->inputs]);
    cli_json_integer(json, "warmup", bench->warm_ups);
    cli_bench_load_json(json, bench);
    cli_json_array(json, "results");
    for (size_t c = 0; c < bench->contestant_count; c++) {
        cli_json_object(json, NULL);
        cli_json_string(json, "strategy", bench->contestants[c].name);
        cli_json_string(json, "precision", cli_precision_name(bench->contestants[c].precision));
        cli_json_number(json, "saturation_per_s", load->saturation[c]);
        cli_json_integer(json, "peak_bytes", load->stats[c].peak_bytes);
        cli_json_array(json, "rates");
        for (size_t i = 0; i < load->rate_count; i++) {
            rate_json(json, load, c, &load->results[c][i]);
        }
        cli_json_end(json, ']');
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
    cli_json_array(json, "peers");
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

int cli_load_print_json(const cli_load *load, bool print, const char *path)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("bench", "no memory");
    }
    load_json(&json, load);
    return cli_bench_json_end(&json, print, path);
}
