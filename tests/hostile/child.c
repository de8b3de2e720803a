/*
 * child.c: see child.h.
 */
#define _DEFAULT_SOURCE /* wait4, anonymous memory */
#include "hostile/child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECONDS_MOST 20u
#define SPACE_MOST ((rlim_t)2 << 30)

typedef struct shared {
    child_said said;
    long before_kb; /* resident before the work */
} shared;

static long height_kb(void)
{
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_maxrss : 0;
}

static void limit(void)
{
    const struct rlimit none = {0, 0}, seconds = {SECONDS_MOST, SECONDS_MOST + 1};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_CPU, &seconds);
#ifndef CHILD_SANITIZED /* sanitizers take terabytes of addresses */
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu", &pages) == 1) {
        const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + SPACE_MOST;
        const struct rlimit space = {most, most};
        (void)setrlimit(RLIMIT_AS, &space);
    }
    if (file) {
        (void)fclose(file);
    }
#endif
}

void child_run(void (*work)(void *context, child_said *said), void *context, child_usage *usage)
{
    int status = 0;
    struct rusage used;
    shared *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        limit();
        page->before_kb = height_kb();
        work(context, &page->said);
        _exit(0);
    }
    assert_int_equal(wait4(child, &status, 0, &used), child);
    *usage = (child_usage){.said = page->said};
    usage->signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -WEXITSTATUS(status) : 0;
    usage->seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    usage->grown_bytes =
        used.ru_maxrss > page->before_kb ? (uint64_t)(used.ru_maxrss - page->before_kb) << 10 : 0;
    assert_int_equal(munmap(page, sizeof *page), 0);
}
