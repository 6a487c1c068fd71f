#include "gpuforge/array/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "gpuforge/base/convert.h"

namespace gpuforge {
namespace {

// FNV-1a, so that thousands of lines of NumPy's output fit in one number.
class TextHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

TEST(ShortestDigits, EveryHalfAsNumPyHasIt) {
  TextHash hash;
  for (unsigned bits = 1; bits < 0x7c00; ++bits) {
    const Digits digits = shortest_digits(Half{static_cast<std::uint16_t>(bits)}.to_double(), DType::f16);
    hash.add(digits.digits + "e" + std::to_string(digits.exponent) + "\n");
  }
  EXPECT_EQ(hash.value(), 0xa3bfd2c0abf2d745u);  // of np.format_float_scientific
}

TEST(ShortestDigits, EveryNarrowValueComesBackAndNoneIsLonger) {
  const auto value_of = [](const Digits& digits) {
    return std::stod(digits.digits + "e" +
                     std::to_string(digits.exponent + 1 - static_cast<int>(digits.digits.size())));
  };
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const unsigned count = element_bytes(dtype) == 2 ? 0x8000 : 0x80;
    const std::size_t most_digits = dtype == DType::f16 ? 5 : dtype == DType::bf16 ? 4 : 3;
    for (unsigned bits = 1; bits < count; ++bits) {
      const double value = load_double(&bits, dtype);
      if (!std::isfinite(value)) continue;
      const Digits digits = shortest_digits(value, dtype);
      unsigned back = 0;
      store_double(&back, dtype, value_of(digits));
      ASSERT_EQ(back, bits) << name(dtype) << " " << value << " as " << digits.digits << "e"
                            << digits.exponent;
      ASSERT_LE(digits.digits.size(), most_digits) << name(dtype) << " " << value;
    }
  }
}

TEST(ShortestDigits, PowersOfTwoMayRoundUp) {
  // 2^-24, the smallest f16, has wide neighbours; 1 needs one digit in any type.
  EXPECT_EQ(shortest_digits(0x1p-24, DType::f16).digits, "6");
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    EXPECT_EQ(shortest_digits(1.0, dtype).digits, "1");
    EXPECT_EQ(shortest_digits(1.0, dtype).exponent, 0);
  }
  // Not 5e2, although narrowing saturates that back to 448.
  EXPECT_EQ(shortest_digits(448.0, DType::f8e4m3).digits, "45");
}

// Three values at a time, of wild bits and of everyday sizes, whose common format NumPy chose.
class NumberTextOfDtype : public testing::TestWithParam<std::pair<DType, std::uint64_t>> {};

TEST_P(NumberTextOfDtype, RandomTriplesAsNumPyHasThem) {
  const auto [dtype, expected] = GetParam();
  const std::size_t width = element_bytes(dtype);
  std::uint64_t state = 20240611;
  const auto random = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 16 & 0xffffffff;
  };
  constexpr double kScales[] = {1000.0, 1024.0, 1e5, 1.0};
  TextHash hash;
  for (unsigned group = 0; group < 4000; ++group) {
    std::vector<std::byte> elements(3 * width);
    for (std::size_t i = 0; i < 3; ++i) {
      if (group % 2 == 0) {
        const std::uint64_t high = random();
        const std::uint64_t bits = high << 32 | random();
        std::memcpy(elements.data() + i * width, &bits, width);
      } else {
        const double whole = static_cast<double>(random() % 2000001) - 1000000;
        store_double(elements.data() + i * width, dtype, whole / kScales[group / 2 % 4]);
      }
    }
    const NumberText text(elements, dtype, false);
    ASSERT_EQ(text.count(), 3u);
    hash.add("[" + text(0) + ", " + text(1) + ", " + text(2) + "]\n");
  }
  EXPECT_EQ(hash.value(), expected);
}

INSTANTIATE_TEST_SUITE_P(Floats, NumberTextOfDtype,
                         testing::Values(std::pair(DType::f64, std::uint64_t{0x1f46a3ec99139e0au}),
                                         std::pair(DType::f32, std::uint64_t{0xee3b4fcc594f9221u}),
                                         std::pair(DType::f16, std::uint64_t{0xe422edc61ad3b678u})));

TEST(NumberText, ScalarsAreNotPadded) {
  const std::byte yes{1};
  EXPECT_EQ(NumberText({&yes, 1}, DType::boolean, true)(0), "True");
  EXPECT_EQ(NumberText({&yes, 1}, DType::boolean, false)(0), " True");
}

}  // namespace
}  // namespace gpuforge
