#include "gpuforge/memory/size_class.h"

#include <gtest/gtest.h>

namespace gpuforge::memory {
namespace {

TEST(SizeClass, EverySmallSizeFitsItsClassAndNotTheOneBelow) {
  for (std::size_t bytes = 1; bytes <= kLargestSmallBytes; ++bytes) {
    const unsigned index = size_class(bytes);
    ASSERT_LT(index, kSizeClasses) << bytes;
    ASSERT_GE(class_bytes(index), bytes);
    if (index > 0) {
      ASSERT_LT(class_bytes(index - 1), bytes) << index;
    }
  }
}

TEST(SizeClass, ClassesAreAlignedAndGrow) {
  for (unsigned index = 0; index < kSizeClasses; ++index) {
    EXPECT_EQ(class_bytes(index) % kAlignmentBytes, 0u);
    EXPECT_EQ(size_class(class_bytes(index)), index);
    if (index > 0) {
      EXPECT_GT(class_bytes(index), class_bytes(index - 1));
    }
  }
}

// The whole range in which rounding matters; above it, a unit is next to nothing.
TEST(SizeClass, NoBlockWastesMoreThanAQuarter) {
  for (std::size_t bytes = 1; bytes <= std::size_t{4} << 20; ++bytes) {
    const std::size_t block = block_bytes(bytes);
    ASSERT_GE(block, bytes);
    const std::size_t aligned = (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    ASSERT_LE((block - aligned) * 4, block) << bytes << " bytes take " << block;
    if (bytes >= kUnwastefulBytes) {
      ASSERT_LE((block - bytes) * 4, block) << bytes << " bytes take " << block;
    }
  }
  for (std::size_t bytes = std::size_t{4} << 20; bytes < std::size_t{1} << 62; bytes += bytes / 3 + 1) {
    ASSERT_GE(block_bytes(bytes), bytes);
    ASSERT_LE((block_bytes(bytes) - bytes) * 4, block_bytes(bytes));
  }
}

TEST(SizeClass, SlabsHoldAtLeastEightBlocksAndLoseLittle) {
  for (unsigned index = 0; index < kSizeClasses; ++index) {
    const std::size_t slab = slab_units(index) * kUnitBytes;
    const std::size_t blocks = slab / class_bytes(index);
    EXPECT_GE(blocks, 8u) << index;
    EXPECT_LE((slab - blocks * class_bytes(index)) * 9, slab) << index;
  }
}

}  // namespace
}  // namespace gpuforge::memory
