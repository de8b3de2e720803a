/*
 * Caches: what another user can have put there is never read, links are never followed, and killed
 * writers leave nothing for long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/os/cache_file.h"

#define NOBODY 65534

static char folder[64];
static uint32_t warnings;
static char warned[512];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/mts-private-XXXXXX");
    warnings = 0;
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

static void count_warning(void *context, mts_log_severity severity, const char *text)
{
    (void)context;
    if (severity == MTS_LOG_WARNING) {
        warnings++;
        (void)snprintf(warned, sizeof warned, "%s", text);
    }
}

static const mts_log told = {.write = count_warning};

static mts_os_cache cache_at(const char *directory)
{
    return (mts_os_cache){.allocator = mts_allocator_default(),
                          .log = &told,
                          .directory = directory,
                          .ending = "bin",
                          .magic = {'T', 'E', 'S', 'T'},
                          .most = 1000};
}

static mts_status store(const mts_os_cache *cache)
{
    mts_os_cache_file file;
    assert_int_equal(mts_os_cache_make(cache, "key", 4, &file), MTS_STATUS_OK);
    memcpy(file.body, "body", 4);
    const mts_status status = mts_os_cache_store(cache, &file);
    mts_os_cache_release(cache, &file);
    return status;
}

static mts_status load(const mts_os_cache *cache)
{
    mts_os_cache_file file;
    const mts_status status = mts_os_cache_load(cache, "key", &file);
    if (status == MTS_STATUS_OK) {
        assert_memory_equal(file.body, "body", 4);
    }
    mts_os_cache_release(cache, &file);
    return status;
}

/* Path of the only file that does not begin with a dot; counts all of them. */
static size_t only_file(const char *directory, char path[512])
{
    size_t count = 0;
    DIR *all = opendir(directory);
    assert_non_null(all);
    for (struct dirent *entry = readdir(all); entry; entry = readdir(all)) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, 512, "%s/%s", directory, entry->d_name);
            count++;
        }
    }
    (void)closedir(all);
    return count;
}

static void a_cache_is_made_for_its_user_alone(void **state)
{
    char path[512];
    struct stat facts;
    (void)state;
    const mode_t before = umask(0);
    const char *made = in_folder("a/b");
    const mts_os_cache cache = cache_at(made);
    assert_int_equal(load(&cache), MTS_STATUS_NOT_FOUND);
    assert_int_equal(store(&cache), MTS_STATUS_OK);
    (void)umask(before);
    assert_int_equal(stat(made, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_int_equal(only_file(made, path), 1);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(load(&cache), MTS_STATUS_OK);
    assert_int_equal(warnings, 0);
}

static void a_cache_that_others_may_write_is_none(void **state)
{
    static const mode_t modes[] = {0720, 0702, 0777};
    char path[512];
    (void)state;
    const mts_os_cache cache = cache_at(folder);
    assert_int_equal(store(&cache), MTS_STATUS_OK);
    assert_int_equal(only_file(folder, path), 1);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(folder, modes[i]), 0);
        assert_int_equal(load(&cache), MTS_STATUS_MALFORMED);
        assert_int_equal(store(&cache), MTS_STATUS_MALFORMED);
        assert_int_equal(warnings, 2 * (i + 1));
        assert_non_null(strstr(warned, "other users may write to it"));
    }
    assert_int_equal(chmod(folder, 0755), 0); /* others may read it */
    assert_int_equal(load(&cache), MTS_STATUS_OK);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(load(&cache), MTS_STATUS_MALFORMED);
    assert_true(mts_os_cache_rejects(MTS_STATUS_MALFORMED));
    assert_int_equal(store(&cache), MTS_STATUS_OK); /* the file is replaced */
    assert_int_equal(load(&cache), MTS_STATUS_OK);
}

static void a_cache_of_another_user_is_none(void **state)
{
    char path[512];
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root gives files away */
    }
    const mts_os_cache cache = cache_at(folder);
    assert_int_equal(store(&cache), MTS_STATUS_OK);
    assert_int_equal(only_file(folder, path), 1);
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    assert_int_equal(load(&cache), MTS_STATUS_MALFORMED);
    assert_non_null(strstr(warned, "belongs to user 65534"));
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(load(&cache), MTS_STATUS_OK);
    assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    assert_int_equal(load(&cache), MTS_STATUS_MALFORMED);
    assert_int_equal(store(&cache), MTS_STATUS_MALFORMED);
}

static void a_link_in_place_of_a_cached_file_is_replaced_and_never_followed(void **state)
{
    char path[512];
    char mine[512];
    struct stat facts;
    void *data = NULL;
    size_t size = 0;
    (void)state;
    const mts_os_cache cache = cache_at(folder);
    assert_int_equal(store(&cache), MTS_STATUS_OK);
    assert_int_equal(only_file(folder, path), 1);
    (void)snprintf(mine, sizeof mine, "%s/.mine", folder);
    assert_int_equal(rename(path, mine), 0);
    assert_int_equal(symlink(mine, path), 0);
    assert_int_equal(load(&cache), MTS_STATUS_MALFORMED); /* though it leads to a file that is right */
    assert_int_equal(mts_os_file_write(mine, "precious", 8, NULL), MTS_STATUS_OK);
    assert_int_equal(store(&cache), MTS_STATUS_OK);
    assert_int_equal(lstat(path, &facts), 0);
    assert_true(S_ISREG(facts.st_mode));
    assert_int_equal(mts_os_file_read(mts_allocator_default(), mine, 100, &data, &size, NULL), MTS_STATUS_OK);
    assert_int_equal(size, 8);
    assert_memory_equal(data, "precious", 8);
    mts_alloc_free(mts_allocator_default(), data);
}

