#include "gpuforge/ops/rms_norm_backward/rms_norm_backward.h"

#include <cmath>

#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_kernels.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

class RmsNormBackward : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, RmsNormBackward, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, RmsNormBackward, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, RmsNormBackward, testing::Values("cuda:0"));

TEST_P(RmsNormBackward, IsTheReferenceEverywhere) {
  expect_all_good(find_op("rms_norm_backward"));
}

TEST_P(RmsNormBackward, EveryKindOfConfiguration) {
  expect_configs_good(find_op("rms_norm_backward"), {.shape = {9, 203}, .dtype = DType::f16}, "best");
}

TEST_P(RmsNormBackward, LongRowsAndManyRows) {
  const lab::Op op = find_op("rms_norm_backward");
  for (const Shape& shape : {Shape{1, 32768}, Shape{1, 262144}, Shape{2000, 9}}) {
    const lab::Problem problem = lab::complete(op, {.shape = shape, .dtype = DType::f16});
    expect_good(op, {.problem = problem, .variant = "best"});
  }
}

// Worked out by hand for x = (3, 4), eps = 0, weight = (1, 2).
TEST_P(RmsNormBackward, IsTheDerivative) {
  const Array x = from<float>({3, 4}, {1, 2});
  const Array weight = from<float>({1, 2}, {2});
  const Array dy = from<float>({1, 1}, {1, 2});
  Array dx = empty(context_, {1, 2}, DType::f32, *stream_);
  Array dweight = empty(context_, {2}, DType::f32, *stream_);
  for (const char* const variant : {"best", "naive"}) {
    rms_norm_backward(dx, &dweight, dy, x, &weight, {.eps = 0, .variant = variant}, *stream_);
    // r = 1 / sqrt(12.5); mean(dy * weight * x) = 5.5; dx = r * (weight - x * 5.5 / 12.5).
    EXPECT_THAT(dx.to_vector<float>(*stream_), testing::ElementsAre(testing::FloatNear(-0.09050967F, 1e-6F),
                                                                    testing::FloatNear(0.06788225F, 1e-6F)));
    EXPECT_THAT(
        dweight.to_vector<float>(*stream_),
        testing::ElementsAre(testing::FloatNear(0.84852814F, 1e-6F), testing::FloatNear(1.1313709F, 1e-6F)));
  }
}

// Rows of odd lengths begin at other places than their weight, and a weight may be part of something: of
// ones, what is left of a row is the weight without its mean.
TEST_P(RmsNormBackward, AWeightMayBeginAnywhere) {
  std::vector<float> numbers(10016);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 61 + 1);
  for (const DType dtype : {DType::f16, DType::f32}) {
    const Array all =
        from<float>(numbers, {static_cast<std::int64_t>(numbers.size())}).astype(dtype, *stream_);
    for (const std::int64_t length : {16, 33, 1030, 4999}) {
      const Array ones_of_rows = ones(context_, {5, length}, dtype, *stream_);
      Array dx = empty(context_, {5, length}, dtype, *stream_);
      Array dweight = empty(context_, {length}, dtype, *stream_);
      for (const std::int64_t begin : {0, 1, 2, 3, 4, 6, 7}) {
        for (const std::int64_t step : {1, 2}) {
          const Array weight = all.slice(0, {begin, begin + (length - 1) * step + 1, step});
          rms_norm_backward(dx, &dweight, ones_of_rows, ones_of_rows, &weight, {.eps = 0}, *stream_);
          const auto factor = [&](std::int64_t column) {
            return numbers[static_cast<std::size_t>(begin + column * step)];
          };
          double mean = 0;
          for (std::int64_t i = 0; i < length; ++i) mean += factor(i) / static_cast<double>(length);
          const auto got = dx.astype(DType::f32, *stream_).to_vector<float>(*stream_);
          std::size_t wrong = 0;  // by more than f16 rounds; neighbours are 1 apart and more
          for (std::size_t i = 0; i < got.size(); ++i)
            wrong += std::abs(got[i] - (factor(static_cast<std::int64_t>(i) % length) - mean)) < 0.1 ? 0 : 1;
          EXPECT_EQ(wrong, 0u) << name(dtype) << " " << length << " from " << begin << " by " << step;
        }
      }
    }
  }
}

TEST(RmsNormBackwardPieces, CoverTheRowsOnce) {
  for (const std::int64_t rows : {1, 15, 16, 17, 63, 64, 1000, 1024, 1025, 100000}) {
    const RowPieces pieces = rms_backward_pieces(rows, "best");
    EXPECT_GE(pieces.count * pieces.rows, rows);
    EXPECT_LT((pieces.count - 1) * pieces.rows, rows);
    EXPECT_LE(pieces.count, 64);
    EXPECT_EQ(rms_backward_pieces(rows, "naive").count, 1);
  }
}

TEST_P(RmsNormBackward, RefusesWhatItCannotDo) {
  const Array x = ones(context_, {4, 6}, DType::f32, *stream_);
  const Array dy = ones(context_, {4, 6}, DType::f32, *stream_);
  const Array weight = ones(context_, {6}, DType::f32, *stream_);
  Array dx = empty(context_, {4, 6}, DType::f32, *stream_);
  Array dweight = empty(context_, {6}, DType::f32, *stream_);
  EXPECT_EQ(error_of([&] { rms_norm_backward(dx, nullptr, dy, x, &weight, {}, *stream_); }),
            "invalid_argument: rms_norm_backward: weight and dweight come together; found weight alone");
  EXPECT_EQ(error_of([&] { rms_norm_backward(dx, &dweight, dy, x, nullptr, {}, *stream_); }),
            "invalid_argument: rms_norm_backward: weight and dweight come together; found dweight alone");
  Array wrong = empty(context_, {4}, DType::f32, *stream_);
  EXPECT_EQ(error_of([&] { rms_norm_backward(dx, &wrong, dy, x, &weight, {}, *stream_); }),
            "invalid_argument: rms_norm_backward: dweight must have shape [6]; found [4]");
  EXPECT_EQ(error_of([&] { rms_norm_backward(dx, &dweight, dy.transpose(), x, &weight, {}, *stream_); }),
            "invalid_argument: rms_norm_backward: dy must have shape [4, 6]; found [6, 4]");
  Array same = x;
  EXPECT_THAT(error_of([&] { rms_norm_backward(same, &dweight, dy, x, &weight, {}, *stream_); }),
              HasSubstr("dx shares memory"));
  EXPECT_THAT(
      error_of([&] { rms_norm_backward(dx, &dweight, dy, x, &weight, {.variant = "fast"}, *stream_); }),
      HasSubstr("there is no variant 'fast'; it has best, naive"));
}

}  // namespace
}  // namespace gpuforge::ops
