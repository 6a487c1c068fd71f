#include "gpuforge/layout/access_cost.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "gpuforge/sim/lanes/sectors.h"

namespace gpuforge {
namespace {

struct Access {
  layout::WarpAddresses addresses;
  // As the simulator takes it: threads that take no part repeat the address of one that does.
  alignas(64) std::array<std::uint32_t, sim::kLanes> offset = {};
  sim::Mask mask = 0;
};

// Strided, shared by neighbours, scattered, swizzled: all kinds of patterns, some without all threads.
Access random_access(std::mt19937& engine, std::uint32_t bytes) {
  const auto random = [&](std::uint32_t below) { return static_cast<std::uint32_t>(engine()) % below; };
  const std::uint32_t kind = random(6), room = 1u << (1 + random(11)), step = random(40);
  Access access;
  access.mask = random(3) == 0 ? static_cast<sim::Mask>(engine()) | 1u << random(32) : sim::kAllLanes;
  std::uint32_t last = 0;
  bool any = false;
  for (std::uint32_t lane = 0; lane < sim::kLanes; ++lane) {
    std::uint32_t unit = random(room);
    if (kind == 1) unit = lane * step;
    if (kind == 2) unit = lane / 2 * step;
    if (kind == 3) unit = (lane & ~2u) * step;
    if (kind == 4) unit = lane % 8 * 8 + (lane % 8 ^ lane / 8);
    if (kind == 5) unit = (31 - lane) * step;
    if (((access.mask >> lane) & 1u) == 0) continue;
    access.addresses[lane] = unit * bytes;
    last = any ? last : unit * bytes;
    any = true;
  }
  for (std::uint32_t lane = 0; lane < sim::kLanes; ++lane) {
    if (access.addresses[lane]) last = static_cast<std::uint32_t>(*access.addresses[lane]);
    access.offset[lane] = last;
  }
  return access;
}

TEST(AccessCost, WavefrontsAreTheSimulators) {
  std::mt19937 engine(1);
  int conflicts = 0;
  for (int round = 0; round < 40000; ++round) {
    const std::uint32_t bytes = 1u << (engine() % 5);
    const bool is_load = engine() % 2 == 0;
    const Access access = random_access(engine, bytes);
    const layout::SharedCost ours = layout::shared_cost(access.addresses, bytes, is_load);
    const sim::BankCount theirs = sim::count_banks(access.offset.data(), access.mask, bytes, is_load);
    ASSERT_EQ(ours.wavefronts, theirs.wavefronts) << "round " << round << ", " << bytes << " bytes";
    ASSERT_EQ(ours.ideal, theirs.ideal) << "round " << round << ", " << bytes << " bytes";
    conflicts += ours.wavefronts > ours.ideal ? 1 : 0;
  }
  EXPECT_GT(conflicts, 5000);  // the comparison was about something
}

TEST(AccessCost, SectorsAreTheSimulators) {
  std::mt19937 engine(2);
  for (int round = 0; round < 40000; ++round) {
    const std::uint32_t bytes = 1u << (engine() % 6);
    const Access access = random_access(engine, bytes);
    const layout::GlobalCost ours = layout::global_cost(access.addresses, bytes);
    const sim::SectorCount theirs = sim::count_sectors(access.offset.data(), access.mask, bytes);
    ASSERT_EQ(ours.sectors.size(), theirs.sectors) << "round " << round << ", " << bytes << " bytes";
    ASSERT_EQ(ours.bytes, theirs.distinct * bytes) << "round " << round << ", " << bytes << " bytes";
  }
}

}  // namespace
}  // namespace gpuforge
