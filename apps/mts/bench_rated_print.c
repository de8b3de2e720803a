/*
 * bench_rated_print.c: the results of a rated workload as text and as JSON
 * (docs/SCENARIOS.md has the schema).
 */
#include "bench_rated.h"

#include <stdio.h>

#include "command.h"

static double per_second(double ms, const cli_rated_result *result)
{
    return result->wall_ms > 0.0 ? ms / result->wall_ms : 0.0;
}

static void frames_print(const char *name, cli_frames *frames)
{
    const cli_tail tail = cli_frames_tail(frames);
    printf("%9llu %7llu %7llu %7llu %8.2f %8.2f %8.2f %9.3f %8.3f  %s\n", (unsigned long long)frames->due,
           (unsigned long long)(frames->due - frames->dropped), (unsigned long long)frames->dropped,
           (unsigned long long)frames->late, tail.p50, tail.p99, tail.p999, cli_frames_realtime(frames),
           cli_frames_quality(frames), name);
}

static void result_print(cli_rated *rated, cli_rated_result *r)
{
    char peak[32];
    printf("\n%s, %s: score %.1f; %llu submissions, busy %.0f %% of the time; %.2f processors; %s on the "
           "device\n",
           rated->bench->contestants[r->contestant].label, cli_schedule_names[r->schedule],
           cli_frames_score(r->networks, rated->scenario.count), (unsigned long long)r->submissions,
           100.0 * per_second(r->busy_ms, r), per_second(r->cpu_ms, r),
           cli_bytes_text(r->stats.peak_bytes, peak, sizeof peak));
    printf("%6s %9s %9s %7s %7s %7s %8s %8s %8s %9s %8s\n", "rate", "deadline", "due", "kept", "dropped",
           "late", "p50", "p99", "p99.9", "real-time", "quality");
    for (size_t n = 0; n < rated->scenario.count; n++) {
        const cli_scenario_network *network = &rated->scenario.networks[n];
        printf("%6.4g %9.2f ", network->rate * rated->speed * network->times,
               cli_rated_deadline_of(rated, network));
        frames_print(network->name, &r->networks[n]);
    }
    printf("%6s %9s ", "", "");
    frames_print("all", &r->all);
}

void cli_rated_print_text(cli_rated *rated)
{
    const cli_bench *bench = rated->bench;
    char resident[32];
    printf("%s: %zu networks as %u tasks\n", rated->path, rated->scenario.count, rated->run.tasks);
    if (rated->scenario.description) {
        printf("%s\n", rated->scenario.description);
    }
    printf("%s, %s\n", bench->device.id, bench->device.name);
    if (bench->load_before >= 0.0) {
        printf("load of the machine: %.2f before, %.2f after\n", bench->load_before, bench->load_after);
    }
    printf("speed %g; %g seconds each, in %u turns; inputs %s; largest resident size of the process: %s\n",
           rated->speed, rated->seconds, rated->rounds, cli_bench_inputs_names[bench->inputs],
           cli_bytes_text(rated->resident, resident, sizeof resident));
    for (size_t i = 0; i < rated->result_count; i++) {
        result_print(rated, &rated->results[i]);
    }
    printf("\nrate: frames a second; deadline and latencies in ms; late: kept, but after the deadline\n");
}

static void frames_json(cli_json *json, cli_frames *frames)
{
    const cli_tail tail = cli_frames_tail(frames);
    cli_json_integer(json, "due", frames->due);
    cli_json_integer(json, "kept", frames->due - frames->dropped);
    cli_json_integer(json, "dropped", frames->dropped);
    cli_json_integer(json, "late", frames->late);
    cli_json_object(json, "latency_ms");
    cli_json_number(json, "p50", tail.p50);
    cli_json_number(json, "p99", tail.p99);
    cli_json_number(json, "p99_9", tail.p999);
    cli_json_number(json, "max", tail.most);
    cli_json_end(json, '}');
    cli_json_number(json, "realtime", cli_frames_realtime(frames));
    cli_json_number(json, "quality", cli_frames_quality(frames));
}

