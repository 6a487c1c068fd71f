#include "gpuforge/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <utility>

namespace gpuforge {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

static_assert(std::is_nothrow_copy_constructible_v<Error>);

TEST(ErrorCode, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::out_of_memory, ErrorCode::unsupported, ErrorCode::unavailable,
        ErrorCode::compile, ErrorCode::parse, ErrorCode::io, ErrorCode::cuda, ErrorCode::internal}) {
    names.insert(name(code));
  }
  EXPECT_EQ(names.size(), 9u);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Error, KeepsWhatItWasGiven) {
  const Error error(ErrorCode::compile, "jit: it failed", "a long log");
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_STREQ(error.what(), "jit: it failed");
  EXPECT_EQ(error.message(), "jit: it failed");
  EXPECT_EQ(error.detail(), "a long log");
  EXPECT_THAT(error.where().file_name(), EndsWith("error_test.cpp"));
}

TEST(Error, IsWholeAfterBeingCopiedAndMovedFrom) {
  Error original(ErrorCode::io, "file: gone");
  const Error moved = std::move(original);
  EXPECT_STREQ(moved.what(), "file: gone");
  EXPECT_STREQ(original.what(), "file: gone");  // NOLINT: that it still answers is the point
}

TEST(Check, IsTheCallersMistake) {
  int evaluated = 0;
  EXPECT_NO_THROW(GPUFORGE_CHECK(++evaluated == 1, "op: never built"));
  EXPECT_EQ(evaluated, 1);
  const unsigned line = __LINE__ + 2;
  try {
    GPUFORGE_CHECK(evaluated == 2, "op: expected {}, found {}", 2, evaluated);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), "op: expected 2, found 1");
    EXPECT_EQ(error.where().line(), line);
  }
}

TEST(Assert, IsOurs) {
  try {
    GPUFORGE_ASSERT(1 + 1 == 3, "pool: lost a block");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_THAT(error.message(), HasSubstr("pool: lost a block"));
    EXPECT_THAT(error.message(), HasSubstr("1 + 1 == 3"));
  }
}

}  // namespace
}  // namespace gpuforge
