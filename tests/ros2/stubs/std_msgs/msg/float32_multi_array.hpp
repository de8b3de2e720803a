// float32_multi_array.hpp: a stand-in for tests (../../README.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace std_msgs::msg
{

struct MultiArrayDimension {
    std::string label;
    uint32_t size = 0;
    uint32_t stride = 0;
};

struct MultiArrayLayout {
    std::vector<MultiArrayDimension> dim;
    uint32_t data_offset = 0;
};

struct Float32MultiArray {
    MultiArrayLayout layout;
    std::vector<float> data;
};

} // namespace std_msgs::msg
