/*
 * test_kernel_config.c: defaults by device, the table of measured configs, and what a layer's signature depends on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lower/implementations.h"
#include "support/synth.h"

static mts_device_info cpu(uint32_t vector)
{
    return (mts_device_info){.name = "some processor",
                             .compute_units = 4,
                             .vector_floats = vector,
                             .work_group_size = 4096,
                             .memory_bytes = 1u << 30};
}

static mts_device_info gpu(const char *name, uint32_t group)
{
    mts_device_info info = {.is_gpu = true, .compute_units = 8, .vector_floats = 4, .work_group_size = group};
    memcpy(info.name, name, strlen(name) + 1);
    return info;
}

static void defaults_fit_the_device(void **state)
{
    (void)state;
    const mts_device_info wide = cpu(16);
    const mts_device_info narrow = cpu(4);
    assert_true(mts_kernel_config_default(&wide, NULL).rows > mts_kernel_config_default(&narrow, NULL).rows);
    assert_int_equal(mts_kernel_config_default(&wide, NULL).local, 1);
    static const char *const names[] = {"Some GPU", "QUALCOMM Adreno(TM)", "Mali-G78", "NVIDIA Tegra"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (uint32_t group = 1; group <= 1024; group *= 8) {
            const mts_device_info info = gpu(names[i], group);
            const mts_kernel_config usual = mts_kernel_config_default(&info, NULL);
            const mts_kernel_config smallest = mts_kernel_config_smallest(&info);
            assert_true(usual.local >= 1 && usual.local <= group);
            assert_true(smallest.local >= 1 && smallest.local <= group);
            assert_true(smallest.rows <= usual.rows && smallest.vectors <= usual.vectors);
            assert_int_equal(smallest.kernel, MTS_KERNEL_CONFIG_TILE);
        }
    }
}

static void candidates_differ_from_each_other_and_are_never_more_than_asked_for(void **state)
{
    (void)state;
    const mts_device_info infos[3] = {cpu(16), cpu(4), gpu("Mali-G78", 256)};
    for (int d = 0; d < 3; d++) {
        mts_kernel_config list[64];
        const uint32_t count = mts_kernel_config_candidates(&infos[d], list, 64);
        assert_true(count >= 8 && count < 64);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(list[i].rows > 0 && list[i].vectors > 0 && list[i].local > 0);
            for (uint32_t k = 0; k < i; k++) {
                assert_memory_not_equal(&list[i], &list[k], sizeof list[i]);
            }
        }
        assert_int_equal(mts_kernel_config_candidates(&infos[d], list, 3), 3);
    }
}

static void a_measured_choice_is_found_by_signature_then_by_kind_then_the_default_is_taken(void **state)
{
    (void)state;
    const mts_device_info info = cpu(16);
    mts_kernel_configs configs;
    mts_error error = {0};
    mts_kernel_configs_init(&configs, mts_allocator_default());
    mts_layer_facts facts = {.signature = 1, .kind = 100, .members = 8};
    const mts_kernel_config usual = mts_kernel_configs_get(&configs, &info, &facts);
    assert_int_equal(usual.rows, mts_kernel_config_default(&info, &facts).rows);
    const mts_kernel_config_entry near = {
        .signature = 2, .kind = 100, .members = 6, .config = {.rows = 3, .vectors = 7}};
    const mts_kernel_config_entry far = {
        .signature = 3, .kind = 100, .members = 1, .config = {.rows = 4, .vectors = 7}};
    const mts_kernel_config_entry other = {
        .signature = 4, .kind = 9, .members = 8, .config = {.rows = 5, .vectors = 7}};
    mts_kernel_config_entry exact = {
        .signature = 1, .kind = 100, .members = 8, .config = {.rows = 6, .vectors = 7}};
    assert_int_equal(mts_kernel_configs_add(&configs, &other, &error), MTS_STATUS_OK);
    assert_int_equal(mts_kernel_configs_get(&configs, &info, &facts).rows, usual.rows);
    assert_int_equal(mts_kernel_configs_add(&configs, &far, &error), MTS_STATUS_OK);
    assert_int_equal(mts_kernel_configs_get(&configs, &info, &facts).rows, 4);
    assert_int_equal(mts_kernel_configs_add(&configs, &near, &error), MTS_STATUS_OK);
    assert_int_equal(mts_kernel_configs_get(&configs, &info, &facts).rows, 3);
    assert_int_equal(mts_kernel_configs_add(&configs, &exact, &error), MTS_STATUS_OK);
    assert_int_equal(mts_kernel_configs_get(&configs, &info, &facts).rows, 6);
    exact.config.rows = 2;
    assert_int_equal(mts_kernel_configs_add(&configs, &exact, &error), MTS_STATUS_OK);
    assert_int_equal(mts_kernel_configs_get(&configs, &info, &facts).rows, 2);
    assert_int_equal(configs.count, 4);
    const mts_kernel_config forced = {.rows = 1, .vectors = 1, .local = 1};
    configs.forced = &forced;
    assert_int_equal(mts_kernel_configs_get(&configs, &info, &facts).rows, 1);
    mts_kernel_configs_release(&configs);
}

/* ---- signatures ---- */

