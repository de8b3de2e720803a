// answers.cpp: see answers.hpp. Decoding is that of libmtskit.
#include "answers.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <stdexcept>

namespace mts_ros
{
namespace
{

// Names of topics have letters, digits and underscores, and begin with no digit.
std::string topic_of(const std::string &name)
{
    std::string topic;
    for (const char c : name) {
        topic += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128 ? c : '_';
    }
    return topic.empty() || std::isdigit(static_cast<unsigned char>(topic[0])) ? "task_" + topic : topic;
}

mts_port_desc port_of(const mts_bundle *bundle, const mts_task_desc &task, uint32_t index, bool output)
{
    mts_port_desc port{};
    port.size = sizeof port;
    const mts_status status = output ? mts_bundle_output(bundle, task.name, index, &port)
                                     : mts_bundle_input(bundle, task.name, index, &port);
    if (status != MTS_STATUS_OK) {
        throw std::runtime_error("task '" + std::string(task.name) +
                                 "' has too few outputs for its detector");
    }
    return port;
}

uint64_t count_of(const mts_port_desc &port)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < port.rank; i++) {
        count *= static_cast<uint64_t>(port.dims[i]);
    }
    return count;
}

mts_tensor shape_of(const mts_port_desc &port)
{
    mts_tensor tensor{};
    tensor.type = port.type;
    tensor.rank = port.rank;
    std::copy(port.dims, port.dims + MTS_TENSOR_RANK_MAX, tensor.dims);
    return tensor;
}

[[noreturn]] void refuse(const mts_task_desc &task, const std::string &detector)
{
    throw std::runtime_error("the outputs of task '" + std::string(task.name) +
                             "' are not those of detector '" + detector + "'");
}

// Pictures lie in planes (1, 3, H, W), those of TensorFlow in pixels (1, H, W, 3).
void input_read(const mts_bundle *bundle, Reader &reader)
{
    const mts_port_desc input = port_of(bundle, reader.task, 0, false);
    if (input.rank == 4) {
        const bool planes = input.dims[1] <= 4;
        reader.height = static_cast<uint32_t>(input.dims[planes ? 2 : 1]);
        reader.width = static_cast<uint32_t>(input.dims[planes ? 3 : 2]);
    }
}

void ssd_make(const mts_bundle *bundle, mts_kit_ssd_kind kind, const std::string &detector, Reader &reader)
{
    if (mts_kit_ssd_default(kind, &reader.ssd) != MTS_STATUS_OK) {
        refuse(reader.task, detector);
    }
    const uint32_t count = mts_kit_anchors(&reader.ssd, nullptr, 0);
    const uint64_t numbers = uint64_t{count} * (4 + 2 * reader.ssd.points);
    const uint64_t first = count_of(port_of(bundle, reader.task, 0, true));
    const uint64_t second = count_of(port_of(bundle, reader.task, 1, true));
    if (!((first == numbers && second == count) || (first == count && second == numbers)) ||
        reader.width != reader.ssd.width || reader.height != reader.ssd.height) {
        refuse(reader.task, detector);
    }
    reader.form = Form::SSD;
    reader.boxes = first == numbers ? 0 : 1;
    reader.scores = 1 - reader.boxes;
    reader.anchors.resize(size_t{2} * count);
    reader.found.resize(count);
    reader.nms = reader.ssd.nms;
    (void)mts_kit_anchors(&reader.ssd, reader.anchors.data(), count);
    if (reader.least_score > 0) {
        reader.ssd.least_score = reader.least_score;
    }
}

void yolo_make(const mts_bundle *bundle, const std::string &detector, Reader &reader)
{
    const mts_tensor shape = shape_of(port_of(bundle, reader.task, 0, true));
    reader.yolo.size = sizeof reader.yolo;
    if (reader.width == 0 ||
        mts_kit_yolo_guess(&shape, reader.width, reader.height, &reader.yolo) != MTS_STATUS_OK) {
        refuse(reader.task, detector);
    }
    reader.form = Form::YOLO;
    reader.found.resize(reader.yolo.rows);
    if (reader.least_score > 0) {
        reader.yolo.least_score = reader.least_score;
    }
}

