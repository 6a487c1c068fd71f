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

// x and out of rows of `length`, every `stride` elements of x, beginning at element `start` of it.
ReducePlan planned(std::int64_t length, std::int64_t stride, std::uint64_t start,
                   const ReduceConfig& config) {
  const Rows rows = reduce_rows({9, length}, {stride, 1}, {1}, 1);
  return plan_reduce(rows, 2 * start, DType::f16, config);
}

TEST(ReducePlan, FollowsHowRowsLie) {
  const ReduceConfig config{.group = 4, .flight = 4};
  const ReducePlan in_one_go = planned(128, 128, 0, config);
  EXPECT_EQ(in_one_go.kernel, ReduceKernel::short_rows);
  EXPECT_EQ(in_one_go.vector, 8);
  EXPECT_EQ(planned(136, 136, 0, config).kernel, ReduceKernel::rows) << "more than 4 threads have in 4 loads";
  for (const ReducePlan& ragged :
       {planned(127, 128, 0, config), planned(128, 129, 0, config), planned(128, 128, 1, config)}) {
    EXPECT_EQ(ragged.kernel, ReduceKernel::rows);
    EXPECT_TRUE(ragged.regular);
    EXPECT_FALSE(ragged.aligned);
  }
  EXPECT_TRUE(planned(4096, 4104, 8, config).aligned);
  EXPECT_EQ(planned(128, 128, 0, {.group = 4, .flight = 4, .split = 2}).kernel, ReduceKernel::rows);
  const Rows nested = reduce_rows({3, 4, 128}, {1024, 128, 1}, {4, 1}, 2);
  EXPECT_FALSE(plan_reduce(nested, 0, DType::f16, config).regular);
  const Rows apart = reduce_rows({9, 128}, {1024, 2}, {1}, 1);
  EXPECT_EQ(plan_reduce(apart, 0, DType::f16, config).kernel, ReduceKernel::strided);
}

// Rows that a warp has in one go, several at once, with fewer rows and fewer vectors than there is room for.
TEST_P(Reduce, RowsAtOnce) {
  if (context_->device().facts().kind == device::DeviceKind::cpu) GTEST_SKIP() << "cpu has no configurations";
  for (const auto& [shape, config] :
       {std::pair(Shape{37, 24}, ReduceConfig{.block = 64, .group = 4, .flight = 1, .rows = 8}),
        std::pair(Shape{5, 48}, ReduceConfig{.block = 32, .group = 2, .flight = 4, .rows = 2}),
        std::pair(Shape{3, 1000}, ReduceConfig{.block = 128, .group = 32, .flight = 4, .rows = 2})}) {
    for (const char* const op : {"sum", "amax", "prod"})
      expect_good(
          op_,
          {.problem = problem(shape, DType::f16, "-1", op), .variant = "best", .config = to_config(config)});
  }
}

// Lengths around what the threads of a row have at once, and slices with nothing in them.
TEST_P(Reduce, RowsInSeveralGoes) {
  if (context_->device().facts().kind == device::DeviceKind::cpu) GTEST_SKIP() << "cpu has no configurations";
  for (const std::int64_t length : {255, 256, 257, 520, 4095, 16 * 1024 + 8}) {
    for (const int split : {1, 5}) {
      const ReduceConfig config{.block = 64, .group = 32, .flight = 2, .split = split};
      expect_good(op_, {.problem = problem({3, length}, DType::f32, "-1", "mean"),
                        .variant = "best",
                        .config = to_config(config)});
    }
  }
}

// Columns of rows that begin anywhere: one vector, several blocks of them, an array that is off, slices, few
// rows.
TEST_P(Reduce, RaggedColumns) {
  if (context_->device().facts().kind == device::DeviceKind::cpu) GTEST_SKIP() << "cpu has no configurations";
  for (const std::int64_t columns : {9, 15, 57, 121}) {
    for (const int split : {1, 3}) {
      const ReduceConfig config{.block = 64, .group = 16, .flight = 2, .split = split};
      for (const char* const op : {"sum", "prod", "amin"})
        expect_good(op_, {.problem = problem({131, columns}, DType::f16, "0", op),
                          .variant = "best",
                          .config = to_config(config)});
    }
  }
  const ReduceConfig config{.block = 128, .group = 8, .flight = 4};
  for (const std::int64_t length : {1, 7, 1100})
    expect_good(op_, {.problem = problem({length, 77}, DType::f32, "0", "mean"),
                      .variant = "best",
                      .config = to_config(config)});
}

