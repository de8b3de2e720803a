// images.hpp: images of ROS as frames of the library, without a copy.
#pragma once

#include <string>

#include <sensor_msgs/msg/image.hpp>

#include "mts/mts.h"

namespace mts_ros
{

// A view of an image, whose memory the caller keeps. False, with a sentence: its encoding is none
// that the library takes, or its sizes contradict each other. Nothing of a message is trusted.
bool frame_of(const sensor_msgs::msg::Image &image, mts_frame &frame, std::string &reason);

} // namespace mts_ros
