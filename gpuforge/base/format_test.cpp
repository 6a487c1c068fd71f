#include "gpuforge/base/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace gpuforge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(FormatText, EveryKindOfArgument) {
  EXPECT_EQ(format_text("{} {} {}", true, 'c', "text"), "true c text");
  EXPECT_EQ(format_text("{} {}", std::string("a"), std::string_view("b")), "a b");
  EXPECT_EQ(format_text("{}", std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(format_text("{}", std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(format_text("{} {}", std::int8_t{-5}, std::uint8_t{200}), "-5 200");
  EXPECT_EQ(format_text("{} {}", 0.1, 0.5f), "0.1 0.5");
  EXPECT_EQ(format_text("{}", static_cast<const void*>(nullptr)), "0x0");
  EXPECT_EQ(format_text("{}", static_cast<const char*>(nullptr)), "(null)");
}

TEST(FormatText, SpecificationsAndPlainText) {
  EXPECT_EQ(format_text("{:>5}|{:<4}|{:04x}|{:.2f}", 12, "ab", 255, 3.14159), "   12|ab  |00ff|3.14");
  EXPECT_EQ(format_text("{1} {0}", "a", "b"), "b a");
  EXPECT_EQ(format_text("{{}} 100%"), "{} 100%");
  EXPECT_EQ(format_text(""), "");
}

TEST(FormatText, TextInArgumentsIsNotAPattern) {
  EXPECT_EQ(format_text("{}", "{} {:d} }"), "{} {:d} }");
  EXPECT_EQ(format_text("{}", std::string_view("a\0b", 3)), std::string("a\0b", 3));
}

TEST(FormatText, ABadPatternIsReturnedWithANote) {
  for (const char* pattern :
       {"{", "}", "{} {}", "{5}", "{:d}", "{name}", "{:.}", "{:9999999999999}", "{0} {}"}) {
    std::string text;
    EXPECT_NO_THROW(text = format_text(pattern, "text")) << pattern;
    EXPECT_THAT(text, StartsWith(pattern));
    EXPECT_THAT(text, HasSubstr("[bad format pattern: "));
  }
  EXPECT_THAT(format_text("no argument {}"), StartsWith("no argument {}"));
}

}  // namespace
}  // namespace gpuforge
