/*
 * libFuzzer target: frames of any size, stride, format and region. Planes are allocations of exactly the bytes that the
 * frame says, so that the sanitizer sees each byte that is read beyond them.
 */
#include "fuzz/fuzz_bytes.h"
#include "fuzz/fuzz_world.h"

#define PLANE_MOST ((uint64_t)1 << 20)

static mts_runtime *runtime;
static mts_bundle *bundle;
static mts_session *session;
static char text[512];

static void must(mts_status status)
{
    if (status != MTS_STATUS_OK) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
}

static void open_world(void)
{
    mts_runtime_options options;
    mts_session_options wanted;
    mts_runtime_options_default(&options);
    options.device = "reference";
    options.error_text = text;
    options.error_size = sizeof text;
    must(mts_runtime_create(&options, &runtime));
    must(mts_bundle_open_memory(runtime, fuzz_bundle()->data, fuzz_bundle()->size, &bundle));
    mts_session_options_default(&wanted);
    must(mts_session_create(runtime, bundle, &wanted, &session));
}

static void take_region(fuzz_bytes *in, mts_region *region)
{
    region->x = fuzz_size(in, 64);
    region->y = fuzz_size(in, 64);
    region->width = fuzz_size(in, 64);
    region->height = fuzz_size(in, 64);
    region->rotation = (mts_rotation)(fuzz_u8(in) % 5 * 90);
    region->mirror = fuzz_u8(in) % 3;
    region->fit = (mts_fit)(fuzz_u8(in) % 5);
    region->filter = (mts_filter)(fuzz_u8(in) % 5);
    if (fuzz_u8(in) % 4 == 0) {
        region->middle[0] = (float)(int32_t)fuzz_u32(in) / 1e7f;
        region->middle[1] = (float)fuzz_u8(in);
        region->sides[0] = (float)fuzz_u8(in);
        region->sides[1] = (float)(int32_t)fuzz_u32(in) / 1e7f;
        region->angle = (float)fuzz_u8(in) / 40.0f;
        region->outside = (mts_outside)(fuzz_u8(in) % 3);
    }
}

/* Bytes of a row and rows of each plane, as mts.h documents the formats. */
static int planes_of(const mts_frame *frame, uint64_t row[3], uint64_t rows[3])
{
    const uint64_t w = frame->width, h = frame->height, cw = (w + 1) / 2, ch = (h + 1) / 2;
    rows[0] = h;
    rows[1] = rows[2] = ch;
    switch (frame->format) {
    case MTS_PIXEL_FORMAT_RGB:
    case MTS_PIXEL_FORMAT_BGR:
        row[0] = 3 * w;
        return 1;
    case MTS_PIXEL_FORMAT_GREY:
        row[0] = w;
        return 1;
    case MTS_PIXEL_FORMAT_NV12:
    case MTS_PIXEL_FORMAT_NV21:
        row[0] = w;
        row[1] = 2 * cw;
        return 2;
    case MTS_PIXEL_FORMAT_I420:
        row[0] = w;
        row[1] = row[2] = cw;
        return 3;
    case MTS_PIXEL_FORMAT_YUYV:
    case MTS_PIXEL_FORMAT_UYVY:
        row[0] = 4 * cw;
        return 1;
    default:
        row[0] = 4 * w;
        return 1;
    }
}

static bool make_planes(fuzz_bytes *in, mts_frame *frame, void *memory[3])
{
    uint64_t row[3] = {0}, rows[3] = {0};
    uint32_t *strides[3] = {&frame->stride, &frame->chroma_stride[0], &frame->chroma_stride[1]};
    const int count = planes_of(frame, row, rows);
    for (int i = 0; i < count; i++) {
        const uint64_t stride = fuzz_u8(in) % 2 ? row[i] + fuzz_u8(in) % 40 : 0;
        const uint64_t bytes = rows[i] ? (stride ? stride : row[i]) * (rows[i] - 1) + row[i] : 0;
        if (bytes > PLANE_MOST) {
            return false;
        }
        *strides[i] = (uint32_t)stride;
        memory[i] = malloc(bytes ? bytes : 1);
        if (!memory[i]) {
            return false;
        }
        for (uint64_t b = 0; b < bytes; b++) {
            ((unsigned char *)memory[i])[b] = (unsigned char)(b * 7);
        }
    }
    frame->data = memory[0];
    frame->chroma[0] = memory[1];
    frame->chroma[1] = memory[2];
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    void *memory[3] = {NULL, NULL, NULL};
    mts_frame frame;
    mts_ticket ticket = 0;
    if (!session) {
        open_world();
    }
    mts_frame_default(&frame);
    frame.format = (mts_pixel_format)(fuzz_u8(&in) % 12);
    frame.width = fuzz_size(&in, 48);
    frame.height = fuzz_size(&in, 48);
    frame.yuv = (mts_yuv)(fuzz_u8(&in) % 6);
    frame.zero_copy = fuzz_u8(&in) % 3;
    if (make_planes(&in, &frame, memory)) {
        if (fuzz_u8(&in) % 2) {
            take_region(&in, &frame.region);
        }
        text[0] = '\0';
        const mts_status status = mts_session_submit(session, &frame, &ticket);
        if (status == MTS_STATUS_OK) {
            must(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE));
        } else if (status == MTS_STATUS_INTERNAL || !text[0]) {
            abort(); /* a finding */
        }
    }
    for (int i = 0; i < 3; i++) {
        free(memory[i]);
    }
    return 0;
}
