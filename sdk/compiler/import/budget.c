/*
 * budget.c: what a file may cost. Time and memory are bounded by its size, and a caller who
 * watches can stop the import. Not responsible for the memory of messages (proto.c).
 */
#include "compiler/import/lower.h"
#include "graph/limits.h"

#define NAMES_PER_NODE 16u /* names in functions and branches, for each node that the limit allows */
/* Weights of a byte become float32 and are transposed; files of real models take up to 19 times their
   size (sparse float16). Of a file of 1 MiB nothing may take more than 28 MiB, as what is written from
   it takes the same once more. */
#define ROOM_PER_BYTE 8u
#define ROOM_PER_BYTE_LARGE 28u
#define COMPUTED_PER_BYTE 8u /* converting and transposing what a file holds is no multiplication */
#define WORK_PER_BYTE 32u
#define WORK_PER_TICK ((uint64_t)1 << 22)

size_t mts_import_room_of(const mts_import_options *options, size_t file_bytes)
{
    const size_t counted = file_bytes < SIZE_MAX / 64 ? file_bytes : SIZE_MAX / 64;
    const size_t small = options->beyond_most + ROOM_PER_BYTE * counted;
    const size_t large = ROOM_PER_BYTE_LARGE * counted;
    const size_t by_size = small > large ? small : large;
    return options->bytes_most < by_size ? options->bytes_most : by_size;
}

void mts_import_budget(mts_import *import, size_t file_bytes, size_t message_bytes)
{
    import->file_bytes = 0;
    import->message_bytes = message_bytes;
    import->arena_before = import->arena->used;
    import->computed_left = import->options->computed_most;
    import->work_left = import->options->work_most;
    mts_import_credit(import, file_bytes);
}

void mts_import_credit(mts_import *import, size_t bytes)
{
    const size_t counted = bytes < SIZE_MAX / 64 ? bytes : SIZE_MAX / 64;
    import->file_bytes += counted < SIZE_MAX - import->file_bytes ? counted : 0;
    import->room_most = mts_import_room_of(import->options, import->file_bytes);
    import->computed_left += COMPUTED_PER_BYTE * counted;
    import->work_left += (uint64_t)WORK_PER_BYTE * counted;
}

bool mts_import_room(mts_import *import, size_t bytes)
{
    const size_t used =
        import->message_bytes + import->arena->used - import->arena_before + import->scratch.used;
    if (used > import->room_most || bytes > import->room_most - used) {
        mts_import_fail(
            import, MTS_STATUS_LIMIT,
            "the model needs more than %zu bytes of memory, the limit for its files' size; more_memory "
            "raises it",
            import->room_most);
    }
    return mts_import_ok(import);
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
