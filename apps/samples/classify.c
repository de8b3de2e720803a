/*
 * classify.c: one picture, one answer of every task of a bundle. A sample of the run-time
 * API; the run-time is all it needs, so that it also runs where there is no compiler.
 *
 *     classify app.mtsb photo.ppm [device]
 */
#include <mts/mts.h>
#include <stdio.h>
#include <stdlib.h>

/* A picture in the PPM format ("P6", 8 bits a channel); NULL if it is not one. */
static unsigned char *read_picture(const char *path, mts_frame *frame)
{
    FILE *file = fopen(path, "rb");
    unsigned char *pixels = NULL;
    unsigned int width = 0, height = 0;
    if (file && fscanf(file, "P6 %5u %5u 255", &width, &height) == 2 && fgetc(file) != EOF) {
        const size_t size = (size_t)3 * width * height;
        pixels = size ? malloc(size) : NULL;
        if (pixels && fread(pixels, 1, size, file) != size) {
            free(pixels);
            pixels = NULL;
        }
    }
    if (file) {
        (void)fclose(file);
    }
    *frame = (mts_frame){.size = sizeof *frame,
                         .data = pixels,
                         .width = width,
                         .height = height,
                         .format = MTS_PIXEL_FORMAT_RGB};
    return pixels;
}

/* The class with the largest number of a task's first output. */
static void print_answer(const mts_task_desc *task, const mts_tensor *output)
{
    const float *scores = output->data;
    const size_t count = output->bytes / sizeof *scores;
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    if (best < task->label_count) {
        printf("%s: %s (%.3f)\n", task->name, task->labels[best], (double)scores[best]);
    } else {
        printf("%s: class %zu (%.3f)\n", task->name, best, (double)scores[best]);
    }
}

static mts_status run(mts_runtime *runtime, const char *path, const mts_frame *frame)
{
    mts_bundle *bundle = NULL;
    mts_session *session = NULL;
    mts_ticket ticket = 0;
    mts_status status = mts_bundle_open(runtime, path, &bundle);
    if (status == MTS_STATUS_OK) {
        status = mts_session_create(runtime, bundle, NULL, &session);
    }
    if (status == MTS_STATUS_OK) {
        status = mts_session_submit(session, frame, &ticket);
    }
    if (status == MTS_STATUS_OK) {
        status = mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE);
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < mts_bundle_task_count(bundle); i++) {
        mts_task_desc task = {.size = sizeof task};
        mts_tensor output;
        status = mts_bundle_task(bundle, i, &task);
        if (status == MTS_STATUS_OK) {
            status = mts_session_output(session, task.name, 0, &output);
        }
        if (status == MTS_STATUS_OK && output.type == MTS_TYPE_FLOAT32) {
            print_answer(&task, &output);
        }
    }
    mts_session_destroy(&session);
    mts_bundle_destroy(&bundle);
    return status;
}

int main(int argc, char **argv)
{
    char error[256] = "";
    mts_frame frame;
    mts_runtime_options options;
    mts_runtime *runtime = NULL;
    if (argc < 3) {
        (void)fprintf(stderr, "usage: classify BUNDLE PICTURE.ppm [DEVICE]\n");
        return 2;
    }
    unsigned char *pixels = read_picture(argv[2], &frame);
    if (!pixels) {
        (void)fprintf(stderr, "classify: %s is no picture in the PPM format\n", argv[2]);
        return 1;
    }
    mts_runtime_options_default(&options);
    options.device = argc > 3 ? argv[3] : NULL;
    options.error_text = error;
    options.error_size = sizeof error;
    mts_status status = mts_runtime_create(&options, &runtime);
    if (status == MTS_STATUS_OK) {
        status = run(runtime, argv[1], &frame);
    }
    if (status != MTS_STATUS_OK) {
        (void)fprintf(stderr, "classify: %s\n", error[0] ? error : mts_status_name(status));
    }
    mts_runtime_destroy(&runtime);
    free(pixels);
    return status == MTS_STATUS_OK ? 0 : 1;
}
