// node.cpp: see node.hpp.
#include "node.hpp"

#include <map>
#include <set>
#include <stdexcept>

#include <rclcpp_components/register_node_macro.hpp>

#include "health.hpp"

namespace mts_ros
{
namespace
{

using Texts = std::vector<std::string>;

rcl_interfaces::msg::ParameterDescriptor described(const std::string &what, bool read_only = true)
{
    rcl_interfaces::msg::ParameterDescriptor descriptor;
    descriptor.description = what;
    descriptor.read_only = read_only;
    return descriptor;
}

// A whole number with its range, which rclcpp keeps to.
uint32_t number(rclcpp::Node &node, const std::string &name, int64_t value, int64_t least, int64_t most,
                const std::string &what)
{
    rcl_interfaces::msg::ParameterDescriptor descriptor = described(what);
    rcl_interfaces::msg::IntegerRange range;
    range.from_value = least;
    range.to_value = most;
    range.step = 1;
    descriptor.integer_range.push_back(range);
    const int64_t given = node.declare_parameter<int64_t>(name, value, descriptor);
    if (given < least || given > most) {
        throw std::runtime_error(name + " is " + std::to_string(least) + " to " + std::to_string(most));
    }
    return static_cast<uint32_t>(given);
}

// "task=detector" by the name of the task.
std::map<std::string, std::string> detectors_read(const Texts &texts)
{
    std::map<std::string, std::string> detectors;
    for (const std::string &text : texts) {
        const size_t equals = text.rfind('=');
        if (equals == std::string::npos || equals + 1 == text.size()) {
            throw std::runtime_error("detectors are TASK=face, palm, pose, yolo or corners, not '" + text +
                                     "'");
        }
        detectors[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return detectors;
}

} // namespace

EngineOptions InferNode::options_read()
{
    EngineOptions options;
    options.bundle = declare_parameter<std::string>("bundle", "", described("file of the compiled tasks"));
    options.tasks = declare_parameter<Texts>("tasks", Texts{}, described("only these tasks; empty: all"));
    options.rates = declare_parameter<Texts>(
        "rates", Texts{}, described("TASK=N, each n-th image, or TASK=Nhz; may be set while it runs", false));
    options.device =
        declare_parameter<std::string>("device", "", described("as 'mts devices' lists them; empty: auto"));
    options.precision = declare_parameter<std::string>("precision", "float32",
                                                       described("float32, float16-storage or float16"));
    options.in_flight = number(*this, "in_flight", 2, 1, 16, "images under way at most");
    options.queue = number(*this, "queue", 1, 1, 64, "images that wait; a newer one drops the oldest");
    options.threads =
        number(*this, "threads", 0, 0, MTS_THREADS_MOST, "of device cpu; 0: one each processor");
    options.deadline_ms = number(*this, "deadline_ms", 0, 0, 60000,
                                 "groups of tasks that have not begun by then are left out; 0: none");
    if (options.bundle.empty()) {
        throw std::runtime_error("set the parameter bundle to the file of the compiled tasks");
    }
    return options;
}

void InferNode::topic_publishers(Topic &topic)
{
    const std::string name = "~/" + topic.reader.topic;
    if (topic.reader.form == Form::CLASSES) {
        topic.classes = create_publisher<vision_msgs::msg::Classification>(name, rclcpp::SensorDataQoS());
    } else if (topic.reader.form != Form::TENSORS) {
        topic.detections =
            create_publisher<vision_msgs::msg::Detection2DArray>(name, rclcpp::SensorDataQoS());
    } else {
        for (uint32_t i = 0; i < topic.reader.task.output_count; i++) {
            topic.tensors.push_back(create_publisher<std_msgs::msg::Float32MultiArray>(
                name + "/output_" + std::to_string(i), rclcpp::SensorDataQoS()));
        }
    }
}

void InferNode::topics_make()
{
    auto detectors = detectors_read(
        declare_parameter<Texts>("detectors", Texts{}, described("TASK=face, palm, pose, yolo or corners")));
    const uint32_t top = number(*this, "top", 5, 1, 1000, "classes in an answer at most");
    const double least = declare_parameter<double>(
        "least_score", 0.0, described("of detections; 0: what is usual for the detector"));
    if (!(least >= 0 && least <= 1)) {
        throw std::runtime_error("least_score is 0 to 1");
    }
    std::set<std::string> names;
    for (const mts_task_desc &task : engine_->tasks()) {
        const auto detector = detectors.find(task.name);
        Topic topic;
        topic.reader = reader_of(engine_->bundle(), task, detector == detectors.end() ? "" : detector->second,
                                 top, least);
        if (detector != detectors.end()) {
            detectors.erase(detector);
        }
        while (!names.insert(topic.reader.topic).second) {
            topic.reader.topic += '_'; // two names that differ in what topics cannot have
        }
        topic_publishers(topic);
        topics_.push_back(std::move(topic));
    }
    if (!detectors.empty()) {
        throw std::runtime_error("no task '" + detectors.begin()->first + "' runs, whose detector is given");
    }
}

InferNode::InferNode(const rclcpp::NodeOptions &options) : rclcpp::Node("infer", options)
{
    engine_ = std::make_unique<Engine>(
        options_read(), [this](mts_session *session, const Answer &done) { answer(session, done); });
    topics_make();
    const uint32_t period_ms = number(*this, "diagnostics_ms", 1000, 10, 60000, "between two diagnostics");
    diagnostics_ = create_publisher<diagnostic_msgs::msg::DiagnosticArray>("/diagnostics", rclcpp::QoS(10));
    timer_ = create_wall_timer(std::chrono::milliseconds(period_ms), [this] { diagnose(); });
    on_parameters_ = add_on_set_parameters_callback(
        [this](const std::vector<rclcpp::Parameter> &parameters) { return changed(parameters); });
    engine_->begin();
    // The engine's queue is the only one where images are dropped, so that every drop is counted:
    // the callback never waits, and the middleware has room for what comes meanwhile.
    images_ = create_subscription<sensor_msgs::msg::Image>(
        "image", rclcpp::SensorDataQoS(),
        [this](sensor_msgs::msg::Image::ConstSharedPtr image) { engine_->push(std::move(image)); });
    RCLCPP_INFO(get_logger(), "%zu tasks on %s", engine_->tasks().size(), engine_->device().c_str());
}

InferNode::~InferNode()
{
    images_.reset(); // no further image comes while the engine ends
    timer_.reset();
    engine_.reset();
}

// In the engine's thread.
void InferNode::answer(mts_session *session, const Answer &answer)
{
    for (Topic &topic : topics_) {
        if (topic.classes) {
            auto out = std::make_unique<vision_msgs::msg::Classification>();
            out->header = answer.image->header;
            if (classification_of(topic.reader, session, answer.ticket, *out)) {
                topic.classes->publish(std::move(out));
            }
        } else if (topic.detections) {
            auto out = std::make_unique<vision_msgs::msg::Detection2DArray>();
            out->header = answer.image->header;
            if (detections_of(topic.reader, session, answer.ticket, answer.frame, *out)) {
                for (auto &detection : out->detections) {
                    detection.header = out->header;
                }
                topic.detections->publish(std::move(out));
            }
        }
        for (uint32_t i = 0; i < topic.tensors.size(); i++) {
            auto out = std::make_unique<std_msgs::msg::Float32MultiArray>();
            if (tensor_of(topic.reader, session, answer.ticket, i, *out)) {
                topic.tensors[i]->publish(std::move(out));
            }
        }
    }
}

void InferNode::diagnose()
{
    const Counts counts = engine_->counts();
    auto out = std::make_unique<diagnostic_msgs::msg::DiagnosticArray>();
    out->header.stamp = now();
    out->status.push_back(status_of(counts, told_, get_fully_qualified_name(), engine_->device()));
    diagnostics_->publish(std::move(out));
    told_ = counts;
}

rcl_interfaces::msg::SetParametersResult InferNode::changed(const std::vector<rclcpp::Parameter> &parameters)
{
    rcl_interfaces::msg::SetParametersResult result;
    result.successful = true;
    for (const rclcpp::Parameter &parameter : parameters) {
        if (parameter.get_name() == "rates") {
            result.successful = engine_->rates_set(parameter.as_string_array(), result.reason);
        }
    }
    return result;
}

} // namespace mts_ros

RCLCPP_COMPONENTS_REGISTER_NODE(mts_ros::InferNode)
