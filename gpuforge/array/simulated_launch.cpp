#include "gpuforge/array/simulated_launch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gpuforge/device/sim_device.h"

namespace gpuforge {
namespace {

struct Range {
  device::Address begin = 0;
  device::Address end = 0;
};

// The allocations the arrays lie in; those that overlap (somebody else's memory, taken twice) as one.
std::vector<Range> allocations_of(std::span<const Array> arrays) {
  std::vector<Range> ranges;
  for (const Array& array : arrays) {
    if (array.storage_bytes() > 0)
      ranges.push_back({array.storage_address(), array.storage_address() + array.storage_bytes()});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (!merged.empty() && range.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, range.end);
    else
      merged.push_back(range);
  }
  return merged;
}

}  // namespace

struct SimulatedLaunches::State {
  std::shared_ptr<Context> context;
  std::shared_ptr<device::SimDevice> device;
  std::shared_ptr<device::Stream> stream;
  std::mutex mutex;  // one launch at a time, so that memory is lent once
};

SimulatedLaunches::SimulatedLaunches(std::shared_ptr<Context> simulator) : state_(std::make_shared<State>()) {
  GPUFORGE_CHECK(simulator != nullptr, "simulated launches: a context was expected, and none was given");
  state_->device = std::dynamic_pointer_cast<device::SimDevice>(simulator->device().shared_from_this());
  GPUFORGE_CHECK(state_->device != nullptr, "simulated launches: a context of sim was expected, got {}",
                 simulator->device().facts().name);
  state_->stream = simulator->make_stream();
  state_->context = std::move(simulator);
}

Context& SimulatedLaunches::simulator() const {
  return *state_->context;
}

void SimulatedLaunches::launch(std::shared_ptr<const jit::Kernel> kernel, const device::LaunchConfig& config,
                               std::span<const jit::Argument> arguments, std::span<const Array> arrays,
                               device::Stream& stream) {
  const device::DeviceFacts& facts = state_->device->facts();
  jit::check_arguments(kernel->entry(), arguments);
  device::check_launch(config, kernel->function().facts(), facts.launch, facts.name);
  std::vector<memory::Hold> holds;
  for (const Array& array : arrays) {
    GPUFORGE_CHECK(&array.device() == &stream.device(), "launch: the array is on {}, the stream is of {}",
                   array.device().facts().name, stream.device().facts().name);
    holds.push_back(array.record_use(stream));
  }
  struct Copied {
    std::vector<std::byte> bytes;
    std::string_view type;
  };
  std::vector<Copied> copies;
  for (const jit::Argument& argument : arguments) {
    const auto* const data = static_cast<const std::byte*>(argument.data);
    copies.push_back({std::vector<std::byte>(data, data + argument.bytes), argument.type});
  }
  stream.enqueue([state = state_, kernel = std::move(kernel), config, copies = std::move(copies),
                  ranges = allocations_of(arrays)] {
    const std::lock_guard lock(state->mutex);
    std::vector<std::shared_ptr<const void>> lent;
    for (const Range& range : ranges) {
      lent.push_back(
          state->device->lend(range.begin, range.end - range.begin,
                              format_text("{} bytes of an array on cpu", range.end - range.begin)));
    }
    std::vector<jit::Argument> list;
    for (const Copied& copy : copies) list.push_back({copy.bytes.data(), copy.bytes.size(), copy.type});
    kernel->launch(config, list, *state->stream);
    state->stream->synchronize();
  });
}

}  // namespace gpuforge
