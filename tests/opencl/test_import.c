/*
 * Foreign memory in OpenCL: dma-bufs and hardware buffers are read where they lie, by whichever extension the
 * driver has, and everything that is wrong with one is told.
 *
 * No driver of a processor has these extensions, so a library of our own stands in front of it (fake/fake.h);
 * memfds pose as dma-bufs. Skipped where that library or an OpenCL device is missing.
 */
#define _GNU_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "opencl/fake/fake.h"
#include "platform/opencl/opencl.h"
#include "support/sealed_memory.h"
#include "support/device_fixture.h"

#define FLOATS 1024
#define BYTES (FLOATS * sizeof(float))
#define LAUNCHES 3
#define PATIENCE_NS ((uint64_t)20 * 1000000000u)

#define ARM "cl_arm_import_memory cl_arm_import_memory_dma_buf"
#define KHR "cl_khr_external_memory cl_khr_external_memory_dma_buf"
#define ARM_ANDROID "cl_arm_import_memory cl_arm_import_memory_android_hardware_buffer"
#define QCOM_ANDROID "cl_qcom_ext_host_ptr cl_qcom_android_ahardwarebuffer_host_ptr"

static fake_opencl *fake;
static device_fixture world;

/* What a camera would fill. */
typedef struct shared_memory {
    int fd;
    float *floats; /* the processor's view */
    fake_hardware_buffer hardware;
} shared_memory;

static shared_memory frame, other;
static mts_kernel *kernel;
static mts_buffer *act, *table, *pool;
static mts_command_list *list;

/* Three of these add up three times the pool. */
static const mts_kernel_source add = {
    .name = "add",
    .source = "kernel void add(global float *act, global const float *pool, global const uint *table, uint "
              "first)\n"
              "{ size_t i = get_global_id(0); act[i] += pool[i] * table[first]; }\n"};

static void check(mts_status status, const mts_error *error)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error->text);
    }
}

static uint32_t open_descriptors(void)
{
    uint32_t count = 0;
    for (int fd = 0; fd < 256; fd++) {
        struct stat about;
        count += fstat(fd, &about) == 0;
    }
    return count;
}

static void open_shared(shared_memory *out)
{
    out->fd = sealed_memory(BYTES);
    assert_true(out->fd >= 0);
    out->floats = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
    assert_true(out->floats != MAP_FAILED);
    out->hardware = (fake_hardware_buffer){FAKE_HARDWARE_BUFFER, out->fd};
}

static void close_shared(shared_memory *shared)
{
    if (shared->fd >= 0) {
        assert_int_equal(close(shared->fd), 0); /* still ours */
    }
    assert_int_equal(munmap(shared->floats, BYTES), 0);
}

static void draw(const shared_memory *shared, float first)
{
    for (int i = 0; i < FLOATS; i++) {
        shared->floats[i] = first + (float)i;
    }
}

static int set_up(void **state)
{
    (void)state;
    *fake = (fake_opencl){.asked = fake->asked, .alive = 0};
    device_fixture_init(&world, NULL);
    kernel = NULL;
    act = table = pool = NULL;
    list = NULL;
    open_shared(&frame);
    open_shared(&other);
    return 0;
}

/* Until drivers have released all imported memory. */
static void expect_nothing_alive(void)
{
    const uint64_t start = mts_os_clock_ns();
    while (fake->alive > 0) {
        assert_true(mts_os_clock_ns() - start < PATIENCE_NS);
    }
}

static int tear_down(void **state)
{
    (void)state;
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&kernel);
    mts_buffer_destroy(&act);
    mts_buffer_destroy(&table);
    mts_buffer_destroy(&pool);
    device_fixture_close(&world);
    close_shared(&frame);
    close_shared(&other);
    expect_nothing_alive();
    assert_true(fake->acquired == 0);
    assert_int_equal(fake->misuses, 0);
    return 0;
}

static void open_device(const char *extensions)
{
    static const uint32_t one = 1;
    mts_error error = {MTS_STATUS_OK, ""};
    fake->extensions = extensions;
    device_fixture_open(&world, &mts_backend_opencl, 0);
    check(mts_cl_kernel_create_from(world.device, &add, "", &kernel, &error), &error);
    kernel->device = world.device;
    check(mts_buffer_create(world.device, BYTES, &act, &error), &error);
    check(mts_buffer_create(world.device, sizeof one, &table, &error), &error);
    check(mts_buffer_write(table, 0, &one, sizeof one, &error), &error);
}

