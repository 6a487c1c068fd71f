// What comes to a block's shared memory by itself (copies, values of other blocks) and the mbarriers that
// count it. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/sim/op.h"

namespace gpuforge::sim {

class Block;
class Knowledge;  // race_clocks.h

// An mbarrier's phase is over when everybody has arrived and no bytes are expected any more.
struct MBarrier {
  std::uint32_t members = 0;  // arrivals of a phase
  std::uint32_t pending = 0;  // that are still to come in this one
  std::int64_t bytes = 0;     // still to come; below zero where they were there first
  std::uint64_t phase = 0;    // under way
  std::uint32_t leaving = 0;  // fewer members from the next phase on
  std::uint32_t site = 0;     // of its mbarrier.init
  std::shared_ptr<const Knowledge> arriving, arrived;  // what those of this phase and of those before knew
};

// Bytes on their way to shared memory.
struct Delivery {
  std::uint32_t to = 0;  // offset
  std::uint32_t bytes = 0;
  std::uint32_t barrier = 0;  // offset of the mbarrier that counts them, in the same block
  std::uint64_t from = 0;     // in global memory, when `value` is empty
  std::vector<std::byte> value;
  std::shared_ptr<const Knowledge> known;  // to the thread whose value it is
  // Who sent it, for findings. Its block may have ended, but is not used again before the cluster has ended.
  Warp* warp = nullptr;
  const Op* op = nullptr;
  int lane = 0;
};

struct Arrivals {
  std::map<std::uint32_t, MBarrier> barriers;  // by offset
  std::vector<Delivery> under_way;
  unsigned timeouts = 0;   // of waits, with nothing happening in between
  std::uint64_t sent = 0;  // so far
};

// Puts it on its way.
void send_off(Block& to, Delivery delivery);
// A finding when something is on its way to these bytes of the block's shared memory, which a lane of the
// warp reads already. False: nothing is.
bool met_on_its_way(Warp& warp, const Op* op, int lane, std::uint64_t offset, std::uint32_t bytes);
// One of what is on its way arrives. False when there is nothing.
bool deliver_one(Block& block);
// A wait for an mbarrier ends although its phase has not: what a GPU does after some time. False: nobody
// waits, or nothing has happened since many others ended so.
bool time_out(Block& block);
// "the mbarrier at offset 8 waits for 1 arrival and 16 bytes": those whose phases are not over; empty: none.
std::string missing_arrivals(const Block& block);
// The block has ended: a finding when something was on its way to it.
void arrivals_over(Block& block);

}  // namespace gpuforge::sim
