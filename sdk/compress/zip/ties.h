/*
 * ties.h: what zipping has made equal, for training that keeps it so.
 */
#ifndef MTS_COMPRESS_ZIP_TIES_H
#define MTS_COMPRESS_ZIP_TIES_H

#include "compress/train/tie.h"
#include "compress/zip/zip.h"

/* One tie for each row that has channels in common, in zip's arena. OUT_OF_MEMORY
   only. */
mts_status mts_zip_ties(mts_zip *zip, mts_tie **out, uint32_t *count);

#endif
