// set_parameters_result.hpp: a stand-in for tests (../../README.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rcl_interfaces::msg
{

struct SetParametersResult {
    bool successful = false;
    std::string reason;
};

} // namespace rcl_interfaces::msg
