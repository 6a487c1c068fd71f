#include "gpuforge/ops/layer_norm/layer_norm.h"

#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

class LayerNorm : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, LayerNorm, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, LayerNorm, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, LayerNorm, testing::Values("cuda:0"));

// And on a chip without clusters, where blocks hold them, or nobody does.
class LayerNormLongRows : public LayerNorm {};
INSTANTIATE_TEST_SUITE_P(Cpu, LayerNormLongRows, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, LayerNormLongRows, testing::Values("sim", "sim:sm_86"));
INSTANTIATE_TEST_SUITE_P(Gpu, LayerNormLongRows, testing::Values("cuda:0"));

TEST_P(LayerNorm, IsTheReferenceEverywhere) {
  expect_all_good(find_op("layer_norm"));
}

TEST_P(LayerNorm, EveryKindOfConfiguration) {
  expect_configs_good(find_op("layer_norm"),
                      {.shape = {9, 203}, .dtype = DType::f16, .options = {{"residual", "true"}}}, "best");
}

TEST_P(LayerNormLongRows, AreAsGood) {
  const lab::Op op = find_op("layer_norm");
  for (const std::int64_t length : {32768, 262144}) {
    for (const char* const residual : {"false", "true"}) {
      const lab::Problem problem =
          lab::complete(op, {.shape = {1, length}, .dtype = DType::f16, .options = {{"residual", residual}}});
      expect_good(op, {.problem = problem, .variant = "best"});
    }
  }
}

TEST_P(LayerNorm, ClustersOfBlocksHoldARow) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const char* const residual : {"false", "true"}) {
      expect_clusters_good(find_op("layer_norm"), {.dtype = dtype, .options = {{"residual", residual}}},
                           {32, 64}, {lab::Contents::normal, lab::Contents::nans});
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
  std::vector<Half> halves(4095);
  for (std::size_t i = 0; i < halves.size(); ++i)
    halves[i] = Half::from(1000 + 0.5 * static_cast<double>(i % 3));
  const auto got = layer_norm(from<Half>(halves, {1, 4095}), nullptr, nullptr, {.eps = 0}, *stream_)
                       .to_vector<Half>(*stream_);
  EXPECT_EQ(got[0], Half::from(-std::sqrt(1.5)));
  EXPECT_EQ(got[4094], Half::from(std::sqrt(1.5)));
}

// Threads begin with a value that is far from all others, or have a mean that is far from other threads'.
TEST_P(LayerNorm, AValueFarFromTheOthersCostsNoDigits) {
  for (const std::int64_t length : {33, 1000, 4099}) {
    for (const double far : {300.0, 1e5}) {
      std::vector<float> values(static_cast<std::size_t>(3 * length));
      double sum = 0, squares = 0;  // of the first row
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t at = i % static_cast<std::size_t>(length);
        values[i] = static_cast<float>(std::sin(static_cast<double>(at)) + (at % 256 == 0 ? far : 0));
        if (i < static_cast<std::size_t>(length)) sum += values[i];
      }
      const double mean = sum / static_cast<double>(length);
      for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i)
        squares += (values[i] - mean) * (values[i] - mean);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + 1e-5);
      const auto got =
          layer_norm(from<float>(values, {3, length}), nullptr, nullptr, {.eps = 1e-5F}, *stream_)
              .to_vector<float>(*stream_);
      double worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double want = (values[i] - mean) * scale;
        worst = std::max(worst, std::abs(got[i] - want) / std::max(std::abs(want), 1.0));
      }
      EXPECT_LT(worst, 4e-6) << length << " far " << far;
    }
  }
}

// In 16 bits the shortest rows are counted from their first value, which costs the more digits the longer
// they are: less than the result's own rounding.
TEST_P(LayerNorm, AFirstValueFarFromTheOthersCostsLessThanRounding) {
  for (const std::int64_t length : {33, 256, 1000, 4096, 8192}) {
    for (const double far : {30.0, 60000.0}) {
      std::vector<Half> values(static_cast<std::size_t>(length));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = Half::from(i == 0 ? far : std::sin(static_cast<double>(i)));
      double mean = 0, squares = 0;
      for (const Half value : values) mean += value.to_double() / static_cast<double>(length);
      for (const Half value : values) squares += std::pow(value.to_double() - mean, 2);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + 1e-5);
      const auto got = layer_norm(from<Half>(values, {1, length}), nullptr, nullptr, {.eps = 1e-5F}, *stream_)
                           .to_vector<Half>(*stream_);
      double worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double want = (values[i].to_double() - mean) * scale;
        worst = std::max(worst, std::abs(got[i].to_double() - want) / std::max(std::abs(want), 0.25));
      }
      EXPECT_LT(worst, 0x1.8p-11) << length << " far " << far;
    }
  }
}

// Of any length and any number: nothing but the bias is left.
TEST_P(LayerNorm, EqualNumbersHaveNoVariance) {
  for (const std::int64_t length : {1, 7, 33, 1000, 4099, 20001}) {
    const std::vector<float> values(static_cast<std::size_t>(2 * length), 1234.567F);
    const auto got = layer_norm(from<float>(values, {2, length}), nullptr, nullptr, {}, *stream_)
                         .to_vector<float>(*stream_);
    EXPECT_THAT(got, testing::Each(0.0F)) << length;
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
