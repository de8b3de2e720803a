/*
 * inflate.h: unpacks deflate streams (RFC 1951), in which the library carries the texts
 * of its kernels.
 */
#ifndef MTS_BASE_INFLATE_H
#define MTS_BASE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Fills out[size] with the first `size` bytes that a stream without a header holds.
 * False: the stream is damaged, or holds fewer; the content of `out` is then undefined.
 * Nothing is read beyond packed[packed_size]. Thread-safety: any thread.
 */
bool mts_inflate(const unsigned char *packed, size_t packed_size, unsigned char *out, size_t size);

#endif
