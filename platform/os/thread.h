/*
 * thread.h: threads, sleeping on a word of memory, and the processors that a thread may
 * use.
 *
 * Thread-safety: all functions may be called from any thread; a thread is joined by one.
 */
#ifndef MTS_PLATFORM_OS_THREAD_H
#define MTS_PLATFORM_OS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#define MTS_OS_SET_BYTES 128 /* of a set of processors: 1,024 of them, a bit each */

/* A thread that runs, of the caller's memory. */
typedef struct mts_os_thread {
    uintptr_t handle;
    void (*run)(void *context);
    void *context;
    /* Processors: that the thread may use, and that mts_os_thread_avoid left to it. */
    unsigned char all[MTS_OS_SET_BYTES], left[MTS_OS_SET_BYTES];
    bool bounded; /* `all` is part of the process's affinity, and follows it */
} mts_os_thread;

/*
 * Starts a thread that calls `run` and takes no signals. *thread stays where it is until
 * the thread is joined, or until a fork: the child has no such thread. False: the system
 * has no more of them.
 */
bool mts_os_thread_start(mts_os_thread *thread, void (*run)(void *context), void *context);
/* Waits for its end. */
void mts_os_thread_join(mts_os_thread *thread);

/* A number that changes with every fork. */
uint64_t mts_os_process(void);
/* Processors that the calling thread may run on, at least 1. */
uint32_t mts_os_processors(void);
/* The processor that the calling thread runs on now; UINT32_MAX: the system does not
   say. */
uint32_t mts_os_processor(void);
/*
 * From now on the thread, which was started and not joined, runs on all processors that it
 * may use but this one; on all if it may use no other, or for UINT32_MAX. It may use those
 * that it was started or given elsewhere with, as far as the affinity of the process, which
 * is that of its first thread, has them. A thread that was started with others is not bound
 * to that. One thread at a time calls this for a thread.
 */
void mts_os_thread_avoid(mts_os_thread *thread, uint32_t processor);

/* Sleeps while *word is `value`; may also return for no reason. */
void mts_os_word_wait(const _Atomic(uint32_t) *word, uint32_t value);
/* Ends the sleep of all threads on the word. */
void mts_os_word_wake(const _Atomic(uint32_t) *word);
/* A few cycles of rest for a thread that polls. */
void mts_os_pause(void);

#endif
