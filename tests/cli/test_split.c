/*
 * End-to-end tests of mts split and of the common answers that mts eval and mts run print, and of mts train.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#ifndef MTS_PROGRAM
#define MTS_PROGRAM MTS_BINARY_DIR "/bin/mts"
#endif
#define RECORDS 60u
#define PLANE 1024u
#define TEXT_MOST 32768
#define SPLIT "split small.mtsb --task object --groups 2 --ratio 0 --calib images.bin -o split.mtsb"

static char folder[] = "/tmp/mts-split-XXXXXX";
static char said[TEXT_MOST]; /* on standard output, then on the other */

static size_t read_text(const char *path, char *text, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(text, 1, most, file);
    (void)fclose(file);
    return length;
}

/* Runs "mts <arguments>" and returns its exit status. */
static int run(const char *arguments)
{
    char command[2048];
    (void)snprintf(command, sizeof command, "'%s' %s >said.txt 2>errors.txt </dev/null", MTS_PROGRAM,
                   arguments);
    const int status = system(command); /* NOLINT: the test's own fixed strings */
    size_t length = read_text("said.txt", said, sizeof said - 1);
    length += read_text("errors.txt", said + length, sizeof said - 1 - length);
    said[length] = '\0';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(int status, const char *arguments, const char *words)
{
    const int got = run(arguments);
    if (got != status || !strstr(said, words)) {
        fail_msg("mts %s: status %d instead of %d, or no '%s' in:\n%s", arguments, got, status, words, said);
    }
}

static json_t *expect_json(const char *arguments)
{
    json_error_t error;
    expect(0, arguments, "{");
    json_t *root = json_loads(said, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
    assert_non_null(root);
    return root;
}

/* Smooth pictures of many colours, with labels; a PPM of the first. */
static bool write_images(void)
{
    FILE *file = fopen("images.bin", "wb");
    FILE *picture = fopen("picture.ppm", "wb");
    if (!file || !picture) {
        return false;
    }
    (void)fprintf(picture, "P6\n32 32\n255\n");
    for (uint32_t i = 0; i < RECORDS; i++) {
        (void)fputc((int)(i % 10), file);
        for (uint32_t p = 0; p < 3 * PLANE; p++) {
            const uint32_t x = p % 32, y = p % PLANE / 32, plane = p / PLANE;
            const uint32_t inside = (x - 16) * (x - 16) + (y - 16) * (y - 16) < 20 + 3 * i;
            (void)fputc((int)((inside ? 97 * i + 85 * plane : (61 * i + 40 * plane) + 3 * x + 2 * y) & 255),
                        file);
        }
    }
    for (uint32_t p = 0; p < 3 * PLANE; p++) {
        (void)fputc((int)(p * 7 & 255), picture);
    }
    return fclose(file) == 0 && fclose(picture) == 0;
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        return -1;
    }
    return write_images() &&
                   run("compile --config " MTS_SOURCE_DIR "/apps/mts/demo/small.json -o small.mtsb") == 0 &&
                   run(SPLIT) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    static const char *const files[] = {
        "images.bin",    "picture.ppm",  "small.mtsb", "split.mtsb",  "said.txt", "errors.txt",
        "labelled.mtsb", "trained.mtsb", "first.mtsb", "second.mtsb", "c.bin",    "unlabelled/picture.ppm"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)unlink(files[i]);
    }
    (void)rmdir("unlabelled");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static double accuracy(const json_t *root, const char *name, const char *key)
{
    size_t index = 0;
    json_t *task = NULL;
    json_array_foreach(json_object_get(root, "tasks"), index, task)
    {
        if (strcmp(json_string_value(json_object_get(task, "name")), name) == 0) {
            assert_true(json_is_number(json_object_get(task, key)));
            return json_number_value(json_object_get(task, key));
        }
    }
    fail_msg("no task %s", name);
    return 0;
}

static void the_report_names_work_and_change(void **state)
{
    (void)state;
    json_t *root = expect_json(SPLIT " --json");
    assert_string_equal(json_string_value(json_object_get(root, "task")), "object");
    assert_int_equal(json_integer_value(json_object_get(root, "tasks")), 9);
    assert_true(json_integer_value(json_object_get(root, "mul_adds_groups")) >
                json_integer_value(json_object_get(root, "mul_adds")));
    assert_true(json_number_value(json_object_get(root, "change")) < 20.0);
    json_decref(root);
}

static void eval_sets_the_common_answer_beside_the_task_that_was_split(void **state)
{
    (void)state;
    json_t *root = expect_json("eval small.mtsb split.mtsb --data images.bin --json --device reference");
    const double before = accuracy(root, "object", "accuracy");
    const double after = accuracy(root, "object", "accuracy_after");
    assert_true(after > before - 20.0 && after < before + 20.0); /* of 60 images; ratio 0 */
    (void)accuracy(root, "object.1of2", "accuracy_after");
    (void)accuracy(root, "object.2of2", "accuracy_after");
    json_decref(root);
}

static void eval_without_one_of_the_subnets_has_no_common_answer(void **state)
{
    (void)state;
    json_t *root = expect_json(
        "eval split.mtsb --data images.bin --json --device reference --tasks object.1of2,animal --limit 5");
    assert_int_equal(json_array_size(json_object_get(root, "tasks")), 2);
    json_decref(root);
}

static void run_prints_the_common_answer(void **state)
{
    (void)state;
    expect(0, "run split.mtsb --image picture.ppm --device reference --no-cache", "(of 2 subnets)");
    json_t *root =
        expect_json("run split.mtsb --image picture.ppm --device reference --no-cache --json --top 2");
    json_t *set = json_array_get(json_object_get(root, "combined"), 0);
    assert_string_equal(json_string_value(json_object_get(set, "name")), "object");
    json_t *top = json_object_get(set, "top");
    assert_int_equal(json_array_size(top), 2);
    const double best = json_number_value(json_object_get(json_array_get(top, 0), "score"));
    const double next = json_number_value(json_object_get(json_array_get(top, 1), "score"));
    assert_true(best >= next && best <= 1.0);
    json_decref(root);
    root = expect_json("run small.mtsb --image picture.ppm --device reference --no-cache --json");
    assert_null(json_object_get(root, "combined"));
    json_decref(root);
}

/* Whole tasks on two devices: the common answer is made when the subnets of both have ended, and is that of one. */
static void subnets_on_two_devices_give_the_answer_of_one(void **state)
{
    (void)state;
    static const char *const placements[] = {"groups", "stages"};
    json_t *one =
        expect_json("run split.mtsb --image picture.ppm --device reference --no-cache --json --top 9");
    for (int i = 0; i < 2; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "run split.mtsb --image picture.ppm --devices reference,reference --placement %s "
                       "--no-cache --json --top 9",
                       placements[i]);
        json_t *two = expect_json(line);
        assert_int_equal(json_array_size(json_object_get(two, "combined")), 1);
        assert_true(json_equal(json_object_get(one, "combined"), json_object_get(two, "combined")));
        json_decref(two);
    }
    expect(0, "inspect split.mtsb --plan --devices reference,reference --placement groups --no-cache",
           "placed on 2 of 2 device(s) as groups of whole tasks");
    json_decref(one);
}

