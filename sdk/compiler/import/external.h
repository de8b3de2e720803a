/*
 * external.h: tensors of an ONNX model that lie in files beside it ("external data").
 *
 * A model file is untrusted, and external data lets it name other files. Only regular
 * files beneath the model's own folder are read: no absolute path, no "..", no link.
 * Ranges are checked against the file's size before a byte is read, and ranges that
 * overlap in part are refused. Not responsible for the tensors' types and shapes
 * (proto.c).
 */
#ifndef MTS_COMPILER_IMPORT_EXTERNAL_H
#define MTS_COMPILER_IMPORT_EXTERNAL_H

#include "onnx/onnx.pb-c.h"
#include "platform/os/os.h"

/* The files of one model; mapped until the import has ended. */
typedef struct mts_external mts_external;

/*
 * Prepares the external data of a model.
 *
 * model_path: file of the model, whose folder is the only place where data may lie.
 * bytes_most: bytes of all files together.
 * Returns OUT_OF_MEMORY. The caller destroys *out.
 */
mts_status mts_external_create(const mts_allocator *allocator, const char *model_path, size_t bytes_most,
                               mts_external **out, mts_error *error);
/* Unmaps all files. Accepts NULL and a pointer to NULL. */
void mts_external_destroy(mts_external **external);

/* Bytes of the files that were mapped so far. external may be NULL. */
size_t mts_external_bytes(const mts_external *external);
/* Whether the bytes of a tensor lie in another file. */
bool mts_external_is(const Onnx__TensorProto *tensor);
/*
 * Finds the `size` bytes of a tensor; *data stays valid until the files are destroyed.
 *
 * external may be NULL: the model came from memory, so that no folder is known
 * (UNSUPPORTED). Returns MALFORMED (entries that are unknown, repeated or no numbers; a
 * range that is not inside the file or is not `size` bytes long; a path that leaves the
 * folder), NOT_FOUND (no such file), IO (a link, a device, a pipe, a directory), LIMIT
 * (bytes_most), OUT_OF_MEMORY.
 */
mts_status mts_external_find(mts_external *external, const Onnx__TensorProto *tensor, size_t size,
                             const void **data, mts_error *error);
/*
 * Counts bytes that the importer copies of external data: several tensors may name one
 * range, so that copies could take far more memory than the files. LIMIT beyond
 * bytes_most. external may be NULL.
 */
mts_status mts_external_count_copy(mts_external *external, size_t bytes, mts_error *error);
/* Checks that no two ranges that were found overlap in part (MALFORMED). external may be
   NULL. */
mts_status mts_external_check(mts_external *external, mts_error *error);

#endif
