// What one warp-wide access costs: passes over the banks of shared memory, sectors of global memory. The
// rules are those of the simulator's counters, which agree with a GPU's; here with the reasons kept, for
// pictures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuforge::layout {

inline constexpr int kWarpThreads = 32;
inline constexpr int kBanks = 32;
inline constexpr std::int64_t kBankBytes = 4;
inline constexpr std::int64_t kSectorBytes = 32;

// Byte addresses of the 32 threads, multiples of the access's width; none for a thread that takes no part.
using WarpAddresses = std::array<std::optional<std::int64_t>, kWarpThreads>;

// Addresses may lie before the first element.
std::int64_t word_of(std::int64_t byte_address);
std::int64_t bank_of(std::int64_t byte_address);
std::int64_t sector_of(std::int64_t byte_address);

// Threads that shared memory serves together: as many as ask for 128 bytes. Loads serve twice as many when
// threads that differ in bit 0 alone, or in bit 1 alone, all share their addresses.
struct SharedPhase {
  int first_thread = 0;
  int threads = 0;                              // from the first on; those that take no part are among them
  std::array<std::int64_t, kBanks> words = {};  // different words asked of each bank
  std::int64_t wavefronts = 0;                  // the most words of a bank
};
struct SharedCost {
  std::int64_t wavefronts = 0;
  std::int64_t ideal = 0;           // were there no conflicts: one for each phase
  std::vector<SharedPhase> phases;  // those in which a thread takes part
};
// `bytes` of one thread: 1, 2, 4, 8 or 16.
SharedCost shared_cost(const WarpAddresses& addresses, std::int64_t bytes, bool is_load);

struct GlobalSector {
  std::int64_t number = 0;  // address / 32
  std::int64_t bytes = 0;   // that are asked for
};
struct GlobalCost {
  std::vector<GlobalSector> sectors;  // in the order of addresses
  std::int64_t bytes = 0;             // asked for, those asked for twice counted once
};
GlobalCost global_cost(const WarpAddresses& addresses, std::int64_t bytes);

}  // namespace gpuforge::layout
