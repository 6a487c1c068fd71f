#include "gpuforge/layout/integer.h"

#include <gtest/gtest.h>

#include <limits>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
const Integer kUnknown = Integer::unknown();

TEST(Integer, KnownNumbersAreNumbers) {
  EXPECT_EQ(Integer(7) + 5, Integer(12));
  EXPECT_EQ(Integer(7) - 9, Integer(-2));
  EXPECT_EQ(Integer(-7) * 5, Integer(-35));
  EXPECT_EQ(Integer(7) / 2, Integer(3));
  EXPECT_EQ(Integer(7) % 4, Integer(3));
  EXPECT_EQ(ceil_div(7, 2), Integer(4));
  EXPECT_EQ(ceil_div(8, 2), Integer(4));
  EXPECT_EQ(min(3, 2), Integer(2));
  EXPECT_EQ(abs(-3), Integer(3));
  EXPECT_EQ(signum(-3), Integer(-1));
  EXPECT_EQ(signum(0), Integer(0));
  EXPECT_EQ(signum(9), Integer(1));
}

TEST(Integer, UnknownStaysUnknownUnlessTheResultDoesNotDependOnIt) {
  EXPECT_FALSE(kUnknown.known());
  EXPECT_EQ(kUnknown + 1, kUnknown);
  EXPECT_EQ(1 - kUnknown, kUnknown);
  EXPECT_EQ(kUnknown * 2, kUnknown);
  EXPECT_EQ(kUnknown * 0, Integer(0));
  EXPECT_EQ(0 * kUnknown, Integer(0));
  EXPECT_EQ(0 / kUnknown, Integer(0));
  EXPECT_EQ(kUnknown / 1, kUnknown);
  EXPECT_EQ(0 % kUnknown, Integer(0));
  EXPECT_EQ(kUnknown % 1, Integer(0));
  EXPECT_EQ(kUnknown % -1, Integer(0));
  EXPECT_EQ(kUnknown % 2, kUnknown);
  EXPECT_EQ(ceil_div(kUnknown, 4), kUnknown);
  EXPECT_EQ(min(kUnknown, 1), kUnknown);
  EXPECT_EQ(abs(kUnknown), kUnknown);
  EXPECT_EQ(signum(kUnknown), kUnknown);
}

TEST(Integer, OverflowIsAnError) {
  EXPECT_THROW(Integer(kMost) + 1, Error);
  EXPECT_THROW(Integer(-kMost) - 1, Error);  // would be the number that stands for ?
  EXPECT_THROW(Integer(-kMost) - 2, Error);
  EXPECT_THROW(Integer(kMost) * 2, Error);
  EXPECT_THROW(Integer(std::int64_t{1} << 62) * -2, Error);
  EXPECT_EQ(Integer(kMost - 1) + 1, Integer(kMost));
  EXPECT_EQ(Integer(kMost) * -1, Integer(-kMost));
}

TEST(Integer, DivisionByZeroIsAnErrorEvenOfTheUnknown) {
  for (const Integer a : {Integer(4), Integer(0), kUnknown}) {
    EXPECT_THROW(a / 0, Error);
    EXPECT_THROW(a % 0, Error);
  }
}

}  // namespace
}  // namespace gpuforge::layout
