// The chips the simulator can pretend to be: what NVIDIA's table of compute capabilities says of each, and
// the size of one product that has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuforge::sim {

struct Chip {
  int major = 0;
  int minor = 0;
  std::string_view product;  // whose multiprocessors and memory these are: "H100 SXM"
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  // Per multiprocessor.
  int max_threads = 0;
  int max_blocks = 0;
  std::size_t shared_bytes = 0;
  int registers = 65536;
  // Per block.
  std::size_t max_shared_per_block = 0;  // with the opt-in
  int max_threads_per_block = 1024;
  int max_cluster_blocks = 0;  // more than 8 only where the driver is asked for it, as we do; 0: no clusters

  int number() const { return major * 10 + minor; }  // 90
};

inline constexpr std::size_t kMaxStaticSharedBytes = 48 * 1024;  // more must be dynamic, on every chip
inline constexpr int kMaxRegistersPerThread = 255;
inline constexpr std::size_t kReservedSharedBytes = 1024;  // taken from each block, on every chip

std::span<const Chip> chips();

// What a name like "sm_90a" stands for.
struct ChipName {
  const Chip* chip = nullptr;
  char suffix = 0;  // 'a', 'f' or none
};
// Nothing for a name that is no known chip, or has a suffix that chip does not come with ('a' from sm_90 on,
// 'f' from sm_100 on).
std::optional<ChipName> find_chip(std::string_view arch);
// "sm_80, sm_86, ...": for messages.
std::string known_chips();

// Whether the driver of this chip takes PTX with this .target ("sm_80"): that of the same or an older chip;
// with an 'a' of the same alone, with an 'f' of its family, the same or older with the same major number.
bool runs_target(const Chip& chip, std::string_view target);

// Blocks of a kernel that fit on one multiprocessor at once; 0 when a block does not fit at all. Registers
// are ptxas's to choose: 0 where they are not known, and then they do not count.
int resident_blocks(const Chip& chip, int threads_per_block, std::size_t shared_bytes,
                    int registers_per_thread);
// The most threads of a block that find their registers, whole warps of them.
int threads_with_registers(const Chip& chip, int registers_per_thread);

}  // namespace gpuforge::sim
