#include "gpuforge/sim/lanes/sectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace gpuforge::sim {
namespace {

struct Random {
  std::mt19937 engine;
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine()); }
};

struct Lanes {
  std::vector<std::uint32_t> offset = std::vector<std::uint32_t>(kLanes);
  Mask mask = kAllLanes;
  bool active(int lane) const { return ((mask >> lane) & 1u) != 0; }
  // As callers hand it over: what is not active repeats the active lane below it, or the first.
  std::vector<std::uint32_t> filled() const {
    std::vector<std::uint32_t> result(kLanes);
    int last = std::countr_zero(mask);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (active(lane)) last = lane;
      result[static_cast<unsigned>(lane)] = offset[static_cast<unsigned>(last)];
    }
    return result;
  }
};

// One pass over the banks at a time: each takes every word that no other word of its bank was taken before.
std::uint32_t passes(const std::set<std::uint32_t>& words) {
  std::map<std::uint32_t, std::uint32_t> per_bank;
  std::uint32_t most = 0;
  for (const std::uint32_t word : words) most = std::max(most, ++per_bank[word % 32]);
  return most;
}

BankCount naive_banks(const Lanes& lanes, std::uint32_t bytes, bool is_load) {
  const auto shares = [&](int bit) {
    for (int lane = 0; lane < kLanes; ++lane)
      if (lanes.active(lane) && lanes.active(lane ^ bit) &&
          lanes.offset[static_cast<unsigned>(lane)] != lanes.offset[static_cast<unsigned>(lane ^ bit)])
        return false;
    return true;
  };
  int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  if (bytes > 4 && is_load && (shares(1) || shares(2))) group *= 2;
  BankCount result;
  std::set<std::uint32_t> distinct;
  for (int first = 0; first < kLanes; first += group) {
    std::set<std::uint32_t> words;
    for (int lane = first; lane < first + group; ++lane) {
      if (!lanes.active(lane)) continue;
      const std::uint32_t at = lanes.offset[static_cast<unsigned>(lane)];
      distinct.insert(at);
      for (std::uint32_t byte = 0; byte < bytes; ++byte) words.insert((at + byte) / 4);
    }
    result.wavefronts += passes(words);
    result.ideal += words.empty() ? 0u : 1u;
  }
  result.distinct = static_cast<std::uint32_t>(distinct.size());
  return result;
}

Lanes random_lanes(Random& random, std::uint32_t bytes) {
  Lanes lanes;
  const std::uint32_t kind = random() % 6;
  const std::uint32_t room = 1u << (random() % 12);
  const std::uint32_t step = random() % 70;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::uint32_t unit = random() % room;
    if (kind == 1) unit = lane * step;
    if (kind == 2) unit = (kLanes - lane) * step;
    if (kind == 3) unit = lane / 2 * step;
    if (kind == 4) unit = (lane & ~2u) * step;
    if (kind == 5) unit = lane % 16 + lane / 16 * step;
    lanes.offset[lane] = unit * bytes;
  }
  switch (random() % 4) {
    case 0:
      lanes.mask = random();
      break;
    case 1:
      lanes.mask = kAllLanes >> (random() % 32) << (random() % 32);
      break;
    case 2:
      lanes.mask = 1u << (random() % 32);
      break;
    default:
      break;
  }
  if (lanes.mask == 0) lanes.mask = 1;
  return lanes;
}

TEST(Sectors, BanksAgainstNaive) {
  Random random{std::mt19937(7)};
  for (int round = 0; round < 40000; ++round) {
    const std::uint32_t bytes = 1u << (random() % 5);
    const bool is_load = random() % 2 == 0;
    const Lanes lanes = random_lanes(random, bytes);
    const BankCount expected = naive_banks(lanes, bytes, is_load);
    const BankCount found = count_banks(lanes.filled().data(), lanes.mask, bytes, is_load);
    ASSERT_EQ(found.wavefronts, expected.wavefronts) << "round " << round << " bytes " << bytes;
    ASSERT_EQ(found.ideal, expected.ideal) << "round " << round << " bytes " << bytes;
    ASSERT_EQ(found.distinct, expected.distinct) << "round " << round << " bytes " << bytes;
  }
}