/* Of one run of each task alone: the times of a network's tasks together. */
static double network_cost(const cli_rated *rated, size_t contestant, size_t network)
{
    double sum = 0.0;
    for (uint32_t t = 0; t < rated->run.tasks; t++) {
        sum += rated->network_of[t] == network ? rated->costs[contestant * rated->run.tasks + t] : 0.0;
    }
    return sum;
}

static void network_json(cli_json *json, const cli_rated *rated, cli_rated_result *r, size_t n)
{
    const cli_scenario_network *network = &rated->scenario.networks[n];
    cli_json_object(json, NULL);
    cli_json_string(json, "name", network->name);
    cli_json_number(json, "rate", network->rate * rated->speed);
    cli_json_integer(json, "times", network->times);
    cli_json_number(json, "deadline_ms", cli_rated_deadline_of(rated, network));
    cli_json_integer(json, "importance", network->importance);
    cli_json_number(json, "alone_ms", network_cost(rated, r->contestant, n));
    frames_json(json, &r->networks[n]);
    cli_json_end(json, '}');
}

static void result_json(cli_json *json, const cli_rated *rated, cli_rated_result *r)
{
    const cli_contestant *contestant = &rated->bench->contestants[r->contestant];
    cli_json_object(json, NULL);
    cli_json_string(json, "strategy", contestant->name);
    cli_json_string(json, "precision", cli_precision_name(contestant->precision));
    cli_json_string(json, "schedule", cli_schedule_names[r->schedule]);
    cli_json_number(json, "score", cli_frames_score(r->networks, rated->scenario.count));
    frames_json(json, &r->all);
    cli_json_integer(json, "submissions", r->submissions);
    cli_json_number(json, "wall_ms", r->wall_ms);
    cli_json_number(json, "busy_ms", r->busy_ms);
    cli_json_number(json, "cpu_ms", r->cpu_ms);
    cli_json_object(json, "bytes");
    cli_json_integer(json, "weights", r->stats.weight_bytes);
    cli_json_integer(json, "activations", r->stats.activation_bytes);
    cli_json_integer(json, "workspace", r->stats.workspace_bytes);
    cli_json_integer(json, "peak", r->stats.peak_bytes);
    cli_json_end(json, '}');
    cli_json_integer(json, "launches", r->stats.launches);
    cli_json_integer(json, "mul_adds", r->stats.mul_adds);
    cli_json_number(json, "difference", r->difference);
    cli_json_array(json, "networks");
    for (size_t n = 0; n < rated->scenario.count; n++) {
        network_json(json, rated, r, n);
    }
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

static void rated_json(cli_json *json, cli_rated *rated)
{
    const cli_bench *bench = rated->bench;
    cli_json_object(json, NULL);
    cli_json_string(json, "scenario", rated->path);
    cli_json_string(json, "bundle", bench->bundle);
    cli_json_string(json, "device", bench->device.name);
    cli_json_string(json, "device_id", bench->device.id);
    cli_json_string(json, "driver", bench->device.driver);
    cli_json_string(json, "version", mts_version());
    cli_json_number(json, "speed", rated->speed);
    cli_json_number(json, "seconds", rated->seconds);
    cli_json_integer(json, "rounds", rated->rounds);
    cli_json_string(json, "inputs", cli_bench_inputs_names[bench->inputs]);
    cli_json_integer(json, "warmup", bench->warm_ups);
    cli_bench_load_json(json, bench);
    cli_json_integer(json, "resident_bytes", rated->resident);
    cli_json_array(json, "results");
    for (size_t i = 0; i < rated->result_count; i++) {
        result_json(json, rated, &rated->results[i]);
    }
    cli_json_end(json, ']');
    cli_json_array(json, "peers");
    cli_json_end(json, ']');
    cli_json_end(json, '}');
}

int cli_rated_print_json(cli_rated *rated, bool print, const char *path)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("bench", "no memory");
    }
    rated_json(&json, rated);
    return cli_bench_json_end(&json, print, path);
}
