/*
 * Reads every #include of the tree and fails on each edge that modules.txt does not allow. A module includes
 * only modules above it in that list, so there is no cycle; and headers of other projects are seen only where
 * they belong. Calls between files are calls.py's.
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
#define MODULES_MOST 64
#define EDGES_LEAST 200 /* fewer would mean that the reader found nothing */

/* A module and the modules that it may include, in the order of modules.txt. */
typedef struct module {
    char folder[64];
    char may[2048];
} module;

typedef struct guard {
    const char *header;
    const char *modules;
} guard;

static module modules[MODULES_MOST];
static module later[MODULES_MOST];
static uint32_t module_count, later_count;
static bool used[MODULES_MOST][MODULES_MOST]; /* [who includes][what], of what was read so far */

/* Headers of the system or of other projects that only some modules may see. */
static const guard guarded[] = {
    {"dlfcn.h", "platform/os"},
    {"sys/mman.h", "platform/os apps/camera"}, /* V4L2 maps its buffers */
    {"CL/", "platform/opencl"},
    {"onnx/", "sdk/compiler/import sdk/compiler/emit"},
    {"protobuf-c/", "sdk/compiler/import sdk/compiler/emit"},
    {"oneapi/", "sdk/compress/net sdk/compress/solve"},
    {"cblas.h", "sdk/compress/solve"},
    {"stb/", "apps/kit"},
    {"xxhash.h", "sdk/base"},
    {"assert.h", "none"}, /* a library never aborts */
};

static const module *module_of(const char *path)
{
    const module *best = NULL;
    for (uint32_t i = 0; i < module_count; i++) {
        const size_t length = strlen(modules[i].folder);
        if (strncmp(path, modules[i].folder, length) == 0 && (path[length] == '/' || path[length] == '\0') &&
            (!best || length > strlen(best->folder))) {
            best = &modules[i];
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

static bool edge_is_later(const module *source, const module *target)
{
    for (uint32_t i = 0; i < later_count; i++) {
        if (strcmp(later[i].folder, source->folder) == 0 && listed(later[i].may, target->folder)) {
            return true;
        }
    }
    return false;
}

static bool edge_allowed(const char *from, const char *to)
{
    const module *source = module_of(from);
    const module *target = module_of(to);
    if (!source) {
        return false;
    }
    if (!target) {
        return strncmp(to, "generated/", 10) == 0 && listed(source->may, "generated");
    }
    return source == target || listed(source->may, target->folder) || edge_is_later(source, target);
}

static bool system_allowed(const char *from, const char *header)
{
    const module *source = module_of(from);
    for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++) {
        if (strncmp(header, guarded[i].header, strlen(guarded[i].header)) == 0) {
            return source &&
                   (strcmp(source->folder, "tests") == 0 || listed(guarded[i].modules, source->folder));
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

static int table_read(void **state)
{
    char path[PATH_MOST];
    char line[2304];
    (void)state;
    path_make(path, "%s/tests/layering/modules.txt", MTS_SOURCE_DIR);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        const bool against = strncmp(line, "later ", 6) == 0;
        module *next = against ? &later[later_count] : &modules[module_count];
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || module_count == MODULES_MOST || later_count == MODULES_MOST ||
            sscanf(line + (against ? 6 : 0), "%63[^:]: %2047[^\n]", next->folder, next->may) < 1) {
            continue;
        }
        later_count += against ? 1 : 0;
        module_count += against ? 0 : 1;
    }
    return file ? fclose(file) : -1;
}

static void edge_note(const char *from, const char *to)
{
    const module *source = module_of(from);
    const module *target = module_of(to);
    if (source && target) {
        used[source - modules][target - modules] = true;
    }
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
        } else {
            edge_note(path, target);
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
    if (!module_of(path)) {
        print_error("%s: belongs to no module\n", path);
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
    static const char *const roots[] = {"sdk", "platform", "kernels", "apps", "bindings", "tests"};
    tally count = {0};
    (void)state;
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        folder_check(roots[i], &count);
    }
    print_message("%u files, %u includes\n", count.files, count.edges);
    assert_true(count.edges >= EDGES_LEAST);
    assert_int_equal(count.bad, 0);
}

static void a_module_names_only_modules_above_it(void **state)
{
    (void)state;
    assert_in_range(module_count, 20, MODULES_MOST - 1);
    for (uint32_t i = 0; i < module_count; i++) {
        for (uint32_t j = i; j < module_count && strcmp(modules[i].may, "*") != 0; j++) {
            if (listed(modules[i].may, modules[j].folder)) {
                print_error("%s stands above %s and may not include it\n", modules[i].folder,
                            modules[j].folder);
                fail();
            }
        }
    }
    for (uint32_t i = 0; i < later_count; i++) {
        print_message("still against the order: %s includes %s\n", later[i].folder, later[i].may);
    }
}

/* Runs after every include was read. */
static void every_allowed_edge_is_used(void **state)
{
    uint32_t unused = 0;
    (void)state;
    for (uint32_t i = 0; i < module_count; i++) {
        for (uint32_t j = 0; j < i && strcmp(modules[i].may, "*") != 0; j++) {
            if (listed(modules[i].may, modules[j].folder) && !used[i][j]) {
                print_error("%s includes nothing of %s: drop it from modules.txt\n", modules[i].folder,
                            modules[j].folder);
                unused++;
            }
        }
    }
    assert_int_equal(unused, 0);
}

static void forbidden_edges_are_recognised(void **state)
{
    (void)state;
    assert_false(edge_allowed("sdk/base/text.c", "sdk/graph/graph.h"));
    assert_false(edge_allowed("sdk/stitch/tiles.c", "sdk/engine/engine.h"));
    assert_false(edge_allowed("sdk/engine/run.c", "sdk/include/mts/mts.h"));
    assert_false(edge_allowed("sdk/compiler/models/bundle.c", "sdk/device/device.h"));
    assert_false(edge_allowed("apps/mts/main.c", "sdk/base/text.h"));
    assert_false(edge_allowed("apps/kit/open.c", "apps/mts/command.h"));
    assert_false(edge_allowed("bindings/python/_mts.h", "sdk/base/text.h"));
    assert_false(edge_allowed("platform/opencl/list.c", "platform/reference/conv.h"));
    assert_false(edge_allowed("sdk/engine/run.c", "generated/onnx/onnx.pb-c.h"));
    assert_false(system_allowed("sdk/engine/run.c", "CL/cl.h"));
    assert_false(system_allowed("sdk/api/bundle.c", "sys/mman.h"));
    assert_true(edge_allowed("sdk/engine/run.c", "sdk/device/device.h"));
    assert_true(edge_allowed("sdk/base/text.c", "sdk/base/alloc.h"));
    assert_true(edge_allowed("sdk/base/status.h", "sdk/include/mts/types.h"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_include_of_the_tree_is_an_allowed_edge),
        cmocka_unit_test(every_allowed_edge_is_used),
        cmocka_unit_test(a_module_names_only_modules_above_it),
        cmocka_unit_test(forbidden_edges_are_recognised),
    };
    return cmocka_run_group_tests(tests, table_read, NULL);
}
