#include "gpuforge/lab/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const NameValues kValues = {{"M", std::int64_t{7}},
                            {"N", std::int64_t{1000}},
                            {"ZERO", std::int64_t{0}},
                            {"BLOCK", std::int64_t{128}},
                            {"eps", 1e-5},
                            {"sizeof(T)", std::int64_t{2}}};

std::string refusal(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.message();
  }
  return "nothing was thrown";
}

std::int64_t integer(std::string_view text) {
  return Expression::parse(text, "k.cu:3").integer(kValues);
}

double number(std::string_view text) {
  return Expression::parse(text, "k.cu:3").number(kValues);
}

TEST(LabExpression, WholeNumbers) {
  EXPECT_EQ(integer("ceil_div(N, BLOCK)"), 8);
  EXPECT_EQ(integer("2 + 3 * 4 - 10 / 3 % 2"), 13);
  EXPECT_EQ(integer("-(M - 10) * 2"), 6);
  EXPECT_EQ(integer("min(N, 64, M) + max(1, 2)"), 9);
  EXPECT_EQ(integer("round_up(N, 32) * sizeof(T)"), 2048);
  EXPECT_EQ(integer("next_power_of_two(N)"), 1024);
  EXPECT_EQ(integer("abs(3 - M)"), 4);
  EXPECT_EQ(integer("0x10 + 1e3"), 1016);
  EXPECT_EQ(integer("N % 4 == 0 and not (M % 2 == 0)"), 1);
  EXPECT_EQ(integer("M > 100 || N >= 1000 && M != 7"), 0);
  EXPECT_EQ(integer("ZERO == 0 or N / ZERO > 1"), 1);
}

TEST(LabExpression, NumbersWithFractions) {
  EXPECT_EQ(number("1 / BLOCK"), 0.0078125);
  EXPECT_EQ(number("eps * 2"), 2e-5);
  EXPECT_EQ(number("sqrt(16) + .5"), 4.5);
  EXPECT_TRUE(Expression::parse("eps < 0.1", "k.cu:3").holds(kValues));
}

TEST(LabExpression, NamesAreListedAndLookedUp) {
  const Expression expression = Expression::parse("ceil_div(N, BLOCK) * M + N * sizeof(T)", "k.cu:3");
  EXPECT_THAT(expression.names(), ElementsAre("N", "BLOCK", "M", "sizeof(T)"));
  const std::vector<std::string> known = {"M", "N", "BLOCKS", "sizeof(T)"};
  EXPECT_THAT(refusal(ErrorCode::parse, [&] { expression.allow_names(known); }),
              HasSubstr("there is no 'BLOCK'; did you mean 'BLOCKS'?"));
}

TEST(LabExpression, BadTextIsRefusedWithThePlace) {
  const auto message = [](std::string_view text) {
    return refusal(ErrorCode::parse, [&] { Expression::parse(text, "k.cu:3"); });
  };
  EXPECT_EQ(message("N +"), "k.cu:3: in 'N +': a number or a name was expected at the end");
  EXPECT_THAT(message("(N"), HasSubstr("')' was expected at the end"));
  EXPECT_THAT(message("N M"), HasSubstr("'M' was not expected"));
  EXPECT_THAT(message("ceildiv(N, 2)"),
              HasSubstr("there is no function 'ceildiv'; did you mean 'ceil_div'?"));
  EXPECT_THAT(message("ceil_div(N)"), HasSubstr("ceil_div takes 2 arguments, and 1 were given"));
  EXPECT_THAT(message("0 < N < 4"), HasSubstr("cannot be chained"));
  EXPECT_THAT(message("12abc"), HasSubstr("is no number"));
  EXPECT_THAT(message("99999999999999999999999 + 0xzz"), HasSubstr("is no number"));
  EXPECT_THAT(message(std::string(500, '(')), HasSubstr("nested deeper"));
  EXPECT_THAT(message(std::string(2000, '1')), HasSubstr("more than 1000 characters"));
  EXPECT_THAT(message("$"), HasSubstr("expected at '$'"));
}

TEST(LabExpression, WhatCannotBeComputedSaysWithWhich) {
  const auto message = [](std::string_view text) {
    return refusal(ErrorCode::invalid_argument, [&] { integer(text); });
  };
  EXPECT_EQ(message("N / ZERO"), "k.cu:3: 'N / ZERO' with N = 1000, ZERO = 0: division by zero");
  EXPECT_THAT(message("N % (M - 7)"), HasSubstr("division by zero"));
  EXPECT_THAT(message("ceil_div(N, ZERO)"), HasSubstr("division by zero"));
  EXPECT_THAT(message("N * 9223372036854775807"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(message("-9223372036854775807 - 2"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(message("(-9223372036854775807 - 1) / -1"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(message("next_power_of_two(9223372036854775807)"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(message("N * 0.5"), HasSubstr("a whole number was expected; found 0.5"));
  EXPECT_THAT(message("N * eps"), HasSubstr("eps is no whole number"));
  EXPECT_THAT(message("K"), HasSubstr("K has no value here"));
}

TEST(LabExpression, AnyTextIsAnAnswerOrAnError) {
  constexpr std::string_view kPieces[] = {"N",
                                          "M",
                                          "ZERO",
                                          "eps",
                                          "(",
                                          ")",
                                          "+",
                                          "-",
                                          "*",
                                          "/",
                                          "%",
                                          "==",
                                          "<",
                                          "and",
                                          "or",
                                          "!",
                                          ",",
                                          "min(",
                                          "sqrt(",
                                          "1e9",
                                          "0x",
                                          "7",
                                          "9223372036854775807",
                                          "ceil_div(",
                                          "sizeof(",
                                          " ",
                                          ".",
                                          "\x80"};
  std::mt19937 random(5);
  int answers = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto piece = random() % 9 + 1; piece > 0; --piece) text += kPieces[random() % std::size(kPieces)];
    try {
      const Expression expression = Expression::parse(text, "k.cu:1");
      ++answers;
      expression.number(kValues);
      expression.integer(kValues);
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("k.cu:")) << text;
      EXPECT_NE(error.code(), ErrorCode::internal) << text;
    }
  }
  EXPECT_GT(answers, 500);
}

}  // namespace
}  // namespace gpuforge::lab
