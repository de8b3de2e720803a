/*
 * link.c: from the text of a program to its binary.
 */
#include "cuda/fake/driver.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/fake/image.h"

struct CUlinkState_st {
    fake_object object;
    char *image;
    size_t size;
};

static void release(CUlinkState link)
{
    fake_object_remove(&link->object);
    free(link->image);
    free(link);
}

void fake_links_release(fake_context *context)
{
    fake_object *o = NULL;
    while ((o = fake_object_next(NULL, FAKE_KIND_LINK, context))) {
        fake_orphan();
        release((CUlinkState)o);
    }
}

CUresult cuLinkCreate_v2(unsigned int count, int *options, void **values, CUlinkState *out)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    (void)count;
    (void)options;
    (void)values;
    if (result == CUDA_SUCCESS) {
        *out = calloc(1, sizeof **out);
        if (!*out) {
            abort(); /* the test machine is out of memory */
        }
        fake_object_add(&(*out)->object, FAKE_KIND_LINK, fake_current());
    }
    return fake_leave(result);
}

static CUresult add_text(CUlinkState link, const char *text, size_t size)
{
    fake_image header;
    link->image = fake_image_from_text(text, size, &link->size);
    if (!link->image) {
        return CUDA_ERROR_INVALID_PTX;
    }
    memcpy(&header, link->image, sizeof header);
    if (header.arch > (uint32_t)fake_cuda_device()->arch) {
        return CUDA_ERROR_INVALID_PTX;
    }
    header.arch = (uint32_t)fake_cuda_device()->arch;
    header.version = (uint32_t)fake_cuda_device()->driver;
    memcpy(link->image, &header, sizeof header);
    return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState handle, int kind, void *data, size_t size, const char *name,
                          unsigned int count, int *options, void **values)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUlinkState link = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_LINK) : NULL;
    (void)name;
    (void)count;
    (void)options;
    (void)values;
    if (result == CUDA_SUCCESS) {
        result = !link                                     ? CUDA_ERROR_INVALID_HANDLE
                 : kind != CU_JIT_INPUT_PTX || link->image ? CUDA_ERROR_INVALID_VALUE
                                                           : add_text(link, data, size);
    }
    return fake_leave(result);
}

CUresult cuLinkComplete(CUlinkState handle, void **out, size_t *size)
{
    CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUlinkState link = result == CUDA_SUCCESS ? fake_object_find(handle, FAKE_KIND_LINK) : NULL;
    if (result == CUDA_SUCCESS) {
        result = !link ? CUDA_ERROR_INVALID_HANDLE : !link->image ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        *out = link->image; /* belongs to the link */
        *size = link->size;
    }
    return fake_leave(result);
}

CUresult cuLinkDestroy(CUlinkState handle)
{
    const CUresult result = fake_enter(__func__, FAKE_NEED_CONTEXT);
    CUlinkState link = fake_object_find(handle, FAKE_KIND_LINK);
    if (link) {
        release(link);
    }
    return fake_leave(result ? result : link ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}
