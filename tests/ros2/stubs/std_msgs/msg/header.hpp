// header.hpp: a stand-in for tests (../../README.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <builtin_interfaces/msg/time.hpp>

namespace std_msgs::msg
{

struct Header {
    builtin_interfaces::msg::Time stamp;
    std::string frame_id;
};

} // namespace std_msgs::msg
