// The clock a GPU's multiprocessors really ran at while something was measured.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpuforge/array/array.h"

namespace gpuforge::lab {

struct ClockReport {
  double mhz = 0;         // median over the repetitions
  double lowest_mhz = 0;  // of a repetition
  double highest_mhz = 0;
  double limit_mhz = 0;  // what the driver says the chip can do; 0: it does not say
  // Below three quarters of what it can do: hot, out of power, or held down by someone.
  bool throttled() const { return limit_mhz > 0 && lowest_mhz < 0.75 * limit_mhz; }
};
// Nothing when no repetition gave a clock.
std::optional<ClockReport> clock_report(std::span<const double> mhz, int limit_khz);

// Stamps on the stream around what lies between start() and stop(); neither waits.
class ClockMeter {
 public:
  // Compiles its kernel. Only for devices of kind cuda.
  ClockMeter(const std::shared_ptr<Context>& context, device::Stream& stream);
  void start(device::Stream& stream) { stamp(0, stream); }
  void stop(device::Stream& stream) { stamp(1, stream); }
  // Waits. Nothing when no stamp was taken or no time passed.
  std::optional<double> mhz(device::Stream& stream) const;

 private:
  void stamp(std::int64_t which, device::Stream& stream);
  std::shared_ptr<const jit::Kernel> kernel_;
  Array stamps_;
  unsigned blocks_;
};

}  // namespace gpuforge::lab
