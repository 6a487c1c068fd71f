// Names of GPU architectures and what each allows per multiprocessor.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuforge::jit {

// "sm_90a" gives machine code (cubin) for that chip; "compute_80" gives PTX for it and every later one.
struct Arch {
  int major = 0;
  int minor = 0;
  char suffix = 0;  // 'a' (this chip only) or 'f' (its family), or 0
  bool is_virtual = false;

  // sm_90a, compute_90a, 90a. Not an architecture at all, or below sm_80: invalid_argument with the known
  // ones.
  static Arch parse(std::string_view text);
  std::string name() const;  // "sm_90a"
  int number() const { return major * 10 + minor; }
  friend auto operator<=>(const Arch&, const Arch&) = default;
};

// The architectures every kernel of ours is compiled for: sm_80 sm_86 sm_89 sm_90a sm_100a sm_120a.
std::span<const Arch> listed_archs();

// What a multiprocessor has, from NVIDIA's compute-capability tables. Unknown archs: nothing.
struct ArchLimits {
  int max_warps = 0;
  int max_blocks = 0;
  int registers = 65536;
  std::size_t shared_bytes = 0;              // per multiprocessor
  std::size_t shared_per_block_bytes = 0;    // with the opt-in above 48 KB
  std::size_t reserved_shared_bytes = 1024;  // taken from each block by the system
};
std::optional<ArchLimits> arch_limits(const Arch& arch);

struct Occupancy {
  int blocks = 0;  // per multiprocessor; 0: the launch does not fit
  int warps = 0;
  double fraction = 0;          // of max_warps
  std::string_view limited_by;  // "registers", "shared memory", "threads", "blocks"
};
std::optional<Occupancy> occupancy(const Arch& arch, int registers_per_thread, std::size_t shared_bytes,
                                   int threads_per_block);

}  // namespace gpuforge::jit