static mts_memory dmabuf(const shared_memory *shared)
{
    return (mts_memory){.kind = MTS_MEMORY_DMABUF, .fd = shared->fd, .size = BYTES};
}

static mts_memory android(const shared_memory *shared)
{
    return (mts_memory){.kind = MTS_MEMORY_ANDROID, .host = &shared->hardware, .size = BYTES};
}

static mts_buffer *import(mts_memory memory)
{
    mts_buffer *buffer = NULL;
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_buffer_import(world.device, &memory, &buffer, &error), &error);
    assert_true(buffer->imported);
    return buffer;
}

static void fill_launches(mts_launch launches[LAUNCHES], mts_buffer *from)
{
    for (int i = 0; i < LAUNCHES; i++) {
        launches[i] = (mts_launch){.kernel = kernel,
                                   .act = act,
                                   .pool = from,
                                   .params = table,
                                   .global = {FLOATS, 1, 1},
                                   .local = {1, 1, 1},
                                   .label = "add"};
    }
}

static void make_list(void)
{
    mts_launch launches[LAUNCHES];
    mts_error error = {MTS_STATUS_OK, ""};
    fill_launches(launches, pool);
    check(mts_command_list_create(world.device, launches, LAUNCHES, &list, &error), &error);
}

static void submit(void)
{
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_buffer_fill(act, 0, BYTES, 0, &error), &error);
    check(mts_command_list_submit(list, &error), &error);
}

static void assert_seen(float first)
{
    static float got[FLOATS];
    mts_error error = {MTS_STATUS_OK, ""};
    check(mts_buffer_read(act, 0, got, BYTES, &error), &error);
    for (int i = 0; i < FLOATS; i++) {
        assert_true(got[i] == (first + (float)i) * (float)LAUNCHES);
    }
}

static void run(float first)
{
    draw(&frame, first);
    submit();
    assert_seen(first);
}

static bool imports(mts_memory_kind kind)
{
    return (world.device->info.imports & MTS_MEMORY_BIT(kind)) != 0;
}

static void each_extension_offers_its_kinds_and_no_other(void **state)
{
    static const struct {
        const char *extensions, *missing;
        bool dmabuf, android;
    } cases[] = {
        {"", NULL, false, false},
        {ARM, NULL, true, false},
        {ARM, "clImportMemoryARM", false, false},
        {"cl_arm_import_memory cl_arm_import_memory_host", NULL, false, false},
        {"cl_arm_import_memory_dma_buffer", NULL, false, false},
        {KHR, NULL, true, false},
        {KHR, "clCreateBufferWithProperties", false, false},
        {KHR, "clEnqueueAcquireExternalMemObjectsKHR", false, false},
        {KHR, "clEnqueueReleaseExternalMemObjectsKHR", false, false},
        {"cl_khr_external_memory cl_khr_external_memory_opaque_fd", NULL, false, false},
        {"cl_khr_external_memory_dma_buf", NULL, false, false},
        {ARM_ANDROID, NULL, false, true},
        {ARM_ANDROID, "clImportMemoryARM", false, false},
        {QCOM_ANDROID, NULL, false, true},
        {"cl_qcom_android_ahardwarebuffer_host_ptr", NULL, false, false},
        {ARM_ANDROID " cl_arm_import_memory_dma_buf", NULL, true, true},
        {ARM " " KHR " " QCOM_ANDROID, NULL, true, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mts_device_info info;
        fake->extensions = cases[i].extensions;
        fake->missing = cases[i].missing;
        device_fixture_open(&world, &mts_backend_opencl, 0);
        assert_int_equal(imports(MTS_MEMORY_DMABUF), cases[i].dmabuf);
        assert_int_equal(imports(MTS_MEMORY_ANDROID), cases[i].android);
        assert_int_equal(mts_backend_opencl.describe(0, &info, NULL), MTS_STATUS_OK);
        assert_int_equal(info.imports, world.device->info.imports);
        mts_device_destroy(&world.device);
    }
}

static void without_an_extension_foreign_memory_is_unsupported(void **state)
{
    (void)state;
    mts_error error = {MTS_STATUS_OK, ""};
    open_device("");
    const mts_memory buf = dmabuf(&frame);
    assert_int_equal(mts_buffer_import(world.device, &buf, &pool, &error), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "dma-bufs"));
    const mts_memory hardware = android(&frame);
    assert_int_equal(mts_buffer_import(world.device, &hardware, &pool, &error), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "hardware buffers"));
    assert_null(pool);
    assert_int_equal(fake->imports, 0);
}

