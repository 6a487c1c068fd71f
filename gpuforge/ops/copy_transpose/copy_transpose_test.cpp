#include "gpuforge/ops/copy_transpose/copy_transpose.h"

#include "gpuforge/lab/profile_sim.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"
#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

class CopyTranspose : public OpTest {
 protected:
  std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return std::string(error.message());
    }
    return "nothing was thrown";
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, CopyTranspose, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, CopyTranspose, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, CopyTranspose, testing::Values("cuda:0"));

TEST_P(CopyTranspose, IsTheReferenceEverywhere) {
  expect_all_good(find_op("copy_transpose"));
}

// On the simulator one in three: compiling them takes the time.
TEST_P(CopyTranspose, EveryConfiguration) {
  const lab::Op op = find_op("copy_transpose");
  const lab::Problem problem = lab::complete(op, {.shape = {2, 72, 136}, .dtype = DType::f16});
  const auto configs = op.configs(problem, "best", context_->device().facts());
  EXPECT_GE(configs.size(), 20u);
  const std::size_t step = context_->device().facts().kind == device::DeviceKind::sim ? 3 : 1;
  for (std::size_t i = 0; i < configs.size(); i += step) {
    expect_good(op, {.problem = problem, .variant = "best", .config = configs[i]});
  }
}

// Pitched rows, planes that do not merge, and batches in another order.
TEST_P(CopyTranspose, OfViews) {
  const Array base = arange(context_, 0, 6.0 * 40 * 48, 1, DType::f32, *stream_).reshape({6, 40, 48});
  for (const Array& x : {base.slice(2, {.start = 4, .stop = 44, .step = 1}),
                         base.slice(1, {.start = {}, .stop = {}, .step = -2}), base.transpose({2, 0, 1}),
                         base.transpose({1, 2, 0}), base.transpose({0, 2, 1}),
                         base.slice(0, {.start = {}, .stop = {}, .step = 2})}) {
    for (const char* const variant : {"best", "tiled", "naive"}) {
      const Array out = copy_transpose(x, {.variant = variant}, *stream_);
      EXPECT_TRUE(equal(out, x.transpose({0, 2, 1}), *stream_)) << variant << to_string(x.strides());
    }
  }
  Array turned = empty(context_, {6, 40, 48}, DType::f32, *stream_).transpose({0, 2, 1});
  copy_transpose(turned, base, {}, *stream_);
  EXPECT_TRUE(equal(turned, base.transpose({0, 2, 1}), *stream_));
}

TEST_P(CopyTranspose, RefusesWhatItCannotDo) {
  const auto stream = context_->make_stream();
  const Array x = ones(context_, {4, 6}, DType::f32, *stream);
  Array out = empty(context_, {6, 4}, DType::f32, *stream);
  EXPECT_EQ(refusal([&] { copy_transpose(x.reshape({24}), {}, *stream); }),
            "copy_transpose: x must have two axes or more; found shape [24]");
  EXPECT_EQ(refusal([&] {
              copy_transpose(ones(context_, {2, 2}, DType::i32, *stream), {}, *stream);
            }),
            "copy_transpose: x must be f16, bf16 or f32; found i32");
  Array wrong = empty(context_, {4, 6}, DType::f32, *stream);
  EXPECT_EQ(refusal([&] { copy_transpose(wrong, x, {}, *stream); }),
            "copy_transpose: out must have shape [6, 4]; found [4, 6]");
  Array view = x.transpose();
  EXPECT_THAT(refusal([&] { copy_transpose(view, x, {}, *stream); }), HasSubstr("shares memory"));
  EXPECT_THAT(refusal([&] { copy_transpose(out, x, {.tile_size = 8}, *stream); }), HasSubstr("found 8"));
  EXPECT_THAT(refusal([&] { copy_transpose(out, x, {.variant = "fast"}, *stream); }),
              HasSubstr("there is no variant 'fast'"));
  for (const Config& bad : {Config{{"tile", 8}}, Config{{"rows", 3}}, Config{{"vector", 8}}}) {
    EXPECT_THAT(refusal([&] { copy_transpose(out, x, {.config = &bad}, *stream); }),
                HasSubstr("there is no configuration"));
  }
  const Config wide{{"tile", 64}, {"rows", 32}}, none;
  EXPECT_EQ(refusal([&] { copy_transpose(out, x, {.variant = "naive", .config = &wide}, *stream); }),
            "copy_transpose: a configuration of naive, which has none, was expected; found rows=32 tile=64");
  EXPECT_EQ(refusal([&] { copy_transpose(out, x, {.config = &none}, *stream); }),
            "copy_transpose: a configuration of best was expected; found -");
  EXPECT_THAT(refusal([&] { copy_transpose(out, x, {.config = &wide}, *stream); }),
              HasSubstr("more threads than a block"));
  const Config narrow{{"tile", 16}, {"rows", 8}, {"vector", 4}};
  EXPECT_EQ(
      refusal([&] { copy_transpose(out, x, {.config = &narrow}, *stream); }),
      "copy_transpose: vector=4 takes a tile whose rows are multiples of 128 bytes, and 32 threads or more; "
      "found tile=16 of f32 with 32 threads");
}

