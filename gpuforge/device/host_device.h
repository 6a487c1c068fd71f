// What the devices that work on the host share: memory, streams on threads, events and graphs. cpu and sim
// differ in what a kernel is. Not installed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuforge/device/device.h"
#include "gpuforge/device/host_capture.h"
#include "gpuforge/device/host_memory.h"
#include "gpuforge/device/host_queue.h"

namespace gpuforge::device {

// All of a Device but its kernels.
// Virtual, so that a device can add an interface of its own.
class HostDevice : public virtual Device {
 public:
  HostDevice(DeviceFacts facts, std::shared_ptr<HostMemory> memory)
      : facts_(std::move(facts)), memory_(std::move(memory)) {}

  const DeviceFacts& facts() const override { return facts_; }
  MemoryInfo memory_info() const override;
  Address allocate(std::size_t bytes, Stream& stream) override;
  void free(Address address, Stream& stream) noexcept override;
  void* allocate_pinned(std::size_t bytes) override;
  void free_pinned(void* address) noexcept override;
  VirtualMemory* virtual_memory() override;
  std::shared_ptr<Stream> make_stream(int priority) override;
  std::unique_ptr<Event> make_event(bool timing) override;
  bool capturing() const override { return open_captures_ > 0; }
  void synchronize() override;

  // Checks a launch and copies its arguments; what is returned runs it, once or as a graph's node many times,
  // perhaps after the device is gone.
  virtual std::function<void()> prepare_launch(const Function& function, const LaunchConfig& config,
                                               std::span<void* const> parameters) = 0;

  const std::string& name() const { return facts_.name; }
  HostMemory& memory() const { return *memory_; }
  // Returns its number.
  std::uint64_t capture_began() {
    ++open_captures_;
    return ++captures_;
  }
  void capture_ended() { --open_captures_; }

 private:
  const DeviceFacts facts_;
  const std::shared_ptr<HostMemory> memory_;
  std::atomic<int> open_captures_ = 0;
  std::atomic<std::uint64_t> captures_ = 0;
  std::once_flag virtual_memory_once_;  // a device that nobody asks needs no file
  std::unique_ptr<VirtualMemory> virtual_memory_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<HostQueue>> queues_;  // those of destroyed streams too, until they are drained
};

// One recording of an event: reached once, waited for by any number. A new recording is a new point, so who
// waits for an older one is not released by a newer one.
class HostPoint {
 public:
  void reach();
  bool reached() const;
  void wait();
  std::chrono::steady_clock::time_point time() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::chrono::steady_clock::time_point time_;
};

class HostEvent final : public Event {
 public:
  HostEvent(std::shared_ptr<HostDevice> device, bool timing) : device_(std::move(device)), timing_(timing) {}

  Device& device() const override;
  bool done() const override;
  void synchronize() override;
  float elapsed_ms_since(const Event& earlier) const override;

  // What the last record left: a point, a place in a capture, or neither.
  struct Recording {
    std::shared_ptr<HostPoint> point;
    std::shared_ptr<HostCapture> capture;
    CaptureClock clock;
  };
  Recording recording() const;
  void set_recording(Recording recording);

 private:
  std::shared_ptr<HostPoint> point_outside_capture(std::string_view call) const;

  const std::shared_ptr<HostDevice> device_;
  const bool timing_;
  mutable std::mutex mutex_;
  Recording recording_;
};

class HostStream final : public Stream {
 public:
  HostStream(std::shared_ptr<HostDevice> device, std::shared_ptr<HostQueue> queue)
      : device_(std::move(device)), queue_(std::move(queue)) {}
  ~HostStream() override;

  Device& device() const override;
  bool done() const override;
  void synchronize() override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  void copy_to_device(Address to, const void* from, std::size_t bytes) override;
  void copy_to_host(void* to, Address from, std::size_t bytes) override;
  void copy(Address to, Address from, std::size_t bytes) override;
  void fill(Address to, std::uint32_t pattern, std::size_t pattern_bytes, std::size_t count) override;
  void enqueue(std::function<void()> work) override;
  void launch(const Function& function, const LaunchConfig& config,
              std::span<void* const> parameters) override;
  void begin_capture() override;
  std::unique_ptr<Graph> end_capture() override;

  // Queued, or recorded while capturing.
  void submit(HostNode node);
  // A graph's launch.
  void run(std::shared_ptr<const HostNodes> nodes);
  HostQueue& queue() const { return *queue_; }
  std::uint64_t capture_number() const override;
  bool keep_in_capture(std::shared_ptr<const void> object) override;

 private:
  bool capturing_locked() const { return capture_ != nullptr && capture_->open(); }
  void refuse_in_capture(std::string_view call) const;

  const std::shared_ptr<HostDevice> device_;
  const std::shared_ptr<HostQueue> queue_;
  mutable std::mutex mutex_;  // of the capture's two fields
  std::shared_ptr<HostCapture> capture_;
  std::size_t branch_ = 0;
};

class HostGraph final : public Graph {
 public:
  HostGraph(std::shared_ptr<HostDevice> device, HostNodes nodes, KeptObjects kept);

  std::size_t node_count() const override { return nodes()->size(); }
  void launch(Stream& stream) override;
  void update(const Graph& other) override;

 private:
  std::shared_ptr<const HostNodes> nodes() const;

  const std::shared_ptr<HostDevice> device_;
  mutable std::mutex mutex_;
  std::shared_ptr<const HostNodes> nodes_;  // replaced by update; launches under way keep theirs
};

}  // namespace gpuforge::device
