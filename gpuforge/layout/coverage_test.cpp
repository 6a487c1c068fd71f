#include "gpuforge/layout/coverage.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace gpuforge::layout {
namespace {

Coverage of(std::string_view text) {
  return coverage(parse_layout(text));
}

TEST(Coverage, SaysWhatIsSure) {
  EXPECT_EQ(of("(8,4):(1,8)").compact, true);
  EXPECT_EQ(of("(8,4):(4,1)").compact, true);
  EXPECT_EQ(of("(8,4):(1,9)").compact, false);
  EXPECT_EQ(of("(8,4):(1,9)").injective, true);
  EXPECT_EQ(of("(8,4):(1,4)").injective, false);
  EXPECT_EQ(of("(8,4):(1,0)").injective, false);
  EXPECT_EQ(of("(?,4):(1,0)").injective, false);
  EXPECT_EQ(of("(?,4):(1,?)").injective, std::nullopt);
  EXPECT_EQ(of("4:-1").injective, true);
  EXPECT_EQ(of("4:-1").compact, false);
  EXPECT_EQ(coverage(SwizzledLayout{Swizzle(2, 0, 3), 0, parse_layout("(8,8):(8,1)")}).compact, true);
  EXPECT_EQ(coverage(SwizzledLayout{Swizzle(2, 0, 3), 0, parse_layout("(2,3):(3,1)")}).compact, std::nullopt);
}

TEST(Coverage, OfSwizzledLayouts) {
  int compact = 0;
  for (int bits = 0; bits < 3; ++bits)
    for (int base = 0; base < 3; ++base)
      for (int shift = -4; shift <= 4; ++shift)
        for (const std::int64_t count : {3, 8, 16, 24, 64}) {
          if (std::abs(shift) < bits) continue;
          const SwizzledLayout layout{Swizzle(bits, base, shift), 0, Layout(IntTuple(count))};
          std::set<std::int64_t> indices;
          for (std::int64_t i = 0; i < count; ++i) indices.insert(crd2idx(IntTuple(i), layout).value());
          EXPECT_EQ(indices.size(), static_cast<std::size_t>(count));
          if (!coverage(layout).compact.value_or(false)) continue;
          ++compact;
          EXPECT_EQ(*indices.rbegin(), count - 1) << to_text(layout);
        }
  EXPECT_GT(compact, 100);
}

TEST(Coverage, AgreesWithEveryIndex) {
  std::mt19937 random(3);
  int answered = 0;
  for (int round = 0; round < 3000; ++round) {
    TupleBuilder shape, stride;
    shape.open();
    stride.open();
    for (std::size_t modes = 1 + random() % 3; modes > 0; --modes) {
      shape.add(Integer(1 + static_cast<std::int64_t>(random() % 5)));
      stride.add(Integer(static_cast<std::int64_t>(random() % 14) - 2));
    }
    shape.close();
    stride.close();
    const Layout layout(shape.take(), stride.take());
    std::set<std::int64_t> indices;
    const std::int64_t count = size(layout).value();
    for (std::int64_t i = 0; i < count; ++i) indices.insert(crd2idx(IntTuple(i), layout).value());
    const bool injective = indices.size() == static_cast<std::size_t>(count);
    const bool compact = injective && *indices.begin() == 0 && *indices.rbegin() == count - 1;
    const Coverage found = coverage(layout);
    answered += found.injective.has_value();
    EXPECT_EQ(found.injective.value_or(injective), injective) << to_text(layout);
    EXPECT_EQ(found.compact.value_or(compact), compact) << to_text(layout);
  }
  EXPECT_GT(answered, 2500);
}

}  // namespace
}  // namespace gpuforge::layout
