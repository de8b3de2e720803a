// answers.hpp: from outputs of tasks to vision_msgs.
#pragma once

#include <string>
#include <vector>

#include <std_msgs/msg/float32_multi_array.hpp>
#include <vision_msgs/msg/classification.hpp>
#include <vision_msgs/msg/detection2_d_array.hpp>

#include "mts/kit.h"
#include "mts/mts.h"

namespace mts_ros
{

enum class Form {
    CLASSES, // output 0 has a number for each label
    SSD,     // boxes and logits of one of MediaPipe's detectors
    YOLO,    // one output of that family
    CORNERS, // scores and corners, as UltraFace's
    TENSORS  // anything else: numbers as they are
};

// How a task's outputs are read, and room for it.
struct Reader {
    mts_task_desc task{};
    Form form = Form::TENSORS;
    std::string topic;              // its name, as a part of a topic's name
    uint32_t width = 0, height = 0; // of its input
    uint32_t top = 5;               // classes in an answer, at most
    uint32_t boxes = 0, scores = 1; // outputs of a detector
    uint32_t classes = 0;           // of CORNERS, with the background
    float least_score = 0;
    mts_kit_ssd ssd{};
    mts_kit_yolo yolo{};
    mts_kit_nms_options nms{};
    std::vector<float> anchors;
    std::vector<mts_kit_detection> found;
    std::vector<mts_kit_class> best;
};

// `detector` is face, palm, pose, yolo or corners; empty: no detector. Throws std::runtime_error
// where the task's outputs are not that detector's.
Reader reader_of(const mts_bundle *bundle, const mts_task_desc &task, const std::string &detector,
                 uint32_t top, double least_score);

// Each is false if the task has not run with this ticket: its outputs are older. The header is the
// caller's to set.
bool classification_of(Reader &reader, mts_session *session, mts_ticket ticket,
                       vision_msgs::msg::Classification &out);
// Boxes in pixels of the image.
bool detections_of(Reader &reader, mts_session *session, mts_ticket ticket, const mts_frame &frame,
                   vision_msgs::msg::Detection2DArray &out);
bool tensor_of(Reader &reader, mts_session *session, mts_ticket ticket, uint32_t index,
               std_msgs::msg::Float32MultiArray &out);

} // namespace mts_ros
