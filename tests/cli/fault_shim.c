/*
 * fault_shim.c: loaded before the C library (LD_PRELOAD), it runs a program's main again and again, each time in a child
 * process in which one call fails: an allocation, or a call on a file. Only calls of the program itself and of the
 * library that reads its JSON are counted; other libraries are not ours to test.
 *
 * FAULT_PROGRAM  name of the program; others run as they are
 * FAULT_KIND     alloc, open, read, write, sync, rename or map
 * FAULT_ERRNO    number that errno has then; 0 with read and write: half of the bytes
 * FAULT_EVER     1: all later calls fail too
 * FAULT_ALL      1: each call in turn; else about 20 of them
 * FAULT_OUT      the file that the program writes; "" if it writes none
 * FAULT_AT       only this call fails, in the process itself: for a debugger
 * FAULT_REPORT   a line for each defect is added there, and one with the numbers at the end
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OURS_MOST 4
#define SECONDS_MOST 60
#define RUNS_MOST 200000

typedef enum kind { ALLOC, OPEN, READ, WRITE, SYNC, RENAME, MAP, KINDS } kind;

static const char *const kinds[KINDS] = {"alloc", "open", "read", "write", "sync", "rename", "map"};

typedef struct counts {
    atomic_long calls, failed;
} counts;

static struct {
    bool armed, ever, halved;
    kind which;
    int number;
    long at;
    uintptr_t from[OURS_MOST], to[OURS_MOST];
    int ours;
    counts *seen; /* shared with the parent */
} fault;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static bool is_ours(const void *caller)
{
    for (int i = 0; i < fault.ours; i++) {
        if ((uintptr_t)caller >= fault.from[i] && (uintptr_t)caller < fault.to[i]) {
            return true;
        }
    }
    return false;
}

/* Whether this call is one that fails. */
static bool fails(kind which, const void *caller)
{
    if (!fault.armed || which != fault.which || !is_ours(caller)) {
        return false;
    }
    const long call = ++fault.seen->calls;
    if (fault.at == 0 || (fault.ever ? call < fault.at : call != fault.at)) {
        return false;
    }
    fault.seen->failed++;
    errno = fault.number;
    return true;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails(ALLOC, CALLER) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    *out = fails(ALLOC, CALLER) ? NULL : __libc_memalign(align, size);
    return *out ? 0 : ENOMEM;
}

#define REAL(type, name, ...)                                                                                \
    static type (*real)(__VA_ARGS__);                                                                        \
    if (!real) {                                                                                             \
        *(void **)&real = dlsym(RTLD_NEXT, name);                                                            \
    }

#define MODE_OF(flags)                                                                                       \
    int mode = 0;                                                                                            \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                 \
        va_list list;                                                                                        \
        va_start(list, flags);                                                                               \
        mode = va_arg(list, int);                                                                            \
        va_end(list);                                                                                        \
    }

int open(const char *path, int flags, ...)
{
    REAL(int, "open", const char *, int, ...)
    MODE_OF(flags)
    return fails(OPEN, CALLER) ? -1 : real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    REAL(int, "openat", int, const char *, int, ...)
    MODE_OF(flags)
    return fails(OPEN, CALLER) ? -1 : real(folder, path, flags, mode);
}

int __open_2(const char *path, int flags)
{
    REAL(int, "open", const char *, int, ...)
    return fails(OPEN, CALLER) ? -1 : real(path, flags);
}

int __openat_2(int folder, const char *path, int flags)
{
    REAL(int, "openat", int, const char *, int, ...)
    return fails(OPEN, CALLER) ? -1 : real(folder, path, flags);
}

ssize_t read(int file, void *to, size_t size)
{
    REAL(ssize_t, "read", int, void *, size_t)
    if (fails(READ, CALLER)) {
        if (!fault.halved) {
            return -1;
        }
        size = (size + 1) / 2;
    }
    return real(file, to, size);
}

ssize_t __read_chk(int file, void *to, size_t size, size_t room)
{
    (void)room;
    REAL(ssize_t, "read", int, void *, size_t)
    if (fails(READ, CALLER)) {
        if (!fault.halved) {
            return -1;
        }
        size = (size + 1) / 2;
    }
    return real(file, to, size);
}

ssize_t write(int file, const void *from, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t)
    if (fails(WRITE, CALLER)) {
        if (!fault.halved) {
            return -1;
        }
        size = (size + 1) / 2;
    }
    return real(file, from, size);
}

int fsync(int file)
{
    REAL(int, "fsync", int)
    return fails(SYNC, CALLER) ? -1 : real(file);
}

int fdatasync(int file)
{
    REAL(int, "fdatasync", int)
    return fails(SYNC, CALLER) ? -1 : real(file);
}

int rename(const char *from, const char *to)
{
    REAL(int, "rename", const char *, const char *)
    return fails(RENAME, CALLER) ? -1 : real(from, to);
}

int renameat(int in, const char *from, int folder, const char *to)
{
    REAL(int, "renameat", int, const char *, int, const char *)
    return fails(RENAME, CALLER) ? -1 : real(in, from, folder, to);
}

void *mmap(void *at, size_t size, int access, int flags, int file, off_t offset)
{
    REAL(void *, "mmap", void *, size_t, int, int, int, off_t)
    return fails(MAP, CALLER) ? MAP_FAILED : real(at, size, access, flags, file, offset);
}

