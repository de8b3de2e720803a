/*
 * The operating system module: files, maps, directories, libraries, the clock, processors.
 */
#define _GNU_SOURCE /* sched_getaffinity, pthread_setaffinity_np */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "platform/os/os.h"
#include "platform/os/thread.h"
#include "tests/support/fault.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-os-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory)) {
        count++;
    }
    (void)closedir(directory);
    return count - 2; /* . and .. */
}

static void a_written_file_reads_and_maps_as_it_was(void **state)
{
    (void)state;
    const char *path = in_folder("a");
    unsigned char data[10000];
    void *read = NULL;
    size_t size = 0;
    mts_os_map map;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 7);
    }
    assert_int_equal(mts_os_file_write(path, data, sizeof data, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_os_file_read(mts_allocator_default(), path, sizeof data, &read, &size, NULL),
                     MTS_STATUS_OK);
    assert_true(size == sizeof data);
    assert_memory_equal(read, data, sizeof data);
    assert_int_equal(((char *)read)[size], 0);
    mts_alloc_free(mts_allocator_default(), read);
    assert_int_equal(mts_os_map_file(path, &map, NULL), MTS_STATUS_OK);
    assert_true(map.size == sizeof data);
    assert_memory_equal(map.data, data, sizeof data);
    mts_os_unmap(&map);
    assert_null(map.data);
    mts_os_unmap(&map);
    mts_os_unmap(NULL);
}

static void a_range_of_a_descriptor_maps_at_any_offset(void **state)
{
    (void)state;
    unsigned char data[9000];
    mts_os_map map;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 13 >> 3);
    }
    assert_int_equal(mts_os_file_write(in_folder("range"), data, sizeof data, NULL), MTS_STATUS_OK);
    const int descriptor = open(in_folder("range"), O_RDONLY);
    assert_true(descriptor >= 0);
    assert_int_equal(mts_os_map_descriptor(descriptor, 4099, 1000, &map, NULL), MTS_STATUS_OK);
    assert_true(map.size == 1000);
    assert_memory_equal(map.data, data + 4099, 1000);
    mts_os_unmap(&map);
    assert_int_equal(mts_os_map_descriptor(descriptor, 8000, 0, &map, NULL), MTS_STATUS_OK);
    assert_true(map.size == 1000);
    mts_os_unmap(&map);
    assert_int_equal(mts_os_map_descriptor(descriptor, 8000, 1001, &map, NULL), MTS_STATUS_IO);
    assert_int_equal(mts_os_map_descriptor(descriptor, UINT64_MAX, 2, &map, NULL), MTS_STATUS_IO);
    assert_int_equal(mts_os_map_descriptor(descriptor, 2, UINT64_MAX, &map, NULL), MTS_STATUS_IO);
    assert_null(map.data);
    (void)close(descriptor);
}

