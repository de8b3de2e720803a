/*
 * budget.c: what a file may cost. Time and memory are bounded by its size, and a caller who
 * watches can stop the import. Not responsible for the memory of messages (proto.c).
 */
#include "compiler/import/lower.h"
#include "graph/limits.h"

#define NAMES_PER_NODE 16u   /* names in functions and branches, for each node that the limit allows */
#define COMPUTED_PER_BYTE 8u /* converting and transposing what a file holds is no multiplication */
#define WORK_PER_BYTE 32u
#define WORK_PER_TICK ((uint64_t)1 << 22)

void mts_import_budget(mts_import *import, size_t file_bytes)
{
    import->computed_left = import->options->computed_most;
    import->work_left = import->options->work_most;
    mts_import_credit(import, file_bytes);
}

void mts_import_credit(mts_import *import, size_t bytes)
{
    const size_t counted = bytes < SIZE_MAX / 64 ? bytes : SIZE_MAX / 64;
    import->computed_left += COMPUTED_PER_BYTE * counted;
    import->work_left += (uint64_t)WORK_PER_BYTE * counted;
}

bool mts_import_charge(mts_import *import, size_t count)
{
    const size_t most = import->options->nodes_most;
    if (import->read_count > SIZE_MAX - count || import->read_count + count > NAMES_PER_NODE * most) {
        mts_import_fail(import, MTS_STATUS_LIMIT,
                        "functions and branches hold more nodes and names than the limit of %zu nodes allows",
                        most);
        return false;
    }
    import->read_count += count;
    return true;
}

bool mts_import_work(mts_import *import, uint64_t elements)
{
    if (elements > import->work_left) {
        mts_import_fail(import, MTS_STATUS_LIMIT,
                        "computing with constants takes more than %llu steps beyond the file's size",
                        (unsigned long long)import->options->work_most);
        return false;
    }
    import->work_left -= elements;
    import->work_unseen += elements;
    if (import->work_unseen >= WORK_PER_TICK) {
        mts_import_tick(import, import->fraction);
    }
    return mts_import_ok(import);
}

void mts_import_check_ports(mts_import *import, size_t count, const char *what)
{
    if (count > MTS_GRAPH_PORTS_MAX) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "%zu %s, the limit is %u", count, what,
                        MTS_GRAPH_PORTS_MAX);
    }
}

void mts_import_tick(mts_import *import, float fraction)
{
    import->work_unseen = 0;
    import->fraction = fraction;
    if (import->options->progress && mts_import_ok(import) &&
        !import->options->progress(import->options->note_context, fraction)) {
        mts_import_fail(import, MTS_STATUS_CANCELLED, "cancelled while reading the model");
    }
}
