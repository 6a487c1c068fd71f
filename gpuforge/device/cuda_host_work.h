// Host functions on CUDA streams: who owns the closure, where its exception goes, and what may be destroyed
// inside. Not installed.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gpuforge/device/work_error.h"

namespace gpuforge::device {

struct HostWork {
  std::function<void()> work;
  std::shared_ptr<WorkErrors> errors;
};

// For cuLaunchHostFunc. `run_and_delete` takes a HostWork it owns, `run_again` one that a graph owns.
void run_and_delete(void* host_work) noexcept;
void run_again(void* host_work) noexcept;

// The host functions of one recording. Shared by the graph, by every launch under way and by graphs that
// contain it.
struct RecordedWork {
  explicit RecordedWork(const std::string& device_name) : errors(std::make_shared<WorkErrors>(device_name)) {}

  // What is kept may call the driver when it goes, so it goes as driver objects do.
  ~RecordedWork();
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;

  std::shared_ptr<WorkErrors> errors;
  std::vector<std::unique_ptr<HostWork>> functions;
  std::vector<std::shared_ptr<const void>> kept;
};

// Queued behind a graph's launch: keeps the work until the graph has run, whatever becomes of the Graph.
struct GraphLaunch {
  std::shared_ptr<const RecordedWork> work;
  std::shared_ptr<WorkErrors> stream_errors;
};
void finish_graph_launch(void* graph_launch) noexcept;

// While it lives, this thread counts as running a host function, where the driver must not be called.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
  static bool active();

 private:
  bool outer_;
};

// Destroys `owner` of driver objects: here, or, inside a host function, on a thread of its own.
template <typename Owner>
void retire(Owner owner) noexcept {
  if (!HostFunctionScope::active()) return;
  try {
    std::thread([kept = std::move(owner)] {}).detach();
  } catch (...) {  // no thread to be had: destroyed here, and the driver may refuse
  }
}

}  // namespace gpuforge::device