// [1, N, classes] and [1, N, 4], in either order.
void corners_make(const mts_bundle *bundle, const std::string &detector, Reader &reader)
{
    const mts_port_desc ports[2] = {port_of(bundle, reader.task, 0, true),
                                    port_of(bundle, reader.task, 1, true)};
    for (uint32_t boxes = 0; boxes < 2; boxes++) {
        const mts_port_desc &corners = ports[boxes], &scores = ports[1 - boxes];
        if (corners.rank == 3 && scores.rank == 3 && corners.dims[2] == 4 &&
            scores.dims[1] == corners.dims[1] && scores.dims[2] >= 2 && scores.dims[2] != 4) {
            reader.form = Form::CORNERS;
            reader.boxes = boxes;
            reader.scores = 1 - boxes;
            reader.classes = static_cast<uint32_t>(scores.dims[2]);
            reader.found.resize(static_cast<size_t>(corners.dims[1]));
            reader.least_score = reader.least_score > 0 ? reader.least_score : 0.5f;
            return;
        }
    }
    refuse(reader.task, detector);
}

bool output_of(mts_session *session, const Reader &reader, mts_ticket ticket, uint32_t index, mts_tensor &out)
{
    mts_ticket of = 0;
    return mts_session_output_ticket(session, reader.task.name, &of) == MTS_STATUS_OK && of == ticket &&
           mts_session_output(session, reader.task.name, index, &out) == MTS_STATUS_OK;
}

std::string label_of(const Reader &reader, uint32_t index)
{
    return index < reader.task.label_count ? reader.task.labels[index] : std::to_string(index);
}

// The rows that a decoder finds, in fractions of the input.
uint32_t decode(Reader &reader, const mts_tensor outputs[2])
{
    const auto *first = static_cast<const float *>(outputs[0].data);
    const auto *second = static_cast<const float *>(outputs[1].data);
    uint32_t count = 0;
    if (reader.form == Form::SSD) {
        count = mts_kit_ssd_decode(&reader.ssd, reader.anchors.data(), first, second, reader.found.data());
    } else if (reader.form == Form::YOLO) {
        count = mts_kit_yolo_decode(&reader.yolo, first, reader.found.data());
        if (reader.yolo.kind == MTS_KIT_YOLO_END_TO_END) {
            return count;
        }
    } else {
        count = mts_kit_corners_decode(second, first, static_cast<uint32_t>(reader.found.size()),
                                       reader.classes, reader.least_score, reader.found.data());
    }
    return mts_kit_nms(reader.nms.size ? &reader.nms : nullptr, reader.found.data(), count);
}

vision_msgs::msg::Detection2D detection_of(const Reader &reader, const mts_kit_detection &found)
{
    vision_msgs::msg::Detection2D out;
    vision_msgs::msg::ObjectHypothesisWithPose what;
    what.hypothesis.class_id = label_of(reader, found.label);
    what.hypothesis.score = static_cast<double>(found.score);
    out.results.push_back(what);
    out.bbox.center.position.x = (static_cast<double>(found.left) + static_cast<double>(found.right)) / 2;
    out.bbox.center.position.y = (static_cast<double>(found.top) + static_cast<double>(found.bottom)) / 2;
    out.bbox.size_x = static_cast<double>(found.right) - static_cast<double>(found.left);
    out.bbox.size_y = static_cast<double>(found.bottom) - static_cast<double>(found.top);
    return out;
}

} // namespace

