// parameter_descriptor.hpp: a stand-in for tests (../../README.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rcl_interfaces::msg
{

struct IntegerRange {
    int64_t from_value = 0;
    int64_t to_value = 0;
    uint64_t step = 0;
};

struct ParameterDescriptor {
    std::string name;
    std::string description;
    bool read_only = false;
    std::vector<IntegerRange> integer_range;
};

} // namespace rcl_interfaces::msg
