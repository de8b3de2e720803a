/*
 * Reads every #include of the tree and fails on any edge that the rooms of docs/ARCHITECTURE.md do not allow:
 * a room includes only rooms that stand above it, so there can be no cycle; and headers of other projects are
 * seen only where they belong.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PATH_MOST 1024
#define EDGES_LEAST 200 /* fewer would mean that the reader found nothing */

/* A room and the rooms it may include; every room may include itself. Longest prefix decides which room a
 * file is in. */
typedef struct room {
    const char *folder;
    const char *may;
} room;

#define COMPILER_ABOVE                                                                                       \
    "sdk/base sdk/tensor sdk/graph sdk/bundle sdk/include/mts sdk/include/mts/types.h kernels/abi "          \
    "platform/os generated"
#define COMPRESS_ABOVE COMPILER_ABOVE " sdk/compiler sdk/compiler/passes"
#define RUNTIME_ABOVE                                                                                        \
    "sdk/include/mts/types.h sdk/base sdk/tensor sdk/graph sdk/bundle kernels/abi platform/os sdk/device"
#define BACKEND_ABOVE                                                                                        \
    "sdk/include/mts/types.h sdk/base sdk/tensor sdk/graph sdk/device kernels/abi platform/os"

static const room rooms[] = {
    {"sdk/include/mts/types.h", ""},
    {"sdk/include/mts", "sdk/include/mts/types.h"},
    {"kernels/abi", ""},
    {"sdk/base", "sdk/include/mts/types.h"},
    {"platform/os", "sdk/include/mts/types.h sdk/base"},
    {"sdk/tensor", "sdk/include/mts/types.h sdk/base"},
    {"sdk/graph", "sdk/include/mts/types.h sdk/base sdk/tensor kernels/abi"},
    {"sdk/bundle", "sdk/include/mts/types.h sdk/base sdk/tensor sdk/graph kernels/abi"},
    {"sdk/device", "sdk/include/mts/types.h sdk/base sdk/tensor sdk/graph kernels/abi"},
    {"sdk/stitch", RUNTIME_ABOVE},
    {"sdk/plan", RUNTIME_ABOVE " sdk/stitch"},
    {"sdk/strategy", RUNTIME_ABOVE " sdk/stitch sdk/plan"},
    {"sdk/lower", RUNTIME_ABOVE " sdk/stitch sdk/plan sdk/strategy"},
    {"sdk/engine", RUNTIME_ABOVE " sdk/stitch sdk/plan sdk/strategy sdk/lower sdk/frame"},
    {"sdk/frame", RUNTIME_ABOVE " sdk/stitch sdk/plan sdk/strategy sdk/lower sdk/engine"},
    {"sdk/tune", RUNTIME_ABOVE " sdk/stitch sdk/plan sdk/strategy sdk/lower sdk/engine sdk/frame"},
    {"sdk/api", RUNTIME_ABOVE
     " sdk/include/mts sdk/stitch sdk/plan sdk/strategy sdk/lower sdk/engine sdk/frame sdk/tune "
     "platform/wrap"},
    {"sdk/compiler/import", COMPILER_ABOVE},
    {"sdk/compiler/passes", COMPILER_ABOVE},
    {"sdk/compiler/emit", COMPILER_ABOVE},
    {"sdk/compiler/synth", COMPILER_ABOVE " sdk/compiler sdk/compiler/emit sdk/compiler/passes"},
    {"sdk/compiler", COMPILER_ABOVE " sdk/compiler/import sdk/compiler/passes sdk/compiler/emit"},
    {"sdk/compress/solve", COMPRESS_ABOVE},
    {"sdk/compress/net", COMPRESS_ABOVE},
    {"sdk/compress/data", COMPRESS_ABOVE " sdk/compress/net"},
    {"sdk/compress/train", COMPRESS_ABOVE " sdk/compress/net sdk/compress/data"},
    {"sdk/compress/prune",
     COMPRESS_ABOVE " sdk/compress/net sdk/compress/data sdk/compress/solve sdk/compress/train"},
    {"sdk/compress/zip",
     COMPRESS_ABOVE " sdk/compress/net sdk/compress/data sdk/compress/solve sdk/compress/train"},
    {"sdk/compress/split",
     COMPRESS_ABOVE " sdk/compress/net sdk/compress/data sdk/compress/solve sdk/compress/train "
                    "sdk/compress/prune"},
    {"platform/cuda", BACKEND_ABOVE},
    {"platform/opencl", BACKEND_ABOVE},
    {"platform/reference", BACKEND_ABOVE},
    {"platform/null", BACKEND_ABOVE},
    {"platform/wrap", BACKEND_ABOVE},
    {"kernels", "kernels/abi"},
    {"apps/kit", "sdk/include/mts"},
    {"apps/camera", "sdk/include/mts apps/kit"},
    {"apps", "sdk/include/mts apps/kit"},
    {"tests", "*"},
};

