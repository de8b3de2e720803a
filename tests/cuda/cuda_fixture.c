/*
 * cuda_fixture.c: see cuda_fixture.h.
 */
#include "cuda/cuda_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TOUCHED 256u

const mts_kernel_source cuda_advance = {
    .name = "advance",
    .source =
        "extern \"C\" __global__ void advance(float *act, const float *pool, const unsigned int *table,\n"
        "                                    unsigned int first)\n"
        "{\n"
        "    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    act[i] = act[i] * pool[0] + (float)table[first] + (float)i;\n"
        "}\n"};

int cuda_machine_check(void)
{
    if (system("c++ --version >/dev/null 2>&1") != 0) {
        (void)printf("skipped: there is no C++ compiler for the emulation\n");
        return 77;
    }
    return 0;
}

void cuda_world_init(cuda_world *w, const char *cache_dir)
{
    memset(w, 0, sizeof *w);
    device_fixture_init(&w->base, cache_dir);
    fake_cuda_reset();
}

static mts_status make_buffers(cuda_world *w, mts_error *error)
{
    static const uint32_t records[] = {1, 20, 300, 7};
    const float two = 2.0f;
    mts_status status = mts_buffer_create(w->base.device, CUDA_COUNT * sizeof(float), &w->act, error);
    status = status ? status : mts_buffer_create(w->base.device, sizeof two, &w->pool, error);
    status = status ? status : mts_buffer_create(w->base.device, sizeof records, &w->table, error);
    status = status ? status : mts_buffer_write(w->pool, 0, &two, sizeof two, error);
    return status ? status : mts_buffer_write(w->table, 0, records, sizeof records, error);
}

mts_status cuda_world_make(cuda_world *w, mts_error *error)
{
    mts_status status = mts_backend_cuda.open(0, &w->base.options, &w->base.device, error);
    status = status ? status : make_buffers(w, error);
    status = status ? status
                    : mts_cu_kernel_create_from(w->base.device, &cuda_advance, "-DX=1", &w->kernel, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < CUDA_LAUNCHES; i++) {
        w->launches[i] = (mts_launch){.kernel = w->kernel,
                                      .act = w->act,
                                      .pool = w->pool,
                                      .params = w->table,
                                      .first = i,
                                      .global = {TOUCHED, 1, 1},
                                      .local = {64, 1, 1},
                                      .label = "advance"};
    }
    return mts_command_list_create(w->base.device, w->launches, CUDA_LAUNCHES, &w->list, error);
}

void cuda_world_open(cuda_world *w, const char *cache_dir)
{
    mts_error error = {MTS_STATUS_OK, ""};
    cuda_world_init(w, cache_dir);
    if (cuda_world_make(w, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

mts_status cuda_world_set(const cuda_world *w, mts_error *error)
{
    float *values = malloc(CUDA_COUNT * sizeof *values);
    assert_non_null(values);
    for (uint32_t i = 0; i < CUDA_COUNT; i++) {
        values[i] = (float)i;
    }
    const mts_status status = mts_buffer_write(w->act, 0, values, CUDA_COUNT * sizeof *values, error);
    memset(values, 0xff, CUDA_COUNT * sizeof *values); /* it is ours again */
    free(values);
    return status;
}

float cuda_world_value(uint32_t i, float a, float b, float c)
{
    const float x = (float)i;
    return ((x * 2.0f + a + x) * 2.0f + b + x) * 2.0f + c + x;
}

void cuda_world_expect(const cuda_world *w, float a, float b, float c)
{
    float values[TOUCHED + 1];
    mts_error error = {MTS_STATUS_OK, ""};
    if (mts_buffer_read(w->act, 0, values, sizeof values, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (uint32_t i = 0; i < TOUCHED; i++) {
        if (values[i] != cuda_world_value(i, a, b, c)) {
            fail_msg("float %u: %.9g instead of %.9g", i, (double)values[i],
                     (double)cuda_world_value(i, a, b, c));
        }
    }
    assert_true(values[TOUCHED] == (float)TOUCHED);
}

void cuda_expect_clean(void)
{
    char text[512];
    if (!fake_cuda_clean(text, sizeof text)) {
        fail_msg("left behind: %s", text);
    }
    assert_int_equal(fake_cuda_depth(), 0);
}

void cuda_world_close(cuda_world *w)
{
    mts_command_list_destroy(&w->list);
    if (w->kernel) {
        mts_cu_kernel_destroy(w->base.device, w->kernel);
        w->kernel = NULL;
    }
    mts_buffer_destroy(&w->act);
    mts_buffer_destroy(&w->pool);
    mts_buffer_destroy(&w->table);
    device_fixture_close(&w->base);
}

/* "folder/a:folder/b:folder" */
static void library_path(char *out, size_t size, const char *folders, bool usual)
{
    size_t length = 0;
    out[0] = '\0';
    while (*folders) {
        const size_t part = strcspn(folders, ":");
        length +=
            (size_t)snprintf(out + length, size - length, "%s/%.*s:", MTS_FAKE_FOLDER, (int)part, folders);
        folders += part + (folders[part] == ':');
    }
    (void)snprintf(out + length, size - length, "%s", usual ? MTS_FAKE_FOLDER : "");
}

void cuda_scenario(const char *scenario, const char *folders, bool usual, const char *variable)
{
    char path[1024];
    char self[512] = "";
    int status = -1;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    library_path(path, sizeof path, folders, usual);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *arguments[] = {self, (char *)(uintptr_t)scenario, NULL};
        char name[128];
        (void)setenv("LD_LIBRARY_PATH", path, 1);
        if (variable) {
            const size_t length = strcspn(variable, "=");
            (void)snprintf(name, sizeof name, "%.*s", (int)length, variable);
            (void)setenv(name, variable + length + 1, 1);
        }
        (void)execv(self, arguments);
        _exit(126);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("scenario %s: status %d", scenario, status);
    }
}
