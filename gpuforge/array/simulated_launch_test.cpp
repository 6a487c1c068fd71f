#include "gpuforge/array/simulated_launch.h"

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/device/cpu_device.h"

namespace gpuforge {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::string_view kSource = R"(
extern "C" __global__ void add(int* x, int amount, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += amount;
}
)";

// The context of the fixture is the simulator's; the arrays are the cpu's.
class SimulatedLaunchTest : public ArrayTest {
 protected:
  void SetUp() override {
    ArrayTest::SetUp();
    if (IsSkipped()) return;
    launches_.emplace(context_);
    kernel_ =
        context_->jit().kernel({.name = "add.cu", .text = std::string(kSource)}, "add", context_->device());
    cpu_ = Context::make(device::make_cpu_device());
    cpu_stream_ = cpu_->make_stream();
  }

  void add(const Array& array, std::int32_t amount, std::int32_t count, device::Dim3 block = {64, 1, 1}) {
    const jit::Argument list[] = {argument(array), jit::argument(amount), jit::argument(count)};
    launches_->launch(kernel_, {.grid = {}, .block = block, .cluster = {}}, list, std::span(&array, 1),
                      *cpu_stream_);
  }

  std::optional<SimulatedLaunches> launches_;
  std::shared_ptr<const jit::Kernel> kernel_;
  std::shared_ptr<Context> cpu_;
  std::shared_ptr<device::Stream> cpu_stream_;
};
INSTANTIATE_TEST_SUITE_P(Sim, SimulatedLaunchTest, testing::Values("sim"), device_case_name);

TEST_P(SimulatedLaunchTest, KernelsUseTheMemoryOfTheCpuInTheStreamsOrder) {
  const Array array = full(cpu_, {40}, 5, DType::i32, *cpu_stream_);
  add(array, 3, 40);
  const Array view = array.slice(0, {10, {}, 1});
  add(view, 100, 10);
  EXPECT_THAT(array.slice(0, {0, 10, 1}).to_vector<std::int32_t>(*cpu_stream_), Each(8));
  EXPECT_THAT(array.slice(0, {10, 20, 1}).to_vector<std::int32_t>(*cpu_stream_), Each(108));
}

TEST_P(SimulatedLaunchTest, WhatItDoesWrongIsSaidWhenTheStreamIsWaitedFor) {
  const Array array = full(cpu_, {32}, 0, DType::i32, *cpu_stream_);
  add(array, 1, 64);
  EXPECT_THAT(error_of([&] { cpu_stream_->synchronize(); }), HasSubstr("add"));
  EXPECT_THAT(error_of([&] { add(array, 1, 1, {4096, 1, 1}); }), HasSubstr("4096"));
}

TEST_P(SimulatedLaunchTest, AnArrayMayGoWhileTheKernelIsQueued) {
  for (int i = 0; i < 20; ++i) add(full(cpu_, {64}, i, DType::i32, *cpu_stream_), 1, 64);
  cpu_stream_->synchronize();
}

}  // namespace
}  // namespace gpuforge
