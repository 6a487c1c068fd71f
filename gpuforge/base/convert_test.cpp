#include "gpuforge/base/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "gpuforge/base/narrow_table_for_tests.h"

namespace gpuforge {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <typename To, typename From>
To convert_one(From value) {
  std::array<std::uint8_t, sizeof(To)> result;
  result.fill(0xa5);
  convert_elements(result.data(), dtype_of<To>(), &value, dtype_of<From>(), 1);
  return std::bit_cast<To>(result);
}

// The exact value of an element: 64 mantissa bits hold every source type.
template <typename T>
long double exact_value(T value) {
  if constexpr (kIsNarrowFloat<T>) {
    return decode_slowly<T>(value.bits);
  } else {
    return static_cast<long double>(value);
  }
}

template <typename To>
To expected_from(long double value) {
  if constexpr (kIsNarrowFloat<To>) {
    static const std::vector<double> values = finite_values<To>();
    return To{static_cast<decltype(To::bits)>(round_slowly<To>(values, value))};
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    const long double whole = std::trunc(value);
    if (whole > static_cast<long double>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    if (whole < static_cast<long double>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(value);
  }
}

template <typename T>
std::vector<T> hard_values() {
  std::vector<T> values;
  std::mt19937_64 random(99);
  if constexpr (kIsNarrowFloat<T>) {
    for (unsigned code = 0; code < (1u << (8 * sizeof(T))); ++code) {
      values.push_back(T{static_cast<decltype(T::bits)>(code)});
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    values = {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    for (int shift = 0; shift < Limits::digits; ++shift) {
      const auto power = static_cast<T>(T{1} << shift);
      for (int near : {-2, -1, 0, 1, 2, 3}) {
        values.push_back(static_cast<T>(power + near));
        values.push_back(static_cast<T>(near - power));
      }
    }
    for (int i = 0; i < 2000; ++i) values.push_back(static_cast<T>(random() >> (random() % 64)));
    values.insert(values.end(), {Limits::min(), Limits::max(), T{0}});
  } else {
    using Limits = std::numeric_limits<T>;
    for (T base : {T{0},
                   T{0.5},
                   T{1},
                   T{1.5},
                   T{2.5},
                   T{127},
                   T{128},
                   T{255},
                   T{256},
                   T{448},
                   T{464},
                   T{32767},
                   T{32768},
                   T{65504},
                   T{65520},
                   T{57344},
                   T{0x1p31},
                   T{0x1p53},
                   T{0x1p63},
                   T{0x1p64},
                   T{0x1p127},
                   Limits::max(),
                   Limits::min(),
                   Limits::denorm_min(),
                   Limits::infinity()}) {
      for (T value : {base, std::nextafter(base, T{0}), std::nextafter(base, Limits::infinity())}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
    values.push_back(Limits::quiet_NaN());
    for (int i = 0; i < 4000; ++i) {
      values.push_back(
          static_cast<T>(std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 150)));
    }
  }
  return values;
}

template <typename To, typename From>
void check_pair() {
  for (const From& value : hard_values<From>()) {
    const long double exact = exact_value(value);
    const To expected = expected_from<To>(exact);
    const To found = convert_one<To>(value);
    if constexpr (std::is_same_v<To, From> && kIsNarrowFloat<To>) {
      ASSERT_EQ(found, value);  // a copy, NaN payloads included
    } else if constexpr (std::is_floating_point_v<To>) {
      ASSERT_EQ(std::isnan(found), std::isnan(expected));
      if (!std::isnan(found)) {
        ASSERT_EQ(found, expected) << static_cast<double>(exact);
        ASSERT_EQ(std::signbit(found), std::signbit(expected));
      }
    } else {
      ASSERT_TRUE(found == expected) << static_cast<double>(exact);
    }
  }
}

TEST(ConvertElements, EveryPairOfTypesAgainstExactArithmetic) {
  for (DType to : kAllDTypes) {
    for (DType from : kAllDTypes) {
      SCOPED_TRACE(std::string(name(from)) + " to " + std::string(name(to)));
      visit_dtype(to, [&](auto to_type) {
        visit_dtype(from, [&](auto from_type) {
          check_pair<typename decltype(to_type)::type, typename decltype(from_type)::type>();
        });
      });
    }
  }
}

// Floats take a path of their own: every boundary between neighbours, and the floats beside it.
template <typename T>
void check_float_midpoints() {
  const std::vector<double> values = finite_values<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double upper = i + 1 < values.size() ? values[i + 1] : 2 * values[i] - values[i - 1];
    const auto middle = static_cast<float>(values[i] + (upper - values[i]) / 2);
    for (float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, HUGE_VALF),
                        static_cast<float>(upper)}) {
      for (float signed_value : {value, -value}) {
        ASSERT_EQ(convert_one<T>(signed_value).bits, round_slowly<T>(values, signed_value))
            << std::hexfloat << signed_value;
      }
    }
  }
}

TEST(ConvertElements, FloatsRoundRightAtEveryMidpoint) {
  check_float_midpoints<Half>();
  check_float_midpoints<BFloat16>();
  check_float_midpoints<Float8E4M3>();
  check_float_midpoints<Float8E5M2>();
}

TEST(ConvertElements, FloatsOfAnyBits) {
  std::mt19937 random(31);
  const std::vector<double> halves = finite_values<Half>();
  const std::vector<double> brains = finite_values<BFloat16>();
  const std::vector<double> e4m3 = finite_values<Float8E4M3>();
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    ASSERT_EQ(convert_one<Half>(value).bits, round_slowly<Half>(halves, value)) << std::hexfloat << value;
    ASSERT_EQ(convert_one<BFloat16>(value).bits, round_slowly<BFloat16>(brains, value))
        << std::hexfloat << value;
    ASSERT_EQ(convert_one<Float8E4M3>(value).bits, round_slowly<Float8E4M3>(e4m3, value));
  }
}

TEST(ConvertElements, LongIntegersRoundOnce) {
  // A tie between two neighbours of bf16, which a lone 1 far below the 53 bits of a double must break.
  const std::int64_t tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 52);
  EXPECT_EQ(convert_one<BFloat16>(tie).to_double(), 0x1p60);
  EXPECT_EQ(convert_one<BFloat16>(tie + 1).to_double(), 0x1.02p60);
  EXPECT_EQ(convert_one<BFloat16>(-tie - 1).to_double(), -0x1.02p60);
  EXPECT_EQ(convert_one<BFloat16>(tie - 1).to_double(), 0x1p60);
  EXPECT_EQ(convert_one<float>((std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1), 0x1.000002p60f);
  EXPECT_EQ(convert_one<BFloat16>(std::numeric_limits<std::int64_t>::min()).to_double(), -0x1p63);
  EXPECT_EQ(convert_one<Half>(std::numeric_limits<std::int64_t>::max()).bits, 0x7c00);
  EXPECT_EQ(convert_one<Float8E4M3>(std::numeric_limits<std::int64_t>::min()).bits, 0xfe);
}

TEST(ConvertElements, IntegersSaturateAndNaNIsZero) {
  EXPECT_EQ(convert_one<std::int8_t>(300.0), 127);
  EXPECT_EQ(convert_one<std::int8_t>(-1e30f), -128);
  EXPECT_EQ(convert_one<std::uint8_t>(-0.9), 0);
  EXPECT_EQ(convert_one<std::uint8_t>(255.9), 255);
  EXPECT_EQ(convert_one<std::int64_t>(0x1p63), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(convert_one<std::int32_t>(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(convert_one<std::int32_t>(std::int64_t{1} << 40), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(convert_one<std::uint8_t>(std::int8_t{-1}), 0);
  EXPECT_EQ(convert_one<std::int64_t>(Half{0xfc00}), std::numeric_limits<std::int64_t>::min());
}

TEST(ConvertElements, BoolIsNotZeroAndNaNIsTrue) {
  EXPECT_TRUE(convert_one<bool>(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_TRUE(convert_one<bool>(std::numeric_limits<double>::denorm_min()));
  EXPECT_FALSE(convert_one<bool>(-0.0));
  EXPECT_TRUE(convert_one<bool>(Half{0x0001}));
  EXPECT_FALSE(convert_one<bool>(Half{0x8000}));
}

TEST(ConvertElements, AnyNonZeroByteIsATrueBool) {
  const Bytes from = {0, 1, 2, 255};
  std::array<std::int32_t, 4> integers{};
  convert_elements(integers.data(), DType::i32, from.data(), DType::boolean, from.size());
  EXPECT_EQ(integers, (std::array<std::int32_t, 4>{0, 1, 1, 1}));
  Bytes bools(4);
  convert_elements(bools.data(), DType::boolean, from.data(), DType::boolean, from.size());
  EXPECT_EQ(bools, (Bytes{0, 1, 1, 1}));
}

TEST(ConvertElements, TakesNothingItselfAndUnalignedBuffers) {
  convert_elements(nullptr, DType::f32, nullptr, DType::i64, 0);
  std::array<double, 2> same = {1.5, -2.5};
  convert_elements(same.data(), DType::f64, same.data(), DType::f64, same.size());
  EXPECT_EQ(same, (std::array{1.5, -2.5}));

  Bytes from(1 + 3 * sizeof(double));
  Bytes to(1 + 3 * sizeof(float) + 1, 0xcc);
  const std::array<double, 3> values = {1, 2, 3};
  std::memcpy(from.data() + 1, values.data(), sizeof(values));
  convert_elements(to.data() + 1, DType::f32, from.data() + 1, DType::f64, 3);
  std::array<float, 3> found{};
  std::memcpy(found.data(), to.data() + 1, sizeof(found));
  EXPECT_EQ(found, (std::array<float, 3>{1, 2, 3}));
  EXPECT_EQ(to.front(), 0xcc);
  EXPECT_EQ(to.back(), 0xcc);
}

TEST(LoadAndStore, GoThroughEveryType) {
  for (DType dtype : kAllDTypes) {
    SCOPED_TRACE(name(dtype));
    alignas(8) std::array<std::uint8_t, 8> element{};
    store_double(element.data(), dtype, 1.0);
    EXPECT_EQ(load_double(element.data(), dtype), 1.0);
    EXPECT_EQ(load_int64(element.data(), dtype), 1);
    store_int64(element.data(), dtype, 0);
    EXPECT_EQ(load_double(element.data(), dtype), 0.0);
    store_int64(element.data(), dtype, 1);
    EXPECT_EQ(load_int64(element.data(), dtype), 1);
  }
}

TEST(LoadAndStore, LongIntegersStayWhole) {
  const std::int64_t value = (std::int64_t{1} << 60) + 1;
  std::int64_t element = 0;
  store_int64(&element, DType::i64, value);
  EXPECT_EQ(load_int64(&element, DType::i64), value);
  EXPECT_EQ(load_double(&element, DType::i64), 0x1p60);
  Half half{};
  store_int64(&half, DType::f16, -7);
  EXPECT_EQ(load_double(&half, DType::f16), -7.0);
}

}  // namespace
}  // namespace gpuforge