typedef struct stitching {
    test_synth synth;
    mts_arena arena;
    const mts_graph *graphs[8];
    mts_stitched *stitched;
} stitching;

static void stitch(stitching *s, double share, const double *prune, uint32_t kinds, uint32_t tasks,
                   bool shared)
{
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, tasks, prune, kinds, share);
    uint32_t groups[8] = {0};
    uint32_t slots[8];
    const uint32_t *slot_of[8];
    mts_error error = {0};
    test_synth_open(&s->synth, &o);
    mts_arena_init(&s->arena, mts_allocator_default());
    for (uint32_t t = 0; t < tasks; t++) {
        s->graphs[t] = s->synth.archive->tasks[t].graph;
        slots[t] = t;
        slot_of[t] = &slots[t];
    }
    const mts_stitch_request request = {.graphs = s->graphs,
                                        .graph_count = tasks,
                                        .group_of = groups,
                                        .group_count = 1,
                                        .slot_of = slot_of,
                                        .share = shared};
    test_must(mts_stitch(&request, &s->arena, &s->stitched, &error), &error, "stitch");
}

static void unstitch(stitching *s)
{
    mts_arena_release(&s->arena);
    test_synth_close(&s->synth);
}

/* Of the layer with this number among the convolutions. */
static mts_layer_facts facts_of(stitching *s, uint32_t number)
{
    mts_layer_facts facts = {0};
    mts_error error = {0};
    for (uint32_t l = 0; l < s->stitched->layer_count; l++) {
        if (s->stitched->layers[l].op == MTS_OP_CONV && number-- == 0) {
            test_must(mts_layer_facts_get(s->stitched, l, &s->arena, &facts, &error), &error, "facts");
            return facts;
        }
    }
    fail();
    return facts;
}

static void a_signature_depends_on_sizes_sharing_and_members_and_on_nothing_else(void **state)
{
    const double some[2] = {0.9, 0.8};
    stitching a, same, more, private, wider, unshared;
    (void)state;
    stitch(&a, 0.5, some, 1, 3, true);
    stitch(&same, 0.5, some, 1, 3, true);
    stitch(&more, 0.5, some, 1, 4, true);
    stitch(&private, 0.0, some, 1, 3, true);
    stitch(&wider, 0.5, some, 2, 3, true);
    stitch(&unshared, 0.5, some, 1, 3, false);
    for (uint32_t n = 1; n < 4; n++) {
        const mts_layer_facts base = facts_of(&a, n);
        assert_int_equal(base.op, MTS_OP_CONV);
        assert_int_equal(base.members, 3);
        assert_non_null(base.conv);
        assert_true(base.signature == facts_of(&same, n).signature);
        assert_true(base.kind == facts_of(&same, n).kind);
        assert_true(base.signature != facts_of(&more, n).signature);
        assert_true(base.kind == facts_of(&more, n).kind);
        assert_true(base.signature != facts_of(&private, n).signature);
        assert_true(base.signature != facts_of(&wider, n).signature);
        assert_true(base.signature != facts_of(&unshared, n).signature);
    }
    assert_true(facts_of(&a, 0).kind != facts_of(&a, 1).kind);
    unstitch(&a);
    unstitch(&same);
    unstitch(&more);
    unstitch(&private);
    unstitch(&wider);
    unstitch(&unshared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fit_the_device),
        cmocka_unit_test(candidates_differ_from_each_other_and_are_never_more_than_asked_for),
        cmocka_unit_test(a_measured_choice_is_found_by_signature_then_by_kind_then_the_default_is_taken),
        cmocka_unit_test(a_signature_depends_on_sizes_sharing_and_members_and_on_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
