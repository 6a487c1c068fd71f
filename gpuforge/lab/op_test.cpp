#include "gpuforge/lab/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuforge::lab {
namespace {

using testing::HasSubstr;

Op small_op() {
  Op op;
  op.name = "halve";
  op.variants = {{"best", ""}, {"naive", ""}};
  op.dtypes = {DType::f16, DType::f32};
  op.options = {{"dim", "-1", {}, ""}, {"mode", "up", {"up", "down"}, ""}};
  return op;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return std::string(error.message());
  }
  return "nothing was thrown";
}

TEST(LabOp, CompleteSetsWhatWasNotGiven) {
  const Problem problem =
      complete(small_op(), {.shape = {4, 5}, .dtype = DType::f16, .options = {{"dim", "0"}}});
  EXPECT_EQ(to_string(problem), "f16 4x5 dim=0 mode=up");
}

TEST(LabOp, CompleteRefusesWhatTheOpDoesNotHave) {
  const Op op = small_op();
  EXPECT_EQ(refusal([&] { complete(op, {.dtype = DType::i8}); }),
            "halve: dtype i8 was asked for; it has f16, f32");
  EXPECT_EQ(refusal([&] {
              complete(op, {.options = {{"axis", "1"}}});
            }),
            "halve: there is no option 'axis'; it has dim, mode");
  EXPECT_EQ(refusal([&] {
              complete(op, {.options = {{"dim", "1.5"}}});
            }),
            "halve: dim takes an integer, found '1.5'");
  EXPECT_EQ(refusal([&] {
              complete(op, {.options = {{"mode", "left"}}});
            }),
            "halve: mode is one of up, down; found 'left'");
}

TEST(LabOp, TheFirstVariantIsTakenWhenNoneIsNamed) {
  const Op op = small_op();
  EXPECT_EQ(find_variant(op, "").name, "best");
  EXPECT_EQ(find_variant(op, "naive").name, "naive");
  EXPECT_EQ(refusal([&] { find_variant(op, "fast"); }),
            "halve: there is no variant 'fast'; it has best, naive");
}

TEST(LabOp, ShapesAreReadAndWritten) {
  EXPECT_EQ(parse_shape("4096x1024"), (Shape{4096, 1024}));
  EXPECT_EQ(parse_shape("7,0"), (Shape{7, 0}));
  EXPECT_EQ(parse_shape(""), Shape{});
  EXPECT_EQ(shape_text({4096, 1024}), "4096x1024");
  EXPECT_EQ(shape_text({}), "scalar");
  for (const char* const bad :
       {"x", "4x", "-1", "4 x 5", "1e3", "99999999999999999999", "4294967296x4294967296"}) {
    EXPECT_NE(refusal([&] { parse_shape(bad); }), "nothing was thrown") << bad;
  }
}

}  // namespace
}  // namespace gpuforge::lab