static void an_empty_file_maps_to_no_bytes(void **state)
{
    (void)state;
    mts_os_map map;
    assert_int_equal(mts_os_file_write(in_folder("empty"), "", 0, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_os_map_file(in_folder("empty"), &map, NULL), MTS_STATUS_OK);
    assert_non_null(map.data);
    assert_true(map.size == 0);
    mts_os_unmap(&map);
}

static void what_is_missing_or_no_file_is_told_apart(void **state)
{
    (void)state;
    mts_error error;
    mts_os_map map;
    void *data = NULL;
    size_t size = 0;
    assert_int_equal(mts_os_map_file(in_folder("none"), &map, &error), MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(error.text, "none"));
    assert_int_equal(mts_os_map_file(folder, &map, &error), MTS_STATUS_IO);
    assert_int_equal(mts_os_map_file("/dev/zero", &map, &error), MTS_STATUS_IO);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(mts_os_map_file(in_folder("pipe"), &map, &error), MTS_STATUS_IO); /* and does not hang */
    const mts_allocator *allocator = mts_allocator_default();
    assert_int_equal(mts_os_file_read(allocator, in_folder("pipe"), 10, &data, &size, &error), MTS_STATUS_IO);
    assert_int_equal(mts_os_file_read(allocator, in_folder("none"), 10, &data, &size, &error),
                     MTS_STATUS_NOT_FOUND);
    assert_int_equal(mts_os_file_write(in_folder("eleven"), "hello world", 11, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_os_file_read(allocator, in_folder("eleven"), 10, &data, &size, &error),
                     MTS_STATUS_LIMIT);
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, allocator, 1);
    assert_int_equal(mts_os_file_read(&fault.base, in_folder("eleven"), 11, &data, &size, &error),
                     MTS_STATUS_OUT_OF_MEMORY);
    assert_null(data);
}

static void replacing_a_file_leaves_no_temporary_one(void **state)
{
    (void)state;
    mts_os_map map;
    const size_t before = count_files();
    assert_int_equal(mts_os_file_write(in_folder("twice"), "first", 5, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_os_map_file(in_folder("twice"), &map, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_os_file_write(in_folder("twice"), "second", 6, NULL), MTS_STATUS_OK);
    assert_memory_equal(map.data, "first", 5); /* who has the old file keeps it */
    mts_os_unmap(&map);
    assert_true(count_files() == before + 1);
}

static void a_write_that_fails_leaves_the_old_file_and_no_temporary_one(void **state)
{
    (void)state;
    mts_error error;
    assert_int_equal(mts_os_directory_make(in_folder("wall/inside"), NULL), MTS_STATUS_OK);
    const size_t before = count_files();
    assert_int_equal(mts_os_file_write(in_folder("wall"), "x", 1, &error), MTS_STATUS_IO); /* a directory */
    assert_true(count_files() == before);
    assert_int_equal(mts_os_file_write(in_folder("nowhere/file"), "x", 1, &error), MTS_STATUS_NOT_FOUND);
    char path[5000];
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = 0;
    assert_int_equal(mts_os_file_write(path, "x", 1, &error), MTS_STATUS_IO);
}

static void a_new_file_has_the_mode_that_the_umask_leaves(void **state)
{
    static const mode_t masks[] = {0077, 0022, 0002};
    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        struct stat facts;
        const mode_t before = umask(masks[i]);
        const mts_status status = mts_os_file_write(in_folder("mode"), "x", 1, NULL);
        (void)umask(before);
        assert_int_equal(status, MTS_STATUS_OK);
        assert_int_equal(stat(in_folder("mode"), &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0666 & ~masks[i]);
    }
}

static void what_is_no_file_is_never_replaced(void **state)
{
    struct stat facts;
    mts_error error;
    (void)state;
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_int_equal(symlink("fifo", in_folder("to-fifo")), 0);
    const size_t before = count_files();
    assert_int_equal(mts_os_file_write(in_folder("fifo"), "x", 1, &error), MTS_STATUS_IO);
    assert_non_null(strstr(error.text, "only a file can be replaced"));
    assert_int_equal(mts_os_file_write(in_folder("to-fifo"), "x", 1, &error), MTS_STATUS_IO);
    assert_int_equal(mts_os_file_write(folder, "x", 1, &error), MTS_STATUS_IO);
    assert_non_null(strstr(error.text, "is a directory"));
    assert_int_equal(lstat(in_folder("fifo"), &facts), 0);
    assert_true(S_ISFIFO(facts.st_mode));
    assert_true(count_files() == before);
}

static void a_link_stays_and_its_target_is_written(void **state)
{
    void *data = NULL;
    size_t size = 0;
    struct stat facts;
    mts_error error;
    (void)state;
    assert_int_equal(mts_os_directory_make(in_folder("links"), NULL), MTS_STATUS_OK);
    assert_int_equal(symlink("links/second", in_folder("first")), 0);
    assert_int_equal(symlink("../target", in_folder("links/second")), 0);
    assert_int_equal(symlink("loop", in_folder("loop")), 0);
    for (int round = 0; round < 2; round++) { /* the target is missing in the first */
        assert_int_equal(mts_os_file_write(in_folder("first"), &"ab"[round], 1, &error), MTS_STATUS_OK);
        assert_int_equal(lstat(in_folder("first"), &facts), 0);
        assert_true(S_ISLNK(facts.st_mode));
        assert_int_equal(lstat(in_folder("links/second"), &facts), 0);
        assert_true(S_ISLNK(facts.st_mode));
        assert_int_equal(
            mts_os_file_read(mts_allocator_default(), in_folder("target"), 10, &data, &size, &error),
            MTS_STATUS_OK);
        assert_int_equal(size, 1);
        assert_int_equal(((char *)data)[0], "ab"[round]);
        mts_alloc_free(mts_allocator_default(), data);
    }
    assert_int_equal(mts_os_file_write(in_folder("loop"), "x", 1, &error), MTS_STATUS_IO);
}

static void directories_are_made_with_their_parents(void **state)
{
    (void)state;
    mts_error error;
    assert_int_equal(mts_os_directory_make(in_folder("x/y/z/"), &error), MTS_STATUS_OK);
    assert_int_equal(mts_os_directory_make(in_folder("x/y/z"), &error), MTS_STATUS_OK);
    assert_int_equal(mts_os_file_write(in_folder("x/y/z/file"), "x", 1, &error), MTS_STATUS_OK);
    assert_int_equal(mts_os_directory_make(in_folder("x/y/z/file/more"), &error), MTS_STATUS_IO);
    assert_int_equal(mts_os_directory_make("", &error), MTS_STATUS_IO);
}

static void a_library_gives_its_symbols_and_a_missing_one_its_reason(void **state)
{
    (void)state;
    char reason[128] = "";
    assert_null(mts_os_library_open("libmts-no-such-library.so", reason, sizeof reason));
    assert_non_null(strstr(reason, "libmts-no-such-library"));
    assert_null(mts_os_library_open("libmts-no-such-library.so", NULL, 0));
    mts_os_library *library = mts_os_library_open("libm.so.6", NULL, 0);
    if (!library) {
        skip(); /* another C library */
    }
    assert_non_null(mts_os_library_symbol(library, "cosf"));
    assert_null(mts_os_library_symbol(library, "mts_no_such_symbol"));
    mts_os_library_close(library);
    mts_os_library_close(NULL);
}

static void the_clock_goes_forward(void **state)
{
    (void)state;
    const uint64_t start = mts_os_clock_ns();
    const struct timespec pause = {0, 2000000};
    (void)nanosleep(&pause, NULL);
    const uint64_t elapsed = mts_os_clock_ns() - start;
    assert_true(elapsed >= 2000000 && elapsed < 10000000000u);
}

static void pages_keep_their_content(void **state)
{
    const size_t size = (size_t)5 << 20;
    unsigned char *memory = malloc(size);
    (void)state;
    assert_non_null(memory);
    memset(memory, 7, size);
    mts_os_memory_prefer_large_pages(memory + 100, size - 100);
    mts_os_memory_prefer_large_pages(memory + 1, 10); /* no whole page */
    mts_os_memory_prefer_large_pages(memory, 0);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(memory[i], 7);
    }
    free(memory);
}

static void a_folder_of_devices_shows_whether_there_may_be_a_gpu(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("dev"), 0700), 0);
    const bool always = mts_os_shows_gpu(in_folder("dev")); /* a system where it cannot be told */
    assert_int_equal(mts_os_file_write(in_folder("dev/null"), "x", 1, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_os_shows_gpu(in_folder("dev")), always);
    assert_int_equal(mts_os_file_write(in_folder("dev/nvidia0"), "x", 1, NULL), MTS_STATUS_OK);
    assert_true(mts_os_shows_gpu(in_folder("dev")));
    assert_true(mts_os_shows_gpu(in_folder("missing")));
}

/* A thread that tells how many processors it may use, each time that it is asked. */
typedef struct teller {
    _Atomic(uint32_t) asked, told, processors;
    int finds; /* `without` among them */
    uint32_t without;
} teller;

static void tell(void *context)
{
    teller *t = context;
    for (uint32_t n = 1; n <= 5; n++) {
        while (atomic_load(&t->asked) < n) {
            mts_os_sleep_ns(100000);
        }
        cpu_set_t set;
        assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
        t->finds = t->without < CPU_SETSIZE && CPU_ISSET(t->without, &set);
        atomic_store(&t->processors, mts_os_processors());
        atomic_store(&t->told, n);
    }
}

static uint32_t processors_of(teller *t, uint32_t without)
{
    t->without = without;
    const uint32_t n = atomic_fetch_add(&t->asked, 1) + 1;
    while (atomic_load(&t->told) < n) {
        mts_os_sleep_ns(100000);
    }
    return atomic_load(&t->processors);
}

static void a_thread_avoids_one_processor_and_keeps_the_others(void **state)
{
    (void)state;
    const uint32_t all = mts_os_processors(), processor = mts_os_processor();
    const uint32_t left = all > 1 ? all - 1 : 1; /* an only one is kept */
    mts_os_thread thread;
    teller t = {0};
    assert_true(mts_os_thread_start(&thread, tell, &t));
    assert_int_equal(processors_of(&t, processor), all);
    mts_os_thread_avoid(&thread, processor);
    mts_os_thread_avoid(&thread, processor);
    assert_int_equal(processors_of(&t, processor), left);
    assert_int_equal(t.finds, all == 1);
    mts_os_thread_avoid(&thread, 1000000); /* a number that none has */
    assert_int_equal(processors_of(&t, processor), all);
    mts_os_thread_avoid(&thread, processor);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    pthread_t handle;
    memcpy(&handle, &thread.handle, sizeof handle);
    assert_int_equal(pthread_setaffinity_np(handle, sizeof one, &one), 0);
    mts_os_thread_avoid(&thread, UINT32_MAX); /* a set with a processor that it was to avoid is its own */
    assert_int_equal(processors_of(&t, processor), 1);
    mts_os_thread_avoid(&thread, processor);
    assert_int_equal(processors_of(&t, processor), 1);
    mts_os_thread_join(&thread);
}

static void wait_for_word(void *context)
{
    const _Atomic(uint32_t) *word = context;
    while (atomic_load(word) == 0) {
        mts_os_word_wait(word, 0);
    }
}

static void give(const mts_os_thread *thread, const cpu_set_t *set)
{
    pthread_t handle;
    memcpy(&handle, &thread->handle, sizeof handle);
    assert_int_equal(pthread_setaffinity_np(handle, sizeof *set, set), 0);
}

static void assert_uses(const mts_os_thread *thread, const cpu_set_t *expected)
{
    pthread_t handle;
    cpu_set_t set;
    memcpy(&handle, &thread->handle, sizeof handle);
    assert_int_equal(pthread_getaffinity_np(handle, sizeof set, &set), 0);
    assert_true(CPU_EQUAL(&set, expected));
}

/* This test's own thread is the first one of the process. */
static void a_thread_stays_on_the_processors_that_the_process_is_given(void **state)
{
    (void)state;
    cpu_set_t all, first, others, second;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        skip();
    }
    uint32_t a = 0;
    for (; !CPU_ISSET(a, &all); a++) {
    }
    uint32_t b = a + 1;
    for (; !CPU_ISSET(b, &all); b++) {
    }
    CPU_ZERO(&first);
    CPU_SET(a, &first);
    CPU_ZERO(&second);
    CPU_SET(b, &second);
    CPU_XOR(&others, &all, &first);
    _Atomic(uint32_t) end = 0;
    mts_os_thread thread;
    assert_true(mts_os_thread_start(&thread, wait_for_word, &end));
    mts_os_thread_avoid(&thread, a);
    assert_uses(&thread, &others);
    /* all threads are given one processor, which with two of them is what the thread had left */
    assert_int_equal(sched_setaffinity(0, sizeof second, &second), 0);
    give(&thread, &second);
    mts_os_thread_avoid(&thread, b);
    assert_uses(&thread, &second);
    /* the process alone is given the other one, and then all again */
    assert_int_equal(sched_setaffinity(0, sizeof first, &first), 0);
    mts_os_thread_avoid(&thread, b);
    assert_uses(&thread, CPU_COUNT(&all) == 2 ? &first : &second);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    give(&thread, &all);
    mts_os_thread_avoid(&thread, a);
    assert_uses(&thread, &others);
    atomic_store(&end, 1);
    mts_os_word_wake(&end);
    mts_os_thread_join(&thread);
}

