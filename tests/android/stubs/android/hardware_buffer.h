/*
 * Stub of the NDK's android/hardware_buffer.h (API level 26): what apps/android uses of it. See README.md.
 */
#ifndef STUB_ANDROID_HARDWARE_BUFFER_H
#define STUB_ANDROID_HARDWARE_BUFFER_H

#include <stdint.h>

typedef struct AHardwareBuffer AHardwareBuffer;

enum AHardwareBuffer_UsageFlags {
    AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3UL,
    AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE = 1UL << 8
};

typedef struct AHardwareBuffer_Desc {
    uint32_t width;
    uint32_t height;
    uint32_t layers;
    uint32_t format;
    uint64_t usage;
    uint32_t stride;
    uint32_t rfu0;
    uint64_t rfu1;
} AHardwareBuffer_Desc;

void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc);

#endif