static void mistakes_are_told_and_leave_nothing(void **state)
{
    (void)state;
    expect(2, "split small.mtsb --task object --calib images.bin", "-o FILE");
    expect(2, "split small.mtsb --calib images.bin -o x.mtsb", "--task NAME");
    expect(2, "split small.mtsb --task object -o x.mtsb", "--calib DATA");
    expect(2, "split small.mtsb --task object --calib images.bin --criterion size -o x.mtsb", "'size'");
    expect(1, "split small.mtsb --task colour --calib images.bin -o x.mtsb", "colour");
    expect(1, "split small.mtsb --task object --groups 11 --calib images.bin -o x.mtsb", "from 2 to 10");
    expect(1, "split none.mtsb --task object --calib images.bin -o x.mtsb", "none.mtsb");
    expect(1, "split small.mtsb --task object --calib none.bin -o x.mtsb", "none.bin");
    expect(1, "split small.mtsb --task object --calib images.bin -o small.mtsb", "small.mtsb");
    assert_int_not_equal(access("x.mtsb", F_OK), 0);
}

/* ---- labels ---- */

static void labels_of_the_records_are_learnt(void **state)
{
    (void)state;
    expect(
        0,
        "split small.mtsb --task object --groups 2 --ratio 0 --labels --random --seed 3 --calib images.bin "
        "-o labelled.mtsb",
        "as 2 subnets");
    expect(1, "split small.mtsb --task object --criterion l1 --search --calib images.bin -o no.mtsb",
           "search");
    expect(0, "eval labelled.mtsb --data images.bin --device reference", "object.2of2");
    /* NOLINTNEXTLINE: the test's own strings */
    assert_int_equal(system("mkdir -p unlabelled && cp picture.ppm unlabelled"), 0);
    expect(1, "split small.mtsb --task object --labels --calib unlabelled -o no.mtsb", "have no labels");
    assert_int_not_equal(access("no.mtsb", F_OK), 0);
}