static void read_where_it_lies(const char *extensions, mts_memory memory)
{
    open_device(extensions);
    pool = import(memory);
    assert_int_equal(fake->imports, 1);
    make_list();
    for (int i = 0; i < 4; i++) { /* what is drawn between two runs is seen, and nothing is imported again */
        run((float)(100 * i));
    }
    assert_int_equal(fake->imports, 1);
}

static void a_dma_buf_is_read_where_it_lies(void **state)
{
    (void)state;
    read_where_it_lies(ARM, dmabuf(&frame));
    assert_int_equal(fake->acquires, 0);
}

static void a_dma_buf_is_read_by_a_driver_that_cannot_be_asked_for_consistency(void **state)
{
    (void)state;
    fake->knows_no_consistency = true;
    read_where_it_lies(ARM, dmabuf(&frame));
}

static void memory_that_has_to_be_acquired_is_for_every_run_and_released_after_it(void **state)
{
    (void)state;
    read_where_it_lies(KHR, dmabuf(&frame));
    assert_int_equal(fake->acquires, 4);
    assert_int_equal(fake->releases, 4);
}

static void arms_import_is_taken_where_there_are_both(void **state)
{
    (void)state;
    read_where_it_lies(KHR " " ARM, dmabuf(&frame));
    assert_int_equal(fake->acquires, 0);
}

static void a_hardware_buffer_is_read_where_it_lies_on_mali(void **state)
{
    (void)state;
    read_where_it_lies(ARM_ANDROID, android(&frame));
}

static void a_hardware_buffer_is_read_where_it_lies_on_adreno(void **state)
{
    (void)state;
    read_where_it_lies(QCOM_ANDROID, android(&frame));
}

static void a_recorded_list_acquires_too(void **state)
{
    (void)state;
    world.options.replay = MTS_USE_ON;
    read_where_it_lies(KHR, dmabuf(&frame));
    assert_int_equal(fake->acquires, 4);
    assert_int_equal(fake->releases, 4);
}

/* Frames of a camera's few buffers, in turns. */
static void a_list_goes_from_one_import_to_another(void **state)
{
    static const char *const extensions[] = {ARM, KHR};
    (void)state;
    for (size_t e = 0; e < sizeof extensions / sizeof extensions[0]; e++) {
        mts_launch launches[LAUNCHES];
        mts_error error = {MTS_STATUS_OK, ""};
        open_device(extensions[e]);
        pool = import(dmabuf(&frame));
        mts_buffer *second = import(dmabuf(&other));
        make_list();
        draw(&other, 7.0f);
        run(1.0f);
        fill_launches(launches, second);
        launches[1].pool = pool; /* both at once */
        check(mts_command_list_update(list, launches, LAUNCHES, &error), &error);
        submit();
        static float got[FLOATS];
        check(mts_buffer_read(act, 0, got, BYTES, &error), &error);
        assert_true(got[0] == 7.0f + 1.0f + 7.0f);
        fill_launches(launches, table); /* no foreign memory any more */
        launches[0].global[0] = launches[1].global[0] = launches[2].global[0] = 1;
        check(mts_command_list_update(list, launches, LAUNCHES, &error), &error);
        const uint32_t acquires = fake->acquires;
        submit();
        assert_int_equal(fake->acquires, acquires);
        assert_int_equal(acquires, e == 0 ? 0 : 2);
        mts_command_list_destroy(&list);
        mts_buffer_destroy(&second);
        mts_buffer_destroy(&pool);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&act);
        mts_buffer_destroy(&table);
        mts_device_destroy(&world.device);
    }
}

static void profiling_acquires_too(void **state)
{
    (void)state;
    mts_launch_time times[LAUNCHES];
    mts_error error = {MTS_STATUS_OK, ""};
    open_device(KHR);
    pool = import(dmabuf(&frame));
    make_list();
    draw(&frame, 5.0f);
    check(mts_buffer_fill(act, 0, BYTES, 0, &error), &error);
    check(mts_command_list_profile(list, times, LAUNCHES, &error), &error);
    assert_seen(5.0f);
    assert_int_equal(fake->acquires, 1);
    assert_int_equal(fake->releases, 1);
}

