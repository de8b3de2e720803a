// diagnostic_status.hpp: a stand-in for tests (../../README.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace diagnostic_msgs::msg
{

struct KeyValue {
    std::string key;
    std::string value;
};

struct DiagnosticStatus {
    static constexpr unsigned char OK = 0;
    static constexpr unsigned char WARN = 1;
    static constexpr unsigned char ERROR = 2;
    static constexpr unsigned char STALE = 3;
    unsigned char level = 0;
    std::string name;
    std::string message;
    std::string hardware_id;
    std::vector<KeyValue> values;
};

} // namespace diagnostic_msgs::msg
