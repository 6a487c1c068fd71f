// One warp with registers, a block's memory and a launch, for tests of memory instructions without an
// executor. What the executor and the race detector would do is recorded (memory_machine_for_tests.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/address.h"
#include "gpuforge/sim/block.h"
#include "gpuforge/sim/opcode.h"
#include "gpuforge/sim/races.h"

namespace gpuforge::sim {

struct SeenAccess {
  bool shared = false;
  Access access;
  std::vector<std::uint64_t> address;  // 32
  std::vector<std::byte> values;       // stores
  std::string allocation;
};

// What handlers told.
struct RecordedLaunch : Launch {
  Mask marked = 0;  // by mark_uninitialized and mark_unwritten
  std::vector<std::uint8_t> marked_bytes[kLanes];
  Mask marked_beside = 0;
  Mask marked_address = 0;   // to answer uninitialized_address
  Mask marked_data[9] = {};  // to answer uninitialized_lanes, by slot
  std::uint64_t unwritten_bits[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};  // to answer unwritten_value
  bool computed = true;
  bool beside = false;
  int last_lane_reported = -1;
  std::vector<std::byte> function_params;
  std::vector<SeenAccess> accesses;
};

class MemoryMachine {
 public:
  static constexpr std::uint32_t kAddressRow = 0;
  static constexpr std::uint32_t kSharedBytes = 4096;
  static constexpr std::uint32_t kLocalStride = 256;
  static constexpr std::uint32_t kThreads = 64;
  MemoryMachine();

  // Device memory of its own, `bytes` at a multiple of 256 plus `skew`.
  std::shared_ptr<Allocation> allocate(std::size_t bytes, std::string label, bool initialized,
                                       std::size_t skew = 0);
  void refresh();  // the launch's view of the allocations
  void free(const Allocation& allocation);
  // "ld.global.v2.u32": modifiers matched against the tables; operands in rows 1, 2, ... of 512 bytes each.
  // run[0] is nullptr when no row takes it.
  Op op(std::string_view text, std::uint8_t register_bytes);
  static std::uint32_t row_offset(unsigned slot) { return 512 * (slot + 1); }
  std::uint32_t* row32(unsigned slot) { return row<std::uint32_t>(warp, row_offset(slot)); }
  std::uint64_t* row64(unsigned slot) { return row<std::uint64_t>(warp, row_offset(slot)); }
  std::uint64_t* addresses() { return row<std::uint64_t>(warp, kAddressRow); }
  std::uint32_t* addresses32() { return row<std::uint32_t>(warp, kAddressRow); }
  // false: the handler gave nullptr.
  bool run(const Op& op, Mask active = kAllLanes);
  const SiteCounters& counters() const { return launch.counters[0]; }
  void reset_counters() { launch.counters[0] = {}; }
  void record_races();
  const Finding* finding() const { return launch.findings.empty() ? nullptr : &launch.findings.entries()[0]; }

  Memory memory;
  RecordedLaunch launch;
  Block block;
  Warp warp;

 private:
  struct alignas(64) Line {
    std::byte byte[64];
  };
  std::vector<Line> rows_, shared_, local_;
  std::vector<std::uint64_t> shared_bits_, local_bits_;
  std::vector<std::unique_ptr<std::byte[]>> owned_;
  std::unique_ptr<RaceDetector> races_;
};

}  // namespace gpuforge::sim