/* Headers of the system or of other projects that only some rooms may see. */
static const room guarded[] = {
    {"dlfcn.h", "platform/os"},
    {"sys/mman.h", "platform/os apps/camera"}, /* V4L2 lends its buffers so */
    {"CL/", "platform/opencl"},
    {"onnx/", "sdk/compiler/import sdk/compiler/emit"},
    {"protobuf-c/", "sdk/compiler/import sdk/compiler/emit"},
    {"oneapi/", "sdk/compress/net sdk/compress/solve"},
    {"cblas.h", "sdk/compress/solve"},
    {"stb/", "apps/kit"},
    {"xxhash.h", "sdk/base"},
    {"assert.h", "nobody"}, /* a library never aborts */
};

static const room *room_of(const char *path)
{
    const room *best = NULL;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        const size_t length = strlen(rooms[i].folder);
        if (strncmp(path, rooms[i].folder, length) == 0 && (path[length] == '/' || path[length] == '\0') &&
            (!best || length > strlen(best->folder))) {
            best = &rooms[i];
        }
    }
    return best;
}

static bool listed(const char *list, const char *folder)
{
    const size_t length = strlen(folder);
    for (const char *at = strstr(list, folder); at; at = strstr(at + 1, folder)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return strcmp(list, "*") == 0;
}

static bool edge_allowed(const char *from, const char *to)
{
    const room *source = room_of(from);
    const room *target = room_of(to);
    if (!source) {
        return false;
    }
    if (!target) {
        return strncmp(to, "generated/", 10) == 0 && listed(source->may, "generated");
    }
    return source == target || listed(source->may, target->folder);
}

static bool system_allowed(const char *from, const char *header)
{
    const room *source = room_of(from);
    for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++) {
        if (strncmp(header, guarded[i].folder, strlen(guarded[i].folder)) == 0) {
            return source && (strcmp(source->folder, "tests") == 0 || listed(guarded[i].may, source->folder));
        }
    }
    return true;
}

/* A path that does not fit is a failure of the test, not a shorter path. */
static void path_make(char *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(out, PATH_MOST, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, PATH_MOST - 1);
}

static bool exists(const char *path)
{
    char full[PATH_MOST];
    struct stat info;
    path_make(full, "%s/%s", MTS_SOURCE_DIR, path);
    return stat(full, &info) == 0 && S_ISREG(info.st_mode);
}

/* Path in the tree of what a file's #include "name" means; "generated/..." if the build makes it; false if
 * nothing. */
static bool resolve(const char *from, const char *name, char *out)
{
    static const char *const roots[] = {"", "sdk/", "sdk/include/", "tests/", "apps/"};
    const char *slash = strrchr(from, '/');
    path_make(out, "%.*s/%s", slash ? (int)(slash - from) : 1, slash ? from : ".", name);
    if (exists(out)) {
        return true;
    }
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        path_make(out, "%s%s", roots[i], name);
        if (exists(out)) {
            return true;
        }
    }
    path_make(out, "generated/%s", name);
    return strstr(name, ".pb-c.h");
}

typedef struct tally {
    uint32_t files, edges, bad;
} tally;

static void line_check(const char *path, uint32_t number, const char *line, tally *count)
{
    char name[PATH_MOST];
    char target[PATH_MOST];
    char close = 0;
    if (sscanf(line, " # include \"%1000[^\"]%c", name, &close) == 2 && close == '"') {
        count->edges++;
        if (strstr(name, "..") || !resolve(path, name, target)) {
            print_error("%s:%u: #include \"%s\" is no file of the tree, or has '..'\n", path, number, name);
            count->bad++;
        } else if (!edge_allowed(path, target)) {
            print_error("%s:%u: may not include %s\n", path, number, target);
            count->bad++;
        }
    } else if (sscanf(line, " # include <%1000[^>]%c", name, &close) == 2 && close == '>') {
        count->edges++;
        if (!system_allowed(path, name)) {
            print_error("%s:%u: may not include <%s>\n", path, number, name);
            count->bad++;
        }
    }
}

