/*
 * Hostile files by class: whatever a file under 1 MB says, it is refused with a sentence or taken, in less than 2 s of
 * processor time and 64 MB of memory, without a crash. Each is compiled (or opened) and, if it is taken, written as a
 * bundle and opened again, in a process of its own.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hostile/child.h"
#include "hostile/files.h"
#include "mts/mts.h"
#include "mts/mtsc.h"

#define SECONDS_MOST 2.0
#define BYTES_MOST ((uint64_t)64 << 20)
#define CLASSES_MOST 32

static char folder[] = "/tmp/mts-hostile-XXXXXX";
static char input_path[64], bundle_path[64], outside_path[64];

typedef struct tally {
    const char *classes[CLASSES_MOST];
    uint32_t counts[CLASSES_MOST], class_count, files, refused, bad;
    double slowest;
    uint64_t largest;
    const char *slow_name, *large_name;
} tally;

static int make_folder(void **state)
{
    char link_path[64];
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    (void)snprintf(input_path, sizeof input_path, "%s/input", folder);
    (void)snprintf(bundle_path, sizeof bundle_path, "%s/out.mtsb", folder);
    (void)snprintf(outside_path, sizeof outside_path, "%s/weights.bin", folder);
    (void)snprintf(link_path, sizeof link_path, "%s/link.bin", folder);
    FILE *file = fopen(outside_path, "wb");
    const char zeros[64] = {0};
    if (!file || fwrite(zeros, 1, sizeof zeros, file) != sizeof zeros || fclose(file) != 0) {
        return -1;
    }
    if (symlink("/etc/passwd", link_path) != 0) {
        return -1;
    }
    (void)snprintf(link_path, sizeof link_path, "%s/hard.bin", folder);
    return link(outside_path, link_path);
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"input", "out.mtsb", "weights.bin", "link.bin", "hard.bin"};
    char path[96];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static mts_status compile(hostile_kind kind, char *text, size_t size)
{
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    mtsc_task task;
    mtsc_options_default(&options);
    options.error_text = text;
    options.error_size = size;
    mtsc_task_default(&task);
    task.name = "t";
    task.model = input_path;
    mts_status status = mtsc_compiler_create(&options, &compiler);
    if (status == MTS_STATUS_OK) {
        status = kind == HOSTILE_CONFIG ? mtsc_compiler_add_config(compiler, input_path)
                                        : mtsc_compiler_add(compiler, &task);
    }
    if (status == MTS_STATUS_OK) {
        status = mtsc_compiler_write(compiler, bundle_path, NULL);
    }
    mtsc_compiler_destroy(&compiler);
    return status;
}

/* Opens a bundle and prints all that is in it. */
static mts_status open_bundle(const char *path, char *text, size_t size)
{
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    mts_bundle *bundle = NULL;
    mts_runtime_options_default(&options);
    options.device = "reference";
    options.error_text = text;
    options.error_size = size;
    mts_status status = mts_runtime_create(&options, &runtime);
    if (status == MTS_STATUS_OK) {
        status = mts_bundle_open(runtime, path, &bundle);
    }
    for (int report = 0; status == MTS_STATUS_OK && report < 3; report++) {
        size_t needed = 0;
        status = mts_bundle_inspect(bundle, (mts_report)report, NULL, 0, &needed);
        char *printed = calloc(1, needed + 1);
        if (printed && needed > 0) {
            status = mts_bundle_inspect(bundle, (mts_report)report, printed, needed + 1, &needed);
        }
        free(printed);
    }
    mts_bundle_destroy(&bundle);
    mts_runtime_destroy(&runtime);
    return status;
}

static void take(void *context, child_said *said)
{
    const hostile_file *file = context;
    if (file->kind == HOSTILE_BUNDLE) {
        said->status = open_bundle(input_path, said->text, sizeof said->text);
        return;
    }
    said->status = compile(file->kind, said->text, sizeof said->text);
    if (said->status == MTS_STATUS_OK) {
        said->status = open_bundle(bundle_path, said->text, sizeof said->text);
        if (said->status != MTS_STATUS_OK) { /* what is written opens */
            abort();
        }
    }
}

