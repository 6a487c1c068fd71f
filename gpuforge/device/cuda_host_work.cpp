#include "gpuforge/device/cuda_host_work.h"

#include <optional>

namespace gpuforge::device {
namespace {
thread_local bool inside_host_function = false;
}

HostFunctionScope::HostFunctionScope() : outer_(std::exchange(inside_host_function, true)) {}

HostFunctionScope::~HostFunctionScope() {
  inside_host_function = outer_;
}

bool HostFunctionScope::active() {
  return inside_host_function;
}

// The scope comes first in each: what the closures hold is destroyed inside it.
void run_and_delete(void* host_work) noexcept {
  const HostFunctionScope scope;
  const std::unique_ptr<HostWork> owned(static_cast<HostWork*>(host_work));
  owned->errors->run(owned->work);
}

void run_again(void* host_work) noexcept {
  const HostFunctionScope scope;
  const auto* const borrowed = static_cast<const HostWork*>(host_work);
  borrowed->errors->run(borrowed->work);
}

RecordedWork::~RecordedWork() {
  retire(std::move(kept));
}

void finish_graph_launch(void* graph_launch) noexcept {
  const HostFunctionScope scope;
  const std::unique_ptr<GraphLaunch> owned(static_cast<GraphLaunch*>(graph_launch));
  if (std::optional<Error> error = owned->work->errors->take()) {
    owned->stream_errors->keep(std::move(*error));
  }
}

}  // namespace gpuforge::device