/* ---- mts train ---- */

#define TRAIN                                                                                                \
    "train small.mtsb --task fur --base object --data images.bin --classes 'no fur=*;fur=3,4,5,7' -k 3 -e "  \
    "4 "

static void a_task_is_trained_and_answers(void **state)
{
    (void)state;
    expect(0, TRAIN "-o trained.mtsb", "wrote trained.mtsb: 'fur' is right for");
    expect(0, "eval trained.mtsb --tasks fur,object --data images.bin --device cpu", "fur");
    json_t *root = expect_json(TRAIN "-o trained.mtsb --json");
    assert_int_equal(json_array_size(json_object_get(root, "candidates")), 3);
    assert_true(json_integer_value(json_object_get(root, "bytes_added")) <
                json_integer_value(json_object_get(root, "bytes_base")) / 20);
    json_decref(root);
    expect(2, "train small.mtsb --data images.bin -o t.mtsb", "--task");
    expect(1, "train small.mtsb --task x --data images.bin --classes 'a=1;b=2' -o t.mtsb", "belong");
    assert_int_not_equal(access("t.mtsb", F_OK), 0);
}

/* A training that went on from a checkpoint ends in the same bytes; a damaged one, and one that cannot be
   written, are told. */
static void checkpoints_are_kept_and_checked(void **state)
{
    (void)state;
    static char first[1 << 20], second[1 << 20];
    expect(0, TRAIN "--checkpoint c.bin -o first.mtsb", "wrote");
    expect(0, TRAIN "--checkpoint c.bin -o second.mtsb", "(resumed)");
    const size_t size = read_text("first.mtsb", first, sizeof first);
    assert_int_equal(read_text("second.mtsb", second, sizeof second), size);
    assert_memory_equal(first, second, size);
    expect(1, TRAIN "--seed 2 --checkpoint c.bin -o third.mtsb", "is of another training");
    assert_int_equal(truncate("c.bin", 200), 0);
    expect(1, TRAIN "--checkpoint c.bin -o third.mtsb", "is damaged");
    assert_int_equal(truncate("c.bin", 3), 0);
    expect(1, TRAIN "--checkpoint c.bin -o third.mtsb", "the checkpoint 'c.bin'");
    /* as on a full disk: no file may become larger than 512 bytes */
    const int status =
        system("trap '' XFSZ; ulimit -f 1; '" MTS_PROGRAM "' " TRAIN /* NOLINT: fixed strings */
               "--checkpoint full.bin -o third.mtsb >/dev/null 2>errors.txt");
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1);
    said[read_text("errors.txt", said, sizeof said - 1)] = '\0';
    assert_non_null(strstr(said, "the checkpoint 'full.bin'"));
    assert_int_not_equal(access("full.bin", F_OK), 0);
    assert_int_not_equal(access("third.mtsb", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_names_work_and_change),
        cmocka_unit_test(eval_sets_the_common_answer_beside_the_task_that_was_split),
        cmocka_unit_test(eval_without_one_of_the_subnets_has_no_common_answer),
        cmocka_unit_test(run_prints_the_common_answer),
        cmocka_unit_test(subnets_on_two_devices_give_the_answer_of_one),
        cmocka_unit_test(mistakes_are_told_and_leave_nothing),
        cmocka_unit_test(labels_of_the_records_are_learnt),
        cmocka_unit_test(a_task_is_trained_and_answers),
        cmocka_unit_test(checkpoints_are_kept_and_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
