/*
 * names.c: the names of an ONNX graph: who produces them, whether they are needed, their values once defined.
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "base/hash.h"

static mts_import_name *slot_of(mts_import_name *names, size_t slots, const char *name)
{
    size_t at = (size_t)mts_hash(name, strlen(name), 0) & (slots - 1);
    while (names[at].name && strcmp(names[at].name, name) != 0) {
        at = (at + 1) & (slots - 1);
    }
    return &names[at];
}

static bool grow(mts_import *import)
{
    size_t slots = import->name_slots ? import->name_slots * 2 : 256;
    mts_import_name *names = mts_arena_zero(&import->scratch, slots, sizeof(*names));
    if (!names) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for names");
        return false;
    }
    for (size_t i = 0; i < import->name_slots; i++) {
        if (import->names[i].name) {
            *slot_of(names, slots, import->names[i].name) = import->names[i];
        }
    }
    import->names = names;
    import->name_slots = slots;
    return true;
}

mts_import_name *mts_import_find(mts_import *import, const char *name)
{
    if (!import->name_slots) {
        return NULL;
    }
    mts_import_name *entry = slot_of(import->names, import->name_slots, name);
    return entry->name ? entry : NULL;
}

mts_import_name *mts_import_intern(mts_import *import, const char *name)
{
    if (import->name_count * 2 >= import->name_slots && !grow(import)) {
        return NULL;
    }
    mts_import_name *entry = slot_of(import->names, import->name_slots, name);
    if (!entry->name) {
        *entry = (mts_import_name){.name = name, .producer = MTS_NONE};
        import->name_count++;
    }
    return entry;
}

mts_import_value *mts_import_lookup(mts_import *import, const char *name)
{
    mts_import_name *entry = mts_import_find(import, name);
    if (entry && entry->refused) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "'%s': %s", name, entry->refused);
        return NULL;
    }
    if (entry && !entry->value && entry->tensor) {
        entry->value = mts_import_from_proto(import, entry->tensor);
        return entry->value;
    }
    if (!entry || !entry->value) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "'%s' is not defined before it is used", name);
        return NULL;
    }
    return entry->value;
}
