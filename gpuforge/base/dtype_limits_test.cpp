#include "gpuforge/base/dtype_limits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gpuforge/base/convert.h"

namespace gpuforge {
namespace {

double stored(DType dtype, double value) {
  std::uint64_t bytes = 0;
  store_double(&bytes, dtype, value);
  return load_double(&bytes, dtype);
}

// The conversions know the formats; the limits must be theirs.
TEST(DTypeLimits, AreWhatTheConversionsKeep) {
  for (const DType dtype : kAllDTypes) {
    if (!is_floating(dtype)) continue;
    SCOPED_TRACE(name(dtype));
    const DTypeLimits limits = limits_of(dtype);
    EXPECT_EQ(stored(dtype, limits.largest), limits.largest);
    EXPECT_EQ(stored(dtype, limits.smallest), limits.smallest);
    EXPECT_EQ(stored(dtype, limits.smallest / 4), 0);
    EXPECT_EQ(stored(dtype, 1 + 2 * limits.rounding), 1 + 2 * limits.rounding);
    if (dtype == DType::f64) continue;  // no wider one to see what is lost
    EXPECT_EQ(stored(dtype, 1 + limits.rounding), 1) << "half a unit goes to the even one";
    EXPECT_NE(stored(dtype, limits.largest * (1 + 1.5 * limits.rounding)),
              limits.largest * (1 + 1.5 * limits.rounding));
    // One unit above the smallest normal number is kept, and lost half as far up.
    EXPECT_EQ(stored(dtype, limits.smallest_normal + limits.smallest),
              limits.smallest_normal + limits.smallest);
    EXPECT_EQ(limits.smallest_normal * 2 * limits.rounding, limits.smallest);
  }
}

TEST(DTypeLimits, OfIntegers) {
  EXPECT_EQ(limits_of(DType::i64).largest, 9007199254740992.0);
  for (const DType dtype : {DType::i32, DType::i16, DType::i8, DType::u8}) {
    const double largest = limits_of(dtype).largest;
    EXPECT_EQ(stored(dtype, largest), largest) << name(dtype);
    EXPECT_NE(stored(dtype, largest + 1), largest + 1) << name(dtype);
  }
  EXPECT_EQ(limits_of(DType::boolean).largest, 1);
}

}  // namespace
}  // namespace gpuforge