// Whatever the width of an access, shared memory has no bank conflicts, and global memory whole sectors.
TEST_P(CopyTranspose, NoBankConflicts) {
  if (context_->device().facts().kind != device::DeviceKind::sim) GTEST_SKIP() << "the simulator counts";
  const lab::Op op = find_op("copy_transpose");
  for (const DType dtype : {DType::f16, DType::f32}) {
    const lab::Problem problem = lab::complete(op, {.shape = {128, 192}, .dtype = dtype});
    for (const int vector : {8, 4, 2, 1}) {
      const int bytes = static_cast<int>(element_bytes(dtype));
      if (vector * bytes > 16) continue;
      const Config config{{"tile", 64}, {"rows", vector == 1 ? 4 : vector * bytes}, {"vector", vector}};
      const lab::SimProfile profile =
          lab::profile_on_sim(op, {.problem = problem, .variant = "best", .config = config}, context_);
      ASSERT_EQ(profile.launches.size(), 1u);
      const sim::SiteCounters all = profile.launches[0].at("");
      SCOPED_TRACE(std::string(name(dtype)) + " " + to_string(config));
      EXPECT_GT(all.wavefronts, 0u);
      EXPECT_EQ(all.wavefronts, all.ideal_wavefronts);
      EXPECT_EQ(static_cast<double>(all.sectors) * 32, profile.cost.bytes_read + profile.cost.bytes_written);
    }
  }
}

TEST(CopyTransposeChoice, ComesFromTheTableWhenThereIsAnEntry) {
  TuningTable table;
  const TransposeProblem problem{1, 4096, 4096, DType::f16};
  EXPECT_EQ(choose_transpose(problem, "best", 0, table).config,
            (TransposeConfig{.tile = 64, .rows = 16, .vector = 8}));
  EXPECT_EQ(choose_transpose(problem, "tiled", 0, table).config, (TransposeConfig{.tile = 32, .rows = 8}));
  table.set(transpose_tuning_key(problem, "best"), {{"tile", 16}, {"rows", 4}});
  const TransposeChoice choice = choose_transpose({1, 4000, 3992, DType::f16}, "best", 0, table);
  EXPECT_EQ(choice.config.tile, 16);
  EXPECT_EQ(choice.config.rows, 4);
  EXPECT_EQ(choice.reason.text(), "tuned on this device");
  EXPECT_EQ(choose_transpose(problem, "best", 32, table).config.tile, 32);
}

TEST(CopyTransposeChoice, AccessesAreAsWideAsTheShapeAllows) {
  const auto chosen = [](std::int64_t rows, std::int64_t columns, DType dtype) {
    return choose_transpose({1, rows, columns, dtype}, "best", 0, {}).config;
  };
  EXPECT_EQ(chosen(4096, 4096, DType::f32), (TransposeConfig{.tile = 64, .rows = 16, .vector = 4}));
  EXPECT_EQ(chosen(4096, 4092, DType::f16), (TransposeConfig{.tile = 64, .rows = 8, .vector = 4}));
  EXPECT_EQ(chosen(4098, 4096, DType::f16), (TransposeConfig{.tile = 64, .rows = 4, .vector = 2}));
  EXPECT_EQ(chosen(8191, 8193, DType::f16), (TransposeConfig{.tile = 64, .rows = 4, .vector = 1}));
  EXPECT_EQ(chosen(8191, 8193, DType::f32), (TransposeConfig{.tile = 32, .rows = 8, .vector = 1}));
}

TransposePlan plan(const Shape& shape, const Strides& x, const Strides& out) {
  return plan_transpose(shape, x, out, false);
}

TEST(CopyTransposePlan, RunsAlongTheRowsOfBoth) {
  EXPECT_FALSE(plan({8, 6}, {6, 1}, {8, 1}).straight);
  EXPECT_TRUE(plan({8, 6}, {1, 8}, {8, 1}).straight) << "x is a transposed view";
  EXPECT_TRUE(plan({8, 6}, {6, 1}, {1, 6}).straight) << "out is one";
  EXPECT_TRUE(plan({1, 6}, {6, 1}, {1, 1}).straight);
  EXPECT_TRUE(plan({8, 1}, {1, 1}, {8, 1}).straight);
  const TransposePlan both = plan({8, 6}, {1, 8}, {1, 6});
  EXPECT_FALSE(both.straight);
  EXPECT_EQ(both.matrix.rows, 6);
  EXPECT_EQ(both.matrix.x_column, 1);
  EXPECT_EQ(both.matrix.out_column, 1);
}

TEST(CopyTransposePlan, AccessesAreAsWideAsBothSidesAllow) {
  const TransposeConfig config{.tile = 64, .rows = 16, .vector = 8};
  const auto vector = [&](const Shape& shape, const Strides& x, const Strides& out, device::Address from) {
    return fitted(plan(shape, x, out), from, 0x1000, DType::f16, config).vector;
  };
  EXPECT_EQ(vector({64, 32}, {32, 1}, {64, 1}, 0x1000), 8);
  EXPECT_EQ(vector({64, 32}, {32, 1}, {64, 1}, 0x1004), 2);
  EXPECT_EQ(vector({64, 36}, {36, 1}, {64, 1}, 0x1000), 4);
  EXPECT_EQ(vector({62, 32}, {32, 1}, {62, 1}, 0x1000), 2);
  EXPECT_EQ(vector({64, 32}, {33, 1}, {64, 1}, 0x1000), 1);
  EXPECT_EQ(vector({64, 32}, {64, 2}, {64, 1}, 0x1000), 1);
  EXPECT_EQ(vector({3, 64, 32}, {2049, 32, 1}, {2048, 64, 1}, 0x1000), 1);
  const TransposeConfig many =
      fitted(plan({63, 31}, {31, 1}, {63, 1}), 0, 0, DType::f16, {.tile = 64, .rows = 32, .vector = 8});
  EXPECT_EQ(many, (TransposeConfig{.tile = 64, .rows = 16, .vector = 1}))
      << "no more threads than a block has";
}

}  // namespace
}  // namespace gpuforge::ops
