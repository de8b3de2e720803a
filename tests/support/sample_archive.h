/*
 * sample_archive.h: a small archive that has a bit of everything a bundle can hold.
 */
#ifndef MTS_TESTS_SAMPLE_ARCHIVE_H
#define MTS_TESTS_SAMPLE_ARCHIVE_H

#include "bundle/archive.h"

/* Three tasks, not yet discovered. NULL if memory is short. */
mts_archive *mts_sample_archive(const mts_allocator *allocator);

#endif
