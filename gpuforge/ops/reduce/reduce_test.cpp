#include "gpuforge/ops/reduce/reduce.h"

#include <cmath>

#include "gpuforge/memory/adaptor.h"
#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"

namespace gpuforge::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Reduce : public OpTest {
 protected:
  lab::Problem problem(const Shape& shape, DType dtype, const char* dim, const char* op) {
    return lab::complete(op_, {.shape = shape, .dtype = dtype, .options = {{"dim", dim}, {"op", op}}});
  }
  lab::Op op_ = find_op("reduce");
};
INSTANTIATE_TEST_SUITE_P(Cpu, Reduce, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, Reduce, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, Reduce, testing::Values("cuda:0"));

TEST_P(Reduce, IsTheReferenceEverywhere) {
  expect_all_good(op_);
}

// Every configuration of a shape of each kind; on the simulator one in 13: compiling them takes the time.
TEST_P(Reduce, EveryConfiguration) {
  if (context_->device().facts().kind == device::DeviceKind::cpu) GTEST_SKIP() << "cpu has none";
  const std::size_t step = context_->device().facts().kind == device::DeviceKind::sim ? 13 : 1;
  for (const auto& [shape, dim] : {std::pair(Shape{9, 263}, "-1"), std::pair(Shape{263, 24}, "0")}) {
    const lab::Problem p = problem(shape, DType::f16, dim, "sum");
    const std::vector<Config> configs = op_.configs(p, "best", context_->device().facts());
    EXPECT_GE(configs.size(), 20u);
    for (std::size_t i = 0; i < configs.size(); i += step) {
      expect_good(op_, {.problem = p, .variant = "best", .config = configs[i]});
    }
  }
}

TEST_P(Reduce, RowsSplitOverBlocks) {
  const Config config = to_config(ReduceConfig{.block = 64, .group = 32, .vector = 16, .split = 7});
  for (const char* const op : {"prod", "mean"}) {
    for (const auto& [shape, dim] : {std::pair(Shape{5, 301}, "1"), std::pair(Shape{301, 5}, "0")}) {
      expect_good(op_, {.problem = problem(shape, DType::f32, dim, op), .variant = "best", .config = config});
    }
  }
}

TEST_P(Reduce, PartialResultsLiveWhereTheCallerSays) {
  const auto scratch = memory::make_statistics_allocator(context_->allocator());
  const Config split = to_config(ReduceConfig{.block = 64, .group = 32, .vector = 16, .split = 7});
  const Array x = ones(context_, {5, 301}, DType::f32, *stream_);
  const Array sums = reduce(x, 1, ReduceOp::sum, {.config = &split, .scratch = scratch}, *stream_);
  EXPECT_EQ(sums.to_vector<float>(*stream_), std::vector<float>(5, 301));
  const bool on_host = context_->device().facts().kind == device::DeviceKind::cpu;  // which needs none
  EXPECT_EQ(scratch->statistics().allocations, on_host ? 0u : 1u);
  EXPECT_EQ(scratch->statistics().live_bytes, 0u);
}

TEST_P(Reduce, KeepsTheLargestNumbers) {
  for (const auto& [dtype, op] : {std::pair(DType::f32, "amax"), std::pair(DType::bf16, "amin"),
                                  std::pair(DType::f32, "prod"), std::pair(DType::f16, "sum")}) {
    expect_good(
        op_,
        {.problem = problem({7, 65}, dtype, "-1", op), .variant = "best", .contents = lab::Contents::huge});
  }
}

// 1e30 * 1e30 is an infinity in float and 1e-30 * 1e-30 a zero, whatever the order they come in.
TEST_P(Reduce, AProductDoesNotOverflowOnTheWay) {
  std::vector<float> values(192);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 96 < 48 ? 1e30f : -1e-30f;
  for (const char* const variant : {"best", "naive"}) {
    for (const std::int64_t dim : {0, 1}) {
      const Shape shape = dim == 0 ? Shape{96, 2} : Shape{2, 96};
      const Array x = dim == 0 ? from(values, {2, 96}).transpose().copy(*stream_) : from(values, shape);
      const std::vector<float> found =
          reduce(x, dim, ReduceOp::prod, {.variant = variant}, *stream_).to_vector<float>(*stream_);
      EXPECT_THAT(found, testing::Each(testing::FloatNear(1.0f, 1e-4f))) << variant << dim;
    }
  }
}

