/*
 * reader.h: state of one mts_archive_read, shared by the read_*.c files.
 */
#ifndef MTS_BUNDLE_READER_H
#define MTS_BUNDLE_READER_H

#include "bundle/archive.h"
#include "bundle/sections.h"

typedef struct mts_reader {
    mts_sections sections;
    const mts_archive_limits *limits;
    mts_archive *archive;
    mts_section_cursor ports, values, nodes, inputs, attrs, scatter, refs, labels, classes;
    mts_error *error;
} mts_reader;

/* What the records of a task say of its graph. */
typedef struct mts_reader_counts {
    uint32_t values, nodes, inputs, outputs;
} mts_reader_counts;

/* Fills archive->blocks; every block's place, size and hash is checked. */
mts_status mts_reader_blocks(mts_reader *reader);
/* Reads the next graph of the sections and verifies it. */
mts_status mts_reader_graph(mts_reader *reader, const char *name, const mts_reader_counts *counts,
                            mts_graph **out);
/* Rank and dimensions as values and ports store them; unused dimensions are zero. */
mts_status mts_reader_shape(mts_reader *reader, const unsigned char *rank, const unsigned char *dims,
                            mts_shape *out);
/* Type number below MTS_TYPE_COUNT. */
mts_status mts_reader_dtype(mts_reader *reader, const unsigned char *bytes, mts_type *out);
/* Takes `count` records of a section and makes a zeroed array of as many elements for
   what they say. */
mts_status mts_reader_take(mts_reader *reader, mts_section_cursor *cursor, uint32_t count, size_t size,
                           const unsigned char **records, void **array);
/* Takes `count` records that are numbers of 32 bits. */
mts_status mts_reader_numbers(mts_reader *reader, mts_section_cursor *cursor, uint32_t count, uint32_t **out);

#endif
