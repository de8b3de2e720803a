// test_node.cpp: the node of apps/ros2 between stand-ins of ROS (stubs/README.md): images in, what
// the public API says of them out.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#include "ros2/src/node.hpp"
#include "ros2/bundle.h"

namespace
{

using rclcpp::Parameter;
using Image = sensor_msgs::msg::Image;
using Texts = std::vector<std::string>;

int failures = 0;
std::string bundle;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                      \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (false)

// What comes from a topic.
template <typename Message>
struct Heard {
    explicit Heard(const std::string &topic)
        : subscription(topic, [this](std::shared_ptr<const Message> message) {
              const std::lock_guard<std::mutex> lock(mutex);
              messages.push_back(*message);
          })
    {
    }
    size_t count()
    {
        const std::lock_guard<std::mutex> lock(mutex);
        return messages.size();
    }
    // Ten seconds at most.
    bool wait(size_t wanted)
    {
        for (int i = 0; i < 10000 && count() < wanted; i++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return count() >= wanted;
    }
    std::mutex mutex;
    std::vector<Message> messages;
    rclcpp::Subscription<Message> subscription;
};

using Classes = Heard<vision_msgs::msg::Classification>;
using Boxes = Heard<vision_msgs::msg::Detection2DArray>;
using Numbers = Heard<std_msgs::msg::Float32MultiArray>;
using Health = Heard<diagnostic_msgs::msg::DiagnosticArray>;

std::shared_ptr<Image> image_of(const std::string &encoding, uint32_t width, uint32_t height, uint32_t step,
                                std::vector<uint8_t> data)
{
    auto image = std::make_shared<Image>();
    image->encoding = encoding;
    image->width = width;
    image->height = height;
    image->step = step;
    image->data = std::move(data);
    image->header.frame_id = "camera";
    image->header.stamp.sec = 7;
    return image;
}

// One colour, with a step of its own, whose bytes between rows are another.
std::shared_ptr<Image> plain(const std::string &encoding, std::vector<uint8_t> pixel, uint32_t side = 4)
{
    const auto bytes = static_cast<uint32_t>(pixel.size());
    const uint32_t step = side * bytes + 5;
    std::vector<uint8_t> data(size_t{step} * side, 255);
    for (uint32_t y = 0; y < side; y++) {
        for (uint32_t x = 0; x < side * bytes; x++) {
            data[size_t{y} * step + x] = pixel[x % bytes];
        }
    }
    return image_of(encoding, side, side, step, std::move(data));
}

rclcpp::NodeOptions options_of(std::vector<Parameter> more)
{
    std::vector<Parameter> all = std::move(more); // the first of a name counts
    all.push_back({"bundle", bundle});
    all.push_back({"device", std::string("reference")});
    return rclcpp::NodeOptions().parameter_overrides(all);
}

void publish(const std::shared_ptr<Image> &image)
{
    rclcpp::Publisher<Image>("/image").publish(std::make_unique<Image>(*image));
}

void timers_run()
{
    for (const auto &timer : rclcpp::world().timers) {
        if (const auto alive = timer.lock()) {
            alive->callback();
        }
    }
}

std::string value_of(const diagnostic_msgs::msg::DiagnosticStatus &status, const std::string &key)
{
    for (const auto &value : status.values) {
        if (value.key == key) {
            return value.value;
        }
    }
    return "";
}

bool refused(std::vector<Parameter> more, const std::string &words)
{
    try {
        mts_ros::InferNode node(options_of(std::move(more)));
    } catch (const std::exception &error) {
        if (std::string(error.what()).find(words) == std::string::npos) {
            std::printf("  said: %s\n", error.what());
        }
        return std::string(error.what()).find(words) != std::string::npos;
    }
    return false;
}

// ---- cases ----

void classes_of_every_encoding_come_with_the_images_header()
{
    Classes heard("/infer/colour_rgb");
    const mts_ros::InferNode node(options_of({{"tasks", Texts{"colour.rgb"}}, {"top", int64_t{2}}}));
    const std::pair<std::shared_ptr<Image>, const char *> images[] = {
        {plain("rgb8", {200, 20, 40}), "red"},
        {plain("bgr8", {200, 20, 40}), "blue"},
        {plain("8UC3", {20, 200, 40}), "green"},
        {plain("rgba8", {10, 220, 40, 0}), "green"},
        {plain("bgra8", {220, 10, 40, 0}), "blue"},
        {image_of("nv12", 4, 4, 4, {80, 80, 80, 80, 80, 80,  80, 80,  80, 80,  80, 80,
                                    80, 80, 80, 80, 90, 240, 90, 240, 90, 240, 90, 240}),
         "red"},
        {image_of("nv21", 4, 4, 4, {40, 40, 40, 40, 40,  40,  40,  40,  40,  40,  40,  40,
                                    40, 40, 40, 40, 110, 240, 110, 240, 110, 240, 110, 240}),
         "blue"},
        {image_of("yuyv", 2, 1, 4, {80, 90, 80, 240}), "red"},
        {image_of("uyvy", 2, 1, 4, {240, 40, 110, 40}), "blue"}};
    for (const auto &[image, label] : images) {
        const size_t before = heard.count();
        publish(image);
        CHECK(heard.wait(before + 1));
        if (heard.count() == before + 1) {
            const auto &answer = heard.messages.back();
            CHECK(answer.results.size() == 2 && answer.results[0].class_id == label);
            CHECK(answer.results[0].score > answer.results[1].score && answer.results[0].score <= 1);
            CHECK(answer.header.frame_id == "camera" && answer.header.stamp.sec == 7);
        }
    }
}

// Pixels are the detector's numbers: two boxes, one below the least score.
void boxes_are_in_pixels_of_the_image()
{
    Boxes heard("/infer/boxes");
    const mts_ros::InferNode node(
        options_of({{"tasks", Texts{"boxes"}}, {"detectors", Texts{"boxes=yolo"}}}));
    std::vector<uint8_t> rows(size_t{6} * BOX_ROWS, 0);
    const std::vector<uint8_t> first = {1, 2, 5, 6, 1, 0}, second = {0, 0, 6, 8, 1, 3};
    std::copy(first.begin(), first.end(), rows.begin());
    std::copy(second.begin(), second.end(), rows.begin() + 12);
    publish(image_of("mono8", 6, BOX_ROWS, 6, rows));
    CHECK(heard.wait(1));
    if (heard.count() == 1) {
        const auto &found = heard.messages[0].detections;
        CHECK(found.size() == 2);
        CHECK(heard.messages[0].header.stamp.sec == 7);
        for (const auto &detection : found) {
            const bool small = detection.bbox.size_x < 5;
            const auto near = [](double a, double b) { return a > b - 1e-4 && a < b + 1e-4; };
            CHECK(near(detection.bbox.center.position.x, 3) && near(detection.bbox.center.position.y, 4));
            CHECK(near(detection.bbox.size_x, small ? 4 : 6) && near(detection.bbox.size_y, small ? 4 : 8));
            CHECK(detection.results.size() == 1 &&
                  detection.results[0].hypothesis.class_id == (small ? "0" : "3"));
            CHECK(detection.header.frame_id == "camera");
        }
    }
}

void other_outputs_are_tensors()
{
    Numbers heard("/infer/means/output_0");
    const mts_ros::InferNode node(options_of({{"tasks", Texts{"means"}}}));
    publish(plain("rgb8", {10, 20, 30}));
    CHECK(heard.wait(1));
    if (heard.count() == 1) {
        const auto &layout = heard.messages[0].layout;
        const auto &data = heard.messages[0].data;
        CHECK(layout.dim.size() == 2 && layout.dim[0].size == 3 && layout.dim[0].stride == 12);
        CHECK(layout.dim[1].size == 4 && layout.dim[1].stride == 4);
        CHECK(data.size() == 12 && data[0] == 10 && data[4] == 20 && data[11] == 30);
    }
}

void images_that_lie_are_refused_and_counted()
{
    Classes heard("/infer/colour_rgb");
    Health health("/diagnostics");
    const mts_ros::InferNode node(options_of({{"tasks", Texts{"colour.rgb"}}, {"queue", int64_t{64}}}));
    const std::vector<uint8_t> some(48, 1);
    const std::shared_ptr<Image> wrong[] = {
        image_of("rgb8", 4, 4, 12, std::vector<uint8_t>(47, 1)), // a byte too few
        image_of("rgb8", 4, 4, 11, some),                        // rows overlap
        image_of("rgb8", 4, 4, 0, some),                         // no step
        image_of("rgb8", 0, 4, 12, some),                        // no width
        image_of("rgb8", 4, 4000000000u, 4000000000u, some),     // products beyond 32 bits
        image_of("mono8", 16384, 16384, 4294967295u, some),      // the same
        image_of("nv12", 4, 4, 4, std::vector<uint8_t>(23, 1)),  // without the last pair
        image_of("nv12", 3, 3, 3, std::vector<uint8_t>(64, 1)),  // pairs wider than a step
        image_of("bayer_rggb8", 4, 4, 4, some),
        image_of("", 4, 4, 4, {}), // none of the library's
    };
    const size_t count = sizeof wrong / sizeof wrong[0];
    for (const auto &image : wrong) {
        publish(image);
    }
    publish(plain("rgb8", {200, 20, 40})); // and goes on
    CHECK(heard.wait(1));
    timers_run();
    CHECK(health.count() == 1);
    const auto status = health.messages.back().status.at(0);
    CHECK(status.level == diagnostic_msgs::msg::DiagnosticStatus::WARN);
    CHECK(status.name == "/infer" && status.hardware_id.find("reference") != std::string::npos);
    CHECK(value_of(status, "refused") == std::to_string(count));
    CHECK(value_of(status, "images") == std::to_string(count + 1) && value_of(status, "answered") == "1");
    CHECK(!value_of(status, "last failure").empty());
    timers_run();
    CHECK(health.messages.back().status.at(0).level == diagnostic_msgs::msg::DiagnosticStatus::OK);
    CHECK(health.messages.back().status.at(0).message == "no images");
}

// A queue of one: what a slow run leaves is dropped, counted, and the newest is answered.
void the_oldest_waiting_image_is_dropped_and_counted()
{
    Health health("/diagnostics");
    Classes heard("/infer/colour_rgb");
    std::atomic<bool> first{true};
    rclcpp::Subscription<vision_msgs::msg::Classification> slow(
        "/infer/colour_rgb", [&first](const std::shared_ptr<const vision_msgs::msg::Classification> &) {
            if (first.exchange(false)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(100)); // holds the engine's thread
            }
        });
    const mts_ros::InferNode node(options_of(
        {{"tasks", Texts{"colour.rgb"}}, {"in_flight", int64_t{1}}, {"deadline_ms", int64_t{20}}}));
    publish(plain("rgb8", {200, 20, 40}));
    CHECK(heard.wait(1));
    for (int i = 0; i < 5; i++) {
        publish(plain("rgb8", {20, 200, 40}));
    }
    publish(plain("rgb8", {20, 20, 240}));
    CHECK(heard.wait(2));
    CHECK(heard.messages.back().results.at(0).class_id == "blue");
    for (int i = 0; i < 1000; i++) { // the last answer is counted after it was published
        timers_run();
        if (value_of(health.messages.back().status.at(0), "answered") == "2") {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const auto status = health.messages.back().status.at(0);
    CHECK(value_of(status, "dropped") == "5" && value_of(status, "images") == "7");
    CHECK(value_of(status, "answered") == "2");
    CHECK(std::stoi(value_of(status, "late")) >= 1); // the first took 100 ms
    CHECK(std::stod(value_of(status, "p95 ms")) > 0);
}

void rates_change_while_it_runs()
{
    Classes classes("/infer/colour_rgb");
    Numbers means("/infer/means/output_0");
    mts_ros::InferNode node(options_of(
        {{"tasks", Texts{"colour.rgb", "means"}}, {"rates", Texts{"means=3"}}, {"queue", int64_t{64}}}));
    for (int i = 0; i < 9; i++) {
        publish(plain("rgb8", {200, 20, 40}));
    }
    CHECK(classes.wait(9));
    CHECK(means.count() == 3);
    for (const char *wrong : {"means", "means=", "means=0", "means=1.5", "means=-1hz", "means=3x", "nobody=2",
                              "=2", "means=inf", "means=nan"}) {
        const auto result = node.set_parameter({"rates", Texts{wrong}});
        CHECK(!result.successful && !result.reason.empty());
    }
    CHECK(node.set_parameter({"rates", Texts{}}).successful); // every image again
    CHECK(!node.set_parameter({"bundle", std::string("other")}).successful);
    for (int i = 0; i < 4; i++) {
        publish(plain("rgb8", {200, 20, 40}));
    }
    CHECK(classes.wait(13) && means.wait(7));
    CHECK(means.count() == 7);
}

void mistakes_are_told_when_the_node_is_loaded()
{
    CHECK(refused({{"tasks", Texts{"nobody"}}}, "nobody"));
    CHECK(refused({{"precision", std::string("int4")}}, "int4"));
    CHECK(refused({{"in_flight", int64_t{17}}}, "in_flight"));
    CHECK(refused({{"rates", Texts{"boxes=no"}}}, "boxes=no"));
    CHECK(refused({{"detectors", Texts{"boxes=oracle"}}}, "oracle"));
    CHECK(refused({{"detectors", Texts{"boxes"}}}, "TASK=face"));
    CHECK(refused({{"detectors", Texts{"nobody=yolo"}}}, "nobody"));
    CHECK(refused({{"detectors", Texts{"boxes=face"}}}, "'boxes'"));
    CHECK(refused({{"detectors", Texts{"colour.rgb=corners"}}}, "colour.rgb"));
    CHECK(refused({{"least_score", 1.5}}, "least_score"));
    CHECK(refused({{"least_score", -0.1}}, "least_score"));
    CHECK(refused({{"least_score", std::nan("")}}, "least_score"));
    CHECK(refused({{"device", std::string("opencl:99")}}, "device"));
    bundle += ".gone";
    CHECK(refused({}, "gone"));
    bundle.resize(bundle.size() - 5);
    const rclcpp::NodeOptions none;
    try {
        mts_ros::InferNode node(none);
        CHECK(false);
    } catch (const std::runtime_error &error) {
        CHECK(std::string(error.what()).find("bundle") != std::string::npos);
    }
}

void the_node_ends_with_images_under_way()
{
    for (int i = 0; i < 5; i++) {
        const mts_ros::InferNode node(options_of({{"queue", int64_t{64}}, {"in_flight", int64_t{4}}}));
        for (int k = 0; k < 20; k++) {
            publish(plain("rgb8", {200, 20, 40}, 64));
        }
    }
}

} // namespace

int main()
{
    bundle = std::string(MTS_BINARY_DIR) + "/ros2." + std::to_string(getpid()) + ".mtsb";
    if (bundle_write(bundle.c_str()) != 0) {
        return 1;
    }
    const std::pair<const char *, void (*)()> cases[] = {
        {"classes_of_every_encoding_come_with_the_images_header",
         classes_of_every_encoding_come_with_the_images_header},
        {"boxes_are_in_pixels_of_the_image", boxes_are_in_pixels_of_the_image},
        {"other_outputs_are_tensors", other_outputs_are_tensors},
        {"images_that_lie_are_refused_and_counted", images_that_lie_are_refused_and_counted},
        {"the_oldest_waiting_image_is_dropped_and_counted", the_oldest_waiting_image_is_dropped_and_counted},
        {"rates_change_while_it_runs", rates_change_while_it_runs},
        {"mistakes_are_told_when_the_node_is_loaded", mistakes_are_told_when_the_node_is_loaded},
        {"the_node_ends_with_images_under_way", the_node_ends_with_images_under_way}};
    int passed = 0;
    for (const auto &[name, run] : cases) {
        const int before = failures;
        run();
        std::printf("%s: %s\n", failures == before ? "passed" : "FAILED", name);
        passed += failures == before ? 1 : 0;
    }
    (void)std::remove(bundle.c_str());
    std::printf("[  PASSED  ] %d test(s).\n", passed);
    return failures == 0 ? 0 : 1;
}