TEST_P(Reduce, OfNothing) {
  const Array x = zeros(context_, {2, 0}, DType::f32, *stream_);
  EXPECT_THAT(reduce(x, 1, ReduceOp::sum, {}, *stream_).to_vector<float>(*stream_), ElementsAre(0, 0));
  EXPECT_THAT(reduce(x, 1, ReduceOp::prod, {}, *stream_).to_vector<float>(*stream_), ElementsAre(1, 1));
  for (const float value : reduce(x, 1, ReduceOp::mean, {}, *stream_).to_vector<float>(*stream_))
    EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(reduce(x, 0, ReduceOp::amax, {}, *stream_).shape(), (Shape{0}));
  EXPECT_EQ(error_of([&] { reduce(x, -1, ReduceOp::amax, {}, *stream_); }),
            "invalid_argument: reduce: amax of no elements is not defined; axis -1 of shape [2, 0] is empty");
}

TEST_P(Reduce, KeepsTheAxisWhenAsked) {
  const Array x = ones(context_, {2, 3, 4}, DType::f32, *stream_);
  EXPECT_EQ(reduce(x, 1, ReduceOp::sum, {}, *stream_).shape(), (Shape{2, 4}));
  const Array kept = reduce(x, 1, ReduceOp::sum, {.keepdim = true}, *stream_);
  EXPECT_EQ(kept.shape(), (Shape{2, 1, 4}));
  EXPECT_THAT(kept.to_vector<float>(*stream_), testing::Each(3.0f));
  const Array scalar = reduce(ones(context_, {5}, DType::f16, *stream_), 0, ReduceOp::mean, {}, *stream_);
  EXPECT_EQ(scalar.rank(), 0u);
  EXPECT_EQ(scalar.item(*stream_), 1);
}

TEST_P(Reduce, RefusesWhatItCannotDo) {
  const Array x = ones(context_, {4, 6}, DType::f32, *stream_);
  Array out = empty(context_, {4}, DType::f32, *stream_);
  const auto refusal = [&](std::int64_t dim, const ReduceOptions& options) {
    return error_of([&] { reduce(out, x, dim, ReduceOp::sum, options, *stream_); });
  };
  EXPECT_EQ(refusal(2, {}), "invalid_argument: reduce: dim must be in -2..1 for shape [4, 6]; found 2");
  EXPECT_EQ(refusal(0, {}), "invalid_argument: reduce: out must have shape [6]; found [4]");
  EXPECT_EQ(refusal(1, {.keepdim = true}), "invalid_argument: reduce: out must have shape [4, 1]; found [4]");
  EXPECT_EQ(refusal(1, {.variant = "fast"}),
            "invalid_argument: reduce: there is no variant 'fast'; it has best, naive");
  for (const Config& bad : {Config{{"block", 48}}, Config{{"group", 0}}, Config{{"vector", 32}},
                            Config{{"split", 0}}, Config{{"tile", 8}}}) {
    EXPECT_THAT(refusal(1, {.config = &bad}), HasSubstr("there is no configuration")) << to_string(bad);
  }
  const Config wide{{"block", 64}, {"group", 128}}, none;
  EXPECT_EQ(refusal(1, {.config = &none}),
            "invalid_argument: reduce: a configuration of best was expected; found -");
  EXPECT_EQ(refusal(1, {.variant = "naive", .config = &wide}),
            "invalid_argument: reduce: a configuration of naive, which has none, was expected; found "
            "block=64 group=128");
  EXPECT_THAT(refusal(1, {.variant = "fast", .config = &wide}), HasSubstr("no variant 'fast'"));
  EXPECT_EQ(refusal(1, {.config = &wide}), "invalid_argument: reduce: group=128 is more than block=64");
  EXPECT_THAT(
      error_of([&] { reduce(ones(context_, {}, DType::f32, *stream_), 0, ReduceOp::sum, {}, *stream_); }),
      HasSubstr("found a scalar"));
  EXPECT_THAT(
      error_of([&] { reduce(ones(context_, {2}, DType::i32, *stream_), 0, ReduceOp::sum, {}, *stream_); }),
      HasSubstr("x must be f16, bf16 or f32; found i32"));
  Array same = x.index(1, 0);
  EXPECT_THAT(error_of([&] { reduce(same, x, 1, ReduceOp::sum, {}, *stream_); }), HasSubstr("shares memory"));
}

