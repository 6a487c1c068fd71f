// Decoded functions: what a launch runs. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/ptx/tree.h"
#include "gpuforge/sim/op.h"
#include "gpuforge/sim/opcode.h"
#include "gpuforge/sim/spread.h"

namespace gpuforge::sim {

enum class SpecialRegister : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  total_smem_size,
  dynamic_smem_size,
  grid_workspace_low,  // %envreg1 and 2: where a cooperative grid's barrier lies
  grid_workspace_high,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  zero,
  local_address,  // of this activation's local memory, plus an offset
};

// A row filled when a frame is made (constants) or a block starts (special registers).
struct ConstantRow {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 4;  // per lane: 4, 8 or 16
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};
struct SpecialRow {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 4;
  SpecialRegister which = SpecialRegister::zero;
  std::uint64_t addend = 0;
};
struct ConstantMask {
  std::uint32_t offset = 0;
  Mask value = 0;
  bool of_cluster = false;  // %is_explicit_cluster, which the launch says
};

// Something a call hands over: bytes of the frame's parameter memory (per lane), or a row.
struct Passed {
  bool in_row = false;
  std::uint32_t offset = 0;  // in the parameter memory of a lane, or the row's
  std::uint32_t bytes = 0;   // of a row: its lane's width, or 0 for a predicate
};

enum class Builtin : std::uint8_t { none, vprintf, assertfail };

struct Call {
  static constexpr std::uint32_t kIndirect = 0xffffffffu;
  std::uint32_t callee = kIndirect;  // index in Image::codes
  Builtin builtin = Builtin::none;
  std::uint32_t target_row = 0;  // indirect: 64-bit function addresses
  std::vector<Passed> arguments;
  std::vector<Passed> results;
};

// A parameter of a function whose address is taken: copied to local memory when a call starts.
struct LocalCopy {
  std::uint32_t from = 0;  // in a lane's parameter memory
  std::uint32_t to = 0;    // in the activation's local memory
  std::uint32_t bytes = 0;
};

// A register that can be read before it is written: it starts as zero, and marked.
struct Unwritten {
  std::uint32_t mark = 0;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;  // of the whole row, or 4 for a predicate
};

struct Code {
  std::string name;
  std::vector<Op> ops;
  std::uint32_t frame_bytes = 0;  // rows, masks, marks
  std::uint32_t masks_begin = 0;  // where rows end and predicates start
  std::uint32_t row_marks = 0;    // a mask per 128 bytes of rows: lanes that hold a value never written
  std::uint32_t mask_marks = 0;   // the same per predicate
  std::uint32_t param_bytes = 0;  // per lane: formal parameters, results, arguments under construction
  std::uint32_t local_bytes = 0;  // per thread
  std::vector<ConstantRow> constants;
  std::vector<ConstantMask> constant_masks;
  std::vector<SpecialRow> specials;
  std::vector<Unwritten> unwritten;
  std::vector<Passed> parameters;
  std::vector<Passed> results;
  std::vector<LocalCopy> copies;
  std::vector<Call> calls;
  std::vector<std::vector<std::int32_t>> branch_tables;  // brx.idx: op indices
};

// What stays known of an instruction for reports and counts.
struct Site {
  ptx::Position position;
  ptx::SourceLine source;
  std::string_view text;  // of the PTX, without the semicolon
  OpClass op_class = OpClass::other;
  SpreadRule spread;
  Space space = Space::generic;
  bool touches_memory = false;
  bool counted = false;     // can be reached at all
  bool guarded = false;     // counted where it runs; the others by their block's count
  std::uint32_t block = 0;  // index in the launch's block counts
  // The first site of the same source line, calls and kind: copies of an unrolled loop are one place.
  std::uint32_t group = 0;
};

// A kernel with every function it reaches, decoded for one layout of shared memory.
struct Image {
  std::vector<Code> codes;  // the kernel first
  std::vector<Site> sites;
  std::uint32_t block_count = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_offset = 0;
  std::uint32_t max_local_bytes = 0;  // of the kernel and its deepest chain of calls; recursion aside
  std::uint32_t param_bytes = 0;      // of the kernel
  bool recursive = false;             // or unknown callees
  bool uses_stack = false;            // alloca: local memory beyond what functions declare
  bool lanes_may_wait = false;        // atomics or strong loads: a lane may wait for another of its warp
  bool polls = false;          // strong loads or atomics that return: threads may wait for other blocks
  bool order_matters = false;  // strong loads, or atomics whose outcome depends on the order of blocks
  bool orders_memory = false;  // fences, acquire or release
  bool has_arrivals = false;   // mbarriers, copies on their way, barriers of a cluster
  // Function addresses are kFunctionWindow + 16 * index into this; kIndirect when not decoded.
  std::vector<std::uint32_t> code_of_function;
};

inline constexpr std::uint32_t kMaxLocalBytes = 512 * 1024;  // per thread, on every GPU
inline constexpr std::uint64_t kFunctionWindow = std::uint64_t{4} << 60;

}  // namespace gpuforge::sim
