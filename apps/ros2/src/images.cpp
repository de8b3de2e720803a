// images.cpp: see images.hpp.
#include "images.hpp"

#include <cstdint>
#include <optional>

namespace mts_ros
{
namespace
{

constexpr uint32_t SIDE_MOST = 16384;

struct Layout {
    const char *encoding;
    mts_pixel_format format;
    uint32_t bytes;  // of a pixel of the first plane, or of two for packed YUV
    uint32_t across; // pixels that `bytes` hold
    uint32_t chroma_planes;
};

// Encodings of sensor_msgs/image_encodings.hpp that are layouts of the library. "yuv422" is the
// older name of UYVY there, "yuv422_yuy2" of YUYV.
constexpr Layout LAYOUTS[] = {
    {"rgb8", MTS_PIXEL_FORMAT_RGB, 3, 1, 0},   {"bgr8", MTS_PIXEL_FORMAT_BGR, 3, 1, 0},
    {"rgba8", MTS_PIXEL_FORMAT_RGBA, 4, 1, 0}, {"bgra8", MTS_PIXEL_FORMAT_BGRA, 4, 1, 0},
    {"mono8", MTS_PIXEL_FORMAT_GREY, 1, 1, 0}, {"8UC1", MTS_PIXEL_FORMAT_GREY, 1, 1, 0},
    {"8UC3", MTS_PIXEL_FORMAT_BGR, 3, 1, 0},   {"8UC4", MTS_PIXEL_FORMAT_BGRA, 4, 1, 0},
    {"uyvy", MTS_PIXEL_FORMAT_UYVY, 4, 2, 0},  {"yuv422", MTS_PIXEL_FORMAT_UYVY, 4, 2, 0},
    {"yuyv", MTS_PIXEL_FORMAT_YUYV, 4, 2, 0},  {"yuv422_yuy2", MTS_PIXEL_FORMAT_YUYV, 4, 2, 0},
    {"nv12", MTS_PIXEL_FORMAT_NV12, 1, 1, 1},  {"nv21", MTS_PIXEL_FORMAT_NV21, 1, 1, 1},
    {"i420", MTS_PIXEL_FORMAT_I420, 1, 1, 2},
};

std::optional<Layout> layout_of(const std::string &encoding)
{
    for (const Layout &layout : LAYOUTS) {
        if (encoding == layout.encoding) {
            return layout;
        }
    }
    return std::nullopt;
}

uint64_t half(uint64_t side)
{
    return (side + 1) / 2;
}

} // namespace

bool frame_of(const sensor_msgs::msg::Image &image, mts_frame &frame, std::string &reason)
{
    const auto layout = layout_of(image.encoding);
    if (!layout) {
        reason = "images of encoding '" + image.encoding.substr(0, 32) + "' are none that can be read";
        return false;
    }
    if (image.width == 0 || image.height == 0 || image.width > SIDE_MOST || image.height > SIDE_MOST) {
        reason =
            "an image of " + std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels";
        return false;
    }
    const uint64_t row = (uint64_t{image.width} + layout->across - 1) / layout->across * layout->bytes;
    // Chroma follows, with the step of the first plane (NV12, NV21) or half of it (I420).
    const uint64_t chroma_step = layout->chroma_planes == 2 ? half(image.step) : image.step;
    const uint64_t chroma_row = layout->chroma_planes == 2 ? half(image.width) : 2 * half(image.width);
    const uint64_t needed =
        uint64_t{image.step} * image.height + layout->chroma_planes * chroma_step * half(image.height);
    if (image.step < row || (layout->chroma_planes > 0 && chroma_step < chroma_row) ||
        image.data.size() < needed) {
        reason = "an image whose step or data do not hold its " + std::to_string(image.width) + " x " +
                 std::to_string(image.height) + " pixels of " + image.encoding;
        return false;
    }
    mts_frame_default(&frame);
    frame.data = image.data.data();
    frame.width = image.width;
    frame.height = image.height;
    frame.stride = image.step;
    frame.format = layout->format;
    for (uint32_t i = 0; i < layout->chroma_planes; i++) {
        frame.chroma[i] =
            image.data.data() + uint64_t{image.step} * image.height + i * chroma_step * half(image.height);
        frame.chroma_stride[i] = static_cast<uint32_t>(chroma_step);
    }
    frame.zero_copy = 1;
    return true;
}

} // namespace mts_ros
