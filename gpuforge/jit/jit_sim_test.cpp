// Kernels through the JIT onto the sim device: no GPU is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kText =
    "extern \"C\" __global__ void add(int* x, int n) {\n"
    "  int i = threadIdx.x;\n"
    "  if (i < n)\n"
    "    x[i] += __CUDA_ARCH__;\n"
    "}\n";

class JitOnSim : public testing::Test {
 protected:
  JitOptions options() const {
    JitOptions result;
    result.search = cuda::search_options(read_environment());
    result.cache_dir = folder_ / "cache";
    return result;
  }
  KernelSource source() const { return {.name = "add.cu", .text = kText}; }

  std::vector<int> run(Jit& jit, const std::shared_ptr<device::SimDevice>& device, int n) {
    const auto kernel = jit.kernel(source(), "add", *device);
    const auto stream = device->make_stream();
    std::vector<int> values(4, 1);
    const device::Address there = device->allocate(values.size() * sizeof(int), *stream);
    stream->copy_to_device(there, values.data(), values.size() * sizeof(int));
    (*kernel)({.grid = {1}, .block = {32}}, *stream, there, n);
    stream->copy_to_host(values.data(), there, values.size() * sizeof(int));
    stream->synchronize();
    device->free(there, *stream);
    return values;
  }

  TemporaryFolder folder_;
  Jit jit_{options(), nullptr};
};

TEST_F(JitOnSim, CompilesToPtxOfTheChipItPlays) {
  EXPECT_THAT(run(jit_, device::make_sim_device(), 2), ElementsAre(901, 901, 1, 1));
  EXPECT_THAT(run(jit_, device::make_sim_device("sm_86"), 1), ElementsAre(861, 1, 1, 1));
  EXPECT_EQ(jit_.counters().compiles, 2u) << "one for each chip";
  EXPECT_THAT(run(jit_, device::make_sim_device("sm_86"), 3), ElementsAre(861, 861, 861, 1));
  EXPECT_EQ(jit_.counters().compiles, 2u);
}

// Machine code of the same arch lies in the same cache, and is not what the simulator gets.
TEST_F(JitOnSim, TheCacheTellsPtxFromMachineCode) {
  EXPECT_FALSE(jit_.compile(source(), Arch::parse("sm_86"))->cubin.empty());
  run(jit_, device::make_sim_device("sm_86"), 1);
  EXPECT_EQ(jit_.disk_cache()->list().size(), 2u);
  Jit next(options(), nullptr);
  run(next, device::make_sim_device("sm_86"), 1);
  EXPECT_EQ(next.counters().compiles, 0u);
  EXPECT_EQ(next.counters().disk_hits, 1u);
}

TEST_F(JitOnSim, FindingsAndCountsHaveSourceLines) {
  const auto device = device::make_sim_device();
  run(jit_, device, 4);
  const std::vector<sim::LaunchReport> reports = device->take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].clean()) << reports[0].text();
  EXPECT_EQ(reports[0].in("global", "add.cu:4").requests, 2u);
  EXPECT_DOUBLE_EQ(reports[0].sectors_per_request("add.cu:4"), 1.0);
  try {
    run(jit_, device, 5);
    FAIL() << "an access out of bounds was not found";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("kernel add: out of bounds at add.cu:4"));
  }
}

}  // namespace
}  // namespace gpuforge::jit
