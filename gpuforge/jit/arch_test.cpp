#include "gpuforge/jit/arch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"

namespace gpuforge::jit {
namespace {

using ::testing::HasSubstr;

std::string parse_message(std::string_view text) {
  try {
    Arch::parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << text;
    return error.message();
  }
  ADD_FAILURE() << "'" << text << "' was accepted";
  return {};
}

TEST(Arch, ParsesEveryForm) {
  const Arch real = Arch::parse("sm_90a");
  EXPECT_EQ(real.major, 9);
  EXPECT_EQ(real.minor, 0);
  EXPECT_EQ(real.suffix, 'a');
  EXPECT_FALSE(real.is_virtual);
  EXPECT_EQ(Arch::parse("90a"), real);
  const Arch ptx = Arch::parse("compute_121f");
  EXPECT_EQ(ptx.major, 12);
  EXPECT_EQ(ptx.minor, 1);
  EXPECT_EQ(ptx.suffix, 'f');
  EXPECT_TRUE(ptx.is_virtual);
  EXPECT_EQ(Arch::parse("sm_80").suffix, 0);
}

TEST(Arch, NameReadsBack) {
  for (const std::string_view text :
       {"sm_80", "sm_86", "sm_90a", "sm_100f", "compute_80", "compute_120a", "sm_121"}) {
    EXPECT_EQ(Arch::parse(text).name(), text);
  }
  EXPECT_EQ(Arch::parse("103a").name(), "sm_103a");
}

TEST(Arch, RefusesWhatIsNoArch) {
  for (const std::string_view text :
       {"",        "sm_",   "sm_9",   "sm_9x",   "sm_90ab",       "sm_90 ",
        " sm_90",  "SM_90", "sm90",   "sm_-90",  "sm_9000",       "compute_",
        "a",       "90b",   "sm_90A", "sm_0x50", "compute_sm_90", "99999999999999999999",
        "sm_090a", "sm_080"}) {
    EXPECT_THAT(parse_message(text), HasSubstr("unknown arch")) << text;
  }
  EXPECT_THAT(parse_message("sm_9x"), HasSubstr("jit: unknown arch 'sm_9x': expected sm_80"));
  EXPECT_THAT(parse_message(std::string(100000, 'z')), ::testing::SizeIs(::testing::Lt(300)));
}

TEST(Arch, RefusesBelow80) {
  for (const std::string_view text : {"sm_75", "sm_70", "compute_52", "79", "sm_10"}) {
    EXPECT_THAT(parse_message(text), HasSubstr("needs sm_80 (Ampere) or newer")) << text;
  }
}

TEST(Arch, RefusesSuffixesThatDoNotExist) {
  EXPECT_THAT(parse_message("sm_80a"), HasSubstr("from sm_90a on"));
  EXPECT_THAT(parse_message("sm_90f"), HasSubstr("from sm_100f on"));
}

TEST(Arch, ListsTheArchsOfTheHouse) {
  std::vector<std::string> names;
  for (const Arch& arch : listed_archs()) {
    names.push_back(arch.name());
    EXPECT_TRUE(arch_limits(arch).has_value()) << arch.name();
    EXPECT_EQ(Arch::parse(arch.name()), arch);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"));
}

TEST(Arch, LimitsAreNvidiasTable) {
  struct Row {
    const char* arch;
    int warps;
    int blocks;
    std::size_t shared_kib;
  };
  for (const Row& row : {Row{"sm_80", 64, 32, 164}, Row{"sm_86", 48, 16, 100}, Row{"sm_87", 48, 16, 164},
                         Row{"sm_89", 48, 24, 100}, Row{"sm_90", 64, 32, 228}, Row{"sm_100", 64, 32, 228},
                         Row{"sm_103", 64, 32, 228}, Row{"sm_110", 48, 24, 228}, Row{"sm_120", 48, 24, 100},
                         Row{"sm_121", 48, 24, 100}}) {
    const std::optional<ArchLimits> limits = arch_limits(Arch::parse(row.arch));
    ASSERT_TRUE(limits.has_value()) << row.arch;
    EXPECT_EQ(limits->max_warps, row.warps) << row.arch;
    EXPECT_EQ(limits->max_blocks, row.blocks) << row.arch;
    EXPECT_EQ(limits->shared_bytes, row.shared_kib * 1024) << row.arch;
    EXPECT_EQ(limits->shared_per_block_bytes, (row.shared_kib - 1) * 1024) << row.arch;
    EXPECT_EQ(limits->registers, 65536) << row.arch;
  }
  EXPECT_FALSE(arch_limits(Arch::parse("sm_95")).has_value());
  EXPECT_FALSE(occupancy(Arch::parse("sm_999"), 32, 0, 256).has_value());
}

// Answers of CUDA's own occupancy calculator.
TEST(Arch, OccupancyIsCudas) {
  struct Case {
    const char* arch;
    int registers;
    std::size_t shared_bytes;
    int threads;
    int blocks;
    int warps;
    const char* limited_by;
  };
  const std::size_t kib = 1024;
  for (const Case& c : {
           Case{"sm_90", 32, 0, 256, 8, 64, "threads"},
           Case{"sm_90a", 33, 0, 256, 6, 48, "registers"},  // 40 registers after rounding: 48 warps
           Case{"sm_90", 128, 0, 256, 2, 16, "registers"},
           Case{"sm_90", 255, 0, 256, 1, 8, "registers"},
           Case{"sm_90", 255, 0, 1024, 0, 0, "registers"},
           Case{"sm_90", 64, 0, 1024, 1, 32, "registers"},
           Case{"sm_90", 65, 0, 1024, 0, 0, "registers"},
           Case{"sm_90", 32, 227 * kib, 256, 1, 8, "shared memory"},
           Case{"sm_90", 32, 227 * kib + 1, 256, 0, 0, "shared memory"},
           Case{"sm_90", 32, 113 * kib, 256, 2, 16, "shared memory"},
           Case{"sm_90", 32, 113 * kib + 1, 256, 1, 8, "shared memory"},
           Case{"sm_90", 32, 0, 32, 32, 32, "blocks"},
           Case{"sm_90", 0, 0, 1, 32, 32, "blocks"},
           Case{"sm_90", 32, 0, 1024, 2, 64, "threads"},
           Case{"sm_90", 168, 0, 384, 1, 12, "registers"},
           Case{"sm_90", 96, 0, 224, 2, 14,
                "registers"},  // 5 warps a sub-partition, though 21 would fit in all
           Case{"sm_80", 32, 48 * kib, 128, 3, 12, "shared memory"},
           Case{"sm_86", 32, 0, 1024, 1, 32, "threads"},
           Case{"sm_86", 40, 0, 256, 6, 48, "threads"},
           Case{"sm_89", 32, 99 * kib, 128, 1, 4, "shared memory"},
           Case{"sm_89", 32, 99 * kib + 1, 128, 0, 0, "shared memory"},
           Case{"sm_100a", 32, 0, 64, 32, 64, "threads"},
           Case{"sm_120a", 32, 0, 32, 24, 24, "blocks"},
           Case{"sm_110", 32, 200 * kib, 33, 1, 2, "shared memory"},
       }) {
    const std::optional<Occupancy> result =
        occupancy(Arch::parse(c.arch), c.registers, c.shared_bytes, c.threads);
    ASSERT_TRUE(result.has_value());
    const std::string what =
        format_text("{} {} registers {} bytes {} threads", c.arch, c.registers, c.shared_bytes, c.threads);
    EXPECT_EQ(result->blocks, c.blocks) << what;
    EXPECT_EQ(result->warps, c.warps) << what;
    EXPECT_EQ(result->limited_by, c.limited_by) << what;
    EXPECT_DOUBLE_EQ(result->fraction,
                     static_cast<double>(c.warps) / arch_limits(Arch::parse(c.arch))->max_warps);
  }
}

TEST(Arch, OccupancyOfAnImpossibleLaunchIsZero) {
  const Arch arch = Arch::parse("sm_90");
  for (const int threads : {0, -1, 1025, 2147483647, -2147483647 - 1}) {
    EXPECT_EQ(occupancy(arch, 32, 0, threads)->blocks, 0) << threads;
    EXPECT_EQ(occupancy(arch, 32, 0, threads)->limited_by, "threads");
  }
  EXPECT_EQ(occupancy(arch, 256, 0, 32)->blocks, 0);
  EXPECT_EQ(occupancy(arch, 2147483647, 0, 32)->limited_by, "registers");
  EXPECT_EQ(occupancy(arch, 32, ~std::size_t{0}, 32)->blocks, 0);
}

}  // namespace
}  // namespace gpuforge::jit
