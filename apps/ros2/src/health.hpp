// health.hpp: what became of images, as diagnostics.
#pragma once

#include <string>

#include <diagnostic_msgs/msg/diagnostic_status.hpp>

#include "engine.hpp"

namespace mts_ros
{

// OK, or WARN where images were dropped or refused or answers came late since `before`, or ERROR
// where runs failed. Values are sums since the node began.
diagnostic_msgs::msg::DiagnosticStatus status_of(const Counts &now, const Counts &before,
                                                 const std::string &name, const std::string &device);

} // namespace mts_ros
