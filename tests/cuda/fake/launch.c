/*
 * launch.c: runs a grid on the processor, block by block.
 *
 * The threads of a block run one after another, as far as the next barrier: one fiber runs thread after
 * thread until one of them waits; that thread keeps the fiber, and another goes on with the threads that have
 * not begun. So a kernel without barriers needs one fiber, one with a barrier as many as the block has
 * threads. Which threads come first changes from launch to launch, so that results that depend on it differ.
 * A barrier that some threads do not reach, and an access to memory that is none, fail the launch.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* its longjmp refuses to change stacks */

#include "cuda/fake/driver.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cuda/fake/world.h"

#define STACK_BYTES ((size_t)256 << 10) /* taken from the system as far as it is touched */
#define THREADS_MOST 1024u
#define WARP 32u
#define SPOILED 0x7ff17ff1u

/* The address sanitizer is told of every change of stacks. */
#if defined(__SANITIZE_ADDRESS__)
#define FOLLOWED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FOLLOWED 1
#endif
#endif
#ifdef FOLLOWED
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *saved, const void **bottom, size_t *size);
#define SWITCH_START(save, bottom, size) __sanitizer_start_switch_fiber(save, bottom, size)
#define SWITCH_END(saved, bottom, size) __sanitizer_finish_switch_fiber(saved, bottom, size)
#else
#define SWITCH_START(save, bottom, size) (void)(save)
#define SWITCH_END(saved, bottom, size) (void)(saved)
#endif

typedef struct fiber {
    ucontext_t start;
    jmp_buf at; /* where it waits */
    char *stack;
    uint32_t thread;
    int waits; /* for: 0 nothing, 1 its warp, 2 the block */
    int line;
    bool began;
    void *saved; /* the sanitizer's */
} fiber;

/* One block on its way; the fibers stay for the next one. */
typedef struct block_run {
    const fake_launch *launch;
    emulated_world *world;
    jmp_buf scheduler;
    uint32_t threads, next; /* of the block; not begun yet */
    bool backwards;
    bool on_fiber;
    void *saved; /* the sanitizer's, of the stack that the fibers come back to */
    const void *bottom;
    size_t stack_size;
    fiber *current;
    fiber *waiting[THREADS_MOST];
    uint32_t waiting_count;
    fiber *idle[THREADS_MOST + 1];
    uint32_t idle_count;
    fiber *made[THREADS_MOST + 1]; /* all of them */
    uint32_t made_count;
} block_run;

static block_run run;
static uint32_t launches;      /* so far: decides which threads come first */
static sigjmp_buf crash;       /* out of a kernel that touched what is not there */
static volatile void *touched; /* where */

static void place(uint32_t thread)
{
    const fake_three size = run.launch->block;
    const fake_three id = {thread % size.x, thread / size.x % size.y, thread / (size.x * size.y)};
    run.world->thread = id;
}

static void call_kernel(const fake_launch *launch)
{
    if (launch->mixed) {
        void *const *s = launch->sources;
        fake_mixed_kernel run_mixed = (fake_mixed_kernel)(void (*)(void))launch->function->run;
        run_mixed(launch->act, launch->pool, launch->table, launch->first, s[0], s[1], s[2], s[3], s[4], s[5],
                  s[6], s[7]);
    } else {
        launch->function->run(launch->act, launch->pool, launch->table, launch->first);
    }
}

static void arrive_on_fiber(void)
{
    SWITCH_END(run.current->saved, &run.bottom, &run.stack_size);
    run.on_fiber = true;
}

static void leave_fiber(void)
{
    if (_setjmp(run.current->at) == 0) {
        SWITCH_START(&run.current->saved, run.bottom, run.stack_size);
        _longjmp(run.scheduler, 1);
    }
    arrive_on_fiber();
}

/* Runs threads that have not begun until there are none, then waits for the next block. */
static void fiber_main(void)
{
    arrive_on_fiber();
    for (;;) {
        while (run.next < run.threads) {
            const uint32_t thread = run.backwards ? run.threads - 1 - run.next : run.next;
            run.next++;
            run.current->thread = thread;
            run.current->waits = 0;
            place(thread);
            call_kernel(run.launch);
        }
        run.current->waits = 0;
        leave_fiber();
    }
}

/* What a kernel's barrier calls. */
static void meet(void *driver, int whole_block, int line)
{
    (void)driver;
    run.current->waits = whole_block ? 2 : 1;
    run.current->line = line;
    leave_fiber();
    place(run.current->thread);
}

static void go_on(fiber *f)
{
    run.current = f;
    if (_setjmp(run.scheduler) == 0) {
        SWITCH_START(&run.saved, f->stack, STACK_BYTES);
        if (f->began) {
            _longjmp(f->at, 1);
        }
        f->began = true;
        (void)setcontext(&f->start);
    }
    SWITCH_END(run.saved, NULL, NULL);
    run.on_fiber = false;
}

