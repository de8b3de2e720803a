// time.hpp: a stand-in for tests (../../README.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace builtin_interfaces::msg
{

struct Time {
    int32_t sec = 0;
    uint32_t nanosec = 0;
};

} // namespace builtin_interfaces::msg
