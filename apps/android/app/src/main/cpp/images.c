/*
 * images.c: see images.h. The processor's view of the picture (AImage_getPlaneData holds
 * it until the image is deleted) is what the library reads: it copies the rows that it
 * needs to a GPU, and reads them in place where the device computes in host memory. A GPU
 * that reads hardware buffers gets the buffer instead.
 */
#include "images.h"

#include <android/hardware_buffer.h>

#include "frames.h"

uint64_t image_usage(void)
{
    return AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE;
}

static media_status_t read_plane(const AImage *image, int plane, frame_planes *planes)
{
    uint8_t *data = NULL;
    int bytes = 0;
    media_status_t status = AImage_getPlaneData(image, plane, &data, &bytes);
    if (status == AMEDIA_OK) {
        status = AImage_getPlaneRowStride(image, plane, &planes->row_stride[plane]);
    }
    if (status == AMEDIA_OK) {
        status = AImage_getPlanePixelStride(image, plane, &planes->pixel_stride[plane]);
    }
    planes->data[plane] = data;
    planes->bytes[plane] = bytes;
    return status;
}

const char *image_frame(const AImage *image, mts_frame *frame)
{
    frame_planes planes = {.width = 0};
    AImageCropRect crop = {0};
    int32_t format = 0, count = 0;
    if (AImage_getFormat(image, &format) != AMEDIA_OK || format != AIMAGE_FORMAT_YUV_420_888 ||
        AImage_getNumberOfPlanes(image, &count) != AMEDIA_OK || count != 3) {
        return "the camera's picture is not of the format YUV_420_888";
    }
    media_status_t status = AImage_getWidth(image, &planes.width);
    if (status == AMEDIA_OK) {
        status = AImage_getHeight(image, &planes.height);
    }
    if (status == AMEDIA_OK && AImage_getCropRect(image, &crop) == AMEDIA_OK) {
        planes.left = crop.left;
        planes.top = crop.top;
        planes.right = crop.right;
        planes.bottom = crop.bottom;
    }
    for (int plane = 0; plane < 3 && status == AMEDIA_OK; plane++) {
        status = read_plane(image, plane, &planes);
    }
    return status == AMEDIA_OK ? frame_from_planes(&planes, frame) : "the camera's picture cannot be read";
}

bool image_buffer(const AImage *image, mts_frame *frame)
{
    AHardwareBuffer *buffer = NULL; /* the image's, like its planes */
    return AImage_getHardwareBuffer(image, &buffer) == AMEDIA_OK && buffer && frame_to_buffer(buffer, frame);
}