TEST(ReducePlan, OneRunOfColumnsIsReadInVectors) {
  const auto plan = [](const Shape& shape, std::uint64_t start, const ReduceConfig& config) {
    const Shape out = shape.size() == 2 ? Shape{shape[1]} : Shape{shape[0], shape[2]};
    const Rows rows = reduce_rows(shape, row_major_strides(shape), row_major_strides(out), shape.size() - 2);
    return plan_reduce(rows, 2 * start, DType::f16, config);
  };
  const ReduceConfig config{.block = 64, .group = 16};
  EXPECT_EQ(plan({9, 64}, 0, config).kernel, ReduceKernel::columns);
  EXPECT_EQ(plan({9, 64}, 0, config).vector, 8);
  EXPECT_EQ(plan({9, 65}, 0, config).kernel, ReduceKernel::ragged_columns);
  EXPECT_EQ(plan({9, 64}, 1, config).kernel, ReduceKernel::ragged_columns);
  EXPECT_EQ(plan({9, 65}, 0, {.block = 64, .group = 4}).kernel, ReduceKernel::columns)
      << "rows of a thread differ";
  EXPECT_EQ(plan({9, 65}, 0, {.block = 64, .group = 64}).kernel, ReduceKernel::columns)
      << "no second thread across";
  EXPECT_EQ(plan({2, 9, 65}, 0, config).kernel, ReduceKernel::columns) << "two runs";
  const Rows gaps = reduce_rows({9, 65}, {67, 1}, {1}, 0);
  EXPECT_EQ(plan_reduce(gaps, 0, DType::f16, config).kernel, ReduceKernel::columns)
      << "not all between is ours";
}

TEST(ReduceChoice, ThreadsOfARowFollowItsLength) {
  const ReduceConfig shortest = chosen({1 << 20, 16}, 1).config;
  EXPECT_EQ(shortest.group, 2);
  EXPECT_EQ(shortest.rows, 4);
  EXPECT_EQ(chosen({1 << 20, 128}, 1).config.group, 8);
  EXPECT_EQ(chosen({1 << 20, 128}, 1).config.rows, 2);
  EXPECT_EQ(chosen({1 << 20, 128}, 1).config.block, 256);
  EXPECT_EQ(chosen({1 << 17, 1024}, 1).config.group, 32);
  EXPECT_EQ(chosen({1 << 15, 4096}, 1).config.group, 64);
  EXPECT_EQ(chosen({1 << 15, 4096}, 1).config.flight, 8) << "in one go";
  EXPECT_EQ(chosen({1 << 15, 4096}, 1).config.block, 128);
  EXPECT_EQ(chosen({1 << 14, 8192}, 1).config.group, 128);
  EXPECT_EQ(chosen({1 << 13, 16384}, 1).config.group, 128) << "in two";
  EXPECT_EQ(chosen({1 << 13, 16385}, 1).config, chosen({1 << 13, 16384}, 1).config) << "one load more";
  EXPECT_EQ(chosen({4096, 65536}, 1).config.group, 256);
  EXPECT_EQ(chosen({4096, 65536}, 1).config.split, 1);
  EXPECT_EQ(chosen({4096, 65536}, 1).config.flight, 4) << "with so many rows";
  EXPECT_EQ(chosen({512, 262144}, 1).config.flight, 8);
  EXPECT_EQ(chosen({1 << 17, 1024}, 1).reason.text(),
            "32 threads for the 128 loads of a row, 1 rows at once");
}

TEST(ReduceChoice, FewRowsTakeMoreThreads) {
  EXPECT_EQ(chosen({64, 256}, 1).config.group, 32);
  EXPECT_EQ(chosen({64, 256}, 1).config.flight, 1);
  EXPECT_EQ(chosen({64, 4096}, 1).config.group, 256);
  EXPECT_EQ(chosen({64, 4096}, 1).config.split, 1);
  EXPECT_EQ(chosen({16, 16}, 1).config.rows, 1);
}

TEST(ReduceChoice, FewLongRowsAreSplit) {
  const ReduceChoice one = chosen({1, 262144}, 1);
  EXPECT_EQ(one.config.split, 32) << "4 loads a thread are left";
  EXPECT_EQ(one.reason.text(),
            "256 threads for the 32768 loads of a row; 1 blocks would leave the device idle, so each row is "
            "split over 32");
  EXPECT_GT(chosen({262144, 8}, 0).config.split, 32);
  EXPECT_EQ(chosen({132, 262144}, 1).config.split, 1);
}

TEST(ReduceChoice, ColumnsAreReadSideBySide) {
  const ReduceConfig widest = chosen({1024, 1 << 18}, 0).config;
  EXPECT_EQ(widest.block / widest.group, 32);
  const ReduceConfig wide = chosen({8192, 8192}, 0).config;
  EXPECT_EQ(wide.block / wide.group, 8);
  EXPECT_EQ(wide.split, 1) << "128 blocks for 132 multiprocessors";
  const ReduceConfig narrow = chosen({4096, 8}, 0).config;
  EXPECT_EQ(narrow.block / narrow.group, 1);
  EXPECT_THAT(chosen({4096, 4096}, 0).reason.text(), HasSubstr("8 threads across"));
}

TEST(ReduceChoice, ComesFromTheTableWhenThereIsAnEntry) {
  TuningTable table;
  const ReduceProblem problem{4096, 1024, 4096, RowsKind::unit, DType::f16};
  table.set(reduce_tuning_key("reduce", problem, "best"), {{"block", 128}, {"group", 64}});
  EXPECT_EQ(chosen({4096, 1024}, 1, table).config.group, 64);
  EXPECT_EQ(chosen({4096, 1024}, 1, table).reason.text(), "tuned on this device");
  EXPECT_NE(chosen({1024, 4096}, 0, table).reason.text(), "tuned on this device")
      << "columns are another class";
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
