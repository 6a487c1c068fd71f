#include "gpuforge/context/device_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge {
namespace {

void expect_events_between_host_times(const std::shared_ptr<device::Device>& device) {
  DeviceClock clock(device);
  const auto stream = device->make_stream();
  for (const int pause_ms : {0, 5, 1100}) {  // the last one is beyond a calibration's age
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    const auto event = device->make_event();
    const double before = host_clock_us();
    stream->record(*event);
    stream->synchronize();
    const double after = host_clock_us();
    const double at = clock.host_us(*event);
    EXPECT_GE(at, before - clock.error_us() - 1);
    EXPECT_LE(at, after + clock.error_us() + 1);
    EXPECT_GT(clock.error_us(), 0);
  }
}

TEST(DeviceClock, EventsLieBetweenTheHostTimesAroundThem) {
  expect_events_between_host_times(device::make_cpu_device());
}

TEST(DeviceClockGpu, EventsLieBetweenTheHostTimesAroundThem) {
  std::shared_ptr<device::Device> device;
  try {
    device = device::open_device("cuda:0", cuda::search_options(read_environment()));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  expect_events_between_host_times(device);
}

TEST(DeviceClock, RefusesAnEventThatHasNotCome) {
  const auto device = device::make_cpu_device();
  DeviceClock clock(device);
  EXPECT_THROW(clock.host_us(*device->make_event()), Error);
  EXPECT_THROW(clock.host_us(*device->make_event(false)), Error);
}

}  // namespace
}  // namespace gpuforge
