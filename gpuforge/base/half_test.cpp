#include "gpuforge/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "gpuforge/base/narrow_table_for_tests.h"

namespace gpuforge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T>
class NarrowFloat : public testing::Test {};
using NarrowTypes = testing::Types<Half, BFloat16, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(NarrowFloat, NarrowTypes);

template <typename T>
constexpr unsigned code_count() {
  return 1u << (8 * sizeof(T));
}

template <typename T>
T from_code(unsigned code) {
  return T{static_cast<decltype(T::bits)>(code)};
}

TYPED_TEST(NarrowFloat, EveryValueWidensExactly) {
  for (unsigned code = 0; code < code_count<TypeParam>(); ++code) {
    const double expected = decode_slowly<TypeParam>(code);
    const double found = from_code<TypeParam>(code).to_double();
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << "code " << code;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected))
          << "code " << code;
    }
  }
}

TYPED_TEST(NarrowFloat, EveryFiniteValueSurvivesTheRoundTrip) {
  for (unsigned code = 0; code < code_count<TypeParam>(); ++code) {
    const double value = decode_slowly<TypeParam>(code);
    if (std::isfinite(value)) {
      ASSERT_EQ(TypeParam::from(value), from_code<TypeParam>(code)) << "code " << code;
    }
  }
}

// Every rounding decision there is: at each boundary between neighbours, just below and just above it.
TYPED_TEST(NarrowFloat, RoundsRightAtEveryMidpoint) {
  const std::vector<double> values = finite_values<TypeParam>();
  const auto last = static_cast<unsigned>(values.size() - 1);
  for (unsigned code = 0; code <= last; ++code) {
    const double upper = code < last ? values[code + 1] : 2 * values[last] - values[last - 1];
    const double middle = values[code] + (upper - values[code]) / 2;
    for (double value : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, kInfinity),
                         std::nextafter(values[code], kInfinity), std::nextafter(upper, 0.0), upper}) {
      for (double signed_value : {value, -value}) {
        ASSERT_EQ(TypeParam::from(signed_value).bits, round_slowly<TypeParam>(values, signed_value))
            << std::hexfloat << signed_value;
      }
    }
  }
}

TYPED_TEST(NarrowFloat, AgreesWithTheSearchOnRandomBits) {
  const std::vector<double> values = finite_values<TypeParam>();
  std::mt19937_64 random(20240607);
  std::uniform_int_distribution<int> exponent(-150, 140);
  for (int i = 0; i < 50000; ++i) {
    const double any = std::bit_cast<double>(random());
    const double near =
        std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 12), -52), exponent(random));
    for (double value : {any, near, static_cast<double>(static_cast<float>(near))}) {
      ASSERT_EQ(TypeParam::from(value).bits, round_slowly<TypeParam>(values, value))
          << std::hexfloat << value;
    }
  }
}

TYPED_TEST(NarrowFloat, ZeroKeepsItsSignAndTinyValuesVanish) {
  const unsigned sign = code_count<TypeParam>() / 2;
  EXPECT_EQ(TypeParam::from(0.0).bits, 0u);
  EXPECT_EQ(TypeParam::from(-0.0).bits, sign);
  EXPECT_EQ(TypeParam::from(std::numeric_limits<double>::denorm_min()).bits, 0u);
  EXPECT_EQ(TypeParam::from(-std::numeric_limits<double>::min()).bits, sign);
  EXPECT_TRUE(std::signbit(TypeParam::from(-0.0).to_double()));
}

