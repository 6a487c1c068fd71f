#include "gpuforge/context/device_clock.h"

#include <chrono>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

constexpr double kOld_us = 1e6;
constexpr int kTries = 5;

}  // namespace

double host_clock_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

DeviceClock::DeviceClock(std::shared_ptr<device::Device> device)
    : device_(std::move(device)), stream_(device_->make_stream()) {
  const std::lock_guard lock(mutex_);
  calibrate();
}

// The quickest of a few tries is the one that nothing came between.
void DeviceClock::calibrate() {
  std::unique_ptr<device::Event> best;
  for (int i = 0; i < kTries; ++i) {
    std::unique_ptr<device::Event> event = device_->make_event();
    stream_->synchronize();
    const double before_us = host_clock_us();
    stream_->record(*event);
    event->synchronize();
    const double after_us = host_clock_us();
    const double error_us = (after_us - before_us) / 2;
    if (best != nullptr && error_us >= error_us_) continue;
    best = std::move(event);
    base_us_ = before_us + error_us;
    error_us_ = error_us;
  }
  base_ = std::move(best);
}

double DeviceClock::host_us(const device::Event& event) {
  const std::lock_guard lock(mutex_);
  if (host_clock_us() - base_us_ > kOld_us) calibrate();
  return base_us_ + double{event.elapsed_ms_since(*base_)} * 1e3;
}

double DeviceClock::error_us() const {
  const std::lock_guard lock(mutex_);
  return error_us_;
}

}  // namespace gpuforge
