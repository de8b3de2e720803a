/*
 * operators.c: the list of operators that models may have, as the page docs/OPERATORS.md
 * or as JSON.
 */
#include "operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/args.h"
#include "kit/json.h"
#include "mts/mtsc.h"

static const char page[] =
    "# Operators that models may have\n"
    "\n"
    "`mts compile --operators` prints this page. A model with another operator is refused with the\n"
    "operator's name ([MODELS.md](MODELS.md) says what to do then). Some operators need an operand that\n"
    "is known when the model is compiled, such as the sizes of a resize; the message says which.\n";

/* Formats one after the other, names in order. */
static int compare(const void *a, const void *b)
{
    const mtsc_operator *x = a, *y = b;
    const int formats = strcmp(x->format, y->format);
    return formats ? formats : strcmp(x->name, y->name);
}

static void print_page(const mtsc_operator *operators, uint32_t count)
{
    const char *format = "";
    fputs(page, stdout);
    for (uint32_t i = 0; i < count; i++) {
        const mtsc_operator *row = &operators[i];
        const bool has_opsets = strcmp(row->format, "ONNX") == 0;
        if (strcmp(row->format, format) != 0) {
            printf("\n## %s\n\n| operator | %s |\n|---|---|\n", row->format,
                   has_opsets ? "opsets" : "number");
            format = row->format;
        }
        if (has_opsets) {
            printf("| %s | %u to %u |\n", row->name, row->first, row->last);
        } else {
            printf("| %s | %u |\n", row->name, row->first);
        }
    }
}

static int print_json(const mtsc_operator *operators, uint32_t count)
{
    cli_json json;
    if (!cli_json_begin(&json)) {
        return cli_failure("compile", "no memory");
    }
    cli_json_object(&json, NULL);
    cli_json_array(&json, "operators");
    for (uint32_t i = 0; i < count; i++) {
        cli_json_object(&json, NULL);
        cli_json_string(&json, "format", operators[i].format);
        cli_json_string(&json, "name", operators[i].name);
        cli_json_integer(&json, "first", operators[i].first);
        cli_json_integer(&json, "last", operators[i].last);
        cli_json_end(&json, '}');
    }
    cli_json_end(&json, ']');
    cli_json_end(&json, '}');
    return cli_json_finish(&json) ? CLI_EXIT_OK : cli_failure("compile", "no memory");
}

int cli_operators_print(bool json)
{
    mtsc_operator one = {.size = sizeof one};
    uint32_t count = 0;
    while (mtsc_operator_at(count, &one) == MTS_STATUS_OK) {
        count++;
    }
    mtsc_operator *operators = calloc(count ? count : 1, sizeof *operators);
    if (!operators) {
        return cli_failure("compile", "no memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        operators[i].size = sizeof *operators;
        (void)mtsc_operator_at(i, &operators[i]);
    }
    qsort(operators, count, sizeof *operators, compare);
    int status = CLI_EXIT_OK;
    if (json) {
        status = print_json(operators, count);
    } else {
        print_page(operators, count);
    }
    free(operators);
    return status;
}
