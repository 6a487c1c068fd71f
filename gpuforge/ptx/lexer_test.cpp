#include "gpuforge/ptx/lexer.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge::ptx {
namespace {

std::vector<Token> tokens(std::string_view text) {
  Lexer lexer(text, "test");
  std::vector<Token> list;
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) list.push_back(token);
  return list;
}

Constant number(std::string_view text) {
  const auto list = tokens(text);
  EXPECT_EQ(list.size(), 1u) << text;
  EXPECT_EQ(list.at(0).kind, TokenKind::number) << text;
  return list.at(0).constant;
}

std::string failure(std::string_view text) {
  try {
    tokens(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.what();
  }
  return "";
}

TEST(Lexer, WordsModifiersAndPunctuation) {
  const auto list = tokens("ld.global.L2::128B.v4.f32 {%f1, $L_2}, [_Z1f%rd+4];");
  ASSERT_GE(list.size(), 9u);
  EXPECT_EQ(list[0].text, "ld");
  EXPECT_EQ(list[1].text, "global");
  EXPECT_EQ(list[1].kind, TokenKind::dotted);
  EXPECT_EQ(list[2].text, "L2::128B");
  EXPECT_EQ(list[3].text, "v4");
  EXPECT_EQ(list[4].text, "f32");
  EXPECT_TRUE(list[5].is('{'));
  EXPECT_EQ(list[6].text, "%f1");
  EXPECT_EQ(list[8].text, "$L_2");
}

TEST(Lexer, NumbersOfEveryForm) {
  EXPECT_EQ(number("42").bits, 42u);
  EXPECT_EQ(number("0x1F").bits, 31u);
  EXPECT_EQ(number("017").bits, 15u);
  EXPECT_EQ(number("0b101").bits, 5u);
  EXPECT_EQ(number("0").bits, 0u);
  EXPECT_TRUE(number("7U").is_unsigned);
  EXPECT_EQ(number("18446744073709551615U").bits, ~std::uint64_t{0});
  EXPECT_EQ(number("0f3F800000"), (Constant{Constant::Kind::f32, false, 0x3F800000}));
  EXPECT_EQ(number("0d3FF0000000000000"), (Constant{Constant::Kind::f64, false, 0x3FF0000000000000}));
  EXPECT_EQ(number("1.5").bits, std::bit_cast<std::uint64_t>(1.5));
  EXPECT_EQ(number("2e3").bits, std::bit_cast<std::uint64_t>(2000.0));
}

TEST(Lexer, PositionsCountLinesThroughComments) {
  const auto list = tokens("a // one\n/* two\n three */ b\n  c");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1].position.line, 3u);
  EXPECT_EQ(list[1].position.column, 11u);
  EXPECT_EQ(list[2].position.line, 4u);
  EXPECT_EQ(list[2].position.column, 3u);
}

TEST(Lexer, GluedTellsSpecialRegistersFromNewWords) {
  const auto list = tokens("%tid.x .x");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(list[1].glued);
  EXPECT_FALSE(list[2].glued);
}

TEST(Lexer, BadTextIsAnErrorWithItsPlace) {
  EXPECT_EQ(failure("a\n  \x01"), "test:2:3: unexpected character 0x01");
  EXPECT_NE(failure("/* open").find("test:1:1: this comment is not closed"), std::string::npos);
  EXPECT_NE(failure("\"open\n\"").find("this string is not closed"), std::string::npos);
  EXPECT_NE(failure("\"ends in a backslash\\").find("this string is not closed"), std::string::npos);
  EXPECT_NE(failure("12abc").find("malformed number"), std::string::npos);
  EXPECT_NE(failure("0f3F80").find("need 8 digits"), std::string::npos);
  EXPECT_NE(failure("99999999999999999999").find("too large"), std::string::npos);
  EXPECT_NE(failure("0x").find("malformed"), std::string::npos);
}

}  // namespace
}  // namespace gpuforge::ptx
