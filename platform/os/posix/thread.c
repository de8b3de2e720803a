/*
 * thread.c: threads of POSIX; sleeping is Linux's futex, which Android has too.
 */
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu, syscall */
#include "platform/os/thread.h"

#include <linux/futex.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __ANDROID__
pid_t pthread_gettid_np(pthread_t thread); /* of its C library alone */
#endif

_Static_assert(sizeof(pthread_t) == sizeof(uintptr_t), "a thread is a number or an address");
_Static_assert(sizeof(cpu_set_t) <= MTS_OS_SET_BYTES, "a set of processors fits into a thread");

static void *enter(void *argument)
{
    const mts_os_thread *thread = argument;
    thread->run(thread->context);
    return NULL;
}

bool mts_os_thread_start(mts_os_thread *thread, void (*run)(void *context), void *context)
{
    sigset_t all, before;
    pthread_t handle;
    *thread = (mts_os_thread){.run = run, .context = context};
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread takes over this mask */
    const bool started = pthread_create(&handle, NULL, enter, thread) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        memcpy(&thread->handle, &handle, sizeof handle);
    }
    return started;
}

void mts_os_thread_join(mts_os_thread *thread)
{
    pthread_t handle;
    memcpy(&handle, &thread->handle, sizeof handle);
    (void)pthread_join(handle, NULL);
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

uint32_t mts_os_processor(void)
{
    const int processor = sched_getcpu();
    return processor < 0 ? UINT32_MAX : (uint32_t)processor;
}

static int set_of(uintptr_t number, cpu_set_t *set)
{
    pthread_t handle;
    memcpy(&handle, &number, sizeof handle);
    CPU_ZERO(set);
#ifdef __ANDROID__
    return sched_getaffinity(pthread_gettid_np(handle), sizeof *set, set);
#else
    return pthread_getaffinity_np(handle, sizeof *set, set);
#endif
}

static int give_set(uintptr_t number, const cpu_set_t *set)
{
    pthread_t handle;
    memcpy(&handle, &number, sizeof handle);
#ifdef __ANDROID__
    return sched_setaffinity(pthread_gettid_np(handle), sizeof *set, set);
#else
    return pthread_setaffinity_np(handle, sizeof *set, set);
#endif
}

/* The process's affinity is that of its first thread, which tools set and show, and which
   nothing here changes. False: the system does not say. */
static bool set_of_process(cpu_set_t *set)
{
    CPU_ZERO(set);
    return sched_getaffinity(getpid(), sizeof *set, set) == 0;
}

static bool is_within(const cpu_set_t *set, const cpu_set_t *whole)
{
    cpu_set_t both;
    CPU_AND(&both, set, whole);
    return CPU_EQUAL(&both, set);
}

/*
 * What the thread may use of its own, where its set is `now` and the process's `process`.
 * The set is the thread's own if it has another processor than was left to it, or if it
 * lacks one that the process kept. What the process lost as well went offline, or a group
 * or a user took it for a while: it is none that the thread was told to leave.
 */
static void find_own(mts_os_thread *thread, const cpu_set_t *now, const cpu_set_t *process)
{
    cpu_set_t left, lost;
    memcpy(&left, thread->left, sizeof left);
    CPU_XOR(&lost, &left, now);
    CPU_AND(&lost, &lost, process);
    if (!is_within(now, &left) || (thread->bounded && CPU_COUNT(&lost) > 0)) {
        memcpy(thread->all, now, sizeof *now);
        thread->bounded = is_within(now, process);
    }
}

void mts_os_thread_avoid(mts_os_thread *thread, uint32_t processor)
{
    cpu_set_t now, process, all, left;
    if (set_of(thread->handle, &now) != 0) {
        return; /* more processors than a set holds */
    }
    if (!set_of_process(&process)) {
        process = now;
    }
    find_own(thread, &now, &process);
    memcpy(&all, thread->all, sizeof all);
    if (thread->bounded) {
        CPU_AND(&all, &all, &process);
    }
    if (CPU_COUNT(&all) == 0) {
        all = now;
    }
    left = all;
    if (processor < CPU_SETSIZE) {
        CPU_CLR(processor, &left);
    }
    if (CPU_COUNT(&left) == 0) {
        left = all;
    }
    if (give_set(thread->handle, &left) == 0) {
        memcpy(thread->left, &left, sizeof left);
    }
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
