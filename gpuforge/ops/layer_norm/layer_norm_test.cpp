#include "gpuforge/ops/layer_norm/layer_norm.h"

#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

class LayerNorm : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, LayerNorm, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, LayerNorm, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, LayerNorm, testing::Values("cuda:0"));

TEST_P(LayerNorm, IsTheReferenceEverywhere) {
  expect_all_good(find_op("layer_norm"));
}

TEST_P(LayerNorm, EveryKindOfConfiguration) {
  expect_configs_good(find_op("layer_norm"),
                      {.shape = {9, 203}, .dtype = DType::f16, .options = {{"residual", "true"}}}, "best");
}

TEST_P(LayerNorm, LongRows) {
  const lab::Op op = find_op("layer_norm");
  for (const std::int64_t length : {32768, 262144}) {
    for (const char* const residual : {"false", "true"}) {
      const lab::Problem problem =
          lab::complete(op, {.shape = {1, length}, .dtype = DType::f16, .options = {{"residual", residual}}});
      expect_good(op, {.problem = problem, .variant = "best"});
    }
  }
}

// A mean far from zero, where E[x^2] - E[x]^2 has no digits left.
TEST_P(LayerNorm, AMeanFarFromZeroCostsNoDigits) {
  const Array x = from<float>({4096, 4097, 4098, 4099}, {1, 4});
  for (const char* const variant : {"best", "naive"}) {
    const auto got =
        layer_norm(x, nullptr, nullptr, {.eps = 0, .variant = variant}, *stream_).to_vector<float>(*stream_);
    EXPECT_NEAR(got[0], -1.3416408, 1e-6) << variant;
    EXPECT_NEAR(got[3], 1.3416408, 1e-6) << variant;
  }
}

TEST_P(LayerNorm, RefusesWhatItCannotDo) {
  const Array x = ones(context_, {4, 6}, DType::f32, *stream_);
  const Array weight = ones(context_, {6}, DType::f32, *stream_);
  Array out = empty(context_, {4, 6}, DType::f32, *stream_);
  const Array wrong = ones(context_, {4}, DType::f32, *stream_);
  EXPECT_EQ(error_of([&] { layer_norm(out, x, &wrong, nullptr, {}, {}, *stream_); }),
            "invalid_argument: layer_norm: weight must have shape [6]; found [4]");
  const Array narrow = ones(context_, {6}, DType::f16, *stream_);
  EXPECT_EQ(error_of([&] { layer_norm(out, x, &narrow, nullptr, {}, {}, *stream_); }),
            "invalid_argument: layer_norm: weight must be f32; found f16");
  EXPECT_EQ(error_of([&] { layer_norm(x.index(0, 0).index(0, 0), nullptr, nullptr, {}, *stream_); }),
            "invalid_argument: layer_norm: x must have an axis; found a scalar");
  EXPECT_EQ(error_of([&] { layer_norm(out, x, &weight, nullptr, {}, {.eps = -1}, *stream_); }),
            "invalid_argument: layer_norm: eps must be a number of 0 or more; found -1");
  Array same = x;
  EXPECT_THAT(error_of([&] { layer_norm(same, x, &weight, nullptr, {}, {}, *stream_); }),
              HasSubstr("shares memory"));
  EXPECT_THAT(error_of([&] {
                layer_norm(out, x, &weight, nullptr, Residual{out, x}, {}, *stream_);
              }),
              HasSubstr("residual_out shares memory"));
  EXPECT_THAT(error_of([&] { layer_norm(out, x, &weight, nullptr, {}, {.variant = "fast"}, *stream_); }),
              HasSubstr("there is no variant 'fast'; it has best, naive"));
}

}  // namespace
}  // namespace gpuforge::ops