TEST(ReduceOpNames, AreReadWithTheirAliases) {
  EXPECT_EQ(parse_reduce_op("max"), ReduceOp::amax);
  EXPECT_EQ(parse_reduce_op("amin"), ReduceOp::amin);
  EXPECT_EQ(name(ReduceOp::amax), "amax");
  EXPECT_EQ(error_of([] { parse_reduce_op("median"); }),
            "invalid_argument: reduce: op is one of sum, amax (max), amin (min), prod, mean; found 'median'");
}

ReduceChoice chosen(const Shape& shape, std::size_t axis, const TuningTable& table = {}) {
  device::DeviceFacts facts;
  facts.multiprocessors = 132;
  Shape out = shape;
  out.erase(axis);
  const Rows rows = reduce_rows(shape, row_major_strides(shape), row_major_strides(out), axis);
  return choose_reduce("reduce", reduce_problem(rows, DType::f16), "best", facts, table);
}

TEST(ReduceChoice, ThreadsOfARowFollowItsLength) {
  EXPECT_EQ(chosen({4096, 64}, 1).config.group, 8);
  EXPECT_EQ(chosen({4096, 1024}, 1).config.group, 32);
  EXPECT_EQ(chosen({4096, 4096}, 1).config.group, 128);
  EXPECT_EQ(chosen({4096, 65536}, 1).config.group, 256);
  EXPECT_EQ(chosen({4096, 65536}, 1).config.split, 1);
  EXPECT_EQ(chosen({4096, 1024}, 1).reason, "32 threads for the 128 loads of a row");
}

TEST(ReduceChoice, FewLongRowsAreSplit) {
  const ReduceChoice one = chosen({1, 262144}, 1);
  EXPECT_EQ(one.config.split, 32) << "4 loads a thread are left";
  EXPECT_EQ(one.reason,
            "256 threads for the 32768 loads of a row; 1 blocks would leave the device idle, so each row is "
            "split over 32");
  EXPECT_GT(chosen({262144, 8}, 0).config.split, 32);
  EXPECT_EQ(chosen({132, 262144}, 1).config.split, 1);
}

TEST(ReduceChoice, ColumnsAreReadSideBySide) {
  const ReduceConfig wide = chosen({4096, 4096}, 0).config;
  EXPECT_EQ(wide.block / wide.group, 32);
  const ReduceConfig narrow = chosen({4096, 8}, 0).config;
  EXPECT_EQ(narrow.block / narrow.group, 1);
  EXPECT_THAT(chosen({4096, 4096}, 0).reason, HasSubstr("32 threads across"));
}

TEST(ReduceChoice, ComesFromTheTableWhenThereIsAnEntry) {
  TuningTable table;
  const ReduceProblem problem{4096, 1024, 4096, RowsKind::unit, DType::f16};
  table.set(reduce_tuning_key("reduce", problem, "best"), {{"block", 128}, {"group", 64}});
  EXPECT_EQ(chosen({4096, 1024}, 1, table).config.group, 64);
  EXPECT_EQ(chosen({4096, 1024}, 1, table).reason, "tuned on this device");
  EXPECT_NE(chosen({1024, 4096}, 0, table).reason, "tuned on this device") << "columns are another class";
}

TEST(ReduceChoice, ConfigurationsAreManyAndValid) {
  device::DeviceFacts facts;
  facts.multiprocessors = 132;
  for (const RowsKind kind : {RowsKind::unit, RowsKind::columns, RowsKind::strided}) {
    for (const std::int64_t length : {1, 100, 262144}) {
      const auto configs = reduce_configs({3, length, 3, kind, DType::f32}, facts);
      EXPECT_GE(configs.size(), 20u);
      for (const Config& config : configs)
        EXPECT_EQ(to_config(reduce_config("reduce", "best", config)), config);
    }
  }
}

}  // namespace
}  // namespace gpuforge::ops
