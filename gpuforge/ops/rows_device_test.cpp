// kernels/rows.cuh and group_reduce.cuh on a device, through both front ends: every element of every row
// once, heads and tails of odd rows included, and reductions over every group size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/kernels/device_type.h"
#include "gpuforge/ops/rows.h"

namespace gpuforge::ops {
namespace {

// sums[r] = sum of row r, out[r, i] = 2 * x[r, i]; a block of 64 threads has two rows.
constexpr const char* kText = R"(
#include "gpuforge/kernels/group_reduce.cuh"
using namespace gpuforge;

using SumAndMax = Both<Sum, Max>;

template <typename T>
struct Double {
  T* out;
  long long stride;
  FloatPair sum;
  template <int kCount>
  __device__ void operator()(long long at, float (&values)[kCount]) {
    for (int k = 0; k < kCount; ++k) {
      sum = SumAndMax{}(sum, {values[k], values[k]});
      values[k] = 2 * values[k];
    }
    store_vector(out + at * stride, values);
  }
};

template <typename T, int kVector, int kFlight, int kGroup>
__global__ void __launch_bounds__(64)
    double_rows(float* sums, T* out, const T* x, const __grid_constant__ Rows<3> rows) {
  __shared__ FloatPair slots[2];
  const long long row = static_cast<long long>(blockIdx.x) * (64 / kGroup) + threadIdx.x / kGroup;
  const RowOffsets<3> at = row_offsets(rows, row < rows.count ? row : 0);
  Double<T> visit{out + at.at[1], rows.axis_strides[1], SumAndMax::identity()};
  if (row < rows.count) {
    const T* const from = x + at.at[0];
    if constexpr (kVector == 0) {
      visit_strided<kFlight>(from, rows.axis_strides[0], rows.length, threadIdx.x % kGroup, kGroup, visit);
    } else {
      visit_row<kVector, kFlight>(from, rows.length, threadIdx.x % kGroup, kGroup, visit);
    }
  }
  const FloatPair sum = group_reduce<kGroup>(visit.sum, SumAndMax{}, slots);
  if (row < rows.count && threadIdx.x % kGroup == 0) {
    sums[at.at[2]] = sum.first;
    sums[at.at[2] + 1] = sum.second;
  }
}
)";

std::string double_rows(DType dtype, int vector, int group) {
  return format_text("double_rows<{}, {}, 2, {}>", device_type(dtype), vector, group);
}

// All that the test launches, in one compilation.
jit::KernelSource double_rows_source() {
  jit::KernelSource source{.name = "double_rows.cu", .text = kText};
  const std::pair<DType, std::vector<int>> used[] = {
      {DType::f16, {0, 1, 2, 8}}, {DType::bf16, {4, 8}}, {DType::f32, {0, 1, 2, 4, 8}}};
  for (const auto& [dtype, vectors] : used) {
    for (const int vector : vectors) {
      for (const int group : {8, 64}) source.instantiations.push_back(double_rows(dtype, vector, group));
    }
  }
  return source;
}

struct Place {
  const char* device;
  jit::CompilerChoice compiler;
};
// What the tests' names and failures say.
void PrintTo(const Place& place, std::ostream* out) {
  *out << place.device << (place.compiler == jit::CompilerChoice::clang ? " by clang" : " by nvrtc");
}

class RowsOnDevice : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    const Environment environment = read_environment();
    try {
      auto device = device::open_device(GetParam().device, cuda::search_options(environment));
      ContextOptions options;
      options.jit = jit_options(environment);
      options.jit.cache_dir.reset();
      options.jit.compiler = GetParam().compiler;
      context_ = Context::make(device, std::move(options));
      context_->jit().kernel({.name = "empty.cu", .text = "__global__ void nothing() {}"}, "nothing",
                             *device);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "not here: " << error.what();
    }
    stream_ = context_->make_stream();
  }

  // Small integers, whose sums are exact in every dtype.
  void expect_doubled(DType dtype, const Shape& storage_shape, std::int64_t first,
                      const std::vector<int>& vectors) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < element_count(storage_shape); ++i)
      values.push_back(static_cast<float>(i % 7 - 2));
    const auto last = static_cast<std::int64_t>(storage_shape.size()) - 1;
    const Array x = from_vector<float>(context_, std::span<const float>(values), storage_shape, *stream_)
                        .astype(dtype, *stream_)
                        .slice(last, {.start = first, .stop = {}, .step = 1});
    const Array expected = x.astype(DType::f32, *stream_);
    const std::vector<float> in = expected.to_vector<float>(*stream_);
    const Shape shape = x.shape();
    const std::int64_t length = shape.back();
    for (const int vector : vectors) {
      for (const int group : {8, 64}) {
        SCOPED_TRACE(format_text("{} {} from {}, vectors of {}, {} threads a row", name(dtype),
                                 to_string(shape), first, vector, group));
        const Array out = zeros(context_, storage_shape, dtype, *stream_)
                              .slice(last, {.start = first, .stop = {}, .step = 1});
        Strides sums_strides = row_major_strides(shape);
        const std::int64_t count = element_count(shape) / length;
        for (std::size_t d = 0; d < shape.size(); ++d) sums_strides[d] = sums_strides[d] / length * 2;
        const Array sums = zeros(context_, {count, 2}, DType::f32, *stream_);
        const Rows rows = make_rows(shape, {x.strides(), out.strides(), sums_strides}, shape.size() - 1);
        if (vector > 1) {
          const std::size_t bytes = element_bytes(dtype);
          ASSERT_EQ(row_vector(rows, {{0, x.address(), bytes}, {1, out.address(), bytes}}, vector), vector);
        }
        const auto kernel = context_->jit().kernel(double_rows_source(), double_rows(dtype, vector, group),
                                                   context_->device());
        const auto blocks = static_cast<std::uint32_t>((count * group + 63) / 64);
        (*kernel)({.grid = {blocks}, .block = {64}}, *stream_, sums, out, x, device_rows<3>(rows));

        std::vector<float> doubled = in, row_sums;
        for (std::int64_t r = 0; r < count; ++r) {
          float sum = 0, most = -10;
          for (std::int64_t i = 0; i < length; ++i) {
            float& value = doubled[static_cast<std::size_t>(r * length + i)];
            sum += value;
            most = std::max(most, value);
            value *= 2;
          }
          row_sums.push_back(sum);
          row_sums.push_back(most);
        }
        EXPECT_EQ(out.astype(DType::f32, *stream_).to_vector<float>(*stream_), doubled);
        EXPECT_EQ(sums.to_vector<float>(*stream_), row_sums);
      }
    }
  }

  std::shared_ptr<Context> context_;
  std::shared_ptr<device::Stream> stream_;
};

TEST_P(RowsOnDevice, EveryElementOnceAndEverySumRight) {
  expect_doubled(DType::f16, {3, 2, 133}, 0, {0, 1, 2, 8});
  expect_doubled(DType::f16, {5, 41}, 1, {0, 8});
  expect_doubled(DType::bf16, {3, 67}, 3, {4, 8});
  expect_doubled(DType::f32, {7, 35}, 1, {0, 1, 2, 4});
  expect_doubled(DType::f32, {2, 600}, 0, {4, 8});
  expect_doubled(DType::f32, {1, 1}, 0, {0, 1});
}

INSTANTIATE_TEST_SUITE_P(Sim, RowsOnDevice,
                         testing::Values(Place{"sim", jit::CompilerChoice::nvrtc},
                                         Place{"sim", jit::CompilerChoice::clang}));
INSTANTIATE_TEST_SUITE_P(Gpu, RowsOnDevice, testing::Values(Place{"cuda:0", jit::CompilerChoice::nvrtc}));

}  // namespace
}  // namespace gpuforge::ops
