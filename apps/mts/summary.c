/*
 * summary.c: a bundle's summary as JSON. Not responsible for the sentence that a command
 * prints for people.
 */
#include "summary.h"

void cli_json_summary(cli_json *json, const mtsc_summary *summary)
{
    cli_json_integer(json, "tasks", summary->tasks);
    cli_json_integer(json, "families", summary->families);
    cli_json_integer(json, "nodes", summary->nodes);
    cli_json_integer(json, "blocks", summary->blocks);
    cli_json_integer(json, "weights_bytes", summary->weights_bytes);
    cli_json_integer(json, "weights_bytes_unshared", summary->weights_bytes_unshared);
}
