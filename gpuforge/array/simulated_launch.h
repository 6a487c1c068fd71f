// Kernels on arrays of the cpu: they run in the simulator, on the arrays' own memory, in the order of the
// cpu's stream.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "gpuforge/array/array.h"

namespace gpuforge {

// Thread-safe.
class SimulatedLaunches {
 public:
  // A context of the sim device, whose JIT makes the kernels.
  explicit SimulatedLaunches(std::shared_ptr<Context> simulator);

  Context& simulator() const;
  // What is wrong with the arguments or the configuration is said now; what the kernel does wrong, when
  // `stream` (of the cpu) is synchronised. `arrays` are those whose memory it may touch. In a capture it is
  // recorded.
  void launch(std::shared_ptr<const jit::Kernel> kernel, const device::LaunchConfig& config,
              std::span<const jit::Argument> arguments, std::span<const Array> arrays,
              device::Stream& stream);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpuforge
