/*
 * program.c: see program.h.
 */
#include "cli/program.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MOST ((size_t)4 << 20)

char *slurp(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, OUTPUT_MOST);
    assert_non_null(file);
    assert_non_null(text);
    const size_t size = fread(text, 1, OUTPUT_MOST - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    return text;
}

void result_release(result *r)
{
    free(r->out);
    free(r->err);
    *r = (result){0};
}

result run(const char *format, ...)
{
    char arguments[2048];
    char command[4096];
    char out[64];
    char err[64];
    result r = {0};
    va_list list;
    va_start(list, format);
    (void)vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    (void)snprintf(out, sizeof out, "../cli-%ld.out", (long)getpid());
    (void)snprintf(err, sizeof err, "../cli-%ld.err", (long)getpid());
    (void)snprintf(command, sizeof command, "'%s' %s >%s 2>%s </dev/null", MTS_PROGRAM, arguments, out, err);
    const int status = system(command); /* NOLINT: the test's own fixed strings */
    r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r.out = slurp(out);
    r.err = slurp(err);
    (void)unlink(out);
    (void)unlink(err);
    return r;
}

result expect(int status, const char *arguments)
{
    result r = run("%s", arguments);
    if (r.status != status) {
        fail_msg("mts %s: status %d instead of %d\n%s%s", arguments, r.status, status, r.out, r.err);
    }
    return r;
}

json_t *expect_json(const char *arguments)
{
    json_error_t error;
    result r = expect(0, arguments);
    json_t *root = json_loads(r.out, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        fail_msg("mts %s: no JSON: %s at %d", arguments, error.text, error.position);
    }
    assert_string_equal(r.err, "");
    result_release(&r);
    return root;
}

void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void write_picture(const char *path, uint32_t width, uint32_t height)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)fprintf(file, "P6\n%u %u\n255\n", width, height);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            (void)fputc((int)(255 * x / width), file);
            (void)fputc((int)(255 * y / height), file);
            (void)fputc(90, file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

uint32_t files_in_folder(void)
{
    uint32_t count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 ? 1 : 0;
    }
    (void)closedir(folder);
    return count;
}

static void empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        char inner[512];
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (unlink(inner) != 0) {
            empty_folder(inner);
            (void)rmdir(inner);
        }
    }
    if (folder) {
        (void)closedir(folder);
    }
}

int folder_make(void **state)
{
    char path[64];
    (void)state;
    (void)snprintf(path, sizeof path, "cli-test-%ld", (long)getpid());
    return mkdir(path, 0777) == 0 && chdir(path) == 0 ? 0 : -1;
}

int folder_remove(void **state)
{
    char path[64];
    (void)state;
    (void)snprintf(path, sizeof path, "cli-test-%ld", (long)getpid());
    empty_folder(".");
    return chdir("..") == 0 && rmdir(path) == 0 ? 0 : -1;
}

void compile_demo(void)
{
    result r = expect(0, COMPILE);
    assert_non_null(strstr(r.out, "8 tasks"));
    result_release(&r);
}
