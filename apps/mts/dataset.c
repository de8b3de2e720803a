/*
 * dataset.c: records, folders and arrays behind the two callbacks of mtsz_data.
 */
#include "dataset.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "kit/image.h"

#define SIDE CLI_DATASET_SIDE
#define PLANE (SIDE * SIDE)
#define RECORD (1u + 3u * PLANE)
#define DATA_MOST ((size_t)1 << 30)
#define SHAPE_TEXT 160
#define WHOLE_MOST 16777216 /* up to here float32 has all whole numbers */

typedef enum kind { KIND_RECORDS, KIND_FOLDER, KIND_ARRAY } kind;

struct cli_dataset {
    kind kind;
    char *path;
    uint32_t count;
    unsigned char *records; /* RECORDS */
    char **names;           /* FOLDER: [count], paths of the pictures */
    char **classes;         /* FOLDER of class folders: [class_count], their names */
    uint32_t class_count;
    uint32_t *labels;         /* FOLDER of class folders: [count] */
    mts_tensor array;         /* ARRAY */
    cli_image picture;        /* what the callback gave last */
    const mts_bundle *bundle; /* for the shapes of inputs, see cli_dataset_fit */
    char reason[CLI_ERROR];
};

static void fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, CLI_ERROR, format, arguments);
    va_end(arguments);
}

static char *text_copy(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL; /* NOLINT: it fits */
}

static const char *shape_text(const int64_t *dims, uint32_t rank, char text[SHAPE_TEXT])
{
    int length = 0;
    (void)snprintf(text, SHAPE_TEXT, "a single number");
    for (uint32_t i = 0; i < rank; i++) {
        length +=
            snprintf(text + length, SHAPE_TEXT - (size_t)length, i ? "x%lld" : "%lld", (long long)dims[i]);
    }
    return text;
}

/* ---- opening ---- */

