// Launches kernels for tasks: by priority, with so many in flight on a stream, and with an account of the GPU
// time that each task had. The decisions are DispatchQueue's.
//
// GPU time is the distance of an event before the launch from one after it on the same stream. Kernels of
// other streams that run at the same time share the GPU and make each other's time longer; the sum over tasks
// can be more than the time that passed.
//
// A fault: on sim, and for host functions on cpu, the launch that failed fails and the rest goes on. There,
// one launch is in flight on a stream whatever the limit, because such a failure is told per stream. On cuda
// a fault loses the context: all launches fail, each saying what it was lost to, and later requests are
// refused.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpuforge/context/profile_report.h"
#include "gpuforge/device/device.h"
#include "gpuforge/jit/kernel.h"
#include "gpuforge/sched/dispatch_queue.h"

namespace gpuforge::sched {

struct DispatchRequest {
  std::string kernel;           // its name
  device::LaunchConfig config;  // for messages, where `launch` is the caller's own
  // Puts the work on the stream; called once, on a thread of the controller or a caller, and not at all when
  // it is cancelled. It must not wait for the device or call the controller. What it throws fails the launch.
  std::function<void(device::Stream&)> launch;
  std::string task;
  std::size_t stream = 0;
  int priority = 0;
  std::shared_ptr<const void> keep;  // let go when it is over: the memory it works on
};

// A launch of a kernel with copies of its arguments, which are checked now.
template <typename... Args>
DispatchRequest kernel_request(std::shared_ptr<const jit::Kernel> kernel, const device::LaunchConfig& config,
                               const Args&... args) {
  const jit::Argument list[] = {jit::argument(args)..., jit::Argument{}};
  jit::check_arguments(kernel->entry(), std::span(list, sizeof...(Args)));
  DispatchRequest request;
  request.kernel = kernel->entry().expression.empty() ? kernel->entry().name : kernel->entry().expression;
  request.config = config;
  request.launch = [kernel = std::move(kernel), config,
                    values = std::tuple(args...)](device::Stream& stream) {
    std::apply([&](const auto&... each) { (*kernel)(config, stream, each...); }, values);
  };
  return request;
}

struct DispatchRecord;

// One launch. Copies of a handle are the same launch. Thread-safe; may outlive the controller.
class Dispatch {
 public:
  Dispatch() = default;  // of nothing: every call but `valid` is an invalid_argument
  explicit Dispatch(std::shared_ptr<DispatchRecord> record) : record_(std::move(record)) {}
  bool valid() const { return record_ != nullptr; }
  DispatchStatus status() const;
  bool done() const { return is_over(status().state); }
  // Until it is over: completed or cancelled. One that failed throws its failure.
  DispatchState wait() const;
  bool cancel() const;  // while queued; false: too late

 private:
  DispatchRecord& record() const;
  std::shared_ptr<DispatchRecord> record_;
};

struct DispatchOptions {
  std::vector<int> stream_priorities = {0};  // one stream each; higher is more urgent
  std::size_t in_flight_per_stream = 2;      // two keep the device from waiting for the host
  // Called without locks, before waiters wake; what they throw is dropped. They must not call the controller.
  std::function<void(const DispatchStatus&)> on_over;
  std::function<void(const FaultReport&)> on_fault;
};

// A launch that is over, for a Profiler: on_over = [&](const auto& s) { profiler.add(profile_span(s)); }.
ProfileSpan profile_span(const DispatchStatus& status);

class DispatchCore;

// Thread-safe. The destructor cancels what is queued and waits for what is in flight.
class DispatchController {
 public:
  explicit DispatchController(std::shared_ptr<device::Device> device, DispatchOptions options = {});
  ~DispatchController();
  DispatchController(const DispatchController&) = delete;
  DispatchController& operator=(const DispatchController&) = delete;

  Dispatch submit(DispatchRequest request);
  void wait_all();  // for those asked for before the call, however they end
  TaskAccounts accounts() const;
  std::vector<FaultReport> faults() const;
  std::string reason(const Dispatch& dispatch) const;  // why it is not launched, in a sentence
  device::Device& device() const;

 private:
  std::shared_ptr<DispatchCore> core_;
};

}  // namespace gpuforge::sched