/* ---- the server ---- */

static int note_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    const bool wanted = info->dlpi_name[0] == '\0' || strstr(info->dlpi_name, "libjansson");
    for (int i = 0; wanted && i < info->dlpi_phnum && fault.ours < OURS_MOST; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            fault.from[fault.ours] = info->dlpi_addr + part->p_vaddr;
            fault.to[fault.ours++] = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        }
    }
    return 0;
}

static int (*program_main)(int, char **, char **);

static const char *setting(const char *name)
{
    const char *text = getenv(name);
    return text ? text : "";
}

static char *slurp(const char *path, size_t *size)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    *size = 0;
    if (file && fstat(fileno(file), &info) == 0) {
        text = __libc_calloc(1, (size_t)info.st_size + 1);
        *size = text ? fread(text, 1, (size_t)info.st_size, file) : 0;
    }
    if (file) {
        (void)fclose(file);
    }
    return text;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (file) {
        (void)fputs(text, file);
        (void)fclose(file);
    }
}

typedef struct ended {
    int status; /* of the program; -1: a signal ended it */
    bool failed;
    long calls;
    size_t said; /* bytes on standard error */
} ended;

static ended run(long at, int argc, char **argv, char **environment)
{
    struct stat info;
    int status = 0;
    const char *errors = "fault.err";
    fault.seen->calls = 0;
    fault.seen->failed = 0;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        /* a program that hangs is a defect; one that another program has stopped is none */
        const struct rlimit most = {SECONDS_MOST, SECONDS_MOST};
        (void)setrlimit(RLIMIT_CPU, &most);
        (void)alarm(20 * SECONDS_MOST);
        if (!freopen("/dev/null", "w", stdout) || !freopen(errors, "w", stderr)) {
            _exit(99);
        }
        fault.at = at;
        fault.armed = true;
        exit(program_main(argc, argv, environment));
    }
    (void)waitpid(child, &status, 0);
    return (ended){.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                   .failed = fault.seen->failed > 0,
                   .calls = fault.seen->calls,
                   .said = stat(errors, &info) == 0 ? (size_t)info.st_size : 0};
}

/* What is wrong with a run, or NULL. The file is the old one or a whole new one. */
static const char *defect_of(const ended *end, const char *path, const char *right, size_t right_size)
{
    size_t size = 0;
    char *left = *path ? slurp(path, &size) : NULL;
    const bool old = left && strcmp(left, "OLD") == 0;
    const bool whole = !*path || (left && size == right_size && memcmp(left, right, size) == 0);
    free(left);
    if (end->status < 0 || end->status > 2) {
        return "it was ended by a signal";
    }
    if (end->status == 0 && !whole) {
        return "it says that all is well, and has not written what it should";
    }
    if (end->status != 0 && *path && !old && !whole) {
        return "it failed and left half a file";
    }
    return end->status != 0 && end->said == 0 ? "it failed without a sentence" : NULL;
}

static void settings_read(void)
{
    const char *which = setting("FAULT_KIND");
    for (int i = 0; i < KINDS; i++) {
        fault.which = strcmp(which, kinds[i]) == 0 ? (kind)i : fault.which;
    }
    fault.number = atoi(setting("FAULT_ERRNO"));
    fault.halved = fault.number == 0;
    fault.ever = atoi(setting("FAULT_EVER")) != 0;
    (void)dl_iterate_phdr(note_object, NULL);
}

static int serve(int argc, char **argv, char **environment)
{
    const char *path = setting("FAULT_OUT");
    const bool all = atoi(setting("FAULT_ALL")) != 0;
    size_t right_size = 0;
    long runs = 0, defects = 0;
    fault.seen = mmap(NULL, sizeof *fault.seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *report = fopen(setting("FAULT_REPORT"), "a");
    if (fault.seen == MAP_FAILED || !report) {
        return 98;
    }
    settings_read();
    if (*setting("FAULT_AT")) {
        fault.at = atol(setting("FAULT_AT"));
        fault.armed = true;
        exit(program_main(argc, argv, environment));
    }
    const ended plain = run(0, argc, argv, environment);
    char *right = *path ? slurp(path, &right_size) : NULL;
    if (plain.status != 0) {
        (void)fprintf(report, "cannot: status %d\n", plain.status);
        (void)fclose(report);
        return 3;
    }
    const long total = plain.calls;
    for (long at = 1; at <= total && runs < RUNS_MOST; at += all ? 1 : 1 + at / 3) {
        if (*path) {
            put(path, "OLD");
        }
        const ended end = run(at, argc, argv, environment);
        const char *defect = defect_of(&end, path, right, right_size);
        runs++;
        if (defect) {
            defects++;
            (void)fprintf(report, "defect: call %ld of %ld: status %d: %s\n", at, total, end.status, defect);
        }
    }
    (void)fprintf(report, "runs %ld calls %ld defects %ld\n", runs, total, defects);
    (void)fclose(report);
    return 0;
}

int __libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    typedef int start(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                      void (*)(void), void *);
    start *real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = entry;
    const char *name = strrchr(argv[0], '/');
    const bool wanted = strcmp(name ? name + 1 : argv[0], setting("FAULT_PROGRAM")) == 0;
    return real(wanted ? serve : entry, argc, argv, init, fini, loader_fini, stack_end);
}
