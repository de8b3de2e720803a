/*
 * test_raw.c: raw clips and pipes: what is refused, where they end, and what happens when bytes stop to come.
 */
#include <stdio.h>

#ifndef MTS_CAMERA
int main(void)
{
    printf("the camera is not built here\n");
    return 77;
}
#else

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/measure.h"
#include "camera/source.h"

#define FRAME 12 /* bytes of 4x2 pixels in nv12 */

const char *const cli_program = "test_raw";

static char folder[] = "/tmp/mts_camera_raw_XXXXXX";
static char error[CLI_ERROR];

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *path_of(const char *name, char path[256])
{
    (void)snprintf(path, 256, "%s/%s", folder, name);
    return path;
}

/* A file of bytes 0, 1, 2 ... */
static void file_write(const char *name, size_t bytes)
{
    char path[256];
    FILE *file = fopen(path_of(name, path), "wb");
    assert_non_null(file);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_not_equal(fputc((int)(i & 255), file), EOF);
    }
    assert_int_equal(fclose(file), 0);
}

static void file_remove(const char *name)
{
    char path[256];
    assert_int_equal(unlink(path_of(name, path)), 0);
}

static camera_status open_query(const char *name, const char *query, source **out)
{
    char uri[512];
    const source_request request = {.uri = uri, .format = -1, .yuv = -1, .held = 2, .timeout_ms = 100};
    (void)snprintf(uri, sizeof uri, "raw://%s/%s%s", folder, name, query);
    error[0] = '\0';
    return source_open(&request, out, error);
}

static source *open_clip(const char *name, const char *more)
{
    char query[128];
    source *clip = NULL;
    (void)snprintf(query, sizeof query, "?format=nv12&width=4&height=2%s", more);
    assert_int_equal(open_query(name, query, &clip), CAMERA_OK);
    assert_non_null(clip);
    return clip;
}

static void a_clip_gives_its_frames_and_ends(void **state)
{
    source_frame frame;
    (void)state;
    file_write("clip", 3 * FRAME);
    source *clip = open_clip("clip", "&fps=10&yuv=bt709");
    assert_int_equal(clip->info.width, 4);
    assert_int_equal(clip->info.height, 2);
    assert_false(clip->info.live);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_OK);
        assert_int_equal(frame.number, i);
        assert_true(frame.time_ms >= 99.0 * i && frame.time_ms < 101.0 * i + 1);
        assert_int_equal(frame.frame.format, MTS_PIXEL_FORMAT_NV12);
        assert_int_equal(frame.frame.yuv, MTS_YUV_BT709);
        for (uint32_t b = 0; b < FRAME; b++) {
            assert_int_equal(((const uint8_t *)frame.frame.data)[b], i * FRAME + b);
        }
        source_release(clip, &frame);
        assert_null(frame.token);
    }
    assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_END);
    assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_END);
    source_close(&clip);
    assert_null(clip);
    file_remove("clip");
}

static void frames_that_are_out_keep_their_pixels(void **state)
{
    source_frame frames[4];
    (void)state;
    file_write("clip", 4 * FRAME);
    source *clip = open_clip("clip", "");
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(source_next(clip, 100, &frames[i], error), CAMERA_OK);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(((const uint8_t *)frames[i].frame.data)[0], i * FRAME);
    }
    assert_int_equal(source_next(clip, 100, &frames[3], error), CAMERA_FAILURE);
    assert_non_null(strstr(error, "are out"));
    source_release(clip, &frames[1]);
    assert_int_equal(source_next(clip, 100, &frames[3], error), CAMERA_OK);
    assert_int_equal(((const uint8_t *)frames[3].frame.data)[0], 3 * FRAME);
    source_close(&clip); /* with frames that are out */
    file_remove("clip");
}

static void a_clip_that_loops_does_not_end(void **state)
{
    source_frame frame;
    (void)state;
    file_write("clip", 2 * FRAME);
    source *clip = open_clip("clip", "&loop=1");
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_OK);
        assert_int_equal(frame.number, i);
        assert_int_equal(((const uint8_t *)frame.frame.data)[0], i % 2 * FRAME);
        source_release(clip, &frame);
    }
    source_close(&clip);
    file_remove("clip");
}

static void a_clip_that_is_cut_short_gives_its_whole_frames_and_has_vanished(void **state)
{
    source_frame frame;
    (void)state;
    for (uint32_t loop = 0; loop < 2; loop++) {
        file_write("cut", 2 * FRAME + 5);
        source *clip = open_clip("cut", loop ? "&loop=1" : "");
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_OK);
            source_release(clip, &frame);
        }
        assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_VANISHED);
        assert_non_null(strstr(error, "in the middle of frame 2: 5 of its 12 bytes"));
        source_close(&clip);
        file_remove("cut");
    }
}

