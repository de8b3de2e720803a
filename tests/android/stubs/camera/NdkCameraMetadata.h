/*
 * Stub of the NDK's camera/NdkCameraMetadata.h and NdkCameraMetadataTags.h: what apps/android uses of them.
 * See README.md.
 */
#ifndef STUB_CAMERA_NDK_CAMERA_METADATA_H
#define STUB_CAMERA_NDK_CAMERA_METADATA_H

#include <camera/NdkCameraError.h>
#include <stdint.h>

typedef enum acamera_metadata_section {
    ACAMERA_LENS = 8,
    ACAMERA_SCALER = 13,
    ACAMERA_SENSOR = 14
} acamera_metadata_section_t;

typedef enum acamera_metadata_tag {
    ACAMERA_LENS_FACING = (ACAMERA_LENS << 16) + 5,
    ACAMERA_SCALER_AVAILABLE_STREAM_CONFIGURATIONS = (ACAMERA_SCALER << 16) + 10,
    ACAMERA_SENSOR_ORIENTATION = (ACAMERA_SENSOR << 16) + 14
} acamera_metadata_tag_t;

typedef enum acamera_metadata_enum_acamera_lens_facing {
    ACAMERA_LENS_FACING_FRONT = 0,
    ACAMERA_LENS_FACING_BACK = 1,
    ACAMERA_LENS_FACING_EXTERNAL = 2
} acamera_metadata_enum_android_lens_facing_t;

typedef struct ACameraMetadata_rational {
    int32_t numerator;
    int32_t denominator;
} ACameraMetadata_rational;

typedef struct ACameraMetadata_const_entry {
    uint32_t tag;
    uint8_t type;
    uint32_t count;
    union {
        const uint8_t *u8;
        const int32_t *i32;
        const float *f;
        const int64_t *i64;
        const double *d;
        const ACameraMetadata_rational *r;
    } data;
} ACameraMetadata_const_entry;

typedef struct ACameraMetadata ACameraMetadata;

camera_status_t ACameraMetadata_getConstEntry(const ACameraMetadata *metadata, uint32_t tag,
                                              ACameraMetadata_const_entry *entry);
void ACameraMetadata_free(ACameraMetadata *metadata);

#endif
