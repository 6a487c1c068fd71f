#include "gpuforge/device/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "gpuforge/base/error.h"

namespace gpuforge::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

LaunchLimits hopper() {
  LaunchLimits limits;
  limits.max_shared_per_block = 232448;
  limits.max_cluster_blocks = 8;
  limits.cooperative = true;
  return limits;
}

FunctionFacts saxpy() {
  FunctionFacts facts;
  facts.name = "saxpy";
  facts.registers = 128;
  facts.static_shared_bytes = 1024;
  facts.max_threads_per_block = 512;
  return facts;
}

// The refusal's sentence; empty when the launch is accepted.
std::string refusal(const LaunchConfig& config, const LaunchLimits& limits = hopper(),
                    const FunctionFacts& facts = saxpy()) {
  try {
    check_launch(config, facts, limits, "cuda:0");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), StartsWith("cuda:0: kernel saxpy: "));
    return error.message();
  }
  return {};
}

TEST(CheckLaunch, AcceptsWhatFits) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.grid = {2147483647, 65535, 65535}, .block = {512, 1, 1}}), "");
  EXPECT_EQ(refusal({.grid = {1, 1, 1}, .block = {8, 1, 64}}), "");
  EXPECT_EQ(refusal({.dynamic_shared_bytes = 232448 - 1024}), "");
  EXPECT_EQ(refusal({.grid = {16, 2, 1}, .cluster = {4, 2, 1}, .cooperative = true, .programmatic = true}),
            "");
}

TEST(CheckLaunch, RefusesZeroDimensions) {
  EXPECT_THAT(refusal({.grid = {0, 1, 1}}), HasSubstr("grid (0, 1, 1) has a zero dimension"));
  EXPECT_THAT(refusal({.grid = {1, 1, 0}}), HasSubstr("grid (1, 1, 0) has a zero dimension"));
  EXPECT_THAT(refusal({.block = {32, 0, 1}}), HasSubstr("block (32, 0, 1) has a zero dimension"));
  EXPECT_THAT(refusal({.cluster = {1, 0, 1}}), HasSubstr("cluster (1, 0, 1) has a zero dimension"));
}

TEST(CheckLaunch, RefusesWhatIsTooLarge) {
  EXPECT_THAT(refusal({.grid = {1, 65536, 1}}),
              AllOf(HasSubstr("grid (1, 65536, 1)"), HasSubstr("(2147483647, 65535, 65535)")));
  EXPECT_THAT(refusal({.grid = {2147483648u, 1, 1}}), HasSubstr("grid (2147483648, 1, 1)"));
  EXPECT_THAT(refusal({.block = {1, 1, 65}}),
              AllOf(HasSubstr("block (1, 1, 65)"), HasSubstr("(1024, 1024, 64)")));
  EXPECT_THAT(refusal({.block = {1024, 2, 1}}), AllOf(HasSubstr("2048 threads"), HasSubstr("at most 1024")));
}

TEST(CheckLaunch, RefusesMoreThreadsThanTheKernelsRegistersAllow) {
  EXPECT_THAT(refusal({.block = {513, 1, 1}}),
              AllOf(HasSubstr("513 threads"), HasSubstr("128 registers"), HasSubstr("at most 512")));
  FunctionFacts unknown = saxpy();
  unknown.registers = 0;
  EXPECT_THAT(refusal({.block = {513, 1, 1}}, hopper(), unknown),
              HasSubstr("this kernel, with its launch bounds, can have at most 512"));
  unknown.max_threads_per_block = 0;
  EXPECT_EQ(refusal({.block = {1024, 1, 1}}, hopper(), unknown), "");
}

TEST(CheckLaunch, RefusesTooMuchSharedMemoryWithBothNumbers) {
  EXPECT_THAT(refusal({.dynamic_shared_bytes = 232448 - 1023}),
              AllOf(HasSubstr("1024 bytes of static"), HasSubstr("231425 bytes of dynamic"),
                    HasSubstr("232448 bytes")));
  // Static plus dynamic would wrap around to a small number.
  EXPECT_NE(refusal({.dynamic_shared_bytes = std::numeric_limits<std::size_t>::max() - 512}), "");
  FunctionFacts hungry = saxpy();
  hungry.static_shared_bytes = 300000;
  EXPECT_THAT(refusal({}, hopper(), hungry), HasSubstr("300000 bytes of static"));
}

TEST(CheckLaunch, ClusterRules) {
  EXPECT_THAT(refusal({.grid = {6, 1, 1}, .cluster = {4, 1, 1}}),
              HasSubstr("grid (6, 1, 1) is not a multiple of cluster (4, 1, 1)"));
  EXPECT_THAT(refusal({.grid = {16, 1, 1}, .cluster = {16, 1, 1}}),
              AllOf(HasSubstr("cluster (16, 1, 1)"), HasSubstr("8 blocks")));
  EXPECT_THAT(refusal({.grid = {4, 4, 1}, .cluster = {4, 4, 1}}), HasSubstr("8 blocks"));
  EXPECT_NE(refusal({.cluster = {4294967295u, 4294967295u, 4294967295u}}), "");
  LaunchLimits ampere = hopper();
  ampere.max_cluster_blocks = 0;
  EXPECT_THAT(refusal({.grid = {4, 1, 1}, .cluster = {2, 1, 1}}, ampere), HasSubstr("no clusters"));
  EXPECT_EQ(refusal({.grid = {4, 1, 1}}, ampere), "");
}

TEST(CheckLaunch, CooperativeNeedsTheDevice) {
  LaunchLimits limits = hopper();
  limits.cooperative = false;
  EXPECT_THAT(refusal({.cooperative = true}, limits), HasSubstr("cooperative"));
}

TEST(Dim3, PrintsAndCountsWithoutOverflow) {
  EXPECT_EQ(to_string(Dim3{4, 1, 2}), "(4, 1, 2)");
  EXPECT_EQ((Dim3{2147483647, 65535, 2}.count()), std::uint64_t{2147483647} * 65535 * 2);
}

}  // namespace
}  // namespace gpuforge::device