static void a_looped_clip_that_is_emptied_meanwhile_has_vanished(void **state)
{
    char path[256];
    source_frame frame;
    (void)state;
    file_write("emptied", 2 * FRAME);
    source *clip = open_clip("emptied", "&loop=1");
    assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_OK);
    source_release(clip, &frame);
    assert_int_equal(truncate(path_of("emptied", path), 0), 0);
    (void)alarm(20); /* a loop without an end ends the test */
    assert_int_equal(source_next(clip, 100, &frame, error), CAMERA_VANISHED);
    (void)alarm(0);
    assert_non_null(strstr(error, "no bytes any more, after 1 frames"));
    source_close(&clip);
    file_remove("emptied");
}

static void a_file_with_less_than_a_frame_is_refused_at_once(void **state)
{
    source *clip = NULL;
    (void)state;
    file_write("short", FRAME - 1);
    assert_int_equal(open_query("short", "?format=nv12&width=4&height=2", &clip), CAMERA_FORMAT);
    assert_non_null(strstr(error, "has 11 bytes"));
    assert_null(clip);
    file_remove("short");
}

static void a_file_that_is_not_there_or_a_folder_is_absent(void **state)
{
    source *clip = NULL;
    (void)state;
    assert_int_equal(open_query("nothing", "?format=nv12&width=4&height=2", &clip), CAMERA_ABSENT);
    assert_non_null(strstr(error, "No such file"));
    assert_int_equal(open_query("", "?format=nv12&width=4&height=2", &clip), CAMERA_ABSENT);
    assert_non_null(strstr(error, "is a directory"));
}

static void mistakes_in_the_address_are_named(void **state)
{
    static const struct {
        const char *query, *sentence;
    } cases[] = {
        {"", "no header"},
        {"?format=nv12", "no header"},
        {"?format=nv12&width=4", "a width goes with a height"},
        {"?format=h264&width=4&height=2", "format cannot be 'h264'"},
        {"?width=-4", "width cannot be '-4'"},
        {"?width=0x10", "width cannot be '0x10'"},
        {"?width=4.5", "width cannot be '4.5'"},
        {"?width=99999&height=2", "sides are 1 to 16384"},
        {"?fps=0", "fps cannot be '0'"},
        {"?fps=0.0001", "fps cannot be '0.0001'"},
        {"?fps=nan", "fps cannot be 'nan'"},
        {"?loop=2", "loop cannot be '2'"},
        {"?yuv=bt2020", "yuv cannot be 'bt2020'"},
        {"?height", "has no value"},
        {"?colour=blue", "no key 'colour'; there are width"},
    };
    (void)state;
    file_write("clip", FRAME);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        source *clip = NULL;
        assert_int_equal(open_query("clip", cases[i].query, &clip), CAMERA_USAGE);
        assert_non_null(strstr(error, cases[i].sentence));
        assert_null(clip);
    }
    file_remove("clip");
}

static void an_address_without_a_known_kind_is_a_mistake(void **state)
{
    static const char *const uris[] = {"",           "video.mp4", "://x",
                                       "webcam://0", "http://x/", "a-kind-that-is-far-too-long://x"};
    (void)state;
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        source *none = NULL;
        const source_request request = {.uri = uris[i], .format = -1, .yuv = -1, .held = 1};
        assert_int_equal(source_open(&request, &none, error), CAMERA_USAGE);
        assert_null(none);
    }
}

/* A pipe that `bytes` have been written to; the writing end stays open in *writer. */
static source *pipe_open(size_t bytes, int *writer)
{
    char path[256];
    unsigned char data[4 * FRAME];
    assert_int_equal(mkfifo(path_of("pipe", path), 0600), 0);
    source *clip = open_clip("pipe", "");
    *writer = open(path, O_WRONLY | O_NONBLOCK);
    assert_true(*writer >= 0);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)i;
    }
    assert_int_equal(write(*writer, data, bytes), (ssize_t)bytes);
    file_remove("pipe");
    return clip;
}

static void a_pipe_that_nobody_writes_to_is_waited_for_no_longer_than_told(void **state)
{
    char path[256];
    source_frame frame;
    (void)state;
    assert_int_equal(mkfifo(path_of("pipe", path), 0600), 0);
    source *clip = open_clip("pipe", "");
    const double begun = cli_now_ms();
    assert_int_equal(source_next(clip, 60, &frame, error), CAMERA_WAITING);
    assert_true(cli_now_ms() - begun >= 59.0);
    assert_true(cli_now_ms() - begun < 5000.0);
    source_close(&clip);
    file_remove("pipe");
}

static void a_pipe_that_stops_in_the_middle_of_a_frame_waits_and_goes_on(void **state)
{
    source_frame frame;
    int writer = -1;
    (void)state;
    source *clip = pipe_open(FRAME + 5, &writer);
    assert_int_equal(source_next(clip, 1000, &frame, error), CAMERA_OK);
    source_release(clip, &frame);
    assert_int_equal(source_next(clip, 30, &frame, error), CAMERA_WAITING);
    assert_int_equal(write(writer, "abcdefg", 7), 7);
    assert_int_equal(source_next(clip, 1000, &frame, error), CAMERA_OK);
    assert_int_equal(((const uint8_t *)frame.frame.data)[4], FRAME + 4);
    assert_int_equal(((const uint8_t *)frame.frame.data)[5], 'a');
    source_release(clip, &frame);
    assert_int_equal(close(writer), 0);
    assert_int_equal(source_next(clip, 1000, &frame, error), CAMERA_END);
    source_close(&clip);
}