static void the_descriptor_stays_the_callers(void **state)
{
    static const char *const extensions[] = {ARM, KHR};
    (void)state;
    for (size_t e = 0; e < sizeof extensions / sizeof extensions[0]; e++) {
        const uint32_t before = open_descriptors();
        open_device(extensions[e]);
        const uint32_t opened = open_descriptors();
        pool = import(dmabuf(&frame));
        mts_buffer_destroy(&pool);
        expect_nothing_alive();
        assert_int_equal(open_descriptors(), opened);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&act);
        mts_buffer_destroy(&table);
        mts_device_destroy(&world.device);
        assert_true(open_descriptors() >= before); /* drivers keep some of their own */
        struct stat about;
        assert_int_equal(fstat(frame.fd, &about), 0);
    }
}

static void the_callers_descriptor_may_be_closed_once_imported(void **state)
{
    static const char *const extensions[] = {ARM, KHR};
    (void)state;
    for (size_t e = 0; e < sizeof extensions / sizeof extensions[0]; e++) {
        open_device(extensions[e]);
        const int copy = dup(frame.fd);
        const mts_memory memory = {.kind = MTS_MEMORY_DMABUF, .fd = copy, .size = BYTES};
        pool = import(memory);
        assert_int_equal(close(copy), 0);
        make_list();
        run(3.0f);
        mts_command_list_destroy(&list);
        mts_buffer_destroy(&pool);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&act);
        mts_buffer_destroy(&table);
        mts_device_destroy(&world.device);
    }
}

static void assert_refused(const mts_memory *memory, mts_status status, const char *said)
{
    mts_error error = {MTS_STATUS_OK, ""};
    mts_buffer *buffer = (mts_buffer *)&error;
    expect_nothing_alive();
    const uint32_t alive = world.allocator.alive;
    const uint32_t descriptors = open_descriptors();
    assert_int_equal(mts_buffer_import(world.device, memory, &buffer, &error), status);
    assert_null(buffer);
    if (!strstr(error.text, said)) {
        fail_msg("'%s' does not say '%s'", error.text, said);
    }
    assert_int_equal(world.allocator.alive, alive);
    assert_int_equal(open_descriptors(), descriptors);
    assert_true(fake->alive == 0);
}

static void wrong_descriptors_and_sizes_are_told(void **state)
{
    static const char *const extensions[] = {ARM, KHR};
    (void)state;
    for (size_t e = 0; e < sizeof extensions / sizeof extensions[0]; e++) {
        open_device(extensions[e]);
        mts_memory bad = dmabuf(&frame);
        bad.size = BYTES + 1;
        assert_refused(&bad, MTS_STATUS_INVALID_ARGUMENT, "4097 bytes of a dma-buf that has 4096");
        bad.size = 0;
        assert_refused(&bad, MTS_STATUS_INVALID_ARGUMENT, "at least one byte");
        bad = dmabuf(&frame);
        bad.fd = 250; /* not open */
        assert_refused(&bad, MTS_STATUS_INVALID_ARGUMENT, "descriptor 250 of a dma-buf is not open");
        bad.fd = -1;
        assert_refused(&bad, MTS_STATUS_INVALID_ARGUMENT, "the memory to import");
        const mts_memory good = dmabuf(&frame);
        const char *call = e == 0 ? "clImportMemoryARM" : "clCreateBufferWithProperties";
        fake->fail = -59; /* CL_INVALID_OPERATION */
        assert_refused(&good, MTS_STATUS_UNSUPPORTED, call);
        fake->fail = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        assert_refused(&good, MTS_STATUS_OUT_OF_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE");
        pool = import(good); /* nothing of that stays */
        mts_buffer_destroy(&pool);
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&act);
        mts_buffer_destroy(&table);
        mts_device_destroy(&world.device);
    }
}

static void a_thing_that_is_no_hardware_buffer_is_told(void **state)
{
    static const char *const extensions[] = {ARM_ANDROID, QCOM_ANDROID};
    (void)state;
    for (size_t e = 0; e < sizeof extensions / sizeof extensions[0]; e++) {
        const fake_hardware_buffer nothing = {0, frame.fd};
        const mts_memory bad = {.kind = MTS_MEMORY_ANDROID, .host = &nothing, .size = BYTES};
        open_device(extensions[e]);
        assert_refused(&bad, MTS_STATUS_UNSUPPORTED, "4096 bytes of foreign memory");
        mts_kernel_destroy(&kernel);
        mts_buffer_destroy(&act);
        mts_buffer_destroy(&table);
        mts_device_destroy(&world.device);
    }
}

