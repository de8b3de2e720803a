// node.hpp: the component mts_ros::InferNode: parameters, topics and timers around engine.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>

#include "answers.hpp"
#include "engine.hpp"

namespace mts_ros
{

class InferNode : public rclcpp::Node
{
  public:
    // Throws std::runtime_error with a sentence where a parameter is wrong or the bundle or device
    // cannot be opened: the component is then not loaded.
    explicit InferNode(const rclcpp::NodeOptions &options);
    ~InferNode() override;

  private:
    struct Topic {
        Reader reader;
        rclcpp::Publisher<vision_msgs::msg::Classification>::SharedPtr classes;
        rclcpp::Publisher<vision_msgs::msg::Detection2DArray>::SharedPtr detections;
        std::vector<rclcpp::Publisher<std_msgs::msg::Float32MultiArray>::SharedPtr> tensors;
    };

    EngineOptions options_read();
    void topics_make();
    void topic_publishers(Topic &topic);
    void answer(mts_session *session, const Answer &answer);
    void diagnose();
    rcl_interfaces::msg::SetParametersResult changed(const std::vector<rclcpp::Parameter> &parameters);

    std::vector<Topic> topics_;
    Counts told_; // in the last diagnostics
    rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_;
    rclcpp::TimerBase::SharedPtr timer_;
    rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr on_parameters_;
    std::unique_ptr<Engine> engine_; // ends before the publishers that its thread uses
    rclcpp::Subscription<sensor_msgs::msg::Image>::SharedPtr images_;
};

} // namespace mts_ros
