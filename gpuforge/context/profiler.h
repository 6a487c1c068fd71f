// Where the time of a device goes: ranges of a stream's work timed by events, copies, decisions and memory,
// on one clock. A program that may be profiled holds a Profiler* that is null when it is not; a range of a
// null Profiler is a comparison and nothing else.
//
//   Profiler profiler(device);
//   { ProfileRange range(&profiler, stream, "softmax", flops, bytes);  softmax(..., stream); }
//   KernelRanges kernels(profiler, context->jit());  // a range for each kernel launched while it lives
//   engine options: .on_over = [&](const auto& status) { profiler.add(status); }
//   write_file("trace.json", chrome_trace(trace_events(profiler.report())).dump());
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/context/device_clock.h"
#include "gpuforge/context/profile_report.h"
#include "gpuforge/device/device.h"
#include "gpuforge/jit/jit.h"
#include "gpuforge/memory/transfer_queue.h"

namespace gpuforge {

struct ProfilerOptions {
  std::size_t most_spans = std::size_t{1} << 20;  // more are counted as dropped
  // Asked at each snapshot: what the program's allocator holds, by tag.
  std::function<std::map<std::string, std::size_t>()> bytes_by_tag;
};

// Thread-safe. Ranges of one stream nest, or one follows the other.
class Profiler {
 public:
  explicit Profiler(std::shared_ptr<device::Device> device, ProfilerOptions options = {});

  // What the trace calls a stream from now on; otherwise "stream 1" and on, in the order they are met.
  void name_stream(const device::Stream& stream, std::string name);
  // With times known already, such as a launch of the dispatch controller.
  void add(ProfileSpan span);
  void add(const memory::TransferStatus& transfer);  // one that is over
  void add(ProfileDecision decision);
  MemorySnapshot snapshot(std::string name);

  // Waits for the ranges that have ended. What was seen so far; clear forgets it.
  ProfileReport report();
  void clear();

 private:
  friend class ProfileRange;
  friend class KernelRanges;
  struct Pending {
    ProfileSpan span;
    std::unique_ptr<device::Event> start, end;
  };
  // Nothing where it could not begin, which is counted.
  std::unique_ptr<Pending> begin(device::Stream& stream, std::string_view name, std::string_view category,
                                 double flops, double bytes) noexcept;
  void end(std::unique_ptr<Pending> range, device::Stream& stream) noexcept;
  // With the lock held:
  std::unique_ptr<device::Event> take_event();
  const std::string& track_of(const device::Stream& stream);
  void collect(bool wait);
  void drop(std::string_view why);
  void keep(ProfileSpan span);

  const std::shared_ptr<device::Device> device_;
  const ProfilerOptions options_;
  DeviceClock clock_;
  std::mutex mutex_;
  std::map<const device::Stream*, std::string> tracks_;
  std::vector<std::unique_ptr<device::Event>> spare_events_;
  std::vector<std::unique_ptr<Pending>> pending_;
  std::size_t collect_at_ = 0;
  ProfileReport report_;
};

// Times the work that is put on the stream while it lives. What fails in it is a dropped range in the report,
// never an exception: profiling must not break what it looks at.
class ProfileRange {
 public:
  ProfileRange(Profiler* profiler, device::Stream& stream, std::string_view name, double flops = 0,
               double bytes = 0)
      : profiler_(profiler) {
    if (profiler_ != nullptr) begin(stream, name, flops, bytes);
  }
  ~ProfileRange() {
    if (profiler_ != nullptr) end();
  }
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;

 private:
  void begin(device::Stream& stream, std::string_view name, double flops, double bytes) noexcept;
  void end() noexcept;

  Profiler* const profiler_;
  device::Stream* stream_;  // set with a profiler alone
  Profiler::Pending* range_;
};

// Every launch of a kernel of this Jit is a range, named as the kernel was asked for. End it when no other
// thread launches.
class KernelRanges final : public jit::LaunchObserver {
 public:
  KernelRanges(Profiler& profiler, jit::Jit& jit) : profiler_(profiler), jit_(jit) {
    jit_.set_launch_observer(this);
  }
  ~KernelRanges() override { jit_.set_launch_observer(nullptr); }
  KernelRanges(const KernelRanges&) = delete;
  KernelRanges& operator=(const KernelRanges&) = delete;

 private:
  void* before(const jit::Kernel& kernel, device::Stream& stream) noexcept override;
  void after(void* token, device::Stream& stream, bool launched) noexcept override;

  Profiler& profiler_;
  jit::Jit& jit_;
};

}  // namespace gpuforge
