#include "gpuforge/ops/copy_transpose/copy_transpose.h"

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

TEST_P(CopyTranspose, EveryConfiguration) {
  const lab::Op op = find_op("copy_transpose");
  const lab::Problem problem = lab::complete(op, {.shape = {65, 33}, .dtype = DType::f16});
  for (const Config& config : op.configs(problem, "tiled", context_->device().facts())) {
    expect_good(op, {.problem = problem, .variant = "tiled", .config = config});
  }
}

TEST_P(CopyTranspose, RefusesWhatItCannotDo) {
  const auto stream = context_->make_stream();
  const Array x = ones(context_, {4, 6}, DType::f32, *stream);
  Array out = empty(context_, {6, 4}, DType::f32, *stream);
  EXPECT_EQ(refusal([&] { copy_transpose(x.reshape({24}), {}, *stream); }),
            "copy_transpose: x must have two axes; found shape [24]");
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
}

TEST(CopyTransposeChoice, ComesFromTheTableWhenThereIsAnEntry) {
  TuningTable table;
  const TransposeProblem problem{4096, 4096, DType::f16};
  EXPECT_EQ(choose_transpose(problem, "best", 0, table).config.tile, 32);
  table.set(transpose_tuning_key(problem, "best"), {{"tile", 16}, {"rows", 4}});
  const TransposeChoice choice = choose_transpose({4000, 3992, DType::f16}, "best", 0, table);
  EXPECT_EQ(choice.config.tile, 16);
  EXPECT_EQ(choice.config.rows, 4);
  EXPECT_EQ(choice.reason, "tuned on this device");
  EXPECT_EQ(choose_transpose(problem, "best", 32, table).config.tile, 32);
}

}  // namespace
}  // namespace gpuforge::ops
