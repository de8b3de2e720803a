// engine.hpp: images into a session and out again, in a thread of its own. It knows no topic.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sensor_msgs/msg/image.hpp>

#include "mts/mts.h"

namespace mts_ros
{

struct EngineOptions {
    std::string bundle;
    std::string device;                    // empty: the library chooses
    std::string precision;                 // empty: float32
    std::vector<std::string> tasks, rates; // rates: "age=2.5hz", "object=3"
    uint32_t in_flight = 2;                // frames in the session at most
    uint32_t queue = 1;                    // images that wait for it; a newer one drops the oldest
    uint32_t threads = 0;                  // of device cpu; 0: one each processor
    uint32_t deadline_ms = 0;              // 0: none
};

// What became of images; sums since the node began.
struct Counts {
    uint64_t images = 0;           // that came
    uint64_t answered = 0;         // whose results were published
    uint64_t dropped = 0;          // that a newer one pushed out of the queue
    uint64_t refused = 0;          // of an encoding or size that cannot be read
    uint64_t failed = 0;           // whose run failed
    uint64_t late = 0;             // answered after the deadline
    uint64_t left_out = 0;         // tasks without a rate that the deadline left out of a run
    double p50_ms = 0, p95_ms = 0; // from arrival to answer, of the last 128
    std::string failure;           // the last sentence of a failure; empty: none
};

// An image whose run is over: outputs of the session are its own until the function returns.
struct Answer {
    sensor_msgs::msg::Image::ConstSharedPtr image;
    mts_frame frame;
    mts_ticket ticket;
};

class Engine
{
  public:
    using Receive = std::function<void(mts_session *, const Answer &)>;

    // Opens device, bundle and session; `receive` is called by the engine's thread, from begin() on.
    // Throws std::runtime_error with a sentence.
    Engine(const EngineOptions &options, Receive receive);
    ~Engine();
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    void begin();
    // Never waits. The image is kept until its run is over.
    void push(sensor_msgs::msg::Image::ConstSharedPtr image);
    // For the next image on. False, with a sentence, and nothing has changed.
    bool rates_set(const std::vector<std::string> &rates, std::string &reason);
    Counts counts() const;
    // Of the tasks that the session runs, as the bundle describes them.
    const std::vector<mts_task_desc> &tasks() const
    {
        return tasks_;
    }
    const mts_bundle *bundle() const
    {
        return bundle_;
    }
    std::string device() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Waiting {
        sensor_msgs::msg::Image::ConstSharedPtr image;
        Clock::time_point arrived;
    };
    struct Running {
        Answer answer;
        Clock::time_point arrived;
    };
    struct Rate {
        std::string task;
        double value = 0;
        bool per_second = false;
    };

    void open(const EngineOptions &options);
    void check(mts_status status, const std::string &what) const;
    void close();
    bool rates_read(const std::vector<std::string> &rates, std::vector<Rate> &out, std::string &reason) const;
    void rates_apply(const std::vector<Rate> &rates);
    void work();
    bool next(Waiting &waiting);
    void submit(Waiting &waiting);
    void finish_oldest(bool only_if_ready);
    void answered(const Running &run);
    void failed(const std::string &sentence);

    const Receive receive_;
    const uint32_t in_flight_, queue_, deadline_ms_;
    char error_[1024] = "";
    mts_runtime *runtime_ = nullptr;
    mts_bundle *bundle_ = nullptr;
    mts_session *session_ = nullptr;
    std::vector<mts_task_desc> tasks_;
    std::vector<std::string> rated_; // tasks with a rate, of the thread
    std::deque<Running> running_;    // of the thread

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Waiting> waiting_;
    std::vector<Rate> rates_; // to be set before the next image
    bool rates_changed_ = false, ending_ = false;
    Counts counts_;
    std::vector<double> times_; // of the last answers
    std::thread thread_;
};

} // namespace mts_ros
