// Modules and launches of the cuda device, over a driver that needs no GPU: what reaches the driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "gpuforge/device/cuda_device.h"
#include "gpuforge/device/device_testing.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::device {
namespace {

using fake_driver::FakeDriver;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_80
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{ ret; }
.visible .entry empty()
{ ret; }
)";

std::span<const std::byte> as_image(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct Seen {
  std::vector<FakeCudaLaunch> launches;
  std::vector<std::uint32_t> last_arguments;
};

void note_launch(const FakeCudaLaunch* launch, void* user_data) {
  auto& seen = *static_cast<Seen*>(user_data);
  seen.launches.push_back(*launch);
  if (launch->parameter_count == 4) {
    seen.last_arguments.push_back(*static_cast<const std::uint32_t*>(launch->parameters[3]));
  }
}

class CudaLaunchTest : public testing::Test {
 protected:
  CudaLaunchTest()
      : device_(make_cuda_device(cuda::Driver::load(FakeDriver::search()), 0)),
        stream_(device_->make_stream()),
        module_(device_->load_module(as_image(kPtx), "kernels.ptx")),
        saxpy_(module_->function("saxpy")),
        empty_(module_->function("empty")) {
    fake_.on_launch(note_launch, &seen_);
  }

  FakeDriver fake_;  // first in, last out
  Seen seen_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Module> module_;
  std::shared_ptr<Function> saxpy_;
  std::shared_ptr<Function> empty_;
};

TEST_F(CudaLaunchTest, FactsOfAFunction) {
  const FunctionFacts& facts = saxpy_->facts();
  EXPECT_EQ(facts.name, "saxpy");
  EXPECT_EQ(facts.registers, 32);
  EXPECT_EQ(facts.max_threads_per_block, 1024);
  ASSERT_TRUE(facts.parameters_known);
  ASSERT_EQ(facts.parameters.size(), 4u);
  EXPECT_EQ(facts.parameters[2].bytes, 4u);
  EXPECT_EQ(facts.parameters[2].offset, 16u);
  EXPECT_EQ(facts.parameters[3].offset, 20u);
  EXPECT_TRUE(empty_->facts().parameters_known);
  EXPECT_TRUE(empty_->facts().parameters.empty());
}

// compute-sanitizer reports a call that fails, and would call every program with a kernel wrong.
TEST_F(CudaLaunchTest, NoParameterTooManyIsAskedForWhenTheirNumberIsKnown) {
  const std::size_t before = fake_.counters().parameters_past_the_last;
  const auto known = module_->function("saxpy", 4);
  EXPECT_EQ(known->facts().parameters.size(), 4u);
  EXPECT_EQ(module_->function("empty", 0)->facts().parameters.size(), 0u);
  EXPECT_EQ(fake_.counters().parameters_past_the_last, before);
  EXPECT_EQ(module_->function("saxpy")->facts().parameters.size(), 4u);
  EXPECT_EQ(fake_.counters().parameters_past_the_last, before + 1);
}

TEST_F(CudaLaunchTest, AnUnknownEntryNamesThoseThereAre) {
  std::string message;
  EXPECT_EQ(code_of([&] { module_->function("saxpi"); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, AllOf(HasSubstr("cuda:0"), HasSubstr("kernels.ptx"), HasSubstr("saxpi"),
                             HasSubstr("it has saxpy, empty")));
}

TEST_F(CudaLaunchTest, FunctionsKeepTheirModule) {
  module_.reset();
  saxpy_.reset();
  stream_->launch(*empty_, {}, {});
  stream_->synchronize();
  EXPECT_EQ(seen_.launches.size(), 1u);
  EXPECT_EQ(fake_.counters().modules, 1u);
  empty_.reset();
  EXPECT_EQ(fake_.counters().modules, 0u);
}

TEST_F(CudaLaunchTest, APlainLaunchPassesGridBlockAndArguments) {
  Address y = 1, x = 2;
  float a = 3;
  std::uint32_t n = 44;
  const std::array<void*, 4> arguments = {&y, &x, &a, &n};
  fake_.fail("cuLaunchKernelEx", 999);  // the plain call is enough
  stream_->launch(*saxpy_, {.grid = {7, 6, 5}, .block = {32, 2, 4}, .dynamic_shared_bytes = 1000}, arguments);
  n = 0;  // copied at the launch
  stream_->synchronize();
  ASSERT_EQ(seen_.launches.size(), 1u);
  const FakeCudaLaunch& launch = seen_.launches[0];
  EXPECT_THAT(launch.grid, ElementsAre(7, 6, 5));
  EXPECT_THAT(launch.block, ElementsAre(32, 2, 4));
  EXPECT_EQ(launch.dynamic_shared_bytes, 1000u);
  EXPECT_THAT(seen_.last_arguments, ElementsAre(44));
}

TEST_F(CudaLaunchTest, AttributesReachTheDriver) {
  fake_.fail("cuLaunchKernel", 999);  // attributes need the other call
  stream_->launch(*empty_, {.grid = {8, 2, 1}, .cluster = {4, 2, 1}}, {});
  stream_->launch(*empty_, {.cooperative = true}, {});
  stream_->launch(*empty_, {.programmatic = true}, {});
  stream_->launch(*empty_,
                  {.grid = {2, 1, 1}, .cluster = {2, 1, 1}, .cooperative = true, .programmatic = true}, {});
  stream_->synchronize();
  ASSERT_EQ(seen_.launches.size(), 4u);
  EXPECT_THAT(seen_.launches[0].cluster, ElementsAre(4, 2, 1));
  EXPECT_EQ(seen_.launches[0].cooperative, 0);
  EXPECT_EQ(seen_.launches[1].cooperative, 1);
  EXPECT_EQ(seen_.launches[1].programmatic, 0);
  EXPECT_EQ(seen_.launches[2].programmatic, 1);
  EXPECT_THAT(seen_.launches[3].cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(seen_.launches[3].cooperative + seen_.launches[3].programmatic, 2);
}

TEST_F(CudaLaunchTest, ClustersOfMoreThanEightAreAskedForOnce) {
  fake_.fail("cuFuncSetAttribute", 999);
  stream_->launch(*empty_, {.grid = {8}, .cluster = {8}}, {});
  std::string message;
  EXPECT_EQ(code_of([&] { stream_->launch(*empty_, {.grid = {16}, .cluster = {16}}, {}); }, &message),
            ErrorCode::cuda);
  EXPECT_THAT(message, AllOf(HasSubstr("more than 8 blocks a cluster"), HasSubstr("empty")));
  fake_.fail("cuFuncSetAttribute", 0);
  stream_->launch(*empty_, {.grid = {16}, .cluster = {16}}, {});
  fake_.fail("cuFuncSetAttribute", 999);
  stream_->launch(*empty_, {.grid = {32}, .cluster = {16}}, {});
  expect_refused([&] { stream_->launch(*empty_, {.grid = {32}, .cluster = {32}}, {}); },
                 "cuda:0: kernel empty: cluster (32, 1, 1) has more than the 16");
  stream_->synchronize();
  EXPECT_EQ(seen_.launches.size(), 3u);
}

TEST_F(CudaLaunchTest, LargeSharedMemoryIsAskedForOncePerLargerSize) {
  stream_->launch(*empty_, {.dynamic_shared_bytes = 48 * 1024}, {});  // the default allows it
  stream_->launch(*empty_, {.dynamic_shared_bytes = 100 * 1024}, {});
  fake_.fail("cuFuncSetAttribute", 999);
  stream_->launch(*empty_, {.dynamic_shared_bytes = 100 * 1024}, {});
  stream_->launch(*empty_, {.dynamic_shared_bytes = 60 * 1024}, {});
  std::string message;
  EXPECT_EQ(code_of([&] { stream_->launch(*empty_, {.dynamic_shared_bytes = 101 * 1024}, {}); }, &message),
            ErrorCode::cuda);
  EXPECT_THAT(message, AllOf(HasSubstr("103424 bytes"), HasSubstr("empty"), HasSubstr("cuda:0")));
  fake_.fail("cuFuncSetAttribute", 0);
  stream_->launch(*empty_, {.dynamic_shared_bytes = 227 * 1024}, {});
  expect_refused([&] { stream_->launch(*empty_, {.dynamic_shared_bytes = 227 * 1024 + 1}, {}); },
                 "cuda:0: kernel empty");
  stream_->synchronize();
  EXPECT_EQ(seen_.launches.size(), 5u);
}

TEST_F(CudaLaunchTest, ManyThreadsLaunchOneFunction) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 50; ++i) {
        stream_->launch(*empty_, {.dynamic_shared_bytes = (40 + t * 40 + i) * 1024u}, {});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stream_->synchronize();
  EXPECT_EQ(seen_.launches.size(), 200u);
}

TEST_F(CudaLaunchTest, WrongLaunchesAreRefusedBeforeTheDriver) {
  std::uint64_t word = 0;
  const std::array<void*, 3> three = {&word, &word, &word};
  expect_refused([&] { stream_->launch(*saxpy_, {}, three); },
                 "cuda:0: kernel saxpy has 4 parameters, 3 arguments");
  expect_refused([&] { stream_->launch(*empty_, {}, three); },
                 "cuda:0: kernel empty has 0 parameters, 3 arguments");
  expect_refused([&] { stream_->launch(*empty_, {.grid = {0, 1, 1}}, {}); }, "cuda:0: kernel empty: grid");
  expect_refused(
      [&] {
        stream_->launch(*empty_, {.block = {1024, 2, 1}}, {});
      },
      "cuda:0: kernel empty: block");
  const auto other = make_cuda_device(cuda::Driver::load(FakeDriver::search()), 0);
  const auto foreign = other->load_module(as_image(kPtx), "other")->function("empty");
  expect_refused([&] { stream_->launch(*foreign, {}, {}); }, "cuda:0");
  stream_->synchronize();
  EXPECT_TRUE(seen_.launches.empty());
}

TEST_F(CudaLaunchTest, DriverRefusalsSayWhichLaunch) {
  std::string message;
  fake_.fail("cuLaunchKernel", 701);
  EXPECT_EQ(code_of([&] { stream_->launch(*empty_, {.grid = {3, 1, 1}}, {}); }, &message), ErrorCode::cuda);
  EXPECT_THAT(message, AllOf(HasSubstr("empty"), HasSubstr("(3, 1, 1)"), HasSubstr("cuda:0")));
  fake_.fail("cuLaunchKernelEx", 720);
  EXPECT_EQ(code_of(
                [&] {
                  stream_->launch(*empty_, {.grid = {100'000, 1, 1}, .cooperative = true}, {});
                },
                &message),
            ErrorCode::invalid_argument);
  EXPECT_THAT(message, AllOf(HasSubstr("all 100000 blocks"), HasSubstr("only 4224 fit")));
  fake_.fail("cuLaunchKernelEx", 912);
  EXPECT_EQ(code_of([&] { stream_->launch(*empty_, {.programmatic = true}, {}); }, &message),
            ErrorCode::cuda);
  EXPECT_THAT(message, HasSubstr("empty"));
}

TEST_F(CudaLaunchTest, Occupancy) {
  EXPECT_EQ(empty_->max_active_blocks(1024, 0), 2);
  EXPECT_EQ(empty_->max_active_blocks(128, 100 * 1024), 2);
  EXPECT_EQ(empty_->max_active_blocks(128, 228 * 1024), 0) << "more than a block can have";
  expect_refused([&] { empty_->max_active_blocks(0, 0); }, "cuda:0: kernel empty");
  expect_refused([&] { empty_->max_active_blocks(1025, 0); }, "cuda:0: kernel empty");
}

TEST_F(CudaLaunchTest, OccupancyOfClusters) {
  const LaunchConfig half = {.grid = {5}, .block = {512}, .dynamic_shared_bytes = 80 * 1024, .cluster = {16}};
  EXPECT_EQ(empty_->max_active_clusters(half), 16);
  EXPECT_EQ(empty_->max_active_clusters({.block = {1024}, .cluster = {4, 2}}), 7 * 4 + 5);
  expect_refused([&] { empty_->max_active_clusters({.cluster = {32}}); }, "cuda:0: kernel empty: cluster");
  expect_refused([&] { empty_->max_active_clusters({.block = {2048}, .cluster = {2}}); },
                 "cuda:0: kernel empty: block");
}

TEST_F(CudaLaunchTest, KernelsInGraphs) {
  Address y = 1, x = 2;
  float a = 3;
  const auto capture = [&](std::uint32_t n) {
    const std::array<void*, 4> arguments = {&y, &x, &a, &n};
    stream_->begin_capture();
    stream_->launch(*saxpy_, {}, arguments);
    return stream_->end_capture();
  };
  const auto graph = capture(10);
  EXPECT_EQ(graph->node_count(), 1u);
  graph->launch(*stream_);
  graph->launch(*stream_);
  graph->update(*capture(20));
  graph->launch(*stream_);
  stream_->synchronize();
  EXPECT_THAT(seen_.last_arguments, ElementsAre(10, 10, 20));
}

TEST_F(CudaLaunchTest, LoadFailuresSayWhy) {
  std::string message;
  const auto load = [&](std::string_view text) { device_->load_module(as_image(text), "k.ptx"); };
  try {
    load("BAD .version 7.0");
    ADD_FAILURE() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.detail(), "fake: image starts with BAD") << "the driver's log";
  }
  const std::pair<int, ErrorCode> expected[] = {
      {218, ErrorCode::compile},     {222, ErrorCode::unsupported},      {209, ErrorCode::unsupported},
      {2, ErrorCode::out_of_memory}, {200, ErrorCode::invalid_argument}, {999, ErrorCode::cuda}};
  for (const auto& [code, error_code] : expected) {
    fake_.fail("cuModuleLoadData", code);
    EXPECT_EQ(code_of([&] { load(kPtx); }, &message), error_code) << code;
    EXPECT_THAT(message, AllOf(HasSubstr("cuda:0"), HasSubstr("k.ptx")));
  }
  fake_.fail("cuModuleLoadData", 0);
  expect_refused([&] { load("int main() {}"); }, "cuda:0: module k.ptx");
  expect_refused([&] { load(""); }, "cuda:0: module k.ptx");
  const std::string unterminated(kPtx);
  EXPECT_NE(
      device_->load_module(as_image(std::string_view(unterminated).substr(0, kPtx.size() - 1)), "k.ptx"),
      nullptr);
}

}  // namespace
}  // namespace gpuforge::device
