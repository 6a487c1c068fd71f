#include "gpuforge/sched/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge::sched {
namespace {

std::string problem(const std::vector<Partition>& partitions, std::uint64_t bytes = 100) {
  try {
    complete_partitions(partitions, bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  return "none";
}

TEST(Partitions, WithoutAnyTheWholeDeviceIsOne) {
  const auto all = complete_partitions({}, 100);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "default");
  EXPECT_EQ(all[0].memory_bytes, 100u);
  EXPECT_EQ(paced_share(all[0]), 1);
}

TEST(Partitions, TheDefaultOneHasWhatTheOthersLeave) {
  const auto all = complete_partitions(
      std::vector<Partition>{{.name = "online", .memory_bytes = 60, .compute = 0.5, .bandwidth = 0.25}}, 100);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].memory_bytes, 40u);
  EXPECT_DOUBLE_EQ(all[1].compute, 0.5);
  EXPECT_DOUBLE_EQ(all[1].bandwidth, 0.75);
  EXPECT_EQ(paced_share(all[0]), 0.25);
}

TEST(Partitions, SharesThatAddUpToOneLeaveNoDefault) {
  const auto all =
      complete_partitions(std::vector<Partition>{{.name = "a", .compute = 0.1, .bandwidth = 0.1},
                                                 {.name = "b", .compute = 0.2, .bandwidth = 0.2},
                                                 {.name = "c", .compute = 0.7, .bandwidth = 0.7}},
                          100);
  EXPECT_EQ(all.size(), 3u);
}

TEST(Partitions, WhatCannotBeIsRefusedWithNumbers) {
  EXPECT_THAT(problem({{.name = "a", .memory_bytes = 101}}), testing::HasSubstr("101 B was asked for"));
  EXPECT_THAT(problem({{.name = "a", .compute = 0.6}, {.name = "b", .compute = 0.6}}),
              testing::HasSubstr("compute share of 1.2"));
  EXPECT_THAT(problem({{.name = "a", .compute = -0.1}}), testing::HasSubstr("found -0.1"));
  EXPECT_THAT(problem({{.name = "a", .bandwidth = 0}}), testing::HasSubstr("bandwidth share"));
  EXPECT_THAT(problem({{.name = ""}}), testing::HasSubstr("empty name"));
  EXPECT_THAT(problem({{.name = "a", .compute = 0.1, .bandwidth = 0.1},
                       {.name = "a", .compute = 0.1, .bandwidth = 0.1}}),
              testing::HasSubstr("two partitions called a"));
  EXPECT_THAT(problem({{.name = "a", .streams = 0}}), testing::HasSubstr("at least 1 stream"));
  EXPECT_THAT(problem({{.name = "a", .queue = -1}}), testing::HasSubstr("found -1"));
}

TEST(Partitions, EveryLimitSaysHowSureItIs) {
  for (const Limit& limit : limits({.name = "a"})) {
    EXPECT_EQ(limit.enforcement == Enforcement::soft, limit.what == "compute" || limit.what == "bandwidth")
        << limit.what;
    EXPECT_FALSE(limit.how.empty());
  }
}

}  // namespace
}  // namespace gpuforge::sched
