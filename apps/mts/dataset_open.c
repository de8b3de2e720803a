/*
 * dataset_open.c: records, folders, folders of classes and arrays become a dataset, and its end.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "dataset_set.h"

#define DATA_MOST ((size_t)1 << 30)
#define WHOLE_MOST 16777216 /* up to here float32 has all whole numbers */

void cli_dataset_fail(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, CLI_ERROR, format, arguments);
    va_end(arguments);
}

const char *cli_dataset_shape_text(const int64_t *dims, uint32_t rank, char text[DATASET_SHAPE_TEXT])
{
    int length = 0;
    (void)snprintf(text, DATASET_SHAPE_TEXT, "a single number");
    for (uint32_t i = 0; i < rank; i++) {
        length += snprintf(text + length, DATASET_SHAPE_TEXT - (size_t)length, i ? "x%lld" : "%lld",
                           (long long)dims[i]);
    }
    return text;
}

static char *text_copy(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL; /* NOLINT: it fits */
}

/* ---- opening ---- */

static bool records_open(cli_dataset *set, char *error)
{
    size_t size = 0;
    set->records = cli_file_read(set->path, DATA_MOST, &size, error);
    if (!set->records) {
        return false;
    }
    set->record_labels = size % (1u + RECORD_PIXELS) == 0 ? 1 : 2;
    const size_t record = set->record_labels + RECORD_PIXELS;
    if (size == 0 || size % record != 0) {
        cli_dataset_fail(error,
                         "'%s' has %zu bytes: not a whole number of CIFAR-10 records of %u bytes, nor of "
                         "CIFAR-100 records of %u",
                         set->path, size, 1u + RECORD_PIXELS, 2u + RECORD_PIXELS);
        return false;
    }
    set->count = (uint32_t)(size / record);
    return true;
}

