#include "gpuforge/ops/reduce_sum/reduce_sum.h"

#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/reduce_sum/reduce_sum_kernels.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

class ReduceSum : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, ReduceSum, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, ReduceSum, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, ReduceSum, testing::Values("cuda:0"));

TEST_P(ReduceSum, IsTheReferenceEverywhere) {
  expect_all_good(find_op("reduce_sum"));
}

TEST_P(ReduceSum, EveryConfigurationOfTheTeachingVariants) {
  const lab::Op op = find_op("reduce_sum");
  const lab::Problem problem = lab::complete(op, {.shape = {3, 1031}, .dtype = DType::bf16});
  for (const char* const variant : {"improved", "shuffle"}) {
    const auto configs = op.configs(problem, variant, context_->device().facts());
    EXPECT_EQ(configs.size(), 6u);
    for (const Config& config : configs) {
      expect_good(op, {.problem = problem, .variant = variant, .config = config});
    }
  }
}

TEST_P(ReduceSum, RefusesWhatItCannotDo) {
  const Array x = ones(context_, {4, 6}, DType::f32, *stream_);
  Array out = empty(context_, {4}, DType::f32, *stream_);
  const auto refusal = [&](std::int64_t dim, const ReduceSumOptions& options) {
    return error_of([&] { reduce_sum(out, x, dim, options, *stream_); });
  };
  EXPECT_EQ(refusal(-3, {}), "invalid_argument: reduce_sum: dim must be in -2..1 for shape [4, 6]; found -3");
  EXPECT_EQ(refusal(0, {}), "invalid_argument: reduce_sum: out must have shape [6]; found [4]");
  EXPECT_EQ(
      refusal(1, {.variant = "fast"}),
      "invalid_argument: reduce_sum: there is no variant 'fast'; it has best, shuffle, improved, naive");
  const Config odd{{"block", 48}}, block{{"block", 64}}, none{};
  EXPECT_EQ(refusal(1, {.variant = "shuffle", .config = &odd}),
            "invalid_argument: reduce_sum: shuffle has no configuration block=48 (block: 32, 64, 128, 256, "
            "512, 1024)");
  EXPECT_EQ(refusal(1, {.variant = "naive", .config = &block}),
            "invalid_argument: reduce_sum: naive has no configuration block=64 (it has none)");
  EXPECT_THAT(refusal(1, {.config = &odd}), HasSubstr("there is no configuration block=48"));
  EXPECT_THAT(refusal(1, {.config = &none}), HasSubstr("a configuration of best was expected; found -"));
}

TEST_P(ReduceSum, KeepsTheAxisWhenAsked) {
  const Array x = ones(context_, {2, 3}, DType::f16, *stream_);
  EXPECT_EQ(reduce_sum(x, 0, {}, *stream_).shape(), (Shape{3}));
  EXPECT_EQ(reduce_sum(x, 0, {.keepdim = true, .variant = "naive"}, *stream_).shape(), (Shape{1, 3}));
}

// One long row is split, which takes memory for the sums of its pieces: the graph's, in a capture.
TEST_P(ReduceSum, CanBeCapturedWhereItIsSplit) {
  const Array x = arange(context_, 0, 1 << 18, 1, DType::f32, *stream_).reshape({1, 1 << 18});
  const Array eager = reduce_sum(x, 1, {}, *stream_);
  stream_->synchronize();
  stream_->begin_capture();
  const Array out = reduce_sum(x, 1, {}, *stream_);
  const auto graph = stream_->end_capture();
  for (int i = 0; i < 2; ++i) {
    graph->launch(*stream_);
    EXPECT_TRUE(equal(out, eager, *stream_));
  }
}

TEST(ReduceSumChoice, DependsOnTheVariant) {
  device::DeviceFacts facts;
  facts.multiprocessors = 132;
  const ReduceProblem problem{4096, 1024, 1, RowsKind::unit, DType::f32};
  EXPECT_TRUE(choose_reduce_sum(problem, "naive", facts, {}).config.empty());
  EXPECT_EQ(choose_reduce_sum(problem, "shuffle", facts, {}).config, (Config{{"block", 256}}));
  EXPECT_EQ(choose_reduce_sum(problem, "shuffle", facts, {}).reason.text(),
            "a block of 256 for rows of 1024");
  EXPECT_EQ(choose_reduce_sum({4096, 9, 1, RowsKind::unit, DType::f32}, "improved", facts, {}).config,
            (Config{{"block", 32}}));
  EXPECT_EQ(choose_reduce_sum(problem, "best", facts, {}).config.at("group"), 32);
  EXPECT_GE(reduce_sum_configs(problem, "best", facts).size(), 20u);

  TuningTable table;
  table.set(reduce_tuning_key("reduce_sum", problem, "shuffle"), {{"block", 64}});
  EXPECT_EQ(choose_reduce_sum(problem, "shuffle", facts, table).reason.text(), "tuned on this device");
  EXPECT_NE(choose_reduce_sum(problem, "improved", facts, table).reason.text(), "tuned on this device");
  EXPECT_NE(choose_reduce("reduce", problem, "best", facts, table).reason.text(), "tuned on this device");
}

}  // namespace
}  // namespace gpuforge::ops