static bool records_open(cli_dataset *set, char *error)
{
    size_t size = 0;
    set->records = cli_file_read(set->path, DATA_MOST, &size, error);
    if (!set->records) {
        return false;
    }
    if (size == 0 || size % RECORD != 0) {
        fail(error, "'%s' has %zu bytes: not a whole number of CIFAR-10 records of %u bytes", set->path, size,
             RECORD);
        return false;
    }
    set->count = (uint32_t)(size / RECORD);
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
        fail(error, "cannot read '%s': %s", path, strerror(errno));
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry && good; entry = readdir(folder)) {
        good = !is_picture(entry->d_name) || path_add(&set->names, &set->count, path, entry->d_name);
    }
    (void)closedir(folder);
    if (!good || set->count == first) {
        fail(error,
             good ? "'%s' holds no pictures (PNG, JPEG, BMP, TGA or PNM)" : "no memory for the names in '%s'",
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
        fail(error, "no memory for the numbers of '%s'", path);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t number = size == 8 ? ((const int64_t *)array->data)[i] : ((const int32_t *)array->data)[i];
        if (number < -WHOLE_MOST || number > WHOLE_MOST) {
            fail(error, "'%s' holds %lld: numbers are whole in float32 up to %d", path, (long long)number,
                 WHOLE_MOST);
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
    char shape[SHAPE_TEXT];
    if (!cli_npy_read(set->path, array, error)) {
        return false;
    }
    if ((array->type == MTS_TYPE_INT64 || array->type == MTS_TYPE_INT32) &&
        !whole_numbers_read(array, set->path, error)) {
        return false;
    }
    if (array->type != MTS_TYPE_FLOAT32 && array->type != MTS_TYPE_UINT8) {
        fail(error, "'%s' holds %s: arrays of inputs are float32, uint8, int32 or int64", set->path,
             cli_type_name(array->type));
        return false;
    }
    if (array->rank < 2 || array->bytes == 0 || array->dims[0] > UINT32_MAX) {
        fail(error, "'%s' is %s: arrays of images have their number first, then the dimensions of one",
             set->path, shape_text(array->dims, array->rank, shape));
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
        fail(error, "no memory");
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
        fail(error, "cannot read '%s': %s", set->path, strerror(errno));
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
        fail(error,
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
        fail(error, "no memory for %u labels", set->count);
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
        fail(error, "no memory for %u classes", set->class_count);
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
        fail(error, "'%s' is an array, which has no classes: give CIFAR-10 records, or a folder of folders",
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

/* ---- pictures ---- */

/* Dimensions of one image of an array. */
static const int64_t *element_dims(const cli_dataset *set, uint32_t *rank)
{
    *rank = set->array.rank - 1;
    return set->array.dims + 1;
}

/* How an array's images are pictures. */
typedef struct pixels {
    uint32_t width, height, channels;
    size_t row, column, channel; /* steps in the array */
} pixels;

static bool array_pixels(const cli_dataset *set, pixels *out)
{
    uint32_t rank = 0;
    const int64_t *d = element_dims(set, &rank);
    if (set->array.type != MTS_TYPE_UINT8 || rank != 3 || d[0] > INT32_MAX || d[1] > INT32_MAX ||
        d[2] > INT32_MAX) {
        return false;
    }
    const bool inner = d[2] == 3 || (d[2] == 1 && d[0] != 3 && d[0] != 1);
    if (!inner && d[0] != 3 && d[0] != 1) {
        return false;
    }
    out->height = (uint32_t)d[inner ? 0 : 1];
    out->width = (uint32_t)d[inner ? 1 : 2];
    out->channels = (uint32_t)d[inner ? 2 : 0];
    out->channel = inner ? 1 : (size_t)out->width * out->height;
    out->column = inner ? out->channels : 1;
    out->row = out->column * out->width;
    return true;
}

static bool has_pictures(const cli_dataset *set)
{
    pixels p;
    return set->kind != KIND_ARRAY || array_pixels(set, &p);
}

static bool array_picture(const cli_dataset *set, uint32_t index, cli_image *image)
{
    pixels p;
    (void)array_pixels(set, &p);
    const size_t count = (size_t)p.width * p.height;
    const unsigned char *from = (const unsigned char *)set->array.data + index * count * p.channels;
    *image = (cli_image){.pixels = malloc(3 * count + 1), .width = p.width, .height = p.height};
    for (size_t i = 0; image->pixels && i < count; i++) {
        const size_t at = i / p.width * p.row + i % p.width * p.column;
        for (size_t c = 0; c < 3; c++) {
            image->pixels[3 * i + c] = from[at + (p.channels == 3 ? c * p.channel : 0)];
        }
    }
    return image->pixels;
}

void cli_dataset_pixels(const cli_dataset *dataset, uint32_t index, unsigned char *rgb)
{
    const unsigned char *planes = dataset->records + (size_t)index * RECORD + 1;
    for (size_t i = 0; i < PLANE; i++) {
        rgb[3 * i] = planes[i];
        rgb[3 * i + 1] = planes[PLANE + i];
        rgb[3 * i + 2] = planes[2 * (size_t)PLANE + i];
    }
}

static bool record_picture(const cli_dataset *set, uint32_t index, cli_image *image)
{
    *image = (cli_image){.pixels = malloc(3 * PLANE), .width = SIDE, .height = SIDE};
    if (image->pixels) {
        cli_dataset_pixels(set, index, image->pixels);
    }
    return image->pixels;
}

static int frame_get(void *context, uint32_t index, mts_frame *frame)
{
    cli_dataset *set = context;
    set->reason[0] = '\0';
    cli_image_release(&set->picture);
    const bool made = set->kind == KIND_RECORDS ? record_picture(set, index, &set->picture)
                      : set->kind == KIND_FOLDER
                          ? cli_image_read(set->names[index], &set->picture, set->reason)
                          : array_picture(set, index, &set->picture);
    if (!made && !set->reason[0]) {
        fail(set->reason, "no memory for image %u of '%s'", index, set->path);
    }
    frame->data = set->picture.pixels;
    frame->width = set->picture.width;
    frame->height = set->picture.height;
    frame->format = MTS_PIXEL_FORMAT_RGB;
    return made ? 0 : 1;
}

/* ---- inputs that are no pictures ---- */

typedef enum order { ORDER_NONE, ORDER_AS_IS, ORDER_TURN_IN, ORDER_TURN_OUT } order;

static bool dims_equal(const int64_t *a, const int64_t *b, uint32_t rank)
{
    return memcmp(a, b, rank * sizeof *a) == 0;
}

/* How an image of the array becomes an input: as it is, [H,W,C] to [C,H,W], or the other
   way round. */
static order order_find(const cli_dataset *set, const mts_port_desc *port)
{
    uint32_t rank = 0;
    const int64_t *d = element_dims(set, &rank);
    const bool batch = port->rank == rank + 1 && port->dims[0] == 1;
    const int64_t *want = port->dims + (batch ? 1 : 0);
    if (!batch && port->rank != rank) {
        return ORDER_NONE;
    }
    if (dims_equal(d, want, rank)) {
        return ORDER_AS_IS;
    }
    if (rank == 3 && dims_equal((const int64_t[]){d[2], d[0], d[1]}, want, 3)) {
        return ORDER_TURN_IN;
    }
    return rank == 3 && dims_equal((const int64_t[]){d[1], d[2], d[0]}, want, 3) ? ORDER_TURN_OUT
                                                                                 : ORDER_NONE;
}

static int tensor_get(void *context, uint32_t index, const char *task, uint32_t input, float *out,
                      size_t count)
{
    cli_dataset *set = context;
    mts_port_desc port = {.size = sizeof port};
    uint32_t rank = 0;
    const int64_t *d = element_dims(set, &rank);
    set->reason[0] = '\0';
    const order how =
        set->bundle && mts_bundle_input(set->bundle, task, input, &port) == MTS_STATUS_OK && input == 0
            ? order_find(set, &port)
            : ORDER_NONE;
    if (how == ORDER_NONE ||
        count * (size_t)set->array.dims[0] * cli_type_size(set->array.type) != set->array.bytes) {
        fail(set->reason, "the images of '%s' are no inputs of task '%s'", set->path, task);
        return 1;
    }
    /* Turned, element (a, b) of a matrix [rows][columns] becomes (b, a). */
    const size_t turned = how == ORDER_TURN_IN    ? (size_t)d[2]
                          : how == ORDER_TURN_OUT ? count / (size_t)d[0]
                                                  : 1;
    const size_t columns = turned > 1 ? turned : 1;
    const size_t rows = count / columns;
    for (size_t i = 0; i < count; i++) {
        const size_t from = index * count + i;
        out[i % columns * rows + i / columns] = set->array.type == MTS_TYPE_UINT8
                                                    ? (float)((const unsigned char *)set->array.data)[from]
                                                    : ((const float *)set->array.data)[from];
    }
    return 0;
}

static bool task_fits(const cli_dataset *set, const mts_task_desc *task, char *error)
{
    mts_port_desc port = {.size = sizeof port};
    char wanted[SHAPE_TEXT];
    char given[SHAPE_TEXT];
    uint32_t rank = 0;
    if (task->input_count == 0 || (task->takes_frames && task->input_count == 1 && has_pictures(set))) {
        return true;
    }
    if (set->kind != KIND_ARRAY) {
        fail(error, "task '%s' takes no pictures (%s): give its inputs as an array, FILE.npy", task->name,
             task->takes_frames ? "it has other inputs too"
                                : "it has no color, or its input is not one image");
        return false;
    }
    if (task->input_count > 1) {
        fail(error, "task '%s' has %u inputs; an array feeds one", task->name, task->input_count);
        return false;
    }
    if (mts_bundle_input(set->bundle, task->name, 0, &port) != MTS_STATUS_OK) {
        fail(error, "task '%s' has no input", task->name);
        return false;
    }
    if (order_find(set, &port) == ORDER_NONE) {
        const int64_t *d = element_dims(set, &rank);
        fail(error, "task '%s': its input '%s' is %s, but an image of '%s' is %s", task->name, port.name,
             shape_text(port.dims, port.rank, wanted), set->path, shape_text(d, rank, given));
        return false;
    }
    return true;
}

bool cli_dataset_fit(cli_dataset *dataset, const mts_bundle *bundle, const char *const *tasks, uint32_t count,
                     char *error)
{
    dataset->bundle = bundle;
    for (uint32_t i = 0; i < mts_bundle_task_count(dataset->bundle); i++) {
        mts_task_desc task = {.size = sizeof task};
        if (mts_bundle_task(dataset->bundle, i, &task) != MTS_STATUS_OK) {
            fail(error, "the bundle has no task %u", i);
            return false;
        }
        bool chosen = !tasks;
        for (uint32_t k = 0; k < count && tasks; k++) {
            chosen = chosen || strcmp(tasks[k], task.name) == 0;
        }
        if (chosen && !task_fits(dataset, &task, error)) {
            return false;
        }
    }
    return true;
}

mtsz_data cli_dataset_data(cli_dataset *dataset)
{
    return (mtsz_data){.size = sizeof(mtsz_data),
                       .count = dataset->count,
                       .context = dataset,
                       .frame = has_pictures(dataset) ? frame_get : NULL,
                       .tensor = dataset->kind == KIND_ARRAY ? tensor_get : NULL};
}

uint32_t cli_dataset_count(const cli_dataset *dataset)
{
    return dataset->count;
}

bool cli_dataset_labelled(const cli_dataset *dataset)
{
    return dataset->kind == KIND_RECORDS;
}

uint32_t cli_dataset_label(const cli_dataset *dataset, uint32_t index)
{
    return dataset->kind == KIND_RECORDS ? dataset->records[(size_t)index * RECORD]
           : dataset->labels             ? dataset->labels[index]
                                         : 0;
}

const char *cli_dataset_reason(const cli_dataset *dataset)
{
    return dataset->reason;
}
