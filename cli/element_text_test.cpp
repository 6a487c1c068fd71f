#include "cli/element_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "gpuforge/base/convert.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;

double real(std::string_view text, DType dtype) {
  std::byte element[8] = {};
  EXPECT_EQ(parse_element(text, dtype, element), std::nullopt) << text;
  return load_double(element, dtype);
}
std::int64_t whole(std::string_view text, DType dtype) {
  std::byte element[8] = {};
  EXPECT_EQ(parse_element(text, dtype, element), std::nullopt) << text;
  return load_int64(element, dtype);
}
std::string problem(std::string_view text, DType dtype) {
  std::byte element[8] = {};
  return parse_element(text, dtype, element).value_or("");
}

TEST(ElementText, ReadsFloats) {
  EXPECT_EQ(real("1.5", DType::f32), 1.5);
  EXPECT_EQ(real("-1.5e-3", DType::f64), -1.5e-3);
  EXPECT_EQ(real("+2", DType::f32), 2);
  EXPECT_EQ(real(".5", DType::f32), 0.5);
  EXPECT_EQ(real("0x10", DType::f32), 16);
  EXPECT_EQ(real("0x1.8p1", DType::f32), 3);
  EXPECT_EQ(real("2^20", DType::f32), 1048576);
  EXPECT_EQ(real("1e-400", DType::f64), 0);
  EXPECT_EQ(real("65504", DType::f16), 65504);
  EXPECT_EQ(real("448", DType::f8e4m3), 448);
  EXPECT_TRUE(std::signbit(real("-0", DType::f32)));
  for (DType dtype : kAllDTypes) {
    if (!is_floating(dtype)) continue;
    EXPECT_TRUE(std::isnan(real("nan", dtype))) << name(dtype);
    if (dtype == DType::f8e4m3) continue;
    EXPECT_EQ(real("inf", dtype), INFINITY) << name(dtype);
    EXPECT_EQ(real("-inf", dtype), -INFINITY) << name(dtype);
    EXPECT_EQ(real("infinity", dtype), INFINITY) << name(dtype);
  }
}

TEST(ElementText, RefusesFloatsThatDoNotFit) {
  EXPECT_THAT(problem("1e39", DType::f32), HasSubstr("does not fit f32"));
  EXPECT_THAT(problem("-65505", DType::f16), HasSubstr("does not fit f16"));
  EXPECT_THAT(problem("449", DType::f8e4m3), HasSubstr("largest number is 448"));
  EXPECT_THAT(problem("57345", DType::f8e5m2), HasSubstr("does not fit f8e5m2"));
  EXPECT_THAT(problem("inf", DType::f8e4m3), HasSubstr("no infinity"));
  for (const char* text : {"", "-", "--1", "+-1", "1.5x", "1e400", "1 ", " 1", "0x", "e5", "1e"}) {
    EXPECT_NE(problem(text, DType::f64), "") << text;
  }
}

TEST(ElementText, ReadsIntegersToTheirLimits) {
  EXPECT_EQ(whole("127", DType::i8), 127);
  EXPECT_EQ(whole("-128", DType::i8), -128);
  EXPECT_EQ(whole("255", DType::u8), 255);
  EXPECT_EQ(whole("0xff", DType::i32), 255);
  EXPECT_EQ(whole("-0x10", DType::i16), -16);
  EXPECT_EQ(whole("1e6", DType::i32), 1000000);
  EXPECT_EQ(whole("-9223372036854775808", DType::i64), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole("9223372036854775807", DType::i64), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole("-0", DType::u8), 0);
  EXPECT_THAT(problem("128", DType::i8), HasSubstr("does not fit i8 (-128 to 127)"));
  EXPECT_THAT(problem("-129", DType::i8), HasSubstr("does not fit"));
  EXPECT_THAT(problem("256", DType::u8), HasSubstr("(0 to 255)"));
  EXPECT_THAT(problem("-1", DType::u8), HasSubstr("does not fit u8"));
  EXPECT_THAT(problem("0xffffffff", DType::i32), HasSubstr("does not fit i32"));
  EXPECT_THAT(problem("9223372036854775808", DType::i64), HasSubstr("does not fit i64"));
  for (const char* text : {"", "1.5", "x", "0x", "1x", "-", "99999999999999999999"}) {
    EXPECT_NE(problem(text, DType::i64), "") << text;
  }
}

TEST(ElementText, ReadsBools) {
  EXPECT_EQ(whole("true", DType::boolean), 1);
  EXPECT_EQ(whole("False", DType::boolean), 0);
  EXPECT_EQ(whole("1", DType::boolean), 1);
  EXPECT_THAT(problem("2", DType::boolean), HasSubstr("neither true nor false"));
  EXPECT_NE(problem("", DType::boolean), "");
}

TEST(ElementText, ReadsUnsignedOfEveryWidth) {
  std::uint64_t value = 0;
  EXPECT_EQ(parse_unsigned("18446744073709551615", 8, &value), std::nullopt);
  EXPECT_EQ(value, ~std::uint64_t{0});
  value = 0;
  EXPECT_EQ(parse_unsigned("0xffff", 2, &value), std::nullopt);
  EXPECT_EQ(value, 0xffffu);
  EXPECT_THAT(*parse_unsigned("65536", 2, &value), HasSubstr("does not fit u16 (0 to 65535)"));
  EXPECT_THAT(*parse_unsigned("-1", 4, &value), HasSubstr("does not fit u32"));
  EXPECT_TRUE(parse_unsigned("18446744073709551616", 8, &value).has_value());
  EXPECT_TRUE(parse_unsigned("x", 8, &value).has_value());
}

}  // namespace
}  // namespace gpuforge::cli
