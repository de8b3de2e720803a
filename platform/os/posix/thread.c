/*
 * thread.c: threads of POSIX; sleeping is Linux's futex, which Android has too.
 */
#define _GNU_SOURCE /* sched_getaffinity, syscall */
#include "platform/os/thread.h"

#include <linux/futex.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct mts_os_thread {
    const mts_allocator *allocator;
    pthread_t handle;
    void (*run)(void *context);
    void *context;
};

static void *enter(void *argument)
{
    const mts_os_thread *thread = argument;
    thread->run(thread->context);
    return NULL;
}

mts_os_thread *mts_os_thread_start(const mts_allocator *allocator, void (*run)(void *context), void *context)
{
    mts_os_thread *thread = mts_alloc_zero(allocator, 1, sizeof *thread);
    sigset_t all, before;
    if (!thread) {
        return NULL;
    }
    *thread = (mts_os_thread){.allocator = allocator, .run = run, .context = context};
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread takes over this mask */
    const int result = pthread_create(&thread->handle, NULL, enter, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        mts_alloc_free(allocator, thread);
        return NULL;
    }
    return thread;
}

void mts_os_thread_join(mts_os_thread *thread)
{
    if (thread) {
        (void)pthread_join(thread->handle, NULL);
        mts_alloc_free(thread->allocator, thread);
    }
}

void mts_os_thread_forget(mts_os_thread *thread)
{
    if (thread) {
        mts_alloc_free(thread->allocator, thread);
    }
}

uint64_t mts_os_process(void)
{
    return (uint64_t)getpid();
}

uint32_t mts_os_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than a set holds */
    return online > 0 ? (uint32_t)online : 1;
}

void mts_os_word_wait(const _Atomic(uint32_t) *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void mts_os_word_wake(const _Atomic(uint32_t) *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void mts_os_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
