// Kernels through the JIT onto the sim device: no GPU is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/format.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

using testing::AllOf;
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

// One compile makes PTX, which the simulator runs, and machine code, which tells what a GPU would need.
TEST_F(JitOnSim, OneEntryOfTheCacheServesItAndAGpu) {
  EXPECT_FALSE(jit_.compile(source(), Arch::parse("sm_86"))->cubin.empty());
  run(jit_, device::make_sim_device("sm_86"), 1);
  EXPECT_EQ(jit_.counters().compiles, 1u);
  EXPECT_EQ(jit_.disk_cache()->list().size(), 1u);
  Jit next(options(), nullptr);
  run(next, device::make_sim_device("sm_86"), 1);
  EXPECT_EQ(next.counters().compiles, 0u);
  EXPECT_EQ(next.counters().disk_hits, 1u);
}

// A hundred values that live across a barrier: a multiprocessor has 64 registers for each of 1024 threads.
constexpr std::string_view kHungry =
    "extern \"C\" __global__ void BOUNDS hungry(float* x) {\n"
    "  float v[100], sum = 0;\n"
    "  #pragma unroll\n"
    "  for (int i = 0; i < 100; ++i) v[i] = x[i * 32 + threadIdx.x % 32];\n"
    "  __syncthreads();\n"
    "  #pragma unroll\n"
    "  for (int i = 0; i < 100; ++i) sum = sum * v[99 - i] + v[i * 7 % 100];\n"
    "  x[3200 + threadIdx.x] = sum;\n"
    "}\n";

class RegistersOnSim : public JitOnSim {
 protected:
  // The refusal's text; empty when it ran.
  std::string refusal(Jit& jit, const KernelSource& source, std::uint32_t threads) {
    const auto kernel = jit.kernel(source, "hungry", *device_);
    registers_ = kernel->entry().registers;
    most_threads_ = kernel->function().facts().max_threads_per_block;
    const auto stream = device_->make_stream();
    const std::size_t bytes = (3200 + 1024) * sizeof(float);
    const device::Address there = device_->allocate(bytes, *stream);
    stream->fill(there, 0, 4, bytes / 4);
    std::string message;
    try {
      (*kernel)({.grid = {1}, .block = {threads}}, *stream, there);
      stream->synchronize();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      message = error.message();
    }
    device_->free(there, *stream);
    return message;
  }
  static KernelSource hungry(std::string bounds) {
    return {.name = "hungry.cu", .text = std::string(kHungry), .defines = {"BOUNDS=" + bounds}};
  }

  std::shared_ptr<device::SimDevice> device_ = device::make_sim_device();
  int registers_ = 0;
  int most_threads_ = 0;
};

TEST_F(RegistersOnSim, MoreThreadsThanThereAreRegistersForAreRefused) {
  const std::string message = refusal(jit_, hungry(""), 1024);
  EXPECT_THAT(message, AllOf(HasSubstr("sim: kernel hungry: block (1024, 1, 1) has 1024 threads"),
                             HasSubstr(format_text("with {} registers per thread", registers_))));
  ASSERT_GT(registers_, 64);
  ASSERT_GE(most_threads_, 256);
  ASSERT_LT(most_threads_, 1024);
  const auto most = static_cast<std::uint32_t>(most_threads_);
  EXPECT_EQ(refusal(jit_, hungry(""), most), "");
  EXPECT_THAT(refusal(jit_, hungry(""), most + 1), HasSubstr(format_text("can have at most {}", most)));
  // From the disk it is the same.
  Jit next(options(), nullptr);
  EXPECT_THAT(refusal(next, hungry(""), most + 1), HasSubstr(format_text("can have at most {}", most)));
  EXPECT_EQ(next.counters().compiles, 0u);
}

TEST_F(RegistersOnSim, ThatTheSourceOrAnOptionBoundsAreEnough) {
  EXPECT_EQ(refusal(jit_, hungry("__launch_bounds__(1024)"), 1024), "");
  EXPECT_LE(registers_, 64);
  KernelSource bounded = hungry("");
  bounded.options = {"--maxrregcount=32"};
  EXPECT_EQ(refusal(jit_, bounded, 1024), "");
  EXPECT_LE(registers_, 32);
}

// One rule in two rooms: what `gpuforge compile` calls the occupancy, and what the simulator launches.
TEST_F(RegistersOnSim, BoundTheBlocksOfTheSimulatorAsTheyDoTheOccupancy) {
  constexpr std::string_view kEmpty =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\nret;\n}\n";
  for (const Arch& arch : listed_archs()) {
    const auto device = device::make_sim_device(arch.name());
    for (int registers = 1; registers <= 255; ++registers) {
      const device::KernelRegisters known[] = {{"f", registers}};
      const auto function =
          device->load_module_with(std::as_bytes(std::span(kEmpty)), "f.ptx", known)->function("f");
      for (const int threads : {32, 96, 256, 384, 640, 768, 1000, 1024}) {
        ASSERT_EQ(function->max_active_blocks(threads, 0), occupancy(arch, registers, 0, threads)->blocks)
            << arch.name() << ", " << registers << " registers, " << threads << " threads";
      }
    }
  }
}

// The driver is the judge of the rule: the same machine code, loaded there and told to the simulator.
TEST_F(RegistersOnSim, BoundAsTheDriverSaysGpu) {
  std::shared_ptr<device::Device> gpu;
  try {
    gpu = device::open_device("cuda:0", cuda::search_options(read_environment()));
  } catch (const Error& error) {
    GTEST_SKIP() << "no cuda:0 here: " << error.message();
  }
  device_ = device::make_sim_device(native_arch(gpu->facts()).name());
  for (int bound = 24; bound <= 255; bound += 3) {
    KernelSource source = hungry("");
    source.options = {format_text("--maxrregcount={}", bound)};
    const auto here = jit_.kernel(source, "hungry", *device_);
    const auto there = jit_.kernel(source, "hungry", *gpu);
    const device::FunctionFacts& simulated = here->function().facts();
    const device::FunctionFacts& real = there->function().facts();
    ASSERT_EQ(simulated.registers, real.registers) << bound;
    EXPECT_EQ(simulated.max_threads_per_block, real.max_threads_per_block) << real.registers << " registers";
    for (int threads = 32; threads <= real.max_threads_per_block; threads += 32) {
      EXPECT_EQ(here->function().max_active_blocks(threads, 0),
                there->function().max_active_blocks(threads, 0))
          << real.registers << " registers, " << threads << " threads";
    }
  }
}

TEST_F(RegistersOnSim, OfPtxAreNotKnown) {
  const std::string ptx = jit_.compile(hungry(""), Arch::parse("compute_90a"))->ptx;
  const auto kernel = jit_.kernel_from_ptx(ptx, "hungry.ptx", "hungry", *device_);
  EXPECT_EQ(kernel->function().facts().registers, 0);
  EXPECT_EQ(kernel->function().facts().max_threads_per_block, 1024);
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
