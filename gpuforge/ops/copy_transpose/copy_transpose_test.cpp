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

// On the simulator one in five: compiling them takes the time.
TEST_P(CopyTranspose, EveryConfiguration) {
  const lab::Op op = find_op("copy_transpose");
  for (const Shape& shape : {Shape{2, 72, 136}, Shape{2, 71, 135}}) {
    const lab::Problem problem = lab::complete(op, {.shape = shape, .dtype = DType::f16});
    const auto configs = op.configs(problem, "best", context_->device().facts());
    EXPECT_GE(configs.size(), 20u);
    const std::size_t step = context_->device().facts().kind == device::DeviceKind::sim ? 5 : 1;
    for (std::size_t i = 0; i < configs.size(); i += step) {
      expect_good(op, {.problem = problem, .variant = "best", .config = configs[i]});
    }
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

// Whatever the order of tiles, with a last group that has less of them, and planes that are any steps apart.
TEST_P(CopyTranspose, GroupsOfTiles) {
  const Array base = arange(context_, 0, 3.0 * 4 * 152 * 96, 1, DType::f32, *stream_)
                         .astype(DType::f16, *stream_)
                         .reshape({3, 4, 152, 96});
  const Array even = base.slice(1, {.start = 0, .stop = 3, .step = 2});
  const Array odd =
      even.slice(2, {.start = 0, .stop = 151, .step = 1}).slice(3, {.start = 3, .stop = 96, .step = 1});
  for (const int group : {0, 1, 2, 4}) {
    for (Config config :
         {Config{{"tile", 32}, {"rows", 8}}, Config{{"tile", 64}, {"rows", 16}, {"vector", 8}},
          Config{{"shifted", 1}, {"tall", 64}, {"rows", 8}}}) {
      config["group"] = group;
      for (const Array& x : {base, even, odd, odd.index(0, 0).index(0, 0)}) {
        const Array out = copy_transpose(x, {.config = &config}, *stream_);
        const Array expected = x.rank() == 2 ? x.transpose() : x.transpose({0, 1, 3, 2});
        EXPECT_TRUE(equal(out, expected, *stream_)) << to_string(config) << to_string(x.strides());
      }
    }
  }
}

// Offsets of 64 bits: rows are that far from each other.
TEST_P(CopyTranspose, RowsFarApart) {
  const Array base = empty(context_, {3, 2200003}, DType::f32, *stream_);
  Array x = base.slice(1, {.start = 2200001 - 200, .stop = 2200001, .step = 1});
  x.assign(arange(context_, 0, 600, 1, DType::f32, *stream_).reshape({3, 200}), *stream_);
  const TransposePlan plan = plan_transpose(x.shape(), x.strides(), {3, 1}, false);
  EXPECT_TRUE(std::holds_alternative<WideMatrix>(transpose_tiles(plan, {.tile = 16}, DType::f32).matrix));
  for (const Config& config :
       {Config{{"tile", 16}, {"rows", 8}}, Config{{"tile", 32}, {"rows", 8}, {"vector", 4}},
        Config{{"shifted", 1}, {"rows", 8}}}) {
    const Array out = copy_transpose(x, {.config = &config}, *stream_);
    EXPECT_TRUE(equal(out, x.transpose(), *stream_)) << to_string(config);
  }
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
  const auto reason = [&](const Config& config) {
    return refusal([&] { copy_transpose(out, x, {.config = &config}, *stream); });
  };
  EXPECT_EQ(
      reason({{"tile", 16}, {"rows", 8}, {"vector", 4}}),
      "copy_transpose: there is no configuration rows=8 tile=16 vector=4 for f32: with vectors, rows and "
      "columns of a tile are multiples of 128 bytes");
  EXPECT_THAT(reason(wide), HasSubstr("more threads than a block"));
  EXPECT_THAT(reason({{"tile", 16}, {"rows", 32}}), HasSubstr("more rows than the tile"));
  EXPECT_THAT(reason({{"tile", 32}, {"tall", 64}}), HasSubstr("tiles are squares"));
  EXPECT_THAT(reason({{"tile", 128}, {"vector", 4}}), HasSubstr("more than shared memory holds"));
  EXPECT_THAT(reason({{"tile", 64}, {"rows", 2}, {"vector", 4}}), HasSubstr("equally many accesses"));
  EXPECT_THAT(reason({{"shifted", 1}, {"vector", 4}}), HasSubstr("access of its own"));
  EXPECT_THAT(reason({{"shifted", 1}, {"tall", 128}}), HasSubstr("128 or 256 bytes tall"));
  EXPECT_THAT(reason({{"shifted", 1}, {"rows", 2}}), HasSubstr("as many warps as"));
}

// Whatever the width of an access and the shape of a tile, shared memory has no bank conflicts, and global
// memory whole sectors.
TEST_P(CopyTranspose, NoBankConflicts) {
  if (context_->device().facts().kind != device::DeviceKind::sim) GTEST_SKIP() << "the simulator counts";
  const lab::Op op = find_op("copy_transpose");
  const auto counted = [&](DType dtype, const Shape& shape, const Config& config) {
    SCOPED_TRACE(std::string(name(dtype)) + " " + to_string(config));
    const lab::Problem problem = lab::complete(op, {.shape = shape, .dtype = dtype});
    const lab::SimProfile profile =
        lab::profile_on_sim(op, {.problem = problem, .variant = "best", .config = config}, context_);
    EXPECT_EQ(profile.launches.size(), 1u);
    const sim::SiteCounters all = profile.launches.at(0).at("");
    EXPECT_GT(all.wavefronts, 0u);
    // The ends of rows that begin anywhere may meet in a bank.
    const double most = config.contains("shifted") ? 1.1 : 1;
    EXPECT_LE(static_cast<double>(all.wavefronts), most * static_cast<double>(all.ideal_wavefronts));
    return static_cast<double>(all.sectors) * 32 / (profile.cost.bytes_read + profile.cost.bytes_written);
  };
  for (const DType dtype : {DType::f16, DType::f32}) {
    const int bytes = static_cast<int>(element_bytes(dtype));
    EXPECT_EQ(counted(dtype, {128, 192}, {{"tile", 64}, {"rows", 4}, {"vector", 1}}), 1);
    for (const int vector : {8, 4, 2}) {
      if (vector * bytes > 16) continue;
      EXPECT_EQ(counted(dtype, {128, 192}, {{"tile", 64}, {"rows", vector * bytes}, {"vector", vector}}), 1);
    }
    const Config tall{{"tile", 64}, {"tall", 128}, {"rows", 16}, {"vector", 16 / bytes}, {"group", 0}};
    const Config wide{{"tile", 128}, {"tall", 64}, {"rows", 16}, {"vector", 16 / bytes}, {"group", 8}};
    EXPECT_EQ(counted(dtype, {128, 256}, tall), 1);
    EXPECT_EQ(counted(dtype, {128, 256}, wide), 1);
    // Sectors that two blocks share count twice.
    for (const Shape& shape : {Shape{257, 745}, Shape{255, 746}, Shape{254, 747}, Shape{256, 748}})
      EXPECT_LT(counted(dtype, shape, {{"shifted", 1}, {"tall", 64}, {"rows", 8}, {"group", 0}}), 1.4);
  }
}

// Rows that begin anywhere, of x and of out, at every end of a tile; out keeps what is not its own.
TEST_P(CopyTranspose, RowsThatBeginAnywhere) {
  const Config config{{"shifted", 1}, {"tall", 64}, {"rows", 8}, {"group", 0}};
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const auto& [rows, columns] : {std::pair{2, 3},
                                        {7, 500},
                                        {64, 248},
                                        {57, 249},
                                        {65, 247},
                                        {130, 33},
                                        {58, 251},
                                        {121, 124},
                                        {66, 125},
                                        {71, 129},
                                        {200, 255}}) {
      for (const int skip : {0, 1, 5}) {
        // A view of a larger array: pitched rows, from its column `skip` on.
        const Array base = arange(context_, 0, 2.0 * rows * (columns + 9), 1, DType::f32, *stream_)
                               .astype(dtype, *stream_)
                               .reshape({2, rows, columns + 9});
        const Array x = base.slice(2, {.start = skip, .stop = skip + columns, .step = 1});
        Array whole = zeros(context_, {2, columns, rows + 7}, dtype, *stream_);
        Array out = whole.slice(2, {.start = 2 + skip / 5, .stop = 2 + skip / 5 + rows, .step = 1});
        copy_transpose(out, x, {.config = &config}, *stream_);
        EXPECT_TRUE(equal(out, x.transpose({0, 2, 1}), *stream_))
            << rows << "x" << columns << " from " << skip;
        Array expected = zeros(context_, {2, columns, rows + 7}, dtype, *stream_);
        expected.slice(2, {.start = 2 + skip / 5, .stop = 2 + skip / 5 + rows, .step = 1})
            .assign(x.transpose({0, 2, 1}), *stream_);
        EXPECT_TRUE(equal(whole, expected, *stream_)) << "written beside out";
      }
    }
  }
}

}  // namespace
}  // namespace gpuforge::ops
