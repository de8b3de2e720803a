// diagnostic_array.hpp: a stand-in for tests (../../README.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <std_msgs/msg/header.hpp>

namespace diagnostic_msgs::msg
{

struct DiagnosticArray {
    std_msgs::msg::Header header;
    std::vector<DiagnosticStatus> status;
};

} // namespace diagnostic_msgs::msg
