#include <cmath>
#include <cstring>
#include <random>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/base/convert.h"

namespace gpuforge {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class ArrayCopyTest : public ArrayTest {
 protected:
  std::vector<std::byte> bytes_of(const Array& array) {
    std::vector<std::byte> bytes(array.bytes());
    array.to_host(bytes, *stream_);
    return bytes;
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, ArrayCopyTest, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, ArrayCopyTest, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, ArrayCopyTest, testing::Values("cuda:0"), device_case_name);

// Values at which a conversion rounds, saturates, overflows or is undefined elsewhere, as elements of
// `dtype`.
std::vector<std::byte> hard_elements(DType dtype) {
  std::vector<double> values = {0, -0.0, NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e-300, 5e-324};
  for (int e = -160; e <= 140; ++e) {
    for (const double m : {1.0, 1.0 + 0x1p-24, 1.0 + 0x1p-25, 1.0 + 0x1p-9, 1.0 + 0x1p-11, 1.0625, 1.125,
                           1.375, 1.5, 1.75, 1.9375, 2.0 - 0x1p-52}) {
      values.push_back(std::ldexp(m, e));
      values.push_back(-std::ldexp(m, e));
    }
  }
  std::vector<std::int64_t> whole;
  for (int e = 0; e < 63; ++e) {
    for (const std::int64_t d : {-3, -1, 0, 1, 3}) {
      whole.push_back((std::int64_t{1} << e) + d);
      whole.push_back(-(std::int64_t{1} << e) + d);
      whole.push_back((std::int64_t{1} << e) + ((std::int64_t{1} << e) >> 11) +
                      d);  // about halfway between two f16
    }
  }
  whole.push_back(INT64_MAX);
  whole.push_back(INT64_MIN);
  const std::size_t width = element_bytes(dtype);
  std::vector<std::byte> result((values.size() + whole.size()) * width);
  convert_elements(result.data(), dtype, values.data(), DType::f64, values.size());
  convert_elements(result.data() + values.size() * width, dtype, whole.data(), DType::i64, whole.size());
  if (width == 2) {  // every one there is
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      result.push_back(static_cast<std::byte>(bits & 0xff));
      result.push_back(static_cast<std::byte>(bits >> 8));
    }
  } else if (width == 1 && dtype != DType::boolean) {
    for (unsigned bits = 0; bits < 0x100; ++bits) result.push_back(static_cast<std::byte>(bits));
  }
  return result;
}

// Equal bits, or two NaNs, whose payloads no rule fixes.
bool same_element(const std::byte* a, const std::byte* b, DType dtype) {
  if (std::memcmp(a, b, element_bytes(dtype)) == 0) return true;
  return is_floating(dtype) && std::isnan(load_double(a, dtype)) && std::isnan(load_double(b, dtype));
}

TEST_P(ArrayCopyTest, EveryConversionFollowsTheHostsRules) {
  for (const DType from_dtype : kAllDTypes) {
    const std::vector<std::byte> elements = hard_elements(from_dtype);
    const auto count = static_cast<std::int64_t>(elements.size() / element_bytes(from_dtype));
    const Array source = from_host(context_, elements, {count}, from_dtype, *stream_);
    for (const DType to_dtype : kAllDTypes) {
      std::vector<std::byte> expected(static_cast<std::size_t>(count) * element_bytes(to_dtype));
      convert_elements(expected.data(), to_dtype, elements.data(), from_dtype,
                       static_cast<std::size_t>(count));
      const std::size_t width = element_bytes(to_dtype);
      const std::vector<std::byte> dense = bytes_of(source.astype(to_dtype, *stream_));
      const std::vector<std::byte> strided =
          bytes_of(source.slice(0, {{}, {}, -2}).astype(to_dtype, *stream_));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::byte* const want = expected.data() + static_cast<std::size_t>(i) * width;
        const auto shown = [&] {
          const std::byte* const element =
              elements.data() + static_cast<std::size_t>(i) * element_bytes(from_dtype);
          return format_text("{} to {}: {} (element {})", name(from_dtype), name(to_dtype),
                             load_double(element, from_dtype), i);
        };
        ASSERT_TRUE(same_element(dense.data() + static_cast<std::size_t>(i) * width, want, to_dtype))
            << shown();
        if ((count - 1 - i) % 2 != 0) continue;
        const auto at = static_cast<std::size_t>((count - 1 - i) / 2);
        ASSERT_TRUE(same_element(strided.data() + at * width, want, to_dtype)) << "strided " << shown();
      }
    }
  }
}

TEST_P(ArrayCopyTest, AnyByteButZeroIsTrue) {
  const std::vector<std::byte> bytes = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{255}};
  const Array array = from_host(context_, bytes, {4}, DType::boolean, *stream_);
  EXPECT_THAT(array.astype(DType::i8, *stream_).to_vector<std::int8_t>(*stream_), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(array.slice(0, {{}, {}, -1}).astype(DType::f32, *stream_).to_vector<float>(*stream_),
              ElementsAre(1, 1, 1, 0));
}

