#include "gpuforge/lab/clock_meter.h"

#include <algorithm>

#include "gpuforge/lab/statistics.h"

namespace gpuforge::lab {
namespace {

struct ClockStamp {  // as in clock_stamp.cu
  std::uint32_t taken = 0;
  std::uint32_t unused = 0;
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};
constexpr std::int64_t kWords = sizeof(ClockStamp) / 8;

}  // namespace

std::optional<ClockReport> clock_report(std::span<const double> mhz, int limit_khz) {
  if (mhz.empty()) return std::nullopt;
  const Summary summary = summarize(mhz);
  return ClockReport{summary.p50, summary.min, summary.max, limit_khz / 1000.0};
}

ClockMeter::ClockMeter(const std::shared_ptr<Context>& context, device::Stream& stream)
    : kernel_(context->jit().embedded_kernel("gpuforge/lab/clock_stamp.cu", "gpuforge::stamp_clock",
                                             context->device())),
      stamps_(zeros(context, {2, kWords}, DType::i64, stream)),
      blocks_(static_cast<unsigned>(std::max(context->device().facts().multiprocessors, 1)) * 4) {}

void ClockMeter::stamp(std::int64_t which, device::Stream& stream) {
  const device::Address at = stamps_.index(0, which).address();
  stream.fill(at, 0, 4, sizeof(ClockStamp) / 4);
  (*kernel_)({.grid = {blocks_}, .block = {32}}, stream, at);
}

std::optional<double> ClockMeter::mhz(device::Stream& stream) const {
  ClockStamp read[2];
  stamps_.to_host(std::as_writable_bytes(std::span(read)), stream);
  const auto& [before, after] = read;
  if (before.taken == 0 || after.taken == 0 || after.nanoseconds <= before.nanoseconds) return std::nullopt;
  return static_cast<double>(after.cycles - before.cycles) * 1000 /
         static_cast<double>(after.nanoseconds - before.nanoseconds);
}

}  // namespace gpuforge::lab