TEST(Sectors, ShortWaysAgainstNaive) {
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u})
    for (const bool is_load : {false, true})
      for (int first = 0; first < kLanes; ++first)
        for (int last = first; last < kLanes; ++last) {
          Lanes lanes;
          lanes.mask = (kAllLanes << first) & (kAllLanes >> (31 - last));
          for (unsigned lane = 0; lane < kLanes; ++lane) lanes.offset[lane] = 256 + lane * bytes;
          const BankCount row = naive_banks(lanes, bytes, is_load);
          EXPECT_EQ(contiguous_banks(lanes.mask, bytes, is_load).wavefronts, row.wavefronts)
              << bytes << " " << first << " " << last;
          EXPECT_EQ(contiguous_banks(lanes.mask, bytes, is_load).ideal, row.ideal);
          for (unsigned lane = 0; lane < kLanes; ++lane) lanes.offset[lane] = 48;
          const BankCount same = naive_banks(lanes, bytes, is_load);
          EXPECT_EQ(uniform_banks(lanes.mask, bytes, is_load).wavefronts, same.wavefronts)
              << bytes << " " << first << " " << last;
          EXPECT_EQ(uniform_banks(lanes.mask, bytes, is_load).ideal, same.ideal);
        }
}

TEST(Sectors, KnownBankCounts) {
  Lanes lanes;
  const auto count = [&](std::uint32_t step, std::uint32_t bytes) {
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes.offset[lane] = lane * step;
    return count_banks(lanes.offset.data(), kAllLanes, bytes, true);
  };
  EXPECT_EQ(count(4, 4).wavefronts, 1u);
  EXPECT_EQ(count(128, 4).wavefronts, 32u);
  EXPECT_EQ(count(132, 4).wavefronts, 1u);
  EXPECT_EQ(count(8, 4).wavefronts, 2u);
  EXPECT_EQ(count(0, 4).wavefronts, 1u);
  EXPECT_EQ(count(1, 1).wavefronts, 1u);
  EXPECT_EQ(count(8, 8).wavefronts, 2u);
  EXPECT_EQ(count(16, 16).wavefronts, 4u);
  EXPECT_EQ(count(0, 16).wavefronts, 2u);  // the same for all: two lanes' registers come back at once
  EXPECT_EQ(count(0, 8).wavefronts, 1u);
}

TEST(Sectors, SectorsAgainstNaive) {
  Random random{std::mt19937(8)};
  for (int round = 0; round < 40000; ++round) {
    const std::uint32_t bytes = 1u << (random() % 6);
    const Lanes lanes = random_lanes(random, bytes);
    std::set<std::uint32_t> sectors, distinct, local;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!lanes.active(lane)) continue;
      const std::uint32_t at = lanes.offset[static_cast<unsigned>(lane)];
      distinct.insert(at);
      for (std::uint32_t byte = 0; byte < bytes; ++byte) {
        sectors.insert((at + byte) / 32);
        local.insert(((at + byte) / 4 * 32 + static_cast<std::uint32_t>(lane)) * 4 / 32);
      }
    }
    const auto filled = lanes.filled();
    const SectorCount found = count_sectors(filled.data(), lanes.mask, bytes);
    ASSERT_EQ(found.sectors, sectors.size()) << "round " << round << " bytes " << bytes;
    ASSERT_EQ(found.distinct, distinct.size()) << "round " << round << " bytes " << bytes;
    std::vector<std::uint64_t> far(filled.begin(), filled.end());
    for (std::uint64_t& at : far) at += std::uint64_t{1} << 40;
    ASSERT_EQ(count_far_sectors(far.data()).sectors, sectors.size());
    ASSERT_EQ(count_far_sectors(far.data()).distinct, distinct.size());
    ASSERT_EQ(count_local_sectors(filled.data(), lanes.mask, bytes), local.size())
        << "round " << round << " bytes " << bytes;
    if (distinct.size() == 1) {
      ASSERT_EQ(uniform_local_sectors(lanes.mask, bytes), local.size());
    }
  }
}

}  // namespace
}  // namespace gpuforge::sim
