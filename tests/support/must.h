/*
 * must.h: what has to succeed in a test.
 */
#ifndef MTS_TESTS_SUPPORT_MUST_H
#define MTS_TESTS_SUPPORT_MUST_H

#include "base/status.h"

/* Fails the test with the sentence unless the code is OK. */
void test_must(mts_status code, const mts_error *error, const char *what);

#endif
