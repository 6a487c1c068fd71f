#include "gpuforge/sched/stand_ins.h"

#include <algorithm>
#include <chrono>

namespace gpuforge::sched {

StandIns::StandIns(std::shared_ptr<Context> context) : context_(std::move(context)) {
  device::Device& device = context_->device();
  if (device.facts().kind != device::DeviceKind::cuda) return;
  spin_ = context_->jit().embedded_kernel("gpuforge/sched/spin.cu", "gpuforge::spin", device);
  blocks_ = static_cast<std::uint32_t>(std::max(spin_->function().max_active_blocks(kThreads, 0), 1));
}

void StandIns::spin(double us, int waves, int multiprocessors, device::Stream& stream) const {
  if (spin_) {
    const int all =
        std::max(multiprocessors > 0 ? multiprocessors : stream.device().facts().multiprocessors, 1);
    (*spin_)({.grid = {blocks_ * static_cast<std::uint32_t>(waves * all)}, .block = {kThreads}}, stream,
             static_cast<unsigned long long>(us * 1e3 / waves));
    return;
  }
  stream.enqueue([us] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(us);
    while (std::chrono::steady_clock::now() < end) {
    }
  });
}

}  // namespace gpuforge::sched
