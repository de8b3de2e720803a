/*
 * gst_describe.c: the pipeline in front of the program, for each kind of address. What a
 * user wrote never becomes part of a pipeline's text (but for gst://, which is one): it
 * is set as a property.
 */
#include "gst.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/frames.h"

#define SIZE_TEXT 160

/* Frames come as they are; what the library takes none of is converted on the CPU. */
#define CONVERTED "videoconvert name=convert ! appsink name=sink"

/* ",width=640,height=480,framerate=30/1", as far as it is wanted. */
static const char *size_text(const source_request *request, char text[SIZE_TEXT])
{
    size_t length = 0;
    text[0] = '\0';
    if (request->width) {
        length = (size_t)snprintf(text, SIZE_TEXT, ",width=%u,height=%u", request->width, request->height);
    }
    if (request->fps > 0) {
        const unsigned thousandths = (unsigned)(request->fps * 1e3 + 0.5);
        if (thousandths % 1000 == 0) {
            (void)snprintf(text + length, SIZE_TEXT - length, ",framerate=%u/1", thousandths / 1000);
        } else {
            (void)snprintf(text + length, SIZE_TEXT - length, ",framerate=%u/1000", thousandths);
        }
    }
    return text;
}

static camera_status query_read(const char *rest, char path[URI_PATH], source_request *request, char *error)
{
    const uri_key keys[] = {URI_COMMON(*request)};
    const camera_status status = uri_read(rest, path, keys, sizeof keys / sizeof keys[0], error);
    return status == CAMERA_OK ? uri_size_check(request, error) : status;
}

static camera_status describe_v4l2(const char *rest, source_request *request, gst_plan *plan, char *error)
{
    char size[SIZE_TEXT];
    char path[URI_PATH];
    char filter[4 * SIZE_TEXT] = "";
    const camera_status status = query_read(rest, path, request, error);
    if (status != CAMERA_OK) {
        return status;
    }
    (void)size_text(request, size);
    (void)snprintf(plan->property, sizeof plan->property, "device");
    (void)snprintf(plan->value, sizeof plan->value, "%s", path);
    if (size[0]) { /* cameras that compress are decoded */
        (void)snprintf(filter, sizeof filter, "video/x-raw%s;image/jpeg%s;video/x-h264%s ! ", size, size,
                       size);
    }
    (void)snprintf(plan->text, sizeof plan->text, "v4l2src name=src ! %sdecodebin ! " CONVERTED, filter);
    plan->live = true;
    return CAMERA_OK;
}

static camera_status describe_csi(const char *rest, source_request *request, gst_plan *plan, char *error)
{
    char size[SIZE_TEXT];
    char path[URI_PATH];
    const camera_status status = query_read(rest, path, request, error);
    if (status != CAMERA_OK) {
        return status;
    }
    if (path[0] == '\0' || path[strspn(path, "0123456789")] != '\0' || strlen(path) > 3) {
        return source_fail(error, CAMERA_USAGE, "csi://%s: the number of a sensor is meant, csi://0", path);
    }
    if (request->format >= 0 && request->format != MTS_PIXEL_FORMAT_NV12) {
        return source_fail(error, CAMERA_USAGE, "csi:// gives nv12, not %s",
                           cli_format_name((mts_pixel_format)request->format));
    }
    /* the sensor's frames lie in NVIDIA's memory; nvvidconv brings them into the
       system's */
    (void)snprintf(plan->text, sizeof plan->text,
                   "nvarguscamerasrc name=src sensor-id=%s ! video/x-raw(memory:NVMM),format=NV12%s ! "
                   "nvvidconv ! video/x-raw,format=NV12 ! appsink name=sink",
                   path, size_text(request, size));
    plan->live = true;
    return CAMERA_OK;
}

static camera_status describe_stream(const char *scheme, const char *rest, const source_request *request,
                                     gst_plan *plan, char *error)
{
    if (request->width || request->fps > 0) {
        return source_fail(error, CAMERA_USAGE, "%s:// comes in its own size and rate: none can be chosen",
                           scheme);
    }
    plan->live = strcmp(scheme, "rtsp") == 0;
    (void)snprintf(plan->property, sizeof plan->property, "uri");
    if (plan->live) {
        (void)snprintf(plan->value, sizeof plan->value, "rtsp://%s", rest);
    } else {
        (void)snprintf(plan->value, sizeof plan->value, "%s", rest); /* a path; becomes an address later */
    }
    (void)snprintf(plan->text, sizeof plan->text,
                   "uridecodebin name=src caps=\"video/x-raw(ANY)\" expose-all-streams=false ! " CONVERTED);
    return CAMERA_OK;
}

static camera_status describe_test(const char *rest, source_request *request, gst_plan *plan, char *error)
{
    char size[SIZE_TEXT];
    char pattern[URI_PATH];
    uint32_t frames = 0;
    const uri_key keys[] = {URI_COMMON(*request), {"frames", URI_KIND_COUNT, &frames}};
    camera_status status = uri_read(rest, pattern, keys, sizeof keys / sizeof keys[0], error);
    status = status == CAMERA_OK ? uri_size_check(request, error) : status;
    if (status != CAMERA_OK) {
        return status;
    }
    if (pattern[strspn(pattern, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0') {
        return source_fail(error, CAMERA_USAGE, "'%s' is no pattern of videotestsrc", pattern);
    }
    if (!request->width) {
        request->width = 640;
        request->height = 480;
    }
    request->format = request->format < 0 ? (int)MTS_PIXEL_FORMAT_NV12 : request->format; /* as cameras do */
    (void)snprintf(plan->text, sizeof plan->text,
                   "videotestsrc name=src pattern=%s num-buffers=%d ! video/x-raw%s ! appsink name=sink",
                   pattern[0] && strcmp(pattern, "pattern") != 0 ? pattern : "smpte",
                   frames ? (int)frames : -1, size_text(request, size));
    return CAMERA_OK;
}

camera_status gst_describe(const char *scheme, const char *rest, source_request *request, gst_plan *plan,
                           char *error)
{
    *plan = (gst_plan){0};
    if (strcmp(scheme, "v4l2") == 0) {
        return describe_v4l2(rest, request, plan, error);
    }
    if (strcmp(scheme, "csi") == 0) {
        return describe_csi(rest, request, plan, error);
    }
    if (strcmp(scheme, "test") == 0) {
        return describe_test(rest, request, plan, error);
    }
    if (strlen(rest) >= URI_PATH) {
        return source_fail(error, CAMERA_USAGE, "the source's address is longer than %u bytes",
                           URI_PATH - 1u);
    }
    if (strcmp(scheme, "gst") == 0) {
        (void)snprintf(plan->text, sizeof plan->text, "%s ! " CONVERTED, rest);
        plan->foreign = true;
        return CAMERA_OK;
    }
    return describe_stream(scheme, rest, request, plan, error);
}
