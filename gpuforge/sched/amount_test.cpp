#include "gpuforge/sched/amount.h"

#include <gtest/gtest.h>

namespace gpuforge::sched {
namespace {

TEST(SchedAmount, SizesAreReadWithTheirUnits) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("512MiB"), 512ull << 20);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 3ull << 29);
  EXPECT_EQ(parse_bytes("80GB"), 80'000'000'000u);
  EXPECT_EQ(parse_bytes("17B"), 17u);
}

TEST(SchedAmount, WhatIsNoSizeIsNothing) {
  for (const char* text : {"", "-1", "-1GiB", "GiB", "1XiB", "nan", "inf", "1e300", "9.3e18", "99999999TiB",
                           "1 2", "0x10", "+5"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(SchedAmount, TimesAreReadWithTheirUnits) {
  EXPECT_EQ(parse_duration_us("0"), 0.0);
  EXPECT_EQ(parse_duration_us("200us"), 200.0);
  EXPECT_EQ(parse_duration_us("1.5ms"), 1500.0);
  EXPECT_EQ(parse_duration_us("2s"), 2e6);
  EXPECT_EQ(parse_duration_us("500ns"), 0.5);
  for (const char* text : {"", "5", "-1ms", "ms", "nans", "infs", "1e9s", "1 m"})
    EXPECT_EQ(parse_duration_us(text), std::nullopt) << text;
}

TEST(SchedAmount, TheyAreShown) {
  EXPECT_EQ(show_bytes(17), "17 B");
  EXPECT_EQ(show_bytes(3ull << 29), "1.5 GiB");
  EXPECT_EQ(show_us(999), "999 us");
  EXPECT_EQ(show_us(1200), "1.20 ms");
  EXPECT_EQ(show_us(2.5e6), "2.50 s");
  EXPECT_EQ(show_us(-18750), "-18.75 ms");
}

}  // namespace
}  // namespace gpuforge::sched