static bool is_picture(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".bmp", ".tga", ".ppm", ".pgm", ".pnm"};
    const char *dot = strrchr(name, '.');
    if (!dot || name[0] == '.') {
        return false;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (strcasecmp(dot, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Appends folder/name to a list that grows by doubling, so that its capacity is a power of
   two. */
static bool path_add(char ***list, uint32_t *count, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path && (*count & (*count - 1)) == 0) {
        char **grown = realloc(*list, (*count ? 2 * (size_t)*count : 1) * sizeof *grown);
        *list = grown ? grown : *list;
        if (!grown) {
            free(path);
            return false;
        }
    }
    if (!path) {
        return false;
    }
    (void)snprintf(path, size, "%s/%s", folder, name);
    (*list)[(*count)++] = path;
    return true;
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends the pictures of a folder, sorted by name. */
static bool pictures_add(cli_dataset *set, const char *path, char *error)
{
    const uint32_t first = set->count;
    DIR *folder = opendir(path);
    bool good = true;
    if (!folder) {
        cli_dataset_fail(error, "cannot read '%s': %s", path, strerror(errno));
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry && good; entry = readdir(folder)) {
        good = !is_picture(entry->d_name) || path_add(&set->names, &set->count, path, entry->d_name);
    }
    (void)closedir(folder);
    if (!good || set->count == first) {
        cli_dataset_fail(error,
                         good ? "'%s' holds no pictures (PNG, JPEG, BMP, TGA or PNM)"
                              : "no memory for the names in '%s'",
                         path);
        return false;
    }
    qsort(set->names + first, set->count - first, sizeof *set->names, name_compare);
    return true;
}

static bool folder_open(cli_dataset *set, char *error)
{
    return pictures_add(set, set->path, error);
}

/* Whole numbers (tokens) become float32, which is what networks compute with. */
static bool whole_numbers_read(mts_tensor *array, const char *path, char *error)
{
    const size_t size = array->type == MTS_TYPE_INT64 ? 8 : 4, count = array->bytes / size;
    float *numbers = malloc((count ? count : 1) * sizeof *numbers);
    if (!numbers) {
        cli_dataset_fail(error, "no memory for the numbers of '%s'", path);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t number = size == 8 ? ((const int64_t *)array->data)[i] : ((const int32_t *)array->data)[i];
        if (number < -WHOLE_MOST || number > WHOLE_MOST) {
            cli_dataset_fail(error, "'%s' holds %lld: numbers are whole in float32 up to %d", path,
                             (long long)number, WHOLE_MOST);
            free(numbers);
            return false;
        }
        numbers[i] = (float)number;
    }
    free(array->data);
    array->data = numbers;
    array->bytes = count * sizeof *numbers;
    array->type = MTS_TYPE_FLOAT32;
    return true;
}

static bool array_open(cli_dataset *set, char *error)
{
    mts_tensor *array = &set->array;
    char shape[DATASET_SHAPE_TEXT];
    if (!cli_npy_read(set->path, array, error)) {
        return false;
    }
    if ((array->type == MTS_TYPE_INT64 || array->type == MTS_TYPE_INT32) &&
        !whole_numbers_read(array, set->path, error)) {
        return false;
    }
    if (array->type != MTS_TYPE_FLOAT32 && array->type != MTS_TYPE_UINT8) {
        cli_dataset_fail(error, "'%s' holds %s: arrays of inputs are float32, uint8, int32 or int64",
                         set->path, cli_type_name(array->type));
        return false;
    }
    if (array->rank < 2 || array->bytes == 0 || array->dims[0] > UINT32_MAX) {
        cli_dataset_fail(error,
                         "'%s' is %s: arrays of images have their number first, then the dimensions of one",
                         set->path, cli_dataset_shape_text(array->dims, array->rank, shape));
        return false;
    }
    set->count = (uint32_t)array->dims[0];
    return true;
}

static cli_dataset *set_make(const char *path, char *error)
{
    struct stat info;
    const size_t length = strlen(path);
    cli_dataset *set = calloc(1, sizeof *set);
    char *copy = text_copy(path);
    if (!set || !copy) {
        free(set);
        free(copy);
        cli_dataset_fail(error, "no memory");
        return NULL;
    }
    set->path = copy;
    set->kind = stat(path, &info) == 0 && S_ISDIR(info.st_mode)            ? KIND_FOLDER
                : length > 4 && strcasecmp(path + length - 4, ".npy") == 0 ? KIND_ARRAY
                                                                           : KIND_RECORDS;
    return set;
}

cli_dataset *cli_dataset_open(const char *path, uint32_t limit, char *error)
{
    cli_dataset *set = set_make(path, error);
    if (!set) {
        return NULL;
    }
    const bool opened = set->kind == KIND_FOLDER  ? folder_open(set, error)
                        : set->kind == KIND_ARRAY ? array_open(set, error)
                                                  : records_open(set, error);
    if (!opened) {
        cli_dataset_close(set);
        return NULL;
    }
    if (limit > 0 && limit < set->count) {
        for (uint32_t i = limit; i < set->count && set->names; i++) {
            free(set->names[i]);
        }
        set->count = limit;
    }
    return set;
}

/* ---- classes ---- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The folders in the folder become classes; their paths, at first. */
static bool classes_find(cli_dataset *set, char *error)
{
    DIR *folder = opendir(set->path);
    bool good = true;
    if (!folder) {
        cli_dataset_fail(error, "cannot read '%s': %s", set->path, strerror(errno));
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry && good; entry = readdir(folder)) {
        good =
            entry->d_name[0] == '.' || path_add(&set->classes, &set->class_count, set->path, entry->d_name);
        if (good && entry->d_name[0] != '.' && !is_folder(set->classes[set->class_count - 1])) {
            free(set->classes[--set->class_count]);
        }
    }
    (void)closedir(folder);
    if (!good || set->class_count == 0) {
        cli_dataset_fail(error,
                         good ? "'%s' has no folders: pictures to train with lie in a folder for each class"
                              : "no memory for the names in '%s'",
                         set->path);
        return false;
    }
    qsort(set->classes, set->class_count, sizeof *set->classes, name_compare);
    return true;
}

static bool labels_make(cli_dataset *set, const uint32_t *ends, char *error)
{
    set->labels = calloc(set->count, sizeof *set->labels);
    if (!set->labels) {
        cli_dataset_fail(error, "no memory for %u labels", set->count);
        return false;
    }
    for (uint32_t c = 0, i = 0; c < set->class_count; c++) {
        for (; i < ends[c]; i++) {
            set->labels[i] = c;
        }
        const char *slash = strrchr(set->classes[c], '/');
        memmove(set->classes[c], slash + 1, strlen(slash)); /* the name alone, and its end */
    }
    return true;
}

static bool class_folders_open(cli_dataset *set, char *error)
{
    if (!classes_find(set, error)) {
        return false;
    }
    uint32_t *ends = calloc(set->class_count, sizeof *ends);
    bool good = ends;
    if (!ends) {
        cli_dataset_fail(error, "no memory for %u classes", set->class_count);
    }
    for (uint32_t c = 0; good && c < set->class_count; c++) {
        good = pictures_add(set, set->classes[c], error);
        ends[c] = set->count;
    }
    good = good && labels_make(set, ends, error);
    free(ends);
    return good;
}

/* Keeps `limit` pictures, evenly. */
static void thin_out(cli_dataset *set, uint32_t limit)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const bool keeps = (uint64_t)kept * set->count / limit == i;
        if (keeps && kept < limit) {
            set->names[kept] = set->names[i];
            set->labels[kept++] = set->labels[i];
        } else {
            free(set->names[i]);
        }
    }
    set->count = kept;
}

cli_dataset *cli_dataset_open_classes(const char *path, uint32_t limit, char *error)
{
    cli_dataset *set = set_make(path, error);
    bool opened = false;
    if (set && set->kind == KIND_ARRAY) {
        cli_dataset_fail(
            error, "'%s' is an array, which has no classes: give CIFAR-10 records, or a folder of folders",
            path);
    } else if (set) {
        opened = set->kind == KIND_FOLDER ? class_folders_open(set, error) : records_open(set, error);
    }
    if (!opened) {
        cli_dataset_close(set);
        return NULL;
    }
    if (limit > 0 && limit < set->count && set->kind == KIND_FOLDER) {
        thin_out(set, limit);
    }
    set->count = limit > 0 && limit < set->count ? limit : set->count;
    for (uint32_t i = 0; i < set->count && set->kind == KIND_RECORDS; i++) {
        const uint32_t label = cli_dataset_label(set, i);
        set->class_count = label >= set->class_count ? label + 1 : set->class_count;
    }
    return set;
}

uint32_t cli_dataset_label(const cli_dataset *dataset, uint32_t index)
{
    const size_t record = dataset->record_labels + RECORD_PIXELS;
    return dataset->kind == KIND_RECORDS
               ? dataset->records[(size_t)index * record + dataset->record_labels - 1]
           : dataset->labels ? dataset->labels[index]
                             : 0;
}

uint32_t cli_dataset_class_count(const cli_dataset *dataset)
{
    return dataset->class_count;
}

const char *cli_dataset_class(const cli_dataset *dataset, uint32_t number, char *text, size_t size)
{
    (void)snprintf(text, size, "%u", number);
    return dataset->classes ? dataset->classes[number] : text;
}

void cli_dataset_close(cli_dataset *dataset)
{
    if (!dataset) {
        return;
    }
    for (uint32_t i = 0; i < dataset->count && dataset->names; i++) {
        free(dataset->names[i]);
    }
    for (uint32_t i = 0; i < dataset->class_count && dataset->classes; i++) {
        free(dataset->classes[i]);
    }
    free(dataset->names);
    free(dataset->classes);
    free(dataset->labels);
    free(dataset->records);
    free(dataset->array.data);
    cli_image_release(&dataset->picture);
    free(dataset->path);
    free(dataset);
}