static void a_failed_acquiring_or_launch_leaves_nothing_acquired(void **state)
{
    (void)state;
    mts_error error = {MTS_STATUS_OK, ""};
    open_device(KHR);
    pool = import(dmabuf(&frame));
    make_list();
    fake->fail = -61;
    assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE);
    assert_non_null(strstr(error.text, "clEnqueueAcquireExternalMemObjectsKHR"));
    assert_true(fake->acquired == 0);
    fake->fail_launch = CL_OUT_OF_RESOURCES;
    assert_int_equal(mts_command_list_submit(list, &error), MTS_STATUS_DEVICE);
    assert_non_null(strstr(error.text, "launch 'add'"));
    assert_true(fake->acquired == 0);
    run(2.0f);
}

static void a_failed_allocation_is_out_of_memory_and_leaves_nothing(void **state)
{
    (void)state;
    open_device(KHR);
    for (uint32_t nth = 1;; nth++) {
        mts_launch launches[LAUNCHES];
        mts_error error = {MTS_STATUS_OK, ""};
        const mts_memory memory = dmabuf(&frame);
        const uint32_t alive = world.allocator.alive;
        world.allocator.calls = world.allocator.failed = 0;
        world.allocator.nth = nth;
        mts_status status = mts_buffer_import(world.device, &memory, &pool, &error);
        if (status == MTS_STATUS_OK) {
            fill_launches(launches, pool);
            status = mts_command_list_create(world.device, launches, LAUNCHES, &list, &error);
        }
        world.allocator.nth = 0;
        const bool failed = world.allocator.failed != 0;
        assert_int_equal(status, failed ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_OK);
        mts_command_list_destroy(&list);
        mts_buffer_destroy(&pool);
        assert_int_equal(world.allocator.alive, alive);
        if (!failed) {
            assert_in_range(nth, 3, 10);
            return;
        }
    }
}

/* The library with the loader's name is ours, and finds a device behind it. */
static const char *find_fake(void)
{
    mts_os_library *library = mts_os_library_open("libOpenCL.so.1", NULL, 0);
    void *const symbol = library ? mts_os_library_symbol(library, "fake_opencl_state") : NULL;
    fake_opencl_state_fn state = NULL;
    if (!symbol) {
        return "the library in front of OpenCL's is not there";
    }
    memcpy(&state, &symbol, sizeof symbol);
    fake = state();
    if (mts_backend_opencl.count() == 0) {
        return "there is no OpenCL device";
    }
    mts_device_info info;
    (void)mts_backend_opencl.describe(0, &info, NULL);
    return fake->asked > 0 ? NULL : "another OpenCL library was found";
}

#define IMPORT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IMPORT_TEST(each_extension_offers_its_kinds_and_no_other),
        IMPORT_TEST(without_an_extension_foreign_memory_is_unsupported),
        IMPORT_TEST(a_dma_buf_is_read_where_it_lies),
        IMPORT_TEST(a_dma_buf_is_read_by_a_driver_that_cannot_be_asked_for_consistency),
        IMPORT_TEST(memory_that_has_to_be_acquired_is_for_every_run_and_released_after_it),
        IMPORT_TEST(arms_import_is_taken_where_there_are_both),
        IMPORT_TEST(a_hardware_buffer_is_read_where_it_lies_on_mali),
        IMPORT_TEST(a_hardware_buffer_is_read_where_it_lies_on_adreno),
        IMPORT_TEST(a_recorded_list_acquires_too),
        IMPORT_TEST(a_list_goes_from_one_import_to_another),
        IMPORT_TEST(profiling_acquires_too),
        IMPORT_TEST(the_descriptor_stays_the_callers),
        IMPORT_TEST(the_callers_descriptor_may_be_closed_once_imported),
        IMPORT_TEST(wrong_descriptors_and_sizes_are_told),
        IMPORT_TEST(a_thing_that_is_no_hardware_buffer_is_told),
        IMPORT_TEST(a_failed_acquiring_or_launch_leaves_nothing_acquired),
        IMPORT_TEST(a_failed_allocation_is_out_of_memory_and_leaves_nothing),
    };
    const char *missing = find_fake();
    if (missing) {
        (void)printf("skipped: %s\n", missing);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