TEST_P(ArrayCopyTest, DenseConversionsAtEveryAlignmentAndLength) {
  std::vector<float> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 100.5f;
  const Array source = from(values, {600});
  for (std::int64_t start = 0; start < 5; ++start) {
    for (const std::int64_t count : {1, 2, 3, 4, 5, 255, 256, 257, 515}) {
      Array target = full(context_, {600}, -1, DType::i16, *stream_);
      target.slice(0, {start + 1, start + 1 + count, 1})
          .assign(source.slice(0, {start, start + count, 1}), *stream_);
      const auto found = target.to_vector<std::int16_t>(*stream_);
      for (std::int64_t i = 0; i < 600; ++i) {
        const bool written = i > start && i <= start + count;
        const auto expected =
            written ? static_cast<std::int16_t>(values[static_cast<std::size_t>(i - 1)]) : -1;
        ASSERT_EQ(found[static_cast<std::size_t>(i)], expected) << start << " " << count << " " << i;
      }
    }
  }
}

// Random views of both sides against the definition: destination coordinate c gets source coordinate c.
TEST_P(ArrayCopyTest, RandomStridedAssignments) {
  std::mt19937 random(20240611);
  const auto pick = [&](std::int64_t lowest, std::int64_t highest) {
    return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random);
  };
  for (int round = 0; round < 150; ++round) {
    const std::size_t rank = static_cast<std::size_t>(pick(1, 5));
    Shape whole;
    Dims order;
    for (std::size_t i = 0; i < rank; ++i) {
      whole.push_back(pick(1, rank < 3 ? 150 : 9));
      order.insert(static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(i))),
                   static_cast<std::int64_t>(i));
    }
    const auto cut = [&](Array array) {
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t step = pick(1, 3) * (pick(0, 1) == 0 ? 1 : -1);
        array = array.slice(static_cast<std::int64_t>(i), {std::nullopt, std::nullopt, step});
      }
      return array.transpose(order);
    };
    const Array source = cut(counting(whole));
    Shape base = whole;
    for (std::int64_t& extent : base) extent *= 3;
    Array target = full(context_, base, -1, DType::i64, *stream_);
    Array view = cut(target);
    for (std::size_t i = 0; i < rank; ++i) {
      view = view.slice(static_cast<std::int64_t>(i), {0, source.shape()[i], 1});
    }
    ASSERT_EQ(view.shape(), source.shape());
    view.assign(source, *stream_);
    const std::vector<std::int32_t> wanted = ints(source);
    const std::vector<std::int64_t> found = view.to_vector<std::int64_t>(*stream_);
    ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), found.begin(), found.end())) << "round " << round;
    const std::vector<std::int64_t> all = target.to_vector<std::int64_t>(*stream_);
    ASSERT_EQ(std::count_if(all.begin(), all.end(), [](std::int64_t v) { return v != -1; }), source.size());
    ASSERT_EQ(ints(source.copy(*stream_)), wanted);
  }
}

// Values of the definition itself, not of to_host, which shares the loops.
TEST_P(ArrayCopyTest, TransposedCopyOfManyTiles) {
  constexpr std::int64_t kRows = 201;
  constexpr std::int64_t kColumns = 333;
  for (const DType dtype : {DType::i32, DType::f64}) {
    const Array turned = counting({kRows, kColumns}).transpose().astype(dtype, *stream_);
    ASSERT_TRUE(turned.contiguous());
    const std::vector<std::byte> found = bytes_of(turned);
    for (std::int64_t c = 0; c < kColumns; ++c) {
      for (std::int64_t r = 0; r < kRows; ++r) {
        const auto at = static_cast<std::size_t>(c * kRows + r) * element_bytes(dtype);
        ASSERT_EQ(load_int64(found.data() + at, dtype), r * kColumns + c);
      }
    }
  }
}