static void a_pipe_that_closes_in_the_middle_of_a_frame_has_vanished(void **state)
{
    source_frame frame;
    int writer = -1;
    (void)state;
    source *clip = pipe_open(5, &writer);
    assert_int_equal(close(writer), 0);
    assert_int_equal(source_next(clip, 1000, &frame, error), CAMERA_VANISHED);
    source_close(&clip);
}

static void standard_input_is_as_it_was_afterwards(void **state)
{
    int ends[2];
    source *clip = NULL;
    (void)state;
    const source_request request = {
        .uri = "raw://-?format=nv12&width=4&height=2", .format = -1, .yuv = -1, .held = 1};
    const int before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(source_open(&request, &clip, error), CAMERA_OK);
    assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK, 0);
    source_close(&clip);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK, 0);
    if (before >= 0) {
        assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
        assert_int_equal(close(before), 0);
    }
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
}

static void users_and_passwords_are_not_shown(void **state)
{
    static const char *const cases[][2] = {
        {"rtsp://somebody@host/a", "rtsp://***@host/a"},
        {"rtsp://somebody:se@cret@host/a@b", "rtsp://***@host/a@b"},
        {"gst://rtspsrc location=rtsp://u:p@host/a ! x", "gst://rtspsrc location=rtsp://***@host/a ! x"},
        {"'gst://a location=\"http://u:p@h\"' and rtsp://u:p@h",
         "'gst://a location=\"http://***@h\"' and rtsp://***@h"},
        {"raw://folder@2/clip", "raw://folder@2/clip"},
        {"rtsp://host:554/a", "rtsp://host:554/a"},
    };
    char name[128], small[16];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(source_name(cases[i][0], name, sizeof name), cases[i][1]);
        (void)source_fail(error, CAMERA_FAILURE, "%s", cases[i][0]);
        assert_string_equal(error, cases[i][1]);
        assert_true(strlen(source_name(cases[i][0], small, sizeof small)) < sizeof small);
    }
}

static void a_paced_clip_keeps_its_rate(void **state)
{
    char uri[512];
    source_frame frame;
    source *clip = NULL;
    (void)state;
    file_write("clip", 5 * FRAME);
    (void)snprintf(uri, sizeof uri, "raw://%s/clip?format=nv12&width=4&height=2&fps=50", folder);
    const source_request request = {.uri = uri, .format = -1, .yuv = -1, .held = 1, .paced = true};
    assert_int_equal(source_open(&request, &clip, error), CAMERA_OK);
    const double before = cli_now_ms();
    assert_int_equal(source_next(clip, 1000, &frame, error), CAMERA_OK);
    source_release(clip, &frame);
    /* on a loaded machine this program may sleep between any two lines */
    const camera_status early = source_next(clip, 5, &frame, error);
    if (early == CAMERA_OK) {
        assert_true(cli_now_ms() - before >= 20.0); /* the second frame was due already */
        source_release(clip, &frame);
    } else {
        assert_int_equal(early, CAMERA_WAITING);
    }
    for (int i = early == CAMERA_OK ? 2 : 1; i < 5; i++) {
        assert_int_equal(source_next(clip, 1000, &frame, error), CAMERA_OK);
        assert_true(cli_now_ms() - before >= 20.0 * i);
        source_release(clip, &frame);
    }
    source_close(&clip);
    file_remove("clip");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clip_gives_its_frames_and_ends),
        cmocka_unit_test(frames_that_are_out_keep_their_pixels),
        cmocka_unit_test(a_clip_that_loops_does_not_end),
        cmocka_unit_test(a_clip_that_is_cut_short_gives_its_whole_frames_and_has_vanished),
        cmocka_unit_test(a_looped_clip_that_is_emptied_meanwhile_has_vanished),
        cmocka_unit_test(a_file_with_less_than_a_frame_is_refused_at_once),
        cmocka_unit_test(a_file_that_is_not_there_or_a_folder_is_absent),
        cmocka_unit_test(mistakes_in_the_address_are_named),
        cmocka_unit_test(an_address_without_a_known_kind_is_a_mistake),
        cmocka_unit_test(a_pipe_that_nobody_writes_to_is_waited_for_no_longer_than_told),
        cmocka_unit_test(a_pipe_that_stops_in_the_middle_of_a_frame_waits_and_goes_on),
        cmocka_unit_test(a_pipe_that_closes_in_the_middle_of_a_frame_has_vanished),
        cmocka_unit_test(standard_input_is_as_it_was_afterwards),
        cmocka_unit_test(users_and_passwords_are_not_shown),
        cmocka_unit_test(a_paced_clip_keeps_its_rate),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
#endif