static void file_check(const char *path, tally *count)
{
    char full[PATH_MOST];
    char line[4096];
    uint32_t number = 0;
    path_make(full, "%s/%s", MTS_SOURCE_DIR, path);
    FILE *file = fopen(full, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        line_check(path, ++number, line, count);
    }
    (void)fclose(file);
    count->files++;
    if (!room_of(path)) {
        print_error("%s: stands in no room\n", path);
        count->bad++;
    }
}

static bool is_source(const char *name)
{
    static const char *const endings[] = {".c", ".h", ".cl", ".def", ".cpp", ".hpp", ".cc", ".cu"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(dot, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void folder_check(const char *path, tally *count)
{
    char full[PATH_MOST];
    path_make(full, "%s/%s", MTS_SOURCE_DIR, path);
    DIR *folder = opendir(full);
    if (!folder) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char inner[PATH_MOST];
        struct stat info;
        if (entry->d_name[0] == '.') {
            continue;
        }
        path_make(inner, "%s/%s", path, entry->d_name);
        path_make(full, "%s/%s", MTS_SOURCE_DIR, inner);
        if (stat(full, &info) != 0) {
            continue;
        }
        if (S_ISDIR(info.st_mode)) {
            folder_check(inner, count);
        } else if (is_source(inner)) {
            file_check(inner, count);
        }
    }
    (void)closedir(folder);
}

static void every_include_of_the_tree_is_an_allowed_edge(void **state)
{
    static const char *const roots[] = {"sdk", "platform", "kernels", "apps", "tests"};
    tally count = {0};
    (void)state;
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        folder_check(roots[i], &count);
    }
    print_message("%u files, %u includes\n", count.files, count.edges);
    assert_true(count.edges >= EDGES_LEAST);
    assert_int_equal(count.bad, 0);
}

static void no_room_can_reach_itself_through_other_rooms(void **state)
{
    enum { COUNT = sizeof rooms / sizeof rooms[0] };
    bool reach[COUNT][COUNT] = {{false}};
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            reach[i][j] = i != j && listed(rooms[i].may, rooms[j].folder) &&
                          /* for now: sdk/frame still takes the engine whole (issue 14) */
                          strcmp(rooms[i].folder, "sdk/frame") != 0;
        }
    }
    for (size_t k = 0; k < COUNT; k++) {
        for (size_t i = 0; i < COUNT; i++) {
            for (size_t j = 0; j < COUNT; j++) {
                reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
            }
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_false(reach[i][i]);
    }
}

static void forbidden_edges_are_recognised(void **state)
{
    (void)state;
    assert_false(edge_allowed("sdk/base/text.c", "sdk/graph/graph.h"));
    assert_false(edge_allowed("sdk/stitch/tiles.c", "sdk/engine/engine.h"));
    assert_false(edge_allowed("sdk/engine/run.c", "sdk/include/mts/mts.h"));
    assert_false(edge_allowed("sdk/compiler/emit/bundle.c", "sdk/device/device.h"));
    assert_false(edge_allowed("apps/mts/main.c", "sdk/base/text.h"));
    assert_false(edge_allowed("apps/kit/open.c", "apps/mts/command.h"));
    assert_false(edge_allowed("platform/opencl/list.c", "platform/reference/conv.h"));
    assert_false(edge_allowed("sdk/engine/run.c", "generated/onnx/onnx.pb-c.h"));
    assert_false(system_allowed("sdk/engine/run.c", "CL/cl.h"));
    assert_false(system_allowed("sdk/api/bundle.c", "sys/mman.h"));
    assert_true(edge_allowed("sdk/engine/run.c", "sdk/device/device.h"));
    assert_true(edge_allowed("sdk/base/text.c", "sdk/base/alloc.h"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_include_of_the_tree_is_an_allowed_edge),
        cmocka_unit_test(no_room_can_reach_itself_through_other_rooms),
        cmocka_unit_test(forbidden_edges_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
