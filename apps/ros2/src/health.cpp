// health.cpp: see health.hpp.
#include "health.hpp"

#include <cstdio>

namespace mts_ros
{
namespace
{

using diagnostic_msgs::msg::DiagnosticStatus;

void value_add(DiagnosticStatus &status, const char *key, const std::string &value)
{
    diagnostic_msgs::msg::KeyValue pair;
    pair.key = key;
    pair.value = value;
    status.values.push_back(pair);
}

std::string text_of(double number)
{
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.2f", number);
    return text;
}

struct Sum {
    const char *key;
    uint64_t Counts::*member;
    unsigned char level; // of the status, where it has grown
    const char *sentence;
};

const Sum SUMS[] = {
    {"images", &Counts::images, DiagnosticStatus::OK, ""},
    {"answered", &Counts::answered, DiagnosticStatus::OK, ""},
    {"dropped", &Counts::dropped, DiagnosticStatus::WARN, "dropped"},
    {"late", &Counts::late, DiagnosticStatus::WARN, "answered after the deadline"},
    {"tasks left out", &Counts::left_out, DiagnosticStatus::WARN, "tasks left out for the deadline"},
    {"refused", &Counts::refused, DiagnosticStatus::WARN, "that cannot be read"},
    {"failed", &Counts::failed, DiagnosticStatus::ERROR, "failed"},
};

} // namespace

diagnostic_msgs::msg::DiagnosticStatus status_of(const Counts &now, const Counts &before,
                                                 const std::string &name, const std::string &device)
{
    DiagnosticStatus status;
    status.level = DiagnosticStatus::OK;
    status.name = name;
    status.hardware_id = device;
    for (const Sum &sum : SUMS) {
        const uint64_t grown = now.*sum.member - before.*sum.member;
        value_add(status, sum.key, std::to_string(now.*sum.member));
        if (grown > 0 && sum.level > DiagnosticStatus::OK) {
            status.level = sum.level > status.level ? sum.level : status.level;
            status.message +=
                (status.message.empty() ? "" : ", ") + std::to_string(grown) + " " + sum.sentence;
        }
    }
    value_add(status, "p50 ms", text_of(now.p50_ms));
    value_add(status, "p95 ms", text_of(now.p95_ms));
    if (!now.failure.empty()) {
        value_add(status, "last failure", now.failure);
    }
    if (status.message.empty()) {
        status.message = now.images == before.images ? "no images" : "running";
    }
    return status;
}

} // namespace mts_ros
