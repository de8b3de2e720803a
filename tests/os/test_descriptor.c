/*
 * Descriptors of others: what they name, and how large it is. Files without an inode of their own (eventfds)
 * pose as the dma-bufs of Linux before 5.3.
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/os/descriptor.h"
#include "platform/os/foreign.h"

static int make_memory(void)
{
    const int fd = memfd_create("memory", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void copies_of_a_descriptor_name_one_memory_and_others_do_not(void **state)
{
    (void)state;
    const int one = make_memory();
    const int other = make_memory();
    const int copy = mts_os_descriptor_copy(one);
    assert_true(mts_os_descriptor_same(one, one));
    assert_true(mts_os_descriptor_same(one, copy));
    assert_false(mts_os_descriptor_same(one, other));
    assert_int_equal(close(copy), 0);
    assert_false(mts_os_descriptor_same(one, copy));
    assert_int_equal(close(one) | close(other), 0);
}

static void things_that_share_an_inode_are_not_taken_for_one(void **state)
{
    uint64_t of_one[2], of_other[2];
    (void)state;
    const int one = eventfd(0, EFD_CLOEXEC);
    const int other = eventfd(0, EFD_CLOEXEC);
    const int copy = mts_os_descriptor_copy(one);
    assert_true(mts_os_descriptor_identity(one, of_one) && mts_os_descriptor_identity(other, of_other));
    if (of_one[0] != of_other[0] || of_one[1] != of_other[1]) {
        (void)printf("eventfds have inodes of their own here\n");
    }
    assert_false(mts_os_descriptor_same(one, other));
    const long told = syscall(SYS_kcmp, getpid(), getpid(), 0, one, copy);
    assert_int_equal(mts_os_descriptor_same(one, copy), told == 0);
    assert_int_equal(close(one) | close(other) | close(copy), 0);
}

static void *ask_for_size(void *argument)
{
    const int *fd = argument;
    for (int i = 0; i < 20000; i++) {
        uint64_t size = 0;
        (void)mts_os_descriptor_size(*fd, &size);
    }
    return NULL;
}

/* Also for a moment: another owner of the descriptor may be reading. */
static void asking_for_a_size_leaves_the_offset_alone(void **state)
{
    uint64_t size = 7;
    uint32_t moved = 0;
    int ends[2];
    pthread_t thread;
    (void)state;
    int fd = make_memory();
    assert_true(mts_os_descriptor_size(fd, &size));
    assert_int_equal(size, 0);
    assert_int_equal(ftruncate(fd, 12345), 0);
    assert_int_equal(lseek(fd, 99, SEEK_SET), 99);
    assert_true(mts_os_descriptor_size(fd, &size));
    assert_int_equal(size, 12345);
    assert_int_equal(pthread_create(&thread, NULL, ask_for_size, &fd), 0);
    for (int i = 0; i < 20000; i++) {
        moved += lseek(fd, 0, SEEK_CUR) != 99;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(moved, 0);
    assert_int_equal(close(fd), 0);
    assert_false(mts_os_descriptor_size(fd, &size));
    assert_int_equal(pipe(ends), 0);
    assert_true(mts_os_descriptor_size(ends[0], &size)); /* it has none */
    assert_true(size == UINT64_MAX);
    assert_int_equal(close(ends[0]) | close(ends[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_descriptor_name_one_memory_and_others_do_not),
        cmocka_unit_test(things_that_share_an_inode_are_not_taken_for_one),
        cmocka_unit_test(asking_for_a_size_leaves_the_offset_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
