#include "gpuforge/ops/softmax_online/softmax_online.h"

#include <cmath>
#include <limits>

#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/softmax_online/softmax_online_kernels.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SoftmaxOnline : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, SoftmaxOnline, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, SoftmaxOnline, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, SoftmaxOnline, testing::Values("cuda:0"));

// And on a chip without clusters, where blocks hold them, or nobody does.
class SoftmaxOnlineLongRows : public SoftmaxOnline {};
INSTANTIATE_TEST_SUITE_P(Cpu, SoftmaxOnlineLongRows, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, SoftmaxOnlineLongRows, testing::Values("sim", "sim:sm_86"));
INSTANTIATE_TEST_SUITE_P(Gpu, SoftmaxOnlineLongRows, testing::Values("cuda:0"));

TEST_P(SoftmaxOnline, IsTheReferenceEverywhere) {
  expect_all_good(find_op("softmax_online"));
}

TEST_P(SoftmaxOnline, EveryKindOfConfiguration) {
  expect_configs_good(find_op("softmax_online"), {.shape = {9, 203}, .dtype = DType::f16}, "best");
  expect_configs_good(find_op("softmax_online"),
                      {.shape = {45, 33}, .dtype = DType::bf16, .options = {{"dim", "0"}}}, "best");
}

TEST_P(SoftmaxOnlineLongRows, AreAsGood) {
  const lab::Op op = find_op("softmax_online");
  for (const std::int64_t length : {65536, 131073, 262144}) {
    for (const lab::Variant& variant : op.variants) {
      // One thread that goes over all of it is no pastime for the simulator.
      if (context_->device().facts().kind == device::DeviceKind::sim && variant.name != "best") continue;
      const DType dtype = length == 262144 ? DType::f32 : DType::f16;
      expect_good(op, {.problem = lab::complete(op, {.shape = {1, length}, .dtype = dtype}),
                       .variant = variant.name});
    }
  }
}

TEST_P(SoftmaxOnline, ClustersOfBlocksHoldARow) {
  for (const DType dtype : {DType::f16, DType::f32})
    expect_clusters_good(
        find_op("softmax_online"), {.dtype = dtype}, {32, 128},
        {lab::Contents::normal, lab::Contents::huge, lab::Contents::infinities, lab::Contents::nans});
}

// What torch.softmax gives.
TEST_P(SoftmaxOnline, InfinitiesAndNaNsAreTorchs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array x = from<float>({1, kInfinity, 2, -kInfinity, -kInfinity, -kInfinity, 3, -kInfinity, 3,  //
                               nan, 1, 2, 3e38F, 3e38F, -3e38F, -kInfinity, -kInfinity, 7},
                              {6, 3});
  const std::vector<float> want = {nan, nan, nan, nan,  nan,  nan, 0.5F, 0, 0.5F,
                                   nan, nan, nan, 0.5F, 0.5F, 0,   0,    0, 1};
  for (const char* const variant : {"best", "online", "safe", "naive"}) {
    const auto got = softmax_online(x, {.variant = variant}, *stream_).to_vector<float>(*stream_);
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
          << variant << " element " << i << ": " << got[i] << ", not " << want[i];
    }
  }
}

// Some threads have nothing but -infinity, of a row whose maximum is far from what they would take for one.
TEST_P(SoftmaxOnline, PartsOfARowMayBeMinusInfinity) {
  std::vector<float> values(2 * 1024, -200);
  for (std::size_t i = 0; i < 512; ++i) values[i] = values[2 * i + 1024] = -kInfinity;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const Array x = from<float>(values, {2, 1024}).astype(dtype, *stream_);
    for (const char* const variant : {"best", "online", "safe", "naive"}) {
      const auto got = softmax_online(x, {.variant = variant}, *stream_)
                           .astype(DType::f32, *stream_)
                           .to_vector<float>(*stream_);
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(got[i], values[i] == -200 ? 0x1p-9F : 0)
            << name(dtype) << " " << variant << " element " << i;
      }
    }
  }
}

// What bf16 holds below the smallest normal float is not flushed to zero on the way.
TEST_P(SoftmaxOnline, TheSmallestResultsAreKept) {
  const Array x = from<float>({0, -86, -88, -90, -92}, {1, 5}).astype(DType::bf16, *stream_);
  for (const char* const variant : {"best", "online", "safe", "naive"}) {
    const auto got = softmax_online(x, {.variant = variant}, *stream_)
                         .astype(DType::f32, *stream_)
                         .to_vector<float>(*stream_);
    for (const std::size_t i : {1u, 2u, 3u}) {
      const double want = std::exp(-84.0 - 2.0 * static_cast<double>(i));
      EXPECT_NEAR(got[i], want, want / 256 + 0x1p-133) << variant << " element " << i;
    }
    EXPECT_GT(got[3], 0) << variant;
  }
}

TEST_P(SoftmaxOnline, ViewsOfEveryKind) {
  const lab::Op op = find_op("softmax_online");
  const Array wide = ones(context_, {4, 3, 10}, DType::f32, *stream_);
  // Reversed, broadcast, and a slice whose rows begin at odd places.
  for (const Array& x :
       {wide.slice(2, {.start = 9, .stop = {}, .step = -1}), wide.index(0, 1).broadcast_to({5, 3, 10}),
        wide.slice(2, {.start = 1, .stop = 8, .step = 1})}) {
    const auto got = softmax_online(x, {}, *stream_).to_vector<float>(*stream_);
    for (const float value : got) ASSERT_FLOAT_EQ(value, 1.0F / static_cast<float>(x.shape()[2]));
  }
}

TEST_P(SoftmaxOnline, RefusesWhatItCannotDo) {
  const Array x = ones(context_, {4, 6}, DType::f32, *stream_);
  Array out = empty(context_, {4, 6}, DType::f32, *stream_);
  EXPECT_EQ(error_of([&] {
              softmax_online(ones(context_, {2, 2}, DType::i32, *stream_), {}, *stream_);
            }),
            "invalid_argument: softmax_online: x must be f16, bf16 or f32; found i32");
  Array wrong = empty(context_, {6, 4}, DType::f32, *stream_);
  EXPECT_EQ(error_of([&] { softmax_online(wrong, x, {}, *stream_); }),
            "invalid_argument: softmax_online: out must have shape [4, 6]; found [6, 4]");
  Array narrow = empty(context_, {4, 6}, DType::f16, *stream_);
  EXPECT_EQ(error_of([&] { softmax_online(narrow, x, {}, *stream_); }),
            "invalid_argument: softmax_online: out must be f32; found f16");
  Array same = x;
  EXPECT_THAT(error_of([&] { softmax_online(same, x, {}, *stream_); }), HasSubstr("shares memory"));
  EXPECT_THAT(error_of([&] { softmax_online(out, x, {.dim = 2}, *stream_); }), HasSubstr("softmax_online"));
  EXPECT_THAT(error_of([&] { softmax_online(out, x, {.variant = "fast"}, *stream_); }),
              HasSubstr("there is no variant 'fast'; it has best, online, safe, naive"));
  const Config strange{{"threads", 48}};
  EXPECT_THAT(error_of([&] { softmax_online(out, x, {.config = &strange}, *stream_); }),
              HasSubstr("there is no configuration threads=48"));
  EXPECT_THAT(error_of([&] { softmax_online(out, x, {.variant = "naive", .config = &strange}, *stream_); }),
              HasSubstr("the naive variant has no choices; found threads=48"));
}

}  // namespace
}  // namespace gpuforge::ops
