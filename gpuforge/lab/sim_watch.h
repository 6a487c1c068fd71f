// The simulator under a check: what it finds, and the order it runs things in. Does nothing on other devices.
// Not installed.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "gpuforge/device/sim_device.h"

namespace gpuforge::lab {

// While it lives, reports of the device's launches come here; then they are kept by the device as before,
// and its options are what they were.
class SimWatch {
 public:
  explicit SimWatch(device::Device& device);
  ~SimWatch();
  SimWatch(const SimWatch&) = delete;
  SimWatch& operator=(const SimWatch&) = delete;

  // Of launches from now on: the order of blocks, warps and lanes (0: the usual one).
  void set_order(std::uint64_t seed);
  // A sentence for each place where something was found: "race at tile.cu:12: ..."
  std::vector<std::string> sentences() const;

 private:
  void add(const sim::LaunchReport& report);

  struct Found {
    std::string place;
    std::string sentence;
  };
  device::SimDevice* const device_;
  device::SimOptions options_;
  mutable std::mutex mutex_;
  std::vector<Found> found_;
};

}  // namespace gpuforge::lab