TEST(Half, KnownBits) {
  EXPECT_EQ(Half::from(1.0).bits, 0x3c00);
  EXPECT_EQ(Half::from(65504.0).bits, 0x7bff);
  EXPECT_EQ(Half::from(65519.99).bits, 0x7bff);
  EXPECT_EQ(Half::from(65520.0).bits, 0x7c00);
  EXPECT_EQ(Half::from(kInfinity).bits, 0x7c00);
  EXPECT_EQ(Half::from(-kInfinity).bits, 0xfc00);
  EXPECT_EQ(Half::from(-std::numeric_limits<double>::max()).bits, 0xfc00);
  EXPECT_EQ(Half::from(kNaN).bits, 0x7fff);
  EXPECT_EQ(Half::from(-kNaN).bits, 0x7fff);
  EXPECT_EQ(Half::from(0x1p-24).bits, 0x0001);
  EXPECT_EQ(Half::from(0x1p-25).bits, 0x0000);
  EXPECT_EQ(Half::from(0x1.8p-24).bits, 0x0002);
  // Two roundings, through float first, would give 0x3c00: float loses the last bit and leaves a tie.
  EXPECT_EQ(Half::from(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
}

TEST(BFloat16, KnownBits) {
  EXPECT_EQ(BFloat16::from(1.0).bits, 0x3f80);
  EXPECT_EQ(BFloat16::from(3.140625).bits, 0x4049);
  EXPECT_EQ(BFloat16::from(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16::from(-kInfinity).bits, 0xff80);
  EXPECT_EQ(BFloat16::from(kNaN).bits, 0x7fff);
  EXPECT_EQ(BFloat16::from(0x1p-133).bits, 0x0001);
  EXPECT_EQ(BFloat16::from(0x1p-134).bits, 0x0000);
}

TEST(Float8E4M3, SaturatesAsTheHardwareDoes) {
  EXPECT_EQ(Float8E4M3::from(1.0).bits, 0x38);
  EXPECT_EQ(Float8E4M3::from(448.0).bits, 0x7e);
  EXPECT_EQ(Float8E4M3::from(464.0).bits, 0x7e);
  EXPECT_EQ(Float8E4M3::from(1e300).bits, 0x7e);
  EXPECT_EQ(Float8E4M3::from(kInfinity).bits, 0x7e);
  EXPECT_EQ(Float8E4M3::from(-kInfinity).bits, 0xfe);
  EXPECT_EQ(Float8E4M3::from(kNaN).bits, 0x7f);
  EXPECT_EQ(Float8E4M3::from(-kNaN).bits, 0x7f);
  EXPECT_EQ(Float8E4M3{0x7e}.to_double(), 448.0);
  EXPECT_EQ(Float8E4M3{0x01}.to_double(), 0x1p-9);
  EXPECT_TRUE(std::isnan(Float8E4M3{0x7f}.to_double()));
  EXPECT_TRUE(std::isnan(Float8E4M3{0xff}.to_double()));
}

TEST(Float8E5M2, SaturatesAsTheHardwareDoes) {
  EXPECT_EQ(Float8E5M2::from(1.0).bits, 0x3c);
  EXPECT_EQ(Float8E5M2::from(57344.0).bits, 0x7b);
  EXPECT_EQ(Float8E5M2::from(61440.0).bits, 0x7b);
  EXPECT_EQ(Float8E5M2::from(-1e300).bits, 0xfb);
  EXPECT_EQ(Float8E5M2::from(kInfinity).bits, 0x7b);
  EXPECT_EQ(Float8E5M2::from(-kInfinity).bits, 0xfb);
  EXPECT_EQ(Float8E5M2::from(kNaN).bits, 0x7f);
  EXPECT_EQ(Float8E5M2{0x7c}.to_double(), kInfinity);
  EXPECT_EQ(Float8E5M2{0xfc}.to_double(), -kInfinity);
  for (unsigned code : {0x7du, 0x7eu, 0x7fu, 0xfdu}) {
    EXPECT_TRUE(std::isnan(from_code<Float8E5M2>(code).to_double())) << code;
  }
}

#ifdef __FLT16_MANT_DIG__
TEST(Half, AgreesWithTheCompilersType) {
  const auto compiler_bits = [](double value) {
    const auto narrow = static_cast<_Float16>(value);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &narrow, sizeof(bits));
    return bits;
  };
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int> exponent(-27, 17);
  for (int i = 0; i < 200000; ++i) {
    const double value =
        std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 12), -52), exponent(random));
    ASSERT_EQ(Half::from(value).bits, compiler_bits(value)) << std::hexfloat << value;
    // Few mantissa bits make ties common.
    const double coarse = std::ldexp(static_cast<double>(random() % 8192), exponent(random) - 12);
    ASSERT_EQ(Half::from(-coarse).bits, compiler_bits(-coarse)) << std::hexfloat << coarse;
  }
  for (unsigned code = 0; code < 0x10000; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    _Float16 narrow{};
    std::memcpy(&narrow, &bits, sizeof(bits));
    const double expected = static_cast<double>(narrow);
    if (!std::isnan(expected)) {
      ASSERT_EQ(Half{bits}.to_double(), expected);
    }
  }
}
#endif

TEST(Half, EqualityIsOfTheBits) {
  EXPECT_EQ(Half{0x7fff}, Half::from(kNaN));
  EXPECT_NE(Half::from(0.0), Half::from(-0.0));
}

}  // namespace
}  // namespace gpuforge
