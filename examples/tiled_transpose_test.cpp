// How to test a kernel where there is no GPU: run it in the simulator and assert on its report. The same test
// shows that the two lines of tiled_transpose.cu that are easy to forget are missed when they are gone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpuforge/array/array.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge {
namespace {

constexpr std::int32_t kRows = 70;  // neither is a multiple of the tile
constexpr std::int32_t kColumns = 45;

class TiledTranspose : public testing::Test {
 protected:
  TiledTranspose() {
    ContextOptions options{.jit = jit_options(read_environment())};
    options.jit.cache_dir.reset();
    context_ = Context::make(device_, std::move(options));
  }

  // The kernel with `from` replaced by `to` in its text.
  sim::LaunchReport run(std::string_view from = {}, std::string_view to = {}) {
    jit::KernelSource source = jit::source_from_file(GPUFORGE_EXAMPLES_DIR "/tiled_transpose.cu");
    if (const std::size_t at = source.text.rfind(from); !from.empty() && at != std::string::npos) {
      source.text.replace(at, from.size(), to);
    }
    const auto kernel = context_->jit().kernel(source, "tiled_transpose", *device_);
    const auto stream = context_->make_stream();
    std::vector<float> values(kRows * kColumns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Array in = from_vector<float>(context_, values, {kRows, kColumns}, *stream);
    const Array out = empty(context_, {kColumns, kRows}, DType::f32, *stream);
    (*kernel)({.grid = {2, 3}, .block = {32, 8}}, *stream, out, in, kRows, kColumns);
    try {
      stream->synchronize();
      const std::vector<float> found = out.to_vector<float>(*stream);
      for (std::size_t row = 0; row < kRows; ++row) {
        for (std::size_t column = 0; column < kColumns; ++column) {
          EXPECT_EQ(found[column * kRows + row], values[row * kColumns + column]) << row << ", " << column;
        }
      }
    } catch (const Error&) {  // a report with findings is an Error here; the tests look at the report
    }
    return device_->take_reports().back();
  }

  std::shared_ptr<device::SimDevice> device_ = device::make_sim_device("sm_86");
  std::shared_ptr<Context> context_;
};

TEST_F(TiledTranspose, IsRightAndClean) {
  const sim::LaunchReport report = run();
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_FALSE(report.bank_conflicts()) << report.text();
  // 32 lanes of 4 bytes are four sectors of 32 bytes, and one more where a row does not start at a sector.
  EXPECT_LE(report.sectors_per_request(), 5.0) << report.text();
  EXPECT_GE(report.sectors_per_request(), 1.0) << report.text();
  // Rows that end inside a sector share it with the next block; beyond that nothing is moved twice.
  EXPECT_LE(report.moved_over_least(), 1.4) << report.text();
  // One line alone, where a row is read by two blocks.
  EXPECT_FALSE(report.bank_conflicts("tiled_transpose.cu:15")) << report.text();
  EXPECT_EQ(report.in("global", "tiled_transpose.cu:15").requests, 2u * kRows) << report.text();
}

TEST_F(TiledTranspose, WithoutItsBarrierItRaces) {
  const sim::LaunchReport report = run("__syncthreads();", "");
  EXPECT_GT(report.races(), 0u) << report.text();
}

TEST_F(TiledTranspose, WithoutItsPaddingBanksConflict) {
  const sim::LaunchReport report = run("kTile + 1", "kTile");
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_TRUE(report.bank_conflicts()) << report.text();
  EXPECT_GT(report.wavefronts_per_request(), 4.0);
}

}  // namespace
}  // namespace gpuforge
