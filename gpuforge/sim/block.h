// The running block, as handlers and checkers see it; how it is scheduled is in block_run.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpuforge/sim/access.h"
#include "gpuforge/sim/arrivals.h"
#include "gpuforge/sim/frame.h"
#include "gpuforge/sim/launch.h"
#include "gpuforge/sim/warp.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {

// Generic addresses: global ones are host addresses (below 2^47); the other spaces have windows above them.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 60;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 60;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 60;
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 32;

// A named barrier: arrivals of the current phase.
struct Barrier {
  std::array<Mask, 32> arrived{};  // by warp
  std::uint32_t threads = 0;       // counted so far
  std::uint32_t expected = 0;      // 0: all threads of the block
  bool open = false;               // someone has arrived
  std::uint32_t true_votes = 0;    // bar.red
  std::uint32_t votes = 0;
  std::uint32_t site = 0;  // of the first arrival
};

struct Cluster;  // cluster.h

class Block {
 public:
  Launch* launch = nullptr;
  Index3 index;
  Cluster* cluster = nullptr;  // nullptr: the block is by itself
  std::uint32_t rank = 0;      // in its cluster
  std::uint64_t linear_index = 0;
  // Shared memory: launch->shared_bytes of it, one bit per byte written in this block.
  std::byte* shared = nullptr;
  std::uint64_t* shared_initialized = nullptr;
  // Local memory, one piece per thread: local + thread * local_stride; addresses are offsets into the piece.
  // The bits of thread t start at local_initialized + t * local_stride / 64.
  std::byte* local = nullptr;
  std::uint64_t* local_initialized = nullptr;
  std::uint32_t local_stride = 0;  // a multiple of 64
  bool uses_stack = false;         // local memory ends where Frame::stack says
  // Of the bytes whose bit there is not set: those with some bits written (bit fields), and the other bits.
  std::unordered_map<std::uint64_t, std::uint8_t> partly_written;  // by written_key (written.h)
  std::vector<Warp> warps;
  std::vector<std::uint32_t> order;  // in which warps take turns
  std::array<Barrier, 16> barriers;
  std::vector<std::unique_ptr<Frame>> frames;         // of calls under way
  std::vector<std::unique_ptr<Frame>> kernel_frames;  // one per warp, kept from block to block
  std::unique_ptr<MeetingPlace> meeting;              // made when it is first needed
  Arrivals arrivals;
  std::shared_ptr<Cluster> alone;  // the cluster that a block by itself is, where that is looked at
  std::uint32_t exited_threads = 0;
};

// A byte of shared or local memory has these bits that were never written.
inline void clear_partly(Block& block, std::uint64_t* bits, std::uint64_t at, std::uint8_t unwritten) {
  clear_written(bits, at);
  if (unwritten == 0xff)
    block.partly_written.erase(written_key(bits, at));
  else
    block.partly_written[written_key(bits, at)] = unwritten;
}

// A finding of one lane of `warp` at `op`, with kernel, place, block and thread filled in; nullptr when it
// was only counted. `fatal` ends the launch: the caller returns nullptr from its handler after reporting.
Finding* report(Warp& warp, const Op* op, FindingKind kind, int lane, bool fatal,
                std::uint32_t other_site = kNoSite);
// The same with its sentence, where there is no more to say; it ends the launch.
void report_wrong(Warp& warp, const Op* op, FindingKind kind, int lane, std::string message);
// "shared_tile.cu:12" and the instruction's text, for messages about another site.
Place place_of(const Launch& launch, std::uint32_t site);
Index3 thread_index(const Launch& launch, std::uint32_t thread);  // from the linear index in the block

// Marks of registers are followed from here on.
void start_tracking(Warp& warp);
// These lanes of what `op` gives were never written: its destination registers are marked, and instructions
// that use them are followed from here on.
void mark_uninitialized(Warp& warp, const Op* op, Mask lanes);
// The same for one lane of a load whose bytes have the bits in `unwritten` that were never written. Only they
// are marked. `beside`: others were written, in these bytes or in their word.
void mark_unwritten(Warp& warp, const Op* op, int lane, std::span<const std::uint8_t> unwritten, bool beside);
// Whether a source row of `op` (slot of op->operand) holds marked lanes. Stores ask it for their data.
Mask uninitialized_lanes(const Warp& warp, const Op* op, int slot);
// Which bits of the low `bytes` of a marked lane were never written, and how they came here. Of 128 bits all
// or none.
struct UnwrittenValue {
  std::uint64_t bits = 0;
  bool computed = false;
  bool beside = false;
};
UnwrittenValue unwritten_value(const Warp& warp, const Op* op, int slot, int lane, std::uint32_t bytes);
// The marks of `count` elements of an argument or result of a call that `op` stores or loads.
void store_param_marks(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes);
void load_param_marks(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes);
// Whether the row of its address is marked.
Mask uninitialized_address(const Warp& warp, const Op* op);
// A finding: `use` depends on a value never written in these lanes.
void report_use(Warp& warp, const Op* op, Mask lanes, std::string_view use);
// The same for the lanes of a source row that hold one; nothing where the operand is left out.
void check_use(Warp& warp, const Op* op, int slot, std::string_view use);

}  // namespace gpuforge::sim