static void a_link_in_place_of_the_folder_is_no_cache(void **state)
{
    char path[512];
    char link[256];
    (void)state;
    assert_int_equal(mkdir(in_folder("victim"), 0700), 0);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("victim", link), 0);
    const mts_os_cache cache = cache_at(link);
    assert_int_equal(store(&cache), MTS_STATUS_MALFORMED);
    assert_int_equal(load(&cache), MTS_STATUS_MALFORMED);
    assert_non_null(strstr(warned, "is a link"));
    assert_int_equal(only_file(in_folder("victim"), path), 0);
}

static void a_pipe_in_place_of_a_cached_file_does_not_hang(void **state)
{
    char path[512];
    (void)state;
    const mts_os_cache cache = cache_at(folder);
    assert_int_equal(store(&cache), MTS_STATUS_OK);
    assert_int_equal(only_file(folder, path), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load(&cache), MTS_STATUS_IO);
}

/* Names of temporary files are no secret: links, folders and files of others may lie there. */
static void what_lies_at_the_name_of_a_temporary_file_is_left_alone(void **state)
{
    char victim[256];
    void *data = NULL;
    size_t size = 0;
    (void)state;
    (void)snprintf(victim, sizeof victim, "%s/victim", folder);
    assert_int_equal(mts_os_file_write(victim, "precious", 8, NULL), MTS_STATUS_OK);
    assert_int_equal(symlink(victim, in_folder("file.0.tmp")), 0);
    assert_int_equal(mkdir(in_folder("file.1.tmp"), 0700), 0);
    assert_int_equal(mkfifo(in_folder("file.2.tmp"), 0600), 0);
    assert_int_equal(mts_os_file_write(in_folder("file"), "new", 3, NULL), MTS_STATUS_OK);
    assert_int_equal(mts_os_file_read(mts_allocator_default(), victim, 100, &data, &size, NULL),
                     MTS_STATUS_OK);
    assert_memory_equal(data, "precious", 8);
    mts_alloc_free(mts_allocator_default(), data);
}

/* One file each of a writer that was killed, and of one that still writes. */
static void a_temporary_file_is_removed_once_its_writer_is_dead(void **state)
{
    int ready[2];
    (void)state;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int file = open(in_folder("file.0.tmp"), O_WRONLY | O_CREAT | O_EXCL, 0600);
        (void)!write(ready[1], flock(file, LOCK_EX) == 0 ? "y" : "n", 1);
        for (;;) {
            (void)pause();
        }
    }
    char answer = 0;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    assert_int_equal(mts_os_file_write(in_folder("file"), "a", 1, NULL), MTS_STATUS_OK);
    assert_int_equal(access(in_folder("file.0.tmp"), F_OK), 0); /* its writer lives */
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(mts_os_file_write(in_folder("file"), "b", 1, NULL), MTS_STATUS_OK);
    assert_int_equal(access(in_folder("file.0.tmp"), F_OK), -1);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* Whole or not there, and after one more write nothing is left of those that were killed. */
static void killed_writers_leave_whole_files_and_nothing_for_long(void **state)
{
    enum { SIZE = 1 << 18 };
    static unsigned char data[SIZE];
    char path[512];
    (void)state;
    for (int round = 0; round < 60; round++) {
        pid_t children[3];
        for (int c = 0; c < 3; c++) {
            children[c] = fork();
            assert_true(children[c] >= 0);
            if (children[c] == 0) {
                for (int i = 0;; i++) {
                    memset(data, 'a' + (i + c) % 20, SIZE);
                    (void)mts_os_file_write(in_folder("file"), data, SIZE, NULL);
                }
            }
        }
        mts_os_sleep_ns(500000u + 700000u * (uint64_t)(round % 10));
        for (int c = 0; c < 3; c++) {
            (void)kill(children[c], SIGKILL);
            (void)waitpid(children[c], NULL, 0);
        }
        void *read = NULL;
        size_t size = 0;
        const mts_status status =
            mts_os_file_read(mts_allocator_default(), in_folder("file"), SIZE, &read, &size, NULL);
        assert_true(status == MTS_STATUS_OK || (status == MTS_STATUS_NOT_FOUND && round < 5));
        if (status == MTS_STATUS_OK) {
            assert_int_equal(size, SIZE);
            for (size_t i = 1; i < size; i++) {
                assert_int_equal(((unsigned char *)read)[i], ((unsigned char *)read)[0]);
            }
        }
        mts_alloc_free(mts_allocator_default(), read);
    }
    for (int i = 0; i < 3; i++) { /* of three writers, three names at most */
        assert_int_equal(mts_os_file_write(in_folder("file"), data, SIZE, NULL), MTS_STATUS_OK);
    }
    (void)only_file(folder, path);
    assert_int_equal(access(in_folder("file.0.tmp"), F_OK), -1);
}

#define PRIVATE_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRIVATE_TEST(a_cache_is_made_for_its_user_alone),
        PRIVATE_TEST(a_cache_that_others_may_write_is_none),
        PRIVATE_TEST(a_cache_of_another_user_is_none),
        PRIVATE_TEST(a_link_in_place_of_a_cached_file_is_replaced_and_never_followed),
        PRIVATE_TEST(a_link_in_place_of_the_folder_is_no_cache),
        PRIVATE_TEST(a_pipe_in_place_of_a_cached_file_does_not_hang),
        PRIVATE_TEST(what_lies_at_the_name_of_a_temporary_file_is_left_alone),
        PRIVATE_TEST(a_temporary_file_is_removed_once_its_writer_is_dead),
        PRIVATE_TEST(killed_writers_leave_whole_files_and_nothing_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