TEST_P(ArrayCopyTest, CopiesAreNewAndContiguous) {
  const Array array = counting({3, 4});
  const Array same = array.to_contiguous(*stream_);
  EXPECT_TRUE(same.shares_storage_with(array));
  const Array copied = array.copy(*stream_);
  EXPECT_FALSE(copied.shares_storage_with(array));
  EXPECT_EQ(ints(copied), ints(array));
  const Array turned = array.transpose().to_contiguous(*stream_);
  EXPECT_TRUE(turned.contiguous());
  EXPECT_FALSE(turned.shares_storage_with(array));
  EXPECT_THAT(ints(turned), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_FALSE(array.astype(DType::i32, *stream_).shares_storage_with(array));
  EXPECT_THAT(ints(counting({3}).broadcast_to({2, 3}).copy(*stream_)), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST_P(ArrayCopyTest, AssignBroadcastsAndConverts) {
  Array array = zeros(context_, {2, 3}, DType::i32, *stream_);
  array.assign(from<float>({1.9f, -2.9f, NAN}, {3}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(1, -2, 0, 1, -2, 0));
  array.slice(1, {1, 2, 1}).assign(counting({}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(1, 0, 0, 1, 0, 0));
  EXPECT_THAT(error_of([&] { array.assign(counting({2}), *stream_); }), StartsWith("invalid_argument: "));
  EXPECT_THAT(error_of([&] {
                array.assign(counting({1, 2, 3}), *stream_);
              }),
              StartsWith("invalid_argument: "));
}

TEST_P(ArrayCopyTest, OverlappingSourcesAreReadWholeFirst) {
  Array array = counting({10});
  array.slice(0, {1, {}, 1}).assign(array.slice(0, {0, 9, 1}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(0, 0, 1, 2, 3, 4, 5, 6, 7, 8));
  array = counting({10});
  array.slice(0, {0, 9, 1}).assign(array.slice(0, {1, {}, 1}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 9));
  array = counting({6});
  array.assign(array.slice(0, {{}, {}, -1}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(5, 4, 3, 2, 1, 0));
  array = counting({3, 3});
  array.assign(array.transpose(), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(0, 3, 6, 1, 4, 7, 2, 5, 8));
  array.assign(array.index(0, 1), *stream_);  // a row of itself, repeated
  EXPECT_THAT(ints(array), ElementsAre(1, 4, 7, 1, 4, 7, 1, 4, 7));
  array = counting({8});  // interleaved, sharing a range but no element
  array.slice(0, {0, {}, 2}).assign(array.slice(0, {1, {}, 2}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(1, 1, 3, 3, 5, 5, 7, 7));
  array = counting({8});  // apart
  array.slice(0, {0, 4, 1}).assign(array.slice(0, {4, {}, 1}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(4, 5, 6, 7, 4, 5, 6, 7));
  array.assign(array, *stream_);
  EXPECT_THAT(ints(array), ElementsAre(4, 5, 6, 7, 4, 5, 6, 7));
  Array reversed = array.slice(0, {{}, {}, -1});
  reversed.assign(array.slice(0, {{}, {}, -1}), *stream_);
  EXPECT_THAT(ints(array), ElementsAre(4, 5, 6, 7, 4, 5, 6, 7));
}

TEST_P(ArrayCopyTest, ViewsThatOverlapThemselvesAreNotWritten) {
  Array repeated = counting({3}).broadcast_to({2, 3});
  EXPECT_THAT(
      error_of([&] { repeated.fill(1, *stream_); }),
      HasSubstr("fill: a view of shape [2, 3] with strides [0, 1] shows one element at several places"));
  EXPECT_THAT(error_of([&] { repeated.assign(counting({2, 3}), *stream_); }), HasSubstr("assign: "));
  EXPECT_THAT(ints(repeated), ElementsAre(0, 1, 2, 0, 1, 2));
  Array once = counting({3}).broadcast_to({1, 3});
  once.fill(4, *stream_);
  EXPECT_THAT(ints(once), Each(4));
}

TEST_P(ArrayCopyTest, FillsOfViews) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::i64}) {
    Array array = zeros(context_, {5, 7}, dtype, *stream_);
    array.slice(0, {{}, {}, -2}).slice(1, {1, {}, 3}).fill(3, *stream_);
    array.slice(0, {1, 2, 1}).fill(5, *stream_);
    const std::vector<std::byte> found = bytes_of(array);
    for (std::int64_t i = 0; i < 35; ++i) {
      const double expected = i / 7 == 1 ? 5 : i / 7 % 2 == 0 && (i % 7 == 1 || i % 7 == 4) ? 3 : 0;
      ASSERT_EQ(load_double(found.data() + static_cast<std::size_t>(i) * element_bytes(dtype), dtype),
                expected)
          << name(dtype) << " " << i;
    }
  }
}

// A graph replays array work as it replays any other.
TEST_P(ArrayCopyTest, WorkCanBeCaptured) {
  const Array source = counting({4, 4});
  Array target = zeros(context_, {4, 4}, DType::f32, *stream_);
  target.assign(source.transpose(), *stream_);  // the kernel is compiled and loaded before the capture
  stream_->synchronize();
  stream_->begin_capture();
  target.assign(source.transpose(), *stream_);
  const auto graph = stream_->end_capture();
  target.fill(0, *stream_);
  graph->launch(*stream_);
  EXPECT_EQ(target.to_vector<float>(*stream_)[1], 4.0f);
}

}  // namespace
}  // namespace gpuforge