static void count(tally *all, const char *class)
{
    for (uint32_t i = 0; i < all->class_count; i++) {
        if (strcmp(all->classes[i], class) == 0) {
            all->counts[i]++;
            return;
        }
    }
    assert_true(all->class_count < CLASSES_MOST);
    all->classes[all->class_count] = class;
    all->counts[all->class_count++] = 1;
}

/* What is wrong with the way that it ended, or NULL. */
static const char *defect_of(const hostile_file *file, const child_usage *usage)
{
    const mts_status status = usage->said.status;
    if (usage->signal != 0) {
        return "it broke the program";
    }
#ifndef CHILD_SANITIZED
#ifdef NDEBUG
    if (usage->seconds >= SECONDS_MOST) {
        return "it took too long";
    }
#endif
    if (usage->grown_bytes >= BYTES_MOST) {
        return "it took too much memory";
    }
#endif
    if (status == MTS_STATUS_INTERNAL || status == MTS_STATUS_OUT_OF_MEMORY) {
        return "that is no answer to a file";
    }
    if (file->end == HOSTILE_REFUSED && status == MTS_STATUS_OK) {
        return "it was taken";
    }
    if (file->end == HOSTILE_TAKEN && status != MTS_STATUS_OK) {
        return "it was refused";
    }
    if (status != MTS_STATUS_OK && usage->said.text[0] == '\0') {
        return "there is no sentence";
    }
    return status != MTS_STATUS_OK && file->said && !strstr(usage->said.text, file->said)
               ? "the sentence does not tell what is wrong"
               : NULL;
}

static void try_file(const hostile_file *file, void *context)
{
    tally *all = context;
    onnx_bytes bytes = {0};
    child_usage usage;
    file->put(&bytes, file->row);
    if (bytes.size > HOSTILE_FILE_MOST) {
        fail_msg("%s: %zu bytes", file->name, bytes.size);
    }
    FILE *out = fopen(input_path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, out), bytes.size);
    assert_int_equal(fclose(out), 0);
    free(bytes.data);
    child_run(take, (void *)(uintptr_t)file, &usage);
    const char *defect = defect_of(file, &usage);
    if (defect || getenv("MTS_TEST_VERBOSE")) {
        printf("%s%s (%s): %s: status %d, signal %d, %.2f s, %.1f MB: %s\n", defect ? "FAILED " : "",
               file->name, file->class, defect ? defect : "well", (int)usage.said.status, usage.signal,
               usage.seconds, (double)usage.grown_bytes / 1e6, usage.said.text);
    }
    count(all, file->class);
    all->files++;
    all->refused += usage.said.status != MTS_STATUS_OK;
    all->bad += defect != NULL;
    if (usage.seconds > all->slowest) {
        all->slowest = usage.seconds;
        all->slow_name = file->name;
    }
    if (usage.grown_bytes > all->largest) {
        all->largest = usage.grown_bytes;
        all->large_name = file->name;
    }
}

/* The page lists each class with the number of its files. */
static void check_page(const tally *all)
{
    static char page[1 << 17];
    char row[128];
    FILE *file = fopen(MTS_SOURCE_DIR "/docs/SECURITY.md", "rb");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    (void)fclose(file);
    for (uint32_t i = 0; i < all->class_count; i++) {
        (void)snprintf(row, sizeof row, "| %s | %u |", all->classes[i], all->counts[i]);
        if (!strstr(page, row)) {
            fail_msg("docs/SECURITY.md has no row that begins with '%s'", row);
        }
    }
}

static void no_file_breaks_anything_or_costs_more_than_its_size_allows(void **state)
{
    tally all = {0};
    (void)state;
    hostile_onnx_nodes(try_file, &all);
    hostile_onnx_models(try_file, &all);
    hostile_onnx_amplified(try_file, &all);
    hostile_tflite(try_file, &all);
    hostile_bundles(try_file, &all);
    hostile_configs(try_file, &all);
    printf("%u files of %u classes, %u refused; longest %.2f s (%s), most memory %.1f MB (%s)\n", all.files,
           all.class_count, all.refused, all.slowest, all.slow_name ? all.slow_name : "none",
           (double)all.largest / 1e6, all.large_name ? all.large_name : "none");
    assert_int_equal(all.bad, 0);
    assert_true(all.files >= 100);
    assert_true(all.class_count >= 16);
    check_page(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_file_breaks_anything_or_costs_more_than_its_size_allows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
