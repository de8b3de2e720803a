// engine.cpp: see engine.hpp. The session belongs to the thread from begin() on; what others share
// with it is behind the mutex.
#include "engine.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "images.hpp"

namespace mts_ros
{
namespace
{

constexpr size_t TIMES = 128;
constexpr uint32_t POLL_MS = 2; // how soon an image is seen that comes while a run is waited for

mts_precision precision_of(const std::string &name)
{
    static const std::pair<const char *, mts_precision> NAMES[] = {
        {"", MTS_PRECISION_FLOAT32},
        {"float32", MTS_PRECISION_FLOAT32},
        {"float16-storage", MTS_PRECISION_FLOAT16_STORAGE},
        {"float16", MTS_PRECISION_FLOAT16}};
    for (const auto &[known, value] : NAMES) {
        if (name == known) {
            return value;
        }
    }
    throw std::runtime_error("precision is float32, float16-storage or float16, not '" + name + "'");
}

double percentile(std::vector<double> values, double part)
{
    if (values.empty()) {
        return 0;
    }
    const auto at =
        values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

} // namespace

// ---- open and close ----

void Engine::check(mts_status status, const std::string &what) const
{
    if (status != MTS_STATUS_OK) {
        throw std::runtime_error(what + ": " + (error_[0] ? error_ : mts_status_name(status)));
    }
}

void Engine::open(const EngineOptions &options)
{
    mts_runtime_options runtime;
    mts_runtime_options_default(&runtime);
    runtime.device = options.device.empty() ? nullptr : options.device.c_str();
    runtime.threads = options.threads;
    runtime.error_text = error_;
    runtime.error_size = sizeof error_;
    check(mts_runtime_create(&runtime, &runtime_), "device");
    check(mts_bundle_open(runtime_, options.bundle.c_str(), &bundle_), "bundle '" + options.bundle + "'");

    std::vector<const char *> names;
    for (const std::string &task : options.tasks) {
        names.push_back(task.c_str());
    }
    mts_session_options session;
    mts_session_options_default(&session);
    session.precision = precision_of(options.precision);
    session.tasks = names.empty() ? nullptr : names.data();
    session.task_count = static_cast<uint32_t>(names.size());
    session.frames_in_flight = in_flight_;
    check(mts_session_create(runtime_, bundle_, &session, &session_), "session");
    check(mts_session_deadline(session_, deadline_ms_), "deadline_ms");

    for (uint32_t i = 0; i < mts_bundle_task_count(bundle_); i++) {
        mts_task_desc task{};
        task.size = sizeof task;
        check(mts_bundle_task(bundle_, i, &task), "task");
        if (!options.tasks.empty() &&
            std::find(options.tasks.begin(), options.tasks.end(), task.name) == options.tasks.end()) {
            continue;
        }
        if (!task.takes_frames || task.input_count != 1) {
            throw std::runtime_error("task '" + std::string(task.name) +
                                     "' cannot be fed by images alone: leave it out of 'tasks'");
        }
        tasks_.push_back(task);
    }
    std::vector<Rate> rates;
    std::string reason;
    if (!rates_read(options.rates, rates, reason)) {
        throw std::runtime_error(reason);
    }
    rates_apply(rates);
}

Engine::Engine(const EngineOptions &options, Receive receive)
    : receive_(std::move(receive)), in_flight_(options.in_flight), queue_(std::max(options.queue, 1u)),
      deadline_ms_(options.deadline_ms)
{
    try {
        open(options);
    } catch (...) {
        close();
        throw;
    }
}

void Engine::begin()
{
    thread_ = std::thread([this] { work(); });
}

void Engine::close()
{
    mts_session_destroy(&session_); // waits for runs that read images
    running_.clear();
    mts_bundle_destroy(&bundle_);
    mts_runtime_destroy(&runtime_);
}

Engine::~Engine()
{
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ending_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
    close();
}

std::string Engine::device() const
{
    mts_device_desc device{};
    device.size = sizeof device;
    return mts_runtime_device(runtime_, &device) == MTS_STATUS_OK ? std::string(device.id) + " " + device.name
                                                                  : "";
}

// ---- rates ----

bool Engine::rates_read(const std::vector<std::string> &rates, std::vector<Rate> &out,
                        std::string &reason) const
{
    for (const std::string &text : rates) {
        const size_t equals = text.rfind('=');
        std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
        Rate rate;
        rate.task = text.substr(0, equals);
        rate.per_second = number.size() > 2 && number.compare(number.size() - 2, 2, "hz") == 0;
        number.resize(number.size() - (rate.per_second ? 2 : 0));
        size_t read = 0;
        try {
            rate.value = number.empty() ? 0 : std::stod(number, &read);
        } catch (const std::exception &) {
            read = 0;
        }
        const bool known = std::any_of(tasks_.begin(), tasks_.end(),
                                       [&](const mts_task_desc &task) { return rate.task == task.name; });
        const bool whole = rate.value >= 1 && rate.value == std::floor(rate.value);
        if (read == 0 || read != number.size() || !(rate.value > 0) || rate.value > 1e6 ||
            (!rate.per_second && !whole)) {
            reason = "rates are TASK=N (each n-th image) or TASK=Nhz, not '" + text + "'";
            return false;
        }
        if (!known) {
            reason = "no task '" + rate.task + "' runs, whose rate is given";
            return false;
        }
        out.push_back(rate);
    }
    return true;
}

bool Engine::rates_set(const std::vector<std::string> &rates, std::string &reason)
{
    std::vector<Rate> read;
    if (!rates_read(rates, read, reason)) {
        return false;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    rates_ = std::move(read);
    rates_changed_ = true;
    return true;
}

// A task that is not named runs with every image.
void Engine::rates_apply(const std::vector<Rate> &rates)
{
    rated_.clear();
    for (const mts_task_desc &task : tasks_) {
        (void)mts_session_rate(session_, task.name, 1);
        (void)mts_session_rate_hz(session_, task.name, 0);
    }
    for (const Rate &rate : rates) {
        const mts_status status =
            rate.per_second
                ? mts_session_rate_hz(session_, rate.task.c_str(), rate.value)
                : mts_session_rate(session_, rate.task.c_str(), static_cast<uint32_t>(rate.value));
        check(status, "rate of '" + rate.task + "'");
        rated_.push_back(rate.task);
    }
}

// ---- images ----

void Engine::push(sensor_msgs::msg::Image::ConstSharedPtr image)
{
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        counts_.images++;
        while (waiting_.size() >= queue_) {
            waiting_.pop_front();
            counts_.dropped++;
        }
        waiting_.push_back({std::move(image), Clock::now()});
    }
    wake_.notify_one();
}

Counts Engine::counts() const
{
    std::unique_lock<std::mutex> lock(mutex_);
    Counts counts = counts_;
    const std::vector<double> times = times_;
    lock.unlock();
    counts.p50_ms = percentile(times, 0.5);
    counts.p95_ms = percentile(times, 0.95);
    return counts;
}

void Engine::failed(const std::string &sentence)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    counts_.failed++;
    counts_.failure = sentence;
}

// ---- the thread ----

// The next image, if one waits; sleeps while there is nothing to do. False: it is over.
bool Engine::next(Waiting &waiting)
{
    std::vector<Rate> rates;
    bool changed = false;
    {
        std::unique_lock<std::mutex> lock(mutex_);
        if (running_.empty()) {
            wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        }
        if (ending_) {
            return false;
        }
        if (!waiting_.empty() && running_.size() < in_flight_) {
            waiting = std::move(waiting_.front());
            waiting_.pop_front();
        }
        changed = std::exchange(rates_changed_, false);
        rates.swap(rates_);
    }
    if (changed) {
        rates_apply(rates);
    }
    return true;
}

void Engine::submit(Waiting &waiting)
{
    Running run{{std::move(waiting.image), {}, 0}, waiting.arrived};
    std::string reason;
    if (!frame_of(*run.answer.image, run.answer.frame, reason)) {
        const std::lock_guard<std::mutex> lock(mutex_);
        counts_.refused++;
        counts_.failure = reason;
        return;
    }
    const mts_status status = mts_session_submit(session_, &run.answer.frame, &run.answer.ticket);
    if (status != MTS_STATUS_OK) {
        failed(error_[0] ? error_ : mts_status_name(status));
        return;
    }
    running_.push_back(std::move(run));
}

void Engine::answered(const Running &run)
{
    uint64_t left_out = 0;
    for (const mts_task_desc &task : tasks_) {
        mts_ticket ticket = 0;
        const bool ran = mts_session_output_ticket(session_, task.name, &ticket) == MTS_STATUS_OK &&
                         ticket == run.answer.ticket;
        left_out += !ran && std::find(rated_.begin(), rated_.end(), task.name) == rated_.end() ? 1 : 0;
    }
    receive_(session_, run.answer);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - run.arrived).count();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (times_.size() < TIMES) {
        times_.push_back(ms);
    } else {
        times_[counts_.answered % TIMES] = ms;
    }
    counts_.answered++;
    counts_.left_out += left_out;
    counts_.late += deadline_ms_ > 0 && ms > deadline_ms_ ? 1 : 0;
}

void Engine::finish_oldest(bool only_if_ready)
{
    const mts_status status = mts_session_wait(session_, running_.front().answer.ticket,
                                               only_if_ready ? POLL_MS : MTS_TIMEOUT_INFINITE);
    if (status == MTS_STATUS_TIMEOUT) {
        return;
    }
    const Running run = std::move(running_.front());
    running_.pop_front();
    if (status == MTS_STATUS_OK) {
        answered(run);
    } else {
        failed(error_[0] ? error_ : mts_status_name(status));
    }
}

void Engine::work()
{
    for (bool on = true; on;) {
        try {
            Waiting waiting;
            on = next(waiting);
            if (on && waiting.image) {
                submit(waiting);
            }
            if (on && !running_.empty()) {
                finish_oldest(running_.size() < in_flight_);
            }
        } catch (const std::exception &error) { // of a publisher whose context has ended, or of memory
            failed(error.what());
        }
    }
}

} // namespace mts_ros
