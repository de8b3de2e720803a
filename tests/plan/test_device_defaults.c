/*
 * test_device_defaults.c: which row of the defaults a device takes, by what its driver calls it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/device_defaults.h"

static const mts_device_defaults *row_of(const char *name, const char *driver, uint32_t arch)
{
    mts_device_info info = {.is_gpu = true, .vector_floats = 4, .arch = arch};
    (void)snprintf(info.name, sizeof info.name, "%s", name);
    (void)snprintf(info.driver, sizeof info.driver, "%s", driver);
    return mts_device_defaults_find(&info);
}

static void phones_gpus_have_rows_by_generation(void **state)
{
    static const struct {
        const char *name, *driver, *title;
    } devices[] = {
        /* Adreno says its number in the version of the device */
        {"QUALCOMM Adreno(TM)", "OpenCL 2.0 QUALCOMM build; OpenCL 2.0 Adreno(TM) 640; x", "adreno 6xx"},
        {"QUALCOMM Adreno(TM)", "x; OpenCL 3.0 Adreno(TM) 740; y", "adreno 7xx"},
        {"QUALCOMM Adreno(TM)", "x; OpenCL 3.0 Adreno(TM) 830; y", "adreno 8xx"},
        {"QUALCOMM Adreno(TM)", "x; OpenCL 2.0 Adreno(TM) 540; y", "adreno"},
        {"QUALCOMM Adreno(TM)", "x; OpenCL 3.0 Adreno(TM) X1-85; y", "adreno"},
        {"Mali-T880", "", "mali"},
        {"Mali-G31", "", "mali bifrost"},
        {"Mali-G71 MP8", "", "mali bifrost"},
        {"Mali-G76", "", "mali bifrost"},
        {"Mali-G78 r0p1", "", "mali valhall"},
        {"Mali-G310", "", "mali valhall"},
        {"Mali-G710 r0p0", "", "mali valhall"},
        {"Mali-G715-Immortalis MC11", "", "mali valhall"},
        {"Mali-G720-Immortalis MC12", "", "mali 5th generation"},
        {"Mali-G925-Immortalis MC12", "", "mali 5th generation"},
        {"Mali-G1-Ultra MC12", "", "mali 5th generation"},
        {"PowerVR Rogue GE8320", "", "powervr"},
        {"Samsung Xclipse 940", "", "xclipse"},
        {"Somebody's GPU", "a driver", "unknown"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        const mts_device_defaults *row = row_of(devices[i].name, devices[i].driver, 0);
        assert_string_equal(row->title, devices[i].title);
        assert_int_equal(row->packed, strcmp(row->title, "unknown") != 0);
        assert_int_equal(row->images, strstr(row->title, "adreno") != NULL);
        assert_int_equal(row->half, row->packed);
    }
}

static void nvidias_have_rows_by_compute_capability_and_keep_planes(void **state)
{
    static const struct {
        uint32_t arch;
        const char *title;
    } devices[] = {{53, "maxwell"},          {61, "pascal"},
                   {62, "pascal"},           {72, "volta, turing"},
                   {75, "volta, turing"},    {87, "ampere to hopper"},
                   {90, "ampere to hopper"}, {101, "blackwell, thor"},
                   {110, "blackwell, thor"}, {0, "nvidia"}};
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        const mts_device_defaults *row = row_of("NVIDIA Orin", "", devices[i].arch);
        assert_string_equal(row->title, devices[i].title);
        assert_false(row->packed);
        assert_false(row->images);
        assert_false(row->half);
    }
}

static void processors_have_rows_by_their_vectors(void **state)
{
    const mts_device_info narrow = {.vector_floats = 8, .name = "Mali-G78"};
    const mts_device_info wide = {.vector_floats = 16};
    (void)state;
    assert_string_equal(mts_device_defaults_find(&narrow)->title, "processor");
    assert_int_equal(mts_device_defaults_find(&wide)->tile.rows, 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phones_gpus_have_rows_by_generation),
        cmocka_unit_test(nvidias_have_rows_by_compute_capability_and_keep_planes),
        cmocka_unit_test(processors_have_rows_by_their_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
