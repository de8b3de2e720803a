// rclcpp.hpp: a stand-in for tests (README.md). Publishers and subscriptions of one topic meet in
// `world`; a callback runs in the thread that publishes.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <builtin_interfaces/msg/time.hpp>
#include <rcl_interfaces/msg/parameter_descriptor.hpp>
#include <rcl_interfaces/msg/set_parameters_result.hpp>

namespace rclcpp
{

using ParameterValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;

class Parameter
{
  public:
    Parameter(std::string name, ParameterValue value) : name_(std::move(name)), value_(std::move(value))
    {
    }
    const std::string &get_name() const
    {
        return name_;
    }
    std::vector<std::string> as_string_array() const
    {
        return std::get<std::vector<std::string>>(value_);
    }
    const ParameterValue &value() const
    {
        return value_;
    }

  private:
    std::string name_;
    ParameterValue value_;
};

class NodeOptions
{
  public:
    NodeOptions &parameter_overrides(std::vector<Parameter> values)
    {
        overrides_ = std::move(values);
        return *this;
    }
    const std::vector<Parameter> &parameter_overrides() const
    {
        return overrides_;
    }

  private:
    std::vector<Parameter> overrides_;
};

class QoS
{
  public:
    explicit QoS(size_t depth) : depth_(depth)
    {
    }
    QoS &keep_last(size_t depth)
    {
        depth_ = depth;
        return *this;
    }

  private:
    size_t depth_;
};

class SensorDataQoS : public QoS
{
  public:
    SensorDataQoS() : QoS(5)
    {
    }
};

class TimerBase
{
  public:
    using SharedPtr = std::shared_ptr<TimerBase>;
    std::chrono::milliseconds period{0};
    std::function<void()> callback;
};

// What a test sees of all nodes: who listens to which topic, and which timers there are.
struct World {
    using Callback = std::function<void(const std::shared_ptr<void> &)>;
    std::mutex mutex;
    std::multimap<std::string, std::pair<const void *, Callback>> listeners;
    std::vector<std::weak_ptr<TimerBase>> timers;
};

inline World &world()
{
    static World the_world;
    return the_world;
}

template <typename Message>
class Publisher
{
  public:
    using SharedPtr = std::shared_ptr<Publisher<Message>>;
    explicit Publisher(std::string topic) : topic_(std::move(topic))
    {
    }
    void publish(std::unique_ptr<Message> message)
    {
        const std::shared_ptr<Message> shared = std::move(message);
        std::vector<World::Callback> callbacks;
        {
            const std::lock_guard<std::mutex> lock(world().mutex);
            const auto [from, to] = world().listeners.equal_range(topic_);
            for (auto i = from; i != to; ++i) {
                callbacks.push_back(i->second.second);
            }
        }
        for (const auto &callback : callbacks) {
            callback(shared);
        }
    }
    const char *get_topic_name() const
    {
        return topic_.c_str();
    }

  private:
    std::string topic_;
};

template <typename Message>
class Subscription
{
  public:
    using SharedPtr = std::shared_ptr<Subscription<Message>>;
    Subscription(const std::string &topic, std::function<void(std::shared_ptr<const Message>)> callback)
    {
        const std::lock_guard<std::mutex> lock(world().mutex);
        world().listeners.emplace(topic,
                                  std::make_pair(this, [callback](const std::shared_ptr<void> &message) {
                                      callback(std::static_pointer_cast<const Message>(message));
                                  }));
    }
    ~Subscription()
    {
        const std::lock_guard<std::mutex> lock(world().mutex);
        for (auto i = world().listeners.begin(); i != world().listeners.end();) {
            i = i->second.first == this ? world().listeners.erase(i) : std::next(i);
        }
    }

  private:
    Subscription(const Subscription &) = delete;
};

class Logger
{
};

class Time
{
  public:
    operator builtin_interfaces::msg::Time() const
    {
        return {1, 2};
    }
};

namespace node_interfaces
{
class OnSetParametersCallbackHandle
{
  public:
    using SharedPtr = std::shared_ptr<OnSetParametersCallbackHandle>;
    std::function<rcl_interfaces::msg::SetParametersResult(const std::vector<Parameter> &)> callback;
};
} // namespace node_interfaces

class Node
{
  public:
    Node(std::string name, const NodeOptions &options) : name_(std::move(name)), options_(options)
    {
    }
    virtual ~Node() = default;

    template <typename T>
    T declare_parameter(const std::string &name, const T &value,
                        const rcl_interfaces::msg::ParameterDescriptor &descriptor = {})
    {
        if (!descriptors_.emplace(name, descriptor).second) {
            throw std::runtime_error("parameter declared twice: " + name);
        }
        for (const Parameter &given : options_.parameter_overrides()) {
            if (given.get_name() == name) {
                if (!std::holds_alternative<T>(given.value())) {
                    throw std::runtime_error("parameter of another type: " + name);
                }
                return std::get<T>(given.value());
            }
        }
        return value;
    }

    template <typename Message>
    typename Publisher<Message>::SharedPtr create_publisher(const std::string &topic, const QoS &)
    {
        return std::make_shared<Publisher<Message>>(resolved(topic));
    }

    template <typename Message, typename Callback>
    typename Subscription<Message>::SharedPtr create_subscription(const std::string &topic, const QoS &,
                                                                  Callback callback)
    {
        return std::make_shared<Subscription<Message>>(resolved(topic), callback);
    }

    template <typename Callback>
    TimerBase::SharedPtr create_wall_timer(std::chrono::milliseconds period, Callback callback)
    {
        auto timer = std::make_shared<TimerBase>();
        timer->period = period;
        timer->callback = callback;
        world().timers.push_back(timer);
        return timer;
    }

    template <typename Callback>
    node_interfaces::OnSetParametersCallbackHandle::SharedPtr
    add_on_set_parameters_callback(Callback callback)
    {
        auto handle = std::make_shared<node_interfaces::OnSetParametersCallbackHandle>();
        handle->callback = callback;
        handle_ = handle;
        return handle;
    }

    // As a parameter service does: read-only parameters are refused before the node is asked.
    rcl_interfaces::msg::SetParametersResult set_parameter(const Parameter &parameter)
    {
        rcl_interfaces::msg::SetParametersResult result;
        const auto descriptor = descriptors_.find(parameter.get_name());
        const auto handle = handle_.lock();
        result.successful = descriptor != descriptors_.end() && !descriptor->second.read_only && handle;
        return result.successful ? handle->callback({parameter}) : result;
    }

    Logger get_logger() const
    {
        return {};
    }
    Time now() const
    {
        return {};
    }
    const char *get_fully_qualified_name() const
    {
        return full_name_.c_str();
    }

  private:
    std::string resolved(const std::string &topic) const
    {
        return topic.rfind("~/", 0) == 0 ? full_name_ + topic.substr(1)
               : topic[0] == '/'         ? topic
                                         : "/" + topic;
    }

    std::string name_;
    std::string full_name_ = "/" + name_;
    NodeOptions options_;
    std::map<std::string, rcl_interfaces::msg::ParameterDescriptor> descriptors_;
    std::weak_ptr<node_interfaces::OnSetParametersCallbackHandle> handle_;
};

} // namespace rclcpp

#define RCLCPP_INFO(logger, ...) ((void)(logger), (void)std::printf(__VA_ARGS__), (void)std::printf("\n"))
