// Kernels that stand for work: they take a device's whole attention for a given time. Not installed.
#pragma once

#include <memory>

#include "gpuforge/context/context.h"

namespace gpuforge::sched {

// Thread-safe.
class StandIns {
 public:
  explicit StandIns(std::shared_ptr<Context> context);

  // On a GPU, on all multiprocessors at once, in `waves` of blocks one after the other: what has a higher
  // priority gets in between two waves. On cpu and sim, where time in a kernel means nothing, a host
  // function.
  // `multiprocessors`: that the stream has; 0: all.
  void spin(double us, int waves, int multiprocessors, device::Stream& stream) const;
  const std::shared_ptr<Context>& context() const { return context_; }

 private:
  static constexpr std::uint32_t kThreads = 1024;
  std::shared_ptr<Context> context_;
  std::shared_ptr<const jit::Kernel> spin_;
  std::uint32_t blocks_ = 1;  // that fit on a multiprocessor at once
};

}  // namespace gpuforge::sched