Reader reader_of(const mts_bundle *bundle, const mts_task_desc &task, const std::string &detector,
                 uint32_t top, double least_score)
{
    static const std::map<std::string, mts_kit_ssd_kind> SSD = {
        {"face", MTS_KIT_SSD_FACE}, {"palm", MTS_KIT_SSD_PALM}, {"pose", MTS_KIT_SSD_POSE}};
    Reader reader;
    reader.task = task;
    reader.topic = topic_of(task.name);
    reader.top = top;
    reader.least_score = static_cast<float>(least_score);
    input_read(bundle, reader);
    const auto ssd = SSD.find(detector);
    if (ssd != SSD.end()) {
        ssd_make(bundle, ssd->second, detector, reader);
    } else if (detector == "yolo") {
        yolo_make(bundle, detector, reader);
    } else if (detector == "corners") {
        corners_make(bundle, detector, reader);
    } else if (!detector.empty()) {
        throw std::runtime_error("detectors are face, palm, pose, yolo or corners, not '" + detector + "'");
    } else if (task.label_count > 0 && count_of(port_of(bundle, task, 0, true)) == task.label_count) {
        reader.form = Form::CLASSES;
        reader.best.resize(std::min(top, task.label_count));
    }
    for (uint32_t i = 0; reader.form != Form::CLASSES && reader.form != Form::TENSORS && i < 2; i++) {
        if (i < task.output_count && port_of(bundle, task, i, true).type != MTS_TYPE_FLOAT32) {
            refuse(task, detector);
        }
    }
    return reader;
}

bool classification_of(Reader &reader, mts_session *session, mts_ticket ticket,
                       vision_msgs::msg::Classification &out)
{
    mts_tensor tensor{};
    if (!output_of(session, reader, ticket, 0, tensor)) {
        return false;
    }
    const uint32_t count =
        mts_kit_top(&tensor, 1, reader.best.data(), static_cast<uint32_t>(reader.best.size()));
    for (uint32_t i = 0; i < count; i++) {
        vision_msgs::msg::ObjectHypothesis what;
        what.class_id = label_of(reader, reader.best[i].index);
        what.score = static_cast<double>(reader.best[i].score);
        out.results.push_back(what);
    }
    return true;
}

bool detections_of(Reader &reader, mts_session *session, mts_ticket ticket, const mts_frame &frame,
                   vision_msgs::msg::Detection2DArray &out)
{
    mts_tensor outputs[2] = {};
    mts_region shown{};
    mts_kit_map map{};
    if (!output_of(session, reader, ticket, reader.boxes, outputs[0]) ||
        (reader.form != Form::YOLO && !output_of(session, reader, ticket, reader.scores, outputs[1]))) {
        return false;
    }
    const uint32_t count = decode(reader, outputs);
    mts_kit_region_of_task(&frame.region, &reader.task, frame.width, frame.height, &shown);
    mts_kit_map_of_region(&shown, frame.width, frame.height, reader.width, reader.height, &map);
    mts_kit_detections_map(&map, reader.found.data(), count);
    for (uint32_t i = 0; i < count; i++) {
        out.detections.push_back(detection_of(reader, reader.found[i]));
    }
    return true;
}

bool tensor_of(Reader &reader, mts_session *session, mts_ticket ticket, uint32_t index,
               std_msgs::msg::Float32MultiArray &out)
{
    mts_tensor tensor{};
    if (!output_of(session, reader, ticket, index, tensor)) {
        return false;
    }
    const size_t count = mts_kit_count(&tensor);
    out.data.resize(count);
    for (size_t i = 0; i < count; i++) {
        out.data[i] = static_cast<float>(mts_kit_value(&tensor, i));
    }
    size_t behind = count; // numbers from here on, as ROS wants strides
    for (uint32_t i = 0; i < tensor.rank; i++) {
        std_msgs::msg::MultiArrayDimension dimension;
        dimension.size = static_cast<uint32_t>(tensor.dims[i]);
        dimension.stride = static_cast<uint32_t>(behind);
        behind = dimension.size ? behind / dimension.size : 0;
        out.layout.dim.push_back(dimension);
    }
    return true;
}

} // namespace mts_ros
