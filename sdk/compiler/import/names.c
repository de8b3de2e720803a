/*
 * names.c: the names of an ONNX graph: who produces them, whether they are needed, their values once defined.
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "base/hash.h"

static bool same_name(const void *entries, uint32_t index, const void *key)
{
    const mts_import_name *names = entries;
    return strcmp(names[index].name, key) == 0;
}

mts_import_name *mts_import_find(mts_import *import, const char *name)
{
    const uint32_t index =
        mts_map_find(&import->name_map, mts_hash_text(name), same_name, import->names, name);
    return index == MTS_MAP_NONE ? NULL : &import->names[index];
}

mts_import_name *mts_import_intern(mts_import *import, const char *name)
{
    mts_import_name *found = mts_import_find(import, name);
    if (found) {
        return found;
    }
    const size_t count = import->name_map.count;
    void *names = import->names;
    if (!mts_arena_grow(&import->scratch, &names, &import->name_capacity, count + 1, sizeof *import->names) ||
        !mts_map_add(&import->name_map, mts_hash_text(name), (uint32_t)count)) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for names");
        return NULL;
    }
    import->names = names;
    import->names[count] = (mts_import_name){.name = name, .producer = MTS_NONE};
    return &import->names[count];
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
