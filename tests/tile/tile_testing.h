// Kernels with layouts, run in the simulator through NVRTC and through clang, and on a GPU where there is
// one.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "gpuforge/array/array.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/layout/device_layout.h"

namespace gpuforge::tile_tests {

struct Place {
  const char* name;
  const char* device;
  jit::CompilerChoice compiler;
};
std::ostream& operator<<(std::ostream& out, const Place& place);

inline auto places() {
  return testing::Values(Place{"Nvrtc", "sim", jit::CompilerChoice::nvrtc},
                         Place{"Clang", "sim", jit::CompilerChoice::clang},
                         Place{"Gpu", "cuda:0", jit::CompilerChoice::nvrtc});
}
inline std::string place_name(const testing::TestParamInfo<Place>& info) {
  return info.param.name;
}

// A kernel file that was compiled into this program.
jit::KernelSource source(const std::string& file);

class TileTest : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override;

  bool simulated() const { return sim_ != nullptr; }
  // Waits. In the simulator: the report of the last launch, which has no finding.
  std::optional<sim::LaunchReport> finish();
  template <typename T>
  Array from(const std::vector<T>& values) {
    return from_vector<T>(context_, std::span<const T>(values), {static_cast<std::int64_t>(values.size())},
                          *stream_);
  }

  std::shared_ptr<Context> context_;
  std::shared_ptr<device::Stream> stream_;

 private:
  std::shared_ptr<device::SimDevice> sim_;
};

// Bytes a lane asks for at once, at the widest of the instructions that begin so ("ld.global") and ran.
std::uint64_t widest_access(const sim::LaunchReport& report, std::string_view instruction);
// Sums over those instructions.
sim::SiteCounters counters(const sim::LaunchReport& report, std::string_view instruction);

}  // namespace gpuforge::tile_tests
