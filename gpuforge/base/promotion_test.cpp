#include "gpuforge/base/promotion.h"

#include <gtest/gtest.h>

namespace gpuforge {
namespace {

// NumPy's own table (np.promote_types) for the dtypes it has.
TEST(Promotion, IsNumPysTable) {
  using enum DType;
  const DType order[] = {boolean, u8, i8, i16, i32, i64, f16, f32, f64};
  const DType expected[9][9] = {
      {boolean, u8, i8, i16, i32, i64, f16, f32, f64}, {u8, u8, i16, i16, i32, i64, f16, f32, f64},
      {i8, i16, i8, i16, i32, i64, f16, f32, f64},     {i16, i16, i16, i16, i32, i64, f32, f32, f64},
      {i32, i32, i32, i32, i32, i64, f64, f64, f64},   {i64, i64, i64, i64, i64, i64, f64, f64, f64},
      {f16, f16, f16, f32, f64, f64, f16, f32, f64},   {f32, f32, f32, f32, f64, f64, f32, f32, f64},
      {f64, f64, f64, f64, f64, f64, f64, f64, f64}};
  for (int a = 0; a < 9; ++a) {
    for (int b = 0; b < 9; ++b) {
      EXPECT_EQ(name(promote(order[a], order[b])), name(expected[a][b]))
          << name(order[a]) << " and " << name(order[b]);
    }
  }
}

TEST(Promotion, NarrowFloatsMeetWhereBothAreHeld) {
  using enum DType;
  EXPECT_EQ(promote(f16, bf16), f32);
  EXPECT_EQ(promote(bf16, u8), bf16);
  EXPECT_EQ(promote(bf16, i16), f32);
  EXPECT_EQ(promote(bf16, i32), f64);
  EXPECT_EQ(promote(f8e4m3, f8e4m3), f8e4m3);
  EXPECT_EQ(promote(f8e4m3, f8e5m2), f16);
  EXPECT_EQ(promote(f8e5m2, f16), f16);
  EXPECT_EQ(promote(f8e4m3, bf16), bf16);
  EXPECT_EQ(promote(f8e4m3, i8), f16);
  EXPECT_EQ(promote(f8e4m3, boolean), f8e4m3);
  EXPECT_EQ(promote(f8e5m2, f32), f32);
}

TEST(Promotion, OrderDoesNotMatter) {
  for (const DType a : kAllDTypes) {
    for (const DType b : kAllDTypes) EXPECT_EQ(promote(a, b), promote(b, a)) << name(a) << name(b);
  }
}

TEST(Promotion, ScalarsTakeTheDtypeOfTheirKind) {
  using enum DType;
  const auto with = [](DType array, ScalarKind kind) {
    return promote(std::span(&array, 1), std::span(&kind, 1));
  };
  EXPECT_EQ(with(i8, ScalarKind::integer), i8);
  EXPECT_EQ(with(i8, ScalarKind::floating), f64);
  EXPECT_EQ(with(boolean, ScalarKind::integer), i64);
  EXPECT_EQ(with(boolean, ScalarKind::boolean), boolean);
  EXPECT_EQ(with(f8e4m3, ScalarKind::floating), f8e4m3);
  EXPECT_EQ(with(f16, ScalarKind::integer), f16);
  const ScalarKind both[] = {ScalarKind::integer, ScalarKind::floating};
  EXPECT_EQ(promote({}, both), f64);
  EXPECT_EQ(promote({}, std::span(both, 1)), i64);
  EXPECT_THROW(promote(std::span<const DType>{}, std::span<const ScalarKind>{}), Error);
}

TEST(Promotion, FloatsForIntegersAndCasts) {
  using enum DType;
  EXPECT_EQ(floating_for(boolean), f16);
  EXPECT_EQ(floating_for(u8), f16);
  EXPECT_EQ(floating_for(i16), f32);
  EXPECT_EQ(floating_for(i32), f64);
  EXPECT_EQ(floating_for(bf16), bf16);
  EXPECT_TRUE(can_cast_same_kind(f64, f8e4m3));
  EXPECT_TRUE(can_cast_same_kind(i64, f16));
  EXPECT_FALSE(can_cast_same_kind(f16, i64));
  EXPECT_FALSE(can_cast_same_kind(i8, boolean));
}

}  // namespace
}  // namespace gpuforge