static void prepare_fiber(fiber *f)
{
    (void)getcontext(&f->start);
    f->start.uc_stack.ss_sp = f->stack;
    f->start.uc_stack.ss_size = STACK_BYTES;
    f->start.uc_link = NULL;
    f->began = false;
    f->saved = NULL;
    makecontext(&f->start, fiber_main, 0);
}

static fiber *take_fiber(void)
{
    if (run.idle_count) {
        return run.idle[--run.idle_count];
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    fiber *f = calloc(1, sizeof *f);
    char *map = mmap(NULL, STACK_BYTES + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!f || map == MAP_FAILED || mprotect(map + page, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) {
        abort(); /* the test machine is out of memory */
    }
    f->stack = map + page; /* the page below catches a stack that grows too large */
    prepare_fiber(f);
    run.made[run.made_count++] = f;
    return f;
}

/* Lets a fiber run as far as it comes. */
static void advance(fiber *f)
{
    go_on(f);
    f = run.current; /* what a jump leaves in variables is not certain */
    if (f->waits) {
        run.waiting[run.waiting_count++] = f;
    } else {
        run.idle[run.idle_count++] = f;
    }
}

static uint32_t warp_size(uint32_t warp)
{
    const uint32_t left = run.threads - warp * WARP;
    return left < WARP ? left : WARP;
}

/* Whether all that a waiting fiber waits for are there: threads of its warp, or of the block, in the same
 * line. */
static bool may_go(const fiber *f)
{
    const uint32_t warp = f->thread / WARP;
    uint32_t here = 0;
    for (uint32_t i = 0; i < run.waiting_count; i++) {
        const fiber *other = run.waiting[i];
        here += other->waits == f->waits && other->line == f->line &&
                (f->waits == 2 || other->thread / WARP == warp);
    }
    return here == (f->waits == 2 ? run.threads : warp_size(warp));
}

/* Takes the fibers that meet there out of the waiting ones; 0: nobody can go on. */
static uint32_t take_meeting(fiber *out[THREADS_MOST])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run.waiting_count && count == 0; i++) {
        const fiber *f = run.waiting[i];
        if (i && f->waits == 2 && run.waiting[0]->waits == 2) {
            continue; /* the first one has asked for the whole block already */
        }
        if (!may_go(f)) {
            continue;
        }
        const int waits = f->waits;
        const uint32_t warp = f->thread / WARP;
        uint32_t left = 0;
        for (uint32_t k = 0; k < run.waiting_count; k++) {
            fiber *other = run.waiting[k];
            if (waits == 2 || (other->waits == 1 && other->thread / WARP == warp)) {
                out[count++] = other;
            } else {
                run.waiting[left++] = other;
            }
        }
        run.waiting_count = left;
    }
    return count;
}

/* Fibers in the middle of a thread begin anew. */
static void drop_threads(void)
{
    run.waiting_count = 0;
    run.idle_count = 0;
    for (uint32_t i = 0; i < run.made_count; i++) {
        prepare_fiber(run.made[i]);
        run.idle[run.idle_count++] = run.made[i];
    }
}

static CUresult run_fibers(void)
{
    static fiber *meeting[THREADS_MOST];
    run.next = 0;
    while (run.next < run.threads) {
        advance(take_fiber());
    }
    while (run.waiting_count) {
        const uint32_t count = take_meeting(meeting);
        if (count == 0) {
            (void)fprintf(stderr, "fake driver: %s: a barrier in line %d that %u of %u threads reach\n",
                          run.launch->function->name, run.waiting[0]->line, run.waiting_count, run.threads);
            drop_threads();
            return CUDA_ERROR_LAUNCH_FAILED;
        }
        for (uint32_t i = 0; i < count; i++) {
            advance(meeting[i]);
        }
    }
    return CUDA_SUCCESS;
}

/* Threads that never wait need no stack of their own. */
static CUresult run_straight(void)
{
    for (uint32_t i = 0; i < run.threads; i++) {
        place(run.backwards ? run.threads - 1 - i : i);
        call_kernel(run.launch);
    }
    return CUDA_SUCCESS;
}

static CUresult run_block(uint32_t index)
{
    const fake_three grid = run.launch->grid;
    const fake_three id = {index % grid.x, index / grid.x % grid.y, index / (grid.x * grid.y)};
    run.world->block = id;
    for (unsigned int *word = run.world->shared_begin; word < run.world->shared_end; word++) {
        *word = SPOILED;
    }
    return run.world->meets ? run_fibers() : run_straight();
}

static CUresult run_grid(void)
{
    const fake_three grid = run.launch->grid;
    const uint32_t blocks = grid.x * grid.y * grid.z;
    const bool last_first = launches / 2 % 2 != 0;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < blocks && result == CUDA_SUCCESS; i++) {
        result = run_block(last_first ? blocks - 1 - i : i);
    }
    return result;
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    touched = info->si_addr;
    siglongjmp(crash, 1);
}

