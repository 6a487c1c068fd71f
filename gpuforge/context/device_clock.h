// The time of a device's events on the host's clock. An event is recorded on an idle stream and waited for,
// and the middle of the host's times around it is its time; the events that count are measured from that one.
// The true time lies within error_us of the one told: half of that wait, some 5 to 20 us on a GPU. Distances
// between events are as exact as the device's own (0.5 us on NVIDIA's). Measured anew every second, so that
// the two clocks do not part.
#pragma once

#include <memory>
#include <mutex>

#include "gpuforge/device/device.h"

namespace gpuforge {

// Microseconds of the steady clock, as in memory::TransferStatus.
double host_clock_us();

// Thread-safe.
class DeviceClock {
 public:
  explicit DeviceClock(std::shared_ptr<device::Device> device);

  // Of an event that was made with timing, recorded and is done. Waits for a few microseconds of the device
  // about once a second.
  double host_us(const device::Event& event);
  double error_us() const;

 private:
  void calibrate();

  const std::shared_ptr<device::Device> device_;
  const std::shared_ptr<device::Stream> stream_;
  mutable std::mutex mutex_;
  std::unique_ptr<device::Event> base_;
  double base_us_ = 0;
  double error_us_ = 0;
};

}  // namespace gpuforge
