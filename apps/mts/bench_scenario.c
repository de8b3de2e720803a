/*
 * bench_scenario.c: reads scenario files. Unknown keys are refused, so that a misspelt
 * one does not silently do nothing; every message names the file, the network and the
 * key. Not responsible for opening models.
 */
#include "bench_scenario.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/files.h"

#define BYTES_MOST ((size_t)256 << 10) /* read, it may take eighty times as much */
#define NAME_MOST 200
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/* The file in hand, and what is wrong with it. */
typedef struct reading {
    const char *path;
    /* Of the network in hand, for messages. */
    const char *network;
    const char *key;
    char *error;
} reading;

typedef bool (*network_reader)(reading *r, const json_t *value, cli_scenario_network *out);

static bool refuse(const reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const reading *r, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    (void)snprintf(r->error, CLI_ERROR, "%s: %s%s%s%s%s%s", r->path, r->network ? "network " : "",
                   r->network ? r->network : "", r->network ? ": " : "", r->key ? r->key : "",
                   r->key ? " " : "", what);
    return false;
}

static bool copy_text(const reading *r, const char *prefix, size_t prefix_length, const char *text,
                      char **out)
{
    const size_t length = strlen(text);
    *out = malloc(prefix_length + length + 1);
    if (!*out) {
        return refuse(r, "does not fit into memory");
    }
    memcpy(*out, prefix, prefix_length);
    memcpy(*out + prefix_length, text, length + 1);
    return true;
}

/* A relative path starts at the folder of the scenario. */
static bool read_path(const reading *r, const json_t *value, char **out)
{
    const char *text = json_string_value(value);
    if (!text || !text[0]) {
        return refuse(r, "must be the path of a file");
    }
    const char *slash = strrchr(r->path, '/');
    return copy_text(r, r->path, slash && text[0] != '/' ? (size_t)(slash - r->path) + 1 : 0, text, out);
}

static bool read_whole(const reading *r, const json_t *value, uint32_t least, uint32_t most, uint32_t *out)
{
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < (json_int_t)least || number > (json_int_t)most) {
        return refuse(r, "must be a whole number from %u to %u", least, most);
    }
    *out = (uint32_t)number;
    return true;
}

/* Above 0. */
static bool read_number(const reading *r, const json_t *value, double most, double *out)
{
    *out = json_number_value(value);
    return (json_is_number(value) && isfinite(*out) && *out > 0.0 && *out <= most) ||
           refuse(r, "must be a number above 0 and at most %g", most);
}

static bool read_name(reading *r, const json_t *value, cli_scenario_network *out)
{
    const char *text = json_string_value(value);
    if (!text || !text[0] || strlen(text) > NAME_MOST || strspn(text, NAME_CHARACTERS) != strlen(text)) {
        return refuse(r, "must be 1 to %d of the characters A-Z a-z 0-9 _ . -", NAME_MOST);
    }
    return copy_text(r, "", 0, text, &out->name);
}

static bool read_model(reading *r, const json_t *value, cli_scenario_network *out)
{
    return read_path(r, value, &out->model);
}

static bool read_input(reading *r, const json_t *value, cli_scenario_network *out)
{
    return read_path(r, value, &out->input);
}

static bool read_rate(reading *r, const json_t *value, cli_scenario_network *out)
{
    return read_number(r, value, CLI_SCENARIO_RATE_MOST, &out->rate);
}

static bool read_deadline(reading *r, const json_t *value, cli_scenario_network *out)
{
    return read_number(r, value, 1e6, &out->deadline_ms);
}

static bool read_times(reading *r, const json_t *value, cli_scenario_network *out)
{
    return read_whole(r, value, 1, CLI_SCENARIO_TIMES_MOST, &out->times);
}

static bool read_importance(reading *r, const json_t *value, cli_scenario_network *out)
{
    return read_whole(r, value, 0, 1000, &out->importance);
}

static bool read_shape(reading *r, const json_t *value, cli_scenario_network *out)
{
    const size_t rank = json_array_size(value);
    if (!json_is_array(value) || rank == 0 || rank > CLI_SCENARIO_RANK_MOST) {
        return refuse(r, "must be an array of 1 to %d dimensions", CLI_SCENARIO_RANK_MOST);
    }
    for (size_t d = 0; d < rank; d++) {
        uint32_t size = 0;
        if (!read_whole(r, json_array_get(value, d), 1, 1u << 24, &size)) {
            return false;
        }
        out->shape[d] = size;
    }
    out->rank = (uint32_t)rank;
    return true;
}

static const struct {
    const char *name;
    network_reader read;
} network_keys[] = {{"name", read_name},   {"model", read_model},          {"rate", read_rate},
                    {"times", read_times}, {"deadline_ms", read_deadline}, {"input", read_input},
                    {"shape", read_shape}, {"importance", read_importance}};

