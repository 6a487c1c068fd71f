#include "gpuforge/layout/access_cost.h"

#include <algorithm>
#include <map>
#include <set>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Whether threads that differ in this bit alone have the same address, where both take part.
bool pairs_share(const WarpAddresses& addresses, unsigned bit) {
  for (unsigned thread = 0; thread < addresses.size(); ++thread) {
    const auto &one = addresses[thread], &other = addresses[thread ^ bit];
    if (one && other && *one != *other) return false;
  }
  return true;
}

void check_width(std::int64_t bytes, std::int64_t widest) {
  GPUFORGE_CHECK(bytes >= 1 && bytes <= widest && (bytes & (bytes - 1)) == 0,
                 "access: a thread can access 1, 2, 4, ... up to {} bytes at once, not {}", widest, bytes);
}

}  // namespace

std::int64_t word_of(std::int64_t byte_address) {
  return floor_div(byte_address, kBankBytes);
}

std::int64_t bank_of(std::int64_t byte_address) {
  const std::int64_t word = word_of(byte_address);
  return word - floor_div(word, kBanks) * kBanks;
}

std::int64_t sector_of(std::int64_t byte_address) {
  return floor_div(byte_address, kSectorBytes);
}

SharedCost shared_cost(const WarpAddresses& addresses, std::int64_t bytes, bool is_load) {
  check_width(bytes, 16);
  int group = bytes <= kBankBytes ? kWarpThreads : static_cast<int>(kBanks * kBankBytes / bytes);
  if (bytes > kBankBytes && is_load && (pairs_share(addresses, 1) || pairs_share(addresses, 2))) group *= 2;
  SharedCost cost;
  for (int first = 0; first < kWarpThreads; first += group) {
    std::set<std::int64_t> words;
    for (int thread = first; thread < first + group; ++thread) {
      const auto& address = addresses[static_cast<unsigned>(thread)];
      for (std::int64_t byte = 0; address && byte < bytes; byte += kBankBytes)
        words.insert(word_of(*address + byte));
    }
    if (words.empty()) continue;
    SharedPhase phase{.first_thread = first, .threads = group};
    for (const std::int64_t word : words) ++phase.words[static_cast<unsigned>(bank_of(word * kBankBytes))];
    phase.wavefronts = *std::max_element(phase.words.begin(), phase.words.end());
    cost.wavefronts += phase.wavefronts;
    cost.ideal += 1;
    cost.phases.push_back(phase);
  }
  return cost;
}

GlobalCost global_cost(const WarpAddresses& addresses, std::int64_t bytes) {
  check_width(bytes, 32);
  std::set<std::int64_t> distinct;
  for (const auto& address : addresses)
    if (address) distinct.insert(*address);
  std::map<std::int64_t, std::int64_t> used;
  for (const std::int64_t address : distinct) used[sector_of(address)] += bytes;
  GlobalCost cost;
  cost.bytes = static_cast<std::int64_t>(distinct.size()) * bytes;
  for (const auto& [number, count] : used) cost.sectors.push_back({number, count});
  return cost;
}

}  // namespace gpuforge::layout
