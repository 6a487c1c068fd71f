#include "gpuforge/sim/chip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuforge::sim {
namespace {

TEST(Chip, KnowsTheChipsAndTheirSuffixes) {
  for (const char* const arch : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a",
                                 "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_120", "sm_120a", "sm_120f"}) {
    const auto found = find_chip(arch);
    ASSERT_TRUE(found.has_value()) << arch;
    std::string rebuilt = "sm_" + std::to_string(found->chip->number());
    if (found->suffix != 0) rebuilt += found->suffix;
    EXPECT_EQ(rebuilt, arch);
  }
}

TEST(Chip, RefusesEverythingElse) {
  for (const char* const arch :
       {"", "sm_", "sm", "sm_75", "sm_80a", "sm_89f", "sm_90f", "sm_90b", "sm_90aa", "sm_091", "90a",
        "sm_-90", "compute_90", "SM_90", "sm_99999999999999", "sm_90 ", "sm_9"}) {
    EXPECT_FALSE(find_chip(arch).has_value()) << arch;
  }
}

TEST(Chip, LimitsOfTheTable) {
  const auto chip = [](const char* arch) { return *find_chip(arch)->chip; };
  EXPECT_EQ(chip("sm_80").max_shared_per_block, 163u * 1024);
  EXPECT_EQ(chip("sm_86").max_shared_per_block, 99u * 1024);
  EXPECT_EQ(chip("sm_87").max_shared_per_block, 163u * 1024);
  EXPECT_EQ(chip("sm_90").max_shared_per_block, 227u * 1024);
  EXPECT_EQ(chip("sm_100").max_shared_per_block, 227u * 1024);
  EXPECT_EQ(chip("sm_120").max_shared_per_block, 99u * 1024);
  EXPECT_EQ(chip("sm_86").max_blocks, 16);
  EXPECT_EQ(chip("sm_89").max_blocks, 24);
  EXPECT_EQ(chip("sm_89").max_cluster_blocks, 0);
  EXPECT_EQ(chip("sm_90").max_cluster_blocks, 16);
  EXPECT_EQ(chip("sm_120").max_cluster_blocks, 8);
  for (const Chip& each : chips()) {
    EXPECT_TRUE(each.max_threads == 2048 || each.max_threads == 1536) << each.number();
    EXPECT_EQ(each.registers, 65536);
    EXPECT_GT(each.multiprocessors, 0);
    EXPECT_GT(each.memory_bytes, each.l2_bytes);
    EXPECT_FALSE(each.product.empty());
  }
}

TEST(Chip, RunsPtxForOlderChipsAndItsOwn) {
  const auto runs = [](const char* arch, const char* target) {
    return runs_target(*find_chip(arch)->chip, target);
  };
  EXPECT_TRUE(runs("sm_86", "sm_30"));
  EXPECT_TRUE(runs("sm_86", "sm_86"));
  EXPECT_FALSE(runs("sm_86", "sm_87"));
  EXPECT_FALSE(runs("sm_86", "sm_90a"));
  EXPECT_TRUE(runs("sm_90", "sm_90a")) << "the chip is the same";
  EXPECT_FALSE(runs("sm_100", "sm_90a")) << "'a' is for one chip";
  EXPECT_TRUE(runs("sm_100", "sm_90"));
  EXPECT_TRUE(runs("sm_103", "sm_100f"));
  EXPECT_FALSE(runs("sm_100", "sm_103f"));
  EXPECT_FALSE(runs("sm_120", "sm_100f"));
  EXPECT_TRUE(runs("sm_110", "sm_101a")) << "its former name";
  EXPECT_FALSE(runs("sm_90", "sm_90x"));
  EXPECT_FALSE(runs("sm_90", "compute_80"));
}

TEST(Chip, ThreadsOfABlockFindRegistersInWholeWarps) {
  for (const Chip& chip : chips()) {
    EXPECT_EQ(threads_with_registers(chip, 0), 1024) << "not known, so no limit";
    EXPECT_EQ(threads_with_registers(chip, 16), 1024);
    EXPECT_EQ(threads_with_registers(chip, 64), 1024);
    EXPECT_EQ(threads_with_registers(chip, 65), 896);  // 72 for each, and seven warps in each quarter
    EXPECT_EQ(threads_with_registers(chip, 80), 768);
    EXPECT_EQ(threads_with_registers(chip, 96), 640);
    EXPECT_EQ(threads_with_registers(chip, 128), 512);
    EXPECT_EQ(threads_with_registers(chip, 168), 384);
    EXPECT_EQ(threads_with_registers(chip, 255), 256);
  }
}

TEST(Chip, KnownOnesAreListed) {
  EXPECT_THAT(known_chips(),
              testing::AllOf(testing::StartsWith("sm_80, sm_86"), testing::HasSubstr("sm_90[a],"),
                             testing::HasSubstr("sm_120[a|f]")));
}

TEST(Chip, ResidentBlocks) {
  const Chip& ampere = *find_chip("sm_86")->chip;
  EXPECT_EQ(resident_blocks(ampere, 256, 0, 0), 6);     // 1536 threads
  EXPECT_EQ(resident_blocks(ampere, 32, 0, 0), 16);     // 16 blocks
  EXPECT_EQ(resident_blocks(ampere, 33, 0, 0), 16);     // two warps each
  EXPECT_EQ(resident_blocks(ampere, 1024, 0, 0), 1);    // threads again
  EXPECT_EQ(resident_blocks(ampere, 32, 49152, 0), 2);  // 100 KiB, each with its reserved KiB
  EXPECT_EQ(resident_blocks(ampere, 32, 99 * 1024, 0), 1);
  EXPECT_EQ(resident_blocks(ampere, 32, 99 * 1024 + 1, 0), 0);
  EXPECT_EQ(resident_blocks(ampere, 0, 0, 0), 0);
  EXPECT_EQ(resident_blocks(ampere, 1025, 0, 0), 0);
  EXPECT_EQ(resident_blocks(ampere, 256, 0, 40), 6);
  EXPECT_EQ(resident_blocks(ampere, 256, 0, 41), 5);  // 48 for each of 1280 threads
  EXPECT_EQ(resident_blocks(ampere, 1024, 0, 64), 1);
  EXPECT_EQ(resident_blocks(ampere, 1024, 0, 65), 0);
}

}  // namespace
}  // namespace gpuforge::sim
