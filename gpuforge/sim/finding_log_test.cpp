#include "gpuforge/sim/finding_log.h"

#include <gtest/gtest.h>

namespace gpuforge::sim {
namespace {

TEST(FindingLog, OneEntryPerKindAndPlaces) {
  FindingLog log;
  EXPECT_TRUE(log.empty());
  Finding* first = log.add(FindingKind::race, 3, 7);
  ASSERT_NE(first, nullptr);
  first->message = "first";
  EXPECT_EQ(log.add(FindingKind::race, 3, 7), nullptr);
  EXPECT_EQ(log.add(FindingKind::race, 3, 7), nullptr);
  EXPECT_NE(log.add(FindingKind::race, 7, 3), nullptr);
  EXPECT_NE(log.add(FindingKind::misaligned, 3), nullptr);
  EXPECT_NE(log.add(FindingKind::race, 3), nullptr);
  ASSERT_EQ(log.entries().size(), 4u);
  EXPECT_EQ(log.entries()[0].message, "first");
  EXPECT_EQ(log.entries()[0].count, 3u);
  EXPECT_EQ(log.entries()[2].kind, FindingKind::misaligned);
  EXPECT_EQ(log.take().size(), 4u);
}

}  // namespace
}  // namespace gpuforge::sim
