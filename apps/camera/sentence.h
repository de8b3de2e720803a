/*
 * sentence.h: sentences about sources. They never contain a user or a password.
 */
#ifndef MTS_CAMERA_SENTENCE_H
#define MTS_CAMERA_SENTENCE_H

#include <stddef.h>

#include "status.h"

/* Copies an address, or a text with addresses in it, with "***" for users and passwords.
   Returns `name`. */
const char *source_name(const char *uri, char *name, size_t size);
/* Writes a sentence of CLI_ERROR bytes and returns `status`. */
camera_status source_fail(char *error, camera_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
