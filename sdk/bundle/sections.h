/*
 * sections.h: the frame of a bundle: header, section table and checksums, verified; and
 * bounded access to records.
 *
 * Internal to sdk/bundle. Not responsible for what the records mean (read_*.c).
 */
#ifndef MTS_BUNDLE_SECTIONS_H
#define MTS_BUNDLE_SECTIONS_H

#include "base/status.h"
#include "bundle/format.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct mts_section {
    const unsigned char *data;
    size_t count; /* records; count * stride lies inside the file */
    size_t stride;
} mts_section;

typedef struct mts_sections {
    mts_section at[MTS_FORMAT_SECTION_COUNT];
    uint64_t hash; /* of the whole content */
} mts_sections;

/* Records that one task after another takes from a section. */
typedef struct mts_section_cursor {
    const unsigned char *data;
    size_t left, stride;
    const char *name;
} mts_section_cursor;

/* Bytes of a record in the newest version. */
size_t mts_section_stride(mts_format_section section);
/* MALFORMED, UNSUPPORTED (version, byte order) with place and reason. */
mts_status mts_sections_open(const unsigned char *bytes, size_t size, mts_sections *out, mts_error *error);
mts_section_cursor mts_section_walk(const mts_sections *sections, mts_format_section section);
/* The next `count` records, or MALFORMED if the section has fewer left. */
mts_status mts_section_take(mts_section_cursor *cursor, size_t count, const unsigned char **records,
                            mts_error *error);
/* MALFORMED if records are left over. */
mts_status mts_section_end(const mts_section_cursor *cursor, mts_error *error);
/* Whether all bytes are zero. */
bool mts_bytes_zero(const unsigned char *bytes, size_t size);
/* The string at an offset of the strings section. MALFORMED unless one begins there. */
mts_status mts_section_string(const mts_sections *sections, uint32_t offset, const char **out,
                              mts_error *error);

#endif
