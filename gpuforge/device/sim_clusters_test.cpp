// Launches in clusters on the sim device. What such kernels do is in sim/cluster_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge::device {
namespace {

// rank: out[block] = 100 * blocks in the cluster + rank in it.
constexpr std::string_view kClusters = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry rank(.param .u64 out)
{
  .reg .b64 %at;
  .reg .b32 %i, %v, %count;
  ld.param.u64 %at, [out];
  mov.u32 %i, %ctaid.x;
  mad.wide.u32 %at, %i, 4, %at;
  mov.u32 %count, %cluster_nctarank;
  mov.u32 %v, %cluster_ctarank;
  mad.lo.u32 %v, %count, 100, %v;
  st.global.u32 [%at], %v;
  ret;
}
.visible .entry pairs(.param .u64 out) .reqnctapercluster 2
{
  .reg .b64 %at;
  .reg .b32 %i, %v;
  ld.param.u64 %at, [out];
  mov.u32 %i, %ctaid.x;
  mad.wide.u32 %at, %i, 4, %at;
  mov.u32 %v, %cluster_ctarank;
  st.global.u32 [%at], %v;
  ret;
}
)";

TEST(SimClusters, AreAsLargeAsAsked) {
  const auto device = make_sim_device("sm_90");
  const auto stream = device->make_stream();
  const auto module = device->load_module(std::as_bytes(std::span(kClusters)), "clusters.ptx");
  constexpr std::uint32_t kBlocks = 32;
  const Address out = device->allocate(kBlocks * 4, *stream);
  std::vector<std::uint32_t> got(kBlocks);
  const auto run = [&](std::string_view entry, const LaunchConfig& config) {
    Address address = out;
    void* arguments[] = {&address};
    stream->launch(*module->function(entry), config, arguments);
    stream->copy_to_host(got.data(), out, kBlocks * 4);
    stream->synchronize();
  };
  for (const std::uint32_t blocks : {1u, 2u, 8u, 16u}) {
    run("rank", {.grid = {kBlocks}, .block = {}, .cluster = {blocks}});
    for (std::uint32_t i = 0; i < kBlocks; ++i) ASSERT_EQ(got[i], 100 * blocks + i % blocks);
  }
  for (const LaunchConfig& config :
       {LaunchConfig{.grid = {kBlocks}, .cluster = {2}}, LaunchConfig{.grid = {kBlocks}, .cluster = {}}}) {
    run("pairs", config);
    for (std::uint32_t i = 0; i < kBlocks; ++i) ASSERT_EQ(got[i], i % 2) << "as it was compiled";
  }
  expect_refused([&] { run("pairs", {.grid = {kBlocks}, .cluster = {4}}); },
                 "sim:sm_90: kernel pairs: cluster (4, 1, 1) was asked for, and the kernel was compiled for "
                 "(2, 1, 1) alone");
  expect_refused([&] { run("pairs", {.grid = {31}, .cluster = {}}); },
                 "sim:sm_90: kernel pairs: grid (31, 1, 1) is not a multiple of cluster (2, 1, 1)");
  expect_refused([&] { run("rank", {.grid = {kBlocks}, .cluster = {32}}); },
                 "sim:sm_90: kernel rank: cluster (32, 1, 1) has more than the 16 blocks");
  device->free(out, *stream);

  EXPECT_EQ(code_of([&] { run("rank", {.grid = {kBlocks}, .cluster = {2}, .cooperative = true}); }),
            ErrorCode::unsupported);

  const auto rank = module->function("rank");
  EXPECT_EQ(rank->max_active_clusters({.block = {1024}, .cluster = {2}}), 132);
  EXPECT_EQ(rank->max_active_clusters({.block = {512}, .cluster = {16}}), 132 * 4 / 16);
  expect_refused([&] { rank->max_active_clusters({.cluster = {32}}); },
                 "sim:sm_90: kernel rank: cluster (32, 1, 1)");
}

TEST(SimClusters, AreNotOnEveryChip) {
  const auto device = make_sim_device("sm_86");
  EXPECT_FALSE(device->facts().cluster_launch);
  constexpr std::string_view kPtx =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry plain()\n{\nret;\n}\n";
  const auto function = device->load_module(std::as_bytes(std::span(kPtx)), "plain.ptx")->function("plain");
  EXPECT_EQ(function->max_active_clusters({.cluster = {}}), 0);
  expect_refused([&] { device->make_stream()->launch(*function, {.grid = {2}, .cluster = {2}}, {}); },
                 "sim:sm_86: kernel plain: cluster (2, 1, 1) was asked for, but this device has no clusters");
}

}  // namespace
}  // namespace gpuforge::device