static CUresult run_watched(void)
{
    static char handler_stack[65536]; /* the fiber's may be what is used up */
    const stack_t own = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    stack_t old_stack;
    struct sigaction action;
    struct sigaction before[2];
    volatile CUresult result = CUDA_ERROR_ILLEGAL_ADDRESS;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    (void)sigaltstack(&own, &old_stack);
    (void)sigaction(SIGSEGV, &action, &before[0]);
    (void)sigaction(SIGBUS, &action, &before[1]);
    if (sigsetjmp(crash, 1) == 0) {
        result = run_grid();
    } else {
        (void)fprintf(stderr, "fake driver: %s: an access to %p, which is nobody's\n",
                      run.launch->function->name, (void *)(uintptr_t)touched);
        if (run.on_fiber) {
            SWITCH_START(NULL, run.bottom, run.stack_size);
            SWITCH_END(run.saved, NULL, NULL);
            run.on_fiber = false;
        }
        drop_threads();
    }
    (void)sigaction(SIGSEGV, &before[0], NULL);
    (void)sigaction(SIGBUS, &before[1], NULL);
    (void)sigaltstack(&old_stack, NULL);
    return result;
}

CUresult fake_launch_run(const fake_launch *launch)
{
    if (!fake_cuda_device()->run) {
        return CUDA_SUCCESS;
    }
    bool reaches = fake_block_reaches(launch->act) && fake_block_reaches(launch->pool) &&
                   fake_block_reaches(launch->table);
    for (int i = 0; launch->mixed && i < FAKE_SOURCES; i++) {
        reaches = reaches && fake_block_reaches(launch->sources[i]);
    }
    if (!reaches) {
        (void)fprintf(stderr, "fake driver: %s: an argument is no device memory\n", launch->function->name);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    run.launch = launch;
    run.world = launch->function->module->world;
    run.world->driver = NULL;
    run.world->meet = meet;
    run.world->block_size = launch->block;
    run.world->grid_size = launch->grid;
    run.threads = launch->block.x * launch->block.y * launch->block.z;
    run.backwards = launches % 2 != 0;
    const CUresult result = run_watched();
    launches++;
    return result;
}

static bool is_too_large(fake_three grid, fake_three block)
{
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    return threads > THREADS_MOST || block.z > 64 || grid.y > 65535 || grid.z > 65535 || grid.x > INT32_MAX;
}

CUresult fake_launch_make(fake_launch *out, CUfunction function, fake_three grid, fake_three block,
                          unsigned int shared, void **parameters)
{
    const CUfunction found = fake_function_find(function);
    if (!found) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z || shared || !parameters ||
        is_too_large(grid, block)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (block.x * block.y * block.z > (unsigned int)fake_cuda_device()->group_most) {
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    out->function = found;
    out->grid = grid;
    out->block = block;
    memcpy(&out->act, parameters[0], sizeof out->act);
    memcpy(&out->pool, parameters[1], sizeof out->pool);
    memcpy(&out->table, parameters[2], sizeof out->table);
    memcpy(&out->first, parameters[3], sizeof out->first);
    out->mixed = strncmp(found->name, "mixed_", strlen("mixed_")) == 0;
    for (int i = 0; out->mixed && i < FAKE_SOURCES; i++) {
        memcpy(&out->sources[i], parameters[4 + i], sizeof out->sources[i]);
    }
    return CUDA_SUCCESS;
}

/* Both launches; `called` is the driver's function. */
static CUresult launch_kernel(const char *called, CUfunction function, fake_three grid, fake_three block,
                              unsigned int shared, CUstream handle, void **parameters, bool bad)
{
    CUresult result = fake_enter(called, FAKE_NEED_CONTEXT);
    CUstream stream = result == CUDA_SUCCESS ? fake_stream_find(handle) : NULL;
    fake_work work = {.kind = FAKE_WORK_LAUNCH};
    if (result == CUDA_SUCCESS) {
        result = !stream ? CUDA_ERROR_INVALID_HANDLE
                 : bad   ? CUDA_ERROR_INVALID_VALUE
                         : fake_launch_make(&work.launch, function, grid, block, shared, parameters);
    }
    if (result == CUDA_SUCCESS) {
        result = fake_stream_add(stream, &work, NULL, 0);
    }
    return fake_leave(result);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream handle, void **parameters, void **extra)
{
    const fake_three grid = {grid_x, grid_y, grid_z};
    const fake_three block = {block_x, block_y, block_z};
    return launch_kernel(__func__, function, grid, block, shared, handle, parameters, extra != NULL);
}

/* Blocks run one after another all the same: what the first ones wait for in vain never comes. */
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared, CUstream handle,
                                   void **parameters)
{
    const fake_three grid = {grid_x, grid_y, grid_z};
    const fake_three block = {block_x, block_y, block_z};
    const unsigned int most = (unsigned int)(fake_cuda_device()->resident * FAKE_UNITS);
    return launch_kernel(__func__, function, grid, block, shared, handle, parameters,
                         grid_x * grid_y * grid_z > most);
}
