/*
 * check.h: invariants that the code states and tests enforce.
 *
 * MTS_CHECK(condition) stops a Debug build where the condition does not hold, and is
 * nothing in a release build: the library never ends a program. So a check is for what
 * only a mistake in the library itself can break. What a caller, a file or a device can
 * break is refused with a status.
 */
#ifndef MTS_BASE_CHECK_H
#define MTS_BASE_CHECK_H

#if defined(NDEBUG)
/* The condition is compiled, so that it stays valid, but never evaluated. */
#define MTS_CHECK(condition) ((void)sizeof((condition) ? 1 : 0))
#else
#define MTS_CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#endif

#endif
