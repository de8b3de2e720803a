/*
 * cut.c: models that end in an operator whose number of results depends on values.
 *
 * A graph has static shapes, so that NonMaxSuppression has no place in it. The import
 * stops there: that operator and all that follow are left out, and the run-time values
 * that they read become outputs under their own names, for a decoder of the app. Which
 * operators are left out, nodes.c and tflite/import.c know.
 */
#include "base/text.h"
#include "compiler/import/lower.h"

const char mts_import_cut_reason[] = "it follows an operator that is left to the app";

static bool is_input(const mts_import *import, const mts_import_value *value)
{
    return value->id != MTS_NONE && import->graph->values[value->id].kind == MTS_VALUE_INPUT;
}

void mts_import_cut_before(mts_import *import, const char *op)
{
    import->cut.op = import->cut.op ? import->cut.op : op;
}

void mts_import_cut_keep(mts_import *import, const char *name, mts_import_value *value)
{
    mts_import_cut *cut = &import->cut;
    if (!value || mts_import_is_const(value) || is_input(import, value)) {
        return;
    }
    for (size_t i = 0; i < cut->count; i++) {
        /* codes that are not computed yet have no number */
        if (cut->kept[i].value == value || (value->id != MTS_NONE && cut->kept[i].value->id == value->id)) {
            return;
        }
    }
    void *kept = cut->kept;
    if (!mts_arena_grow(&import->scratch, &kept, &cut->capacity, cut->count + 1, sizeof *cut->kept)) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for outputs");
        return;
    }
    cut->kept = kept;
    cut->kept[cut->count].name = name;
    cut->kept[cut->count++].value = value;
}

static bool is_output(const mts_graph *graph, uint32_t value)
{
    for (uint32_t i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i].value == value) {
            return true;
        }
    }
    return false;
}

static void tell(mts_import *import)
{
    char shape[96];
    mts_text text;
    if (!import->options->note) {
        return;
    }
    mts_text_init(&text, import->arena->allocator);
    mts_text_add(&text, "%s and what follows it is left to the app; the model's outputs are now",
                 import->cut.op);
    for (uint32_t i = 0; i < import->graph->output_count; i++) {
        const mts_port *port = &import->graph->outputs[i];
        mts_text_add(&text, "%s %s %s", i > 0 ? "," : "", port->name,
                     mts_shape_text(&port->shape, shape, sizeof shape));
    }
    import->options->note(import->options->note_context, mts_text_get(&text));
    mts_text_release(&text);
}

void mts_import_cut_outputs(mts_import *import)
{
    const mts_import_cut *cut = &import->cut;
    if (!cut->op) {
        return;
    }
    for (size_t i = 0; i < cut->count && mts_import_ok(import); i++) {
        if (!is_output(import->graph, cut->kept[i].value->id)) {
            mts_import_emit_output(import, cut->kept[i].name, cut->kept[i].value);
        }
    }
    if (mts_import_ok(import) && import->graph->output_count == 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "nothing is left of the model before %s", cut->op);
    }
    if (mts_import_ok(import)) {
        tell(import);
    }
}
