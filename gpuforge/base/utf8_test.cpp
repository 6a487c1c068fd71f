#include "gpuforge/base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gpuforge {
namespace {

const std::string kReplacement = "\xef\xbf\xbd";

std::string encode(std::uint32_t code) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

TEST(RepairUtf8, KeepsEveryCharacterThereIsAndNoSurrogate) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const std::string text = encode(code);
    if (code >= 0xd800 && code < 0xe000) {
      ASSERT_EQ(repair_utf8(text), kReplacement + kReplacement + kReplacement) << code;
    } else {
      ASSERT_EQ(repair_utf8(text), text) << code;
    }
  }
  EXPECT_EQ(repair_utf8(""), "");
}

TEST(RepairUtf8, ReplacesBrokenSequences) {
  EXPECT_EQ(repair_utf8("a\x80z"), "a" + kReplacement + "z");       // a tail without a head
  EXPECT_EQ(repair_utf8("\xffz"), kReplacement + "z");              // never in UTF-8
  EXPECT_EQ(repair_utf8("\xc3z"), kReplacement + "z");              // a head without its tail
  EXPECT_EQ(repair_utf8("\xe2\x82"), kReplacement);                 // cut off: one for the prefix
  EXPECT_EQ(repair_utf8("\xf0\x9f\x98z"), kReplacement + "z");      //
  EXPECT_EQ(repair_utf8("\xc0\xaf"), kReplacement + kReplacement);  // overlong
  EXPECT_EQ(repair_utf8("\xe0\x9f\xbf"), kReplacement + kReplacement + kReplacement);
  EXPECT_EQ(repair_utf8("\xf4\x90\x80\x80"), kReplacement + kReplacement + kReplacement + kReplacement);
}

}  // namespace
}  // namespace gpuforge
