#include "gpuforge/lab/ceilings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/device/sim_device.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::lab {
namespace {

using testing::HasSubstr;

TEST(Proportion, IsTheNearestOfSmallNumbers) {
  const auto nearest = [](double read, double written) { return nearest_proportion(read, written); };
  EXPECT_EQ(nearest(1000, 1000), (Proportion{1, 1}));
  EXPECT_EQ(nearest(2000, 1000), (Proportion{2, 1}));
  EXPECT_EQ(nearest(4096, 1), (Proportion{1, 0}));
  EXPECT_EQ(nearest(0, 5), (Proportion{0, 1}));
  EXPECT_EQ(nearest(3e9, 2e9), (Proportion{3, 2}));
  EXPECT_EQ(nearest(0, 0), (Proportion{1, 1}));
}

// That the kernels move what they say they move: each byte of the streams once, nothing twice.
class CeilingKernels : public ArrayTest {};
INSTANTIATE_TEST_SUITE_P(Sim, CeilingKernels, testing::Values("sim"));

TEST_P(CeilingKernels, MoveEveryByteOnce) {
  auto& sim = dynamic_cast<device::SimDevice&>(context_->device());
  for (const Proportion& p :
       {Proportion{1, 0}, Proportion{1, 1}, Proportion{2, 1}, Proportion{0, 1}, Proportion{1, 3}}) {
    for (const int per_thread : {1, 4, 8}) {
      SCOPED_TRACE(format_text("{}:{} {}", p.reads, p.writes, per_thread));
      const std::int64_t units = 5000;  // no multiple of a tile
      const auto kernel = context_->jit().embedded_kernel(
          "gpuforge/lab/ceilings.cu",
          format_text("gpuforge::move_bytes<{}, {}, {}>", p.reads, p.writes, per_thread), sim);
      Array out = empty(context_, {std::max<std::int64_t>(p.writes * units, 256) * 4}, DType::i32, *stream_);
      const Array in =
          arange(context_, 0, static_cast<double>(std::max(p.reads, 1) * units * 4), 1, DType::i32, *stream_);
      stream_->synchronize();
      sim.take_reports();
      (*kernel)({.grid = {3}, .block = {256}}, *stream_, out.address(), in.address(),
                static_cast<long long>(units));
      stream_->synchronize();
      const auto reports = sim.take_reports();
      ASSERT_EQ(reports.size(), 1u);
      const sim::SiteCounters global = reports[0].in("global");
      EXPECT_EQ(global.sectors, static_cast<std::uint64_t>(units * (p.reads + p.writes) / 2));
      EXPECT_EQ(reports[0].least_sectors, global.sectors);
    }
  }
}

TEST(CeilingsOnTheFakeDriver, AreMeasuredOnceForEachProportionAndSize) {
  fake_driver::FakeDriver fake{{"FAKE_CUDA_SM", "190"}};
  {
    ContextOptions options;
    options.jit = jit_options(read_environment());
    options.jit.cache_dir.reset();
    const auto context =
        Context::make(device::open_device("cuda:0", fake_driver::FakeDriver::search()), std::move(options));
    try {
      context->jit().compiler().version();
    } catch (const Error& error) {
      GTEST_SKIP() << "nothing to compile kernels with: " << error.what();
    }
    Ceilings ceilings(context, {.seconds = 0.002, .warmup_seconds = 0});
    EXPECT_FALSE(ceilings.find({.bytes_read = 100, .bytes_written = 100}));
    const auto first = ceilings.find({.bytes_read = 1 << 22, .bytes_written = 1 << 22});
    ASSERT_TRUE(first);
    EXPECT_EQ(first->bytes, 1 << 23);
    EXPECT_GT(first->gb_per_s, 0);
    EXPECT_THAT(first->kernel, HasSubstr("move_bytes<1, 1, "));
    const auto again = ceilings.find({.bytes_read = 1 << 22, .bytes_written = (1 << 22) + 1000});
    EXPECT_EQ(again->gb_per_s, first->gb_per_s) << "not measured again";
    EXPECT_EQ(ceilings.find({.bytes_read = 1 << 24, .bytes_written = 16})->proportion, (Proportion{1, 0}));
  }
  for (int i = 0; i < 1000 && fake.counters().contexts > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace
}  // namespace gpuforge::lab