/* One that was started with processors that the process's first thread left is not bound to those of that. */
static void a_thread_started_beside_the_process_s_processors_keeps_its_own(void **state)
{
    (void)state;
    cpu_set_t all, first, others;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        skip();
    }
    uint32_t a = 0;
    for (; !CPU_ISSET(a, &all); a++) {
    }
    CPU_ZERO(&first);
    CPU_SET(a, &first);
    CPU_XOR(&others, &all, &first);
    _Atomic(uint32_t) end = 0;
    mts_os_thread thread;
    assert_true(mts_os_thread_start(&thread, wait_for_word, &end));
    assert_int_equal(sched_setaffinity(0, sizeof first, &first), 0);
    mts_os_thread_avoid(&thread, a);
    assert_uses(&thread, &others);
    mts_os_thread_avoid(&thread, UINT32_MAX);
    assert_uses(&thread, &all);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    atomic_store(&end, 1);
    mts_os_word_wake(&end);
    mts_os_thread_join(&thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_file_reads_and_maps_as_it_was),
        cmocka_unit_test(a_range_of_a_descriptor_maps_at_any_offset),
        cmocka_unit_test(an_empty_file_maps_to_no_bytes),
        cmocka_unit_test(what_is_missing_or_no_file_is_told_apart),
        cmocka_unit_test(replacing_a_file_leaves_no_temporary_one),
        cmocka_unit_test(a_write_that_fails_leaves_the_old_file_and_no_temporary_one),
        cmocka_unit_test(a_new_file_has_the_mode_that_the_umask_leaves),
        cmocka_unit_test(what_is_no_file_is_never_replaced),
        cmocka_unit_test(a_link_stays_and_its_target_is_written),
        cmocka_unit_test(directories_are_made_with_their_parents),
        cmocka_unit_test(a_library_gives_its_symbols_and_a_missing_one_its_reason),
        cmocka_unit_test(the_clock_goes_forward),
        cmocka_unit_test(pages_keep_their_content),
        cmocka_unit_test(a_folder_of_devices_shows_whether_there_may_be_a_gpu),
        cmocka_unit_test(a_thread_avoids_one_processor_and_keeps_the_others),
        cmocka_unit_test(a_thread_stays_on_the_processors_that_the_process_is_given),
        cmocka_unit_test(a_thread_started_beside_the_process_s_processors_keeps_its_own),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
