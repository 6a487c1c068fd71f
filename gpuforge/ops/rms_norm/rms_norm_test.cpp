#include "gpuforge/ops/rms_norm/rms_norm.h"

#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

class RmsNorm : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, RmsNorm, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, RmsNorm, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, RmsNorm, testing::Values("cuda:0"));

// And on a chip without clusters, where blocks hold them, or nobody does.
class RmsNormLongRows : public RmsNorm {};
INSTANTIATE_TEST_SUITE_P(Cpu, RmsNormLongRows, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, RmsNormLongRows, testing::Values("sim", "sim:sm_86"));
INSTANTIATE_TEST_SUITE_P(Gpu, RmsNormLongRows, testing::Values("cuda:0"));

TEST_P(RmsNorm, IsTheReferenceEverywhere) {
  expect_all_good(find_op("rms_norm"));
}

TEST_P(RmsNorm, EveryKindOfConfiguration) {
  expect_configs_good(find_op("rms_norm"),
                      {.shape = {9, 203}, .dtype = DType::f16, .options = {{"residual", "true"}}}, "best");
}

TEST_P(RmsNormLongRows, AreAsGood) {
  const lab::Op op = find_op("rms_norm");
  for (const std::int64_t length : {32768, 262144}) {
    for (const char* const residual : {"false", "true"}) {
      const lab::Problem problem =
          lab::complete(op, {.shape = {1, length}, .dtype = DType::f16, .options = {{"residual", residual}}});
      expect_good(op, {.problem = problem, .variant = "best"});
    }
  }
}

// The sum is rounded before it is normalised: 2048 + 1 is 2048 in f16.
TEST_P(RmsNorm, NormalisesTheRoundedSum) {
  const Array x = from<float>({2048, 1}, {1, 2}).astype(DType::f16, *stream_);
  const Array residual = from<float>({1, 2047}, {1, 2}).astype(DType::f16, *stream_);
  for (const char* const variant : {"best", "naive"}) {
    Array out = empty(context_, {1, 2}, DType::f16, *stream_);
    Array sums = empty(context_, {1, 2}, DType::f16, *stream_);
    rms_norm(out, x, nullptr, Residual{sums, residual}, {.variant = variant}, *stream_);
    EXPECT_THAT(sums.astype(DType::f32, *stream_).to_vector<float>(*stream_),
                testing::ElementsAre(2048, 2048));
    EXPECT_THAT(out.astype(DType::f32, *stream_).to_vector<float>(*stream_), testing::ElementsAre(1, 1));
  }
}

// Rows of odd lengths begin at other places than their weight, and a weight may be part of something: of
// ones, what is left is the weight.
TEST_P(RmsNorm, AWeightMayBeginAnywhere) {
  std::vector<float> numbers(10016);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1777 + 1);
  for (const DType dtype : {DType::f16, DType::f32}) {
    const Array all =
        from<float>(numbers, {static_cast<std::int64_t>(numbers.size())}).astype(dtype, *stream_);
    for (const std::int64_t length : {16, 33, 1030, 4999}) {
      const Array x = ones(context_, {5, length}, dtype, *stream_);
      for (const std::int64_t begin : {0, 1, 2, 3, 4, 6, 7}) {
        for (const std::int64_t step : {1, 2}) {
          const Array weight = all.slice(0, {begin, begin + (length - 1) * step + 1, step});
          const auto got = rms_norm(x, &weight, {.eps = 0}, *stream_)
                               .astype(DType::f32, *stream_)
                               .to_vector<float>(*stream_);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < got.size(); ++i) {
            const std::int64_t column = static_cast<std::int64_t>(i) % length;
            wrong += got[i] != numbers[static_cast<std::size_t>(begin + column * step)];
          }
          EXPECT_EQ(wrong, 0u) << name(dtype) << " " << length << " from " << begin << " by " << step;
        }
      }
    }
  }
}

TEST_P(RmsNorm, ClustersOfBlocksHoldARow) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const char* const residual : {"false", "true"}) {
      expect_clusters_good(find_op("rms_norm"), {.dtype = dtype, .options = {{"residual", residual}}},
                           {32, 64}, {lab::Contents::normal, lab::Contents::nans});
    }
  }
}

TEST_P(RmsNorm, RefusesWhatItCannotDo) {
  const Array x = ones(context_, {4, 6}, DType::f32, *stream_);
  const Array weight = ones(context_, {6}, DType::f32, *stream_);
  Array out = empty(context_, {4, 6}, DType::f32, *stream_);
  const Array wrong = ones(context_, {4}, DType::f32, *stream_);
  EXPECT_EQ(error_of([&] { rms_norm(out, x, &wrong, {}, {}, *stream_); }),
            "invalid_argument: rms_norm: weight must have shape [6]; found [4]");
  const Array narrow = ones(context_, {6}, DType::f16, *stream_);
  EXPECT_EQ(error_of([&] { rms_norm(out, x, &narrow, {}, {}, *stream_); }),
            "invalid_argument: rms_norm: weight must be f32; found f16");
  EXPECT_EQ(error_of([&] { rms_norm(x.index(0, 0).index(0, 0), nullptr, {}, *stream_); }),
            "invalid_argument: rms_norm: x must have an axis; found a scalar");
  EXPECT_EQ(error_of([&] { rms_norm(out, x, &weight, {}, {.eps = -1}, *stream_); }),
            "invalid_argument: rms_norm: eps must be a number of 0 or more; found -1");
  Array same = x;
  EXPECT_THAT(error_of([&] { rms_norm(same, x, &weight, {}, {}, *stream_); }), HasSubstr("shares memory"));
  EXPECT_THAT(error_of([&] {
                rms_norm(out, x, &weight, Residual{out, x}, {}, *stream_);
              }),
              HasSubstr("residual_out shares memory"));
  EXPECT_THAT(error_of([&] { rms_norm(out, x, &weight, {}, {.variant = "fast"}, *stream_); }),
              HasSubstr("there is no variant 'fast'; it has best, naive"));
}

}  // namespace
}  // namespace gpuforge::ops
