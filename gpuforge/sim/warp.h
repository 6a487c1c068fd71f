// The state of a warp that handlers read and write, and small helpers to reach rows. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gpuforge/sim/op.h"

namespace gpuforge::sim {

class Block;   // the running block: warps, barriers, shared memory (block.h)
struct Frame;  // one function activation (frame.h)
struct SiteCounters;

enum class Mode : std::uint32_t { full = 0, masked = 1, tracked = 2 };

// Lanes of a warp that are at one place of the program but do not run just now.
enum class Wait : std::uint8_t {
  ready,
  converge,   // at an .aligned instruction, for the rest of the warp
  warp_sync,  // at a .sync instruction, for the other lanes of its mask
  barrier,    // arrived at a barrier of the block
  cluster,    // at the cluster's barrier, for the threads of other blocks as well
  arrivals,   // for an mbarrier
};
struct Fragment {
  const Op* next = nullptr;
  Mask lanes = 0;
  Frame* frame = nullptr;
  Wait wait = Wait::ready;
  bool forced = false;       // reported already: runs without waiting for anybody
  bool timed_out = false;    // arrivals: its wait ends without a reason
  Mask sync_mask = 0;        // warp_sync: whom it waits for
  Mask beside = 0;           // lanes that came to the same .sync instruction with it, but with another mask
  std::uint8_t barrier = 0;  // barrier: which
  std::uint64_t last_run = 0;
};

struct BlockCount {
  std::uint64_t warps = 0;
  std::uint64_t threads = 0;
};

struct alignas(64) Warp {
  std::byte* rows = nullptr;  // of the current frame
  Mask active = 0;            // lanes running the current fragment
  Mode mode = Mode::full;     // which of op.run
  Mask live = 0;              // lanes that exist and have not exited
  std::uint32_t index = 0;    // in its block
  std::uint32_t others = 0;   // fragments.size()
  std::int64_t fuel = 0;      // instructions until the scheduler wants to look
  std::int64_t given = 0;     // what fuel was at the start of the turn
  BlockCount* counts = nullptr;
  SiteCounters* sites = nullptr;
  // warp.active as 0 and -1 per lane; valid in mode masked and inside masked handlers.
  alignas(64) std::int32_t lane_mask[kLanes] = {};
  Block* block = nullptr;
  Frame* frame = nullptr;
  // The rest is the scheduler's.
  const Op* next = nullptr;  // where the current fragment goes on; nullptr: there is none
  bool tracking = false;     // some register holds a value never written: mode is tracked
  bool forced = false;       // the current fragment's Fragment::forced
  Mask beside = 0;           // the current fragment's Fragment::beside
  bool starting = false;     // has not run yet
  bool timed_out = false;    // the current fragment's Fragment::timed_out, until its wait has seen it
  bool sticky = false;       // the current fragment keeps its turn although others stand before it
  std::uint32_t turn = 0;    // blocks entered in this turn
  Mask existing = 0;         // lanes the block has
  std::uint64_t clock = 0;   // instructions run
  std::uint64_t frame_serial = 0;
  std::uint64_t parted = 0;  // chances to part lanes so far
  std::vector<Fragment> fragments;
};

template <class T>
T* row(const Warp& warp, std::uint32_t offset) {
  return reinterpret_cast<T*>(warp.rows + offset);
}
inline Mask& predicate(const Warp& warp, std::uint32_t offset) {
  return *reinterpret_cast<Mask*>(warp.rows + offset);
}

inline void set_lane_mask(Warp& warp) {
  for (int lane = 0; lane < kLanes; ++lane)
    warp.lane_mask[lane] = -static_cast<std::int32_t>((warp.active >> lane) & 1u);
}

}  // namespace gpuforge::sim
