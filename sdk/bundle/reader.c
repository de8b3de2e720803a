/*
 * reader.c: taking records of a section into arrays of the archive.
 */
#include "bundle/reader.h"

mts_status mts_reader_take(mts_reader *reader, mts_section_cursor *cursor, uint32_t count, size_t size,
                           const unsigned char **records, void **array)
{
    mts_status status = mts_section_take(cursor, count, records, reader->error);
    *array = NULL;
    if (status == MTS_STATUS_OK) {
        *array = mts_arena_zero(&reader->archive->arena, count, size);
        status = *array ? MTS_STATUS_OK : mts_fail_memory(reader->error);
    }
    return status;
}

mts_status mts_reader_numbers(mts_reader *reader, mts_section_cursor *cursor, uint32_t count, uint32_t **out)
{
    const unsigned char *records = NULL;
    const mts_status status = mts_reader_take(reader, cursor, count, sizeof **out, &records, (void **)out);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        (*out)[i] = mts_load_u32(records + 4u * (size_t)i);
    }
    return status;
}