static bool read_network_key(reading *r, const char *key, const json_t *value, cli_scenario_network *out)
{
    r->key = key;
    for (size_t i = 0; i < sizeof network_keys / sizeof network_keys[0]; i++) {
        if (strcmp(network_keys[i].name, key) == 0) {
            return network_keys[i].read(r, value, out);
        }
    }
    return refuse(r, "is no key of a network; there are name, model, rate, times, deadline_ms, input, shape "
                     "and importance");
}

/* The name stands in every message about the network, so it is read first. */
static bool read_network(reading *r, json_t *value, cli_scenario_network *out)
{
    const char *key = NULL;
    json_t *member = NULL;
    *out = (cli_scenario_network){.times = 1};
    r->network = r->key = NULL;
    if (!json_is_object(value)) {
        return refuse(r, "an element of networks must be an object");
    }
    r->network = json_string_value(json_object_get(value, "name"));
    json_object_foreach(value, key, member)
    {
        if (!read_network_key(r, key, member, out)) {
            return false;
        }
    }
    r->key = NULL;
    return out->name == NULL    ? refuse(r, "a network needs a name")
           : !(out->rate > 0.0) ? refuse(r, "needs a rate")
                                : true;
}

static bool is_taken(const cli_scenario *scenario, const char *name)
{
    for (size_t i = 0; i < scenario->count; i++) {
        if (strcmp(scenario->networks[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_networks(reading *r, json_t *list, cli_scenario *scenario)
{
    const size_t count = json_array_size(list);
    r->key = "networks";
    if (!json_is_array(list) || count == 0 || count > CLI_SCENARIO_NETWORKS_MOST) {
        return refuse(r, "must be an array of 1 to %d networks", CLI_SCENARIO_NETWORKS_MOST);
    }
    scenario->networks = calloc(count, sizeof *scenario->networks);
    if (!scenario->networks) {
        return refuse(r, "do not fit into memory");
    }
    for (size_t i = 0; i < count; i++) {
        cli_scenario_network network;
        const bool read = read_network(r, json_array_get(list, i), &network);
        const bool taken = read && is_taken(scenario, network.name);
        scenario->networks[scenario->count] = network;
        scenario->count++;
        if (!read || taken) {
            return taken ? refuse(r, "this name is taken") : false;
        }
    }
    return true;
}

static bool read_scenario(reading *r, json_t *root, cli_scenario *scenario)
{
    const char *key = NULL;
    json_t *member = NULL;
    if (!json_is_object(root)) {
        return refuse(r, "a scenario must be an object");
    }
    json_object_foreach(root, key, member)
    {
        r->network = NULL;
        r->key = key;
        if (strcmp(key, "networks") == 0) {
            if (!read_networks(r, member, scenario)) {
                return false;
            }
        } else if (strcmp(key, "description") != 0) {
            return refuse(r, "is no key of a scenario; there are description and networks");
        } else if (!json_is_string(member)) {
            return refuse(r, "must be a string");
        } else if (!copy_text(r, "", 0, json_string_value(member), &scenario->description)) {
            return false;
        }
    }
    r->network = r->key = NULL;
    return scenario->count > 0 || refuse(r, "a scenario needs networks");
}

bool cli_scenario_read(const char *path, cli_scenario *scenario, char *error)
{
    reading r = {.path = path, .error = error};
    size_t size = 0;
    json_error_t problem;
    *scenario = (cli_scenario){0};
    unsigned char *text = cli_file_read(path, BYTES_MOST, &size, error);
    if (!text) {
        return false;
    }
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    /* jansson says nothing at all where it cannot even begin */
    if (!root && (!problem.text[0] || json_error_code(&problem) == json_error_out_of_memory)) {
        return refuse(&r, "there is no memory to read it");
    }
    if (!root) {
        return refuse(&r, "line %d: %s", problem.line, problem.text);
    }
    const bool read = read_scenario(&r, root, scenario);
    json_decref(root);
    return read;
}

void cli_scenario_task(const cli_scenario_network *network, uint32_t index, char name[CLI_SCENARIO_TASK])
{
    (void)snprintf(name, CLI_SCENARIO_TASK, network->times > 1 ? "%s.%u" : "%s", network->name, index);
}

void cli_scenario_release(cli_scenario *scenario)
{
    for (size_t i = 0; i < scenario->count; i++) {
        free(scenario->networks[i].name);
        free(scenario->networks[i].model);
        free(scenario->networks[i].input);
    }
    free(scenario->networks);
    free(scenario->description);
    *scenario = (cli_scenario){0};
}
