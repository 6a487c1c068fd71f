// What the memory system would do for one warp-wide access: sectors of 32 bytes for global and local memory,
// passes over the banks for shared memory. As counted by Nsight Compute in l1tex__t_sectors_pipe_lsu_mem_*
// and l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*.
//
// All addresses are multiples of the access's width, so two lanes touch either the same bytes or none in
// common. Arrays have 32 entries; a lane outside `lanes` repeats the address of one inside.
#pragma once

#include <cstdint>

#include "gpuforge/sim/op.h"

namespace gpuforge::sim {

struct SectorCount {
  std::uint32_t sectors = 0;
  std::uint32_t distinct = 0;  // addresses
};
// `offset` from a multiple of 32, at most 2^32 - 32.
SectorCount count_sectors(const std::uint32_t* offset, Mask lanes, std::uint32_t bytes);
// The same for any addresses.
SectorCount count_far_sectors(const std::uint64_t* address);

// Local memory is interleaved: word w of lane L is word 32 * w + L of the warp's.
std::uint32_t count_local_sectors(const std::uint32_t* offset, Mask lanes, std::uint32_t bytes);
inline std::uint32_t uniform_local_sectors(Mask lanes, std::uint32_t bytes) {
  const std::uint32_t groups = ((lanes & 0xffu) != 0 ? 1u : 0u) + ((lanes & 0xff00u) != 0 ? 1u : 0u) +
                               ((lanes & 0xff0000u) != 0 ? 1u : 0u) + ((lanes & 0xff000000u) != 0 ? 1u : 0u);
  return groups * ((bytes + 3) / 4);
}

struct BankCount {
  std::uint32_t wavefronts = 0;
  std::uint32_t ideal = 0;     // were there no conflicts
  std::uint32_t distinct = 0;  // addresses
};
// 32 banks of 4 bytes. Lanes are taken together as long as they ask for no more than 128 bytes: 32, 16 lanes
// of 8 bytes, 8 lanes of 16. Loads take twice as many when lanes that differ in bit 0 alone, or in bit 1
// alone, all share their addresses.
BankCount count_banks(const std::uint32_t* offset, Mask lanes, std::uint32_t bytes, bool is_load);
BankCount contiguous_banks(Mask lanes, std::uint32_t bytes, bool is_load);  // lanes without a gap
BankCount uniform_banks(Mask lanes, std::uint32_t bytes, bool is_load);

std::uint32_t count_distinct(const std::uint32_t* key);  // of 32, none of them 0xffffffff

}  // namespace gpuforge::sim
