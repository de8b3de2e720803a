/*
 * Contracts of the bundle reader's cursor (sdk/bundle/sections.c), proved by Frama-C's WP for files of any size: what is
 * taken lies inside the section, what is left too, and strings begin inside of theirs.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bundle/sections.h"

/*@ assigns \nothing;
    ensures \result == code; */
mts_status mts_fail(mts_error *error, mts_status code, const char *format, ...);

/*@ predicate whole(mts_section_cursor *c) =
      c->stride > 0 && c->left * c->stride <= SIZE_MAX &&
      \valid_read(c->data + (0 .. c->left * c->stride - 1)); */

/*@ requires \valid(cursor) && \valid(records) && \separated(cursor, records);
    requires whole(cursor);
    assigns cursor->data, cursor->left, *records;
    ensures \result == MTS_STATUS_OK ==>
      cursor->left == \old(cursor->left) - count && count <= \old(cursor->left) &&
      *records == \old(cursor->data) && cursor->data == *records + count * cursor->stride;
    ensures \result == MTS_STATUS_OK ==> \valid_read(*records + (0 .. count * cursor->stride - 1));
    ensures \result == MTS_STATUS_OK ==> whole(cursor);
    ensures \result != MTS_STATUS_OK ==> cursor->left == \old(cursor->left); */
mts_status mts_section_take(mts_section_cursor *cursor, size_t count, const unsigned char **records,
                            mts_error *error);

/*@ requires \valid_read(cursor);
    assigns \nothing;
    ensures \result == MTS_STATUS_OK <==> cursor->left == 0; */
mts_status mts_section_end(const mts_section_cursor *cursor, mts_error *error);

/*@ requires \valid_read(sections) && \valid(out) && \separated(sections, out);
    requires \valid_read(sections->at[0].data + (0 .. sections->at[0].count - 1));
    assigns *out;
    ensures \result == MTS_STATUS_OK ==> offset < sections->at[0].count; */
mts_status mts_section_string(const mts_sections *sections, uint32_t offset, const char **out,
                              mts_error *error);

#include "bundle/sections.c"
