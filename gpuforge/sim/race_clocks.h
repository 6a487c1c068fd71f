// What threads know of each other: the happens-before half of the race detector. Every access carries the
// stamp of its moment; a synchronising event takes the current stamp and moves it on, so "warp 3 up to 41"
// means its accesses before that event. What a whole warp knows of its own block is a row of stamps; all
// that is rarer (single lanes, other blocks, what fences release) is Knowledge, which is shared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gpuforge/sim/races.h"

namespace gpuforge::sim {

using Stamp = std::uint32_t;

// What is known of one block: of warp w up to warps[w], of some threads more.
struct ClockPart {
  std::uint32_t block = 0;
  std::vector<Stamp> warps;
  std::vector<std::pair<std::uint32_t, Stamp>> threads;  // by thread
  Stamp stamp(std::uint32_t thread) const;
};

class Knowledge;
using KnowledgePtr = std::shared_ptr<const Knowledge>;  // nullptr: nothing

// Immutable: a binary tree over block numbers, whose branches say the highest bit in which the numbers below
// them differ. Joins share what the two have in common, so that a chain of blocks, each of which knows all
// before it, costs little more than the blocks.
class Knowledge {
 public:
  explicit Knowledge(ClockPart part) : prefix_(part.block), part_(std::move(part)) {}
  Knowledge(std::uint32_t prefix, std::uint32_t bit, KnowledgePtr low, KnowledgePtr high)
      : prefix_(prefix), bit_(bit), low_(std::move(low)), high_(std::move(high)) {}

  Stamp stamp(std::uint32_t block, std::uint32_t thread) const;
  const ClockPart* part(std::uint32_t block) const;
  bool only(std::uint32_t block) const { return bit_ == 0 && prefix_ == block; }
  // One of the two when it has all that the other has.
  friend KnowledgePtr join(const KnowledgePtr& first, const KnowledgePtr& second);

 private:
  bool above(std::uint32_t block) const;  // whether the block's place is below this branch

  std::uint32_t prefix_ = 0;  // what the numbers below have in common; of a leaf its block
  std::uint32_t bit_ = 0;     // 0: a leaf
  ClockPart part_;
  KnowledgePtr low_, high_;
};
KnowledgePtr join(const KnowledgePtr& first, const KnowledgePtr& second);

// What a strong write hands on to those who read it. PTX has two rules. A release, or a fence and then a
// strong write of the same thread, meets an acquire, or a strong read and then a fence of the same thread.
// And any two fence.sc are ordered: where one comes before the write and the other after the read, also by
// barriers of other threads, it is in that order.
struct Handed {
  KnowledgePtr released;
  KnowledgePtr sc;  // known at some fence.sc before the write
  bool empty() const { return released == nullptr && sc == nullptr; }
  void add(const Handed& more) {
    released = join(released, more.released);
    sc = join(sc, more.sc);
  }
};

// The clocks of one block's warps. Two kinds of fences: 0 for the block, 1 for the device.
class BlockClocks {
 public:
  void start(std::uint32_t serial, std::uint32_t warps, Stamp& now);

  std::uint32_t serial() const { return serial_; }
  const Stamp* known(std::uint32_t warp) const { return known_.data() + warp * count_; }
  Stamp own(std::uint32_t warp) const { return known_[warp * count_ + warp]; }
  Stamp all_known(std::uint32_t warp) const { return warps_[warp].all_known; }
  // Whether this lane is ordered after that access.
  bool knows(std::uint32_t warp, int lane, std::uint32_t block, std::uint32_t thread, Stamp stamp) const;
  bool knows_other_blocks(std::uint32_t warp, int lane) const;
  // Something less than the whole block or a whole warp has synchronised: of unordered accesses that fall
  // together each one's stamp counts from now on, not only the last one's.
  bool exact() const { return exact_; }
  void touch(std::uint32_t warp, Stamp now) { warps_[warp].last_access = now; }  // told with every access
  // Of the last event by which others can know of the warp's accesses: those after it are all alike.
  Stamp last_event(std::uint32_t warp) const { return warps_[warp].last_event; }
  void released(std::uint32_t warp, Stamp at) { warps_[warp].last_event = at; }
  // Another number whenever lanes of the warp know more, or hand on something else.
  std::uint64_t version(std::uint32_t warp) const { return warps_[warp].version; }

  void warp_sync(std::uint32_t warp, Mask mask, Mask live, Stamp& now);
  void arrive(std::uint32_t warp, Mask mask, Mask live, int barrier, Stamp& now);
  void completed(std::span<const Mask> live, int barrier, bool waited_for_all, Stamp& now);
  void leave(std::uint32_t warp, Mask mask, Mask live, int barrier);
  void fence(std::uint32_t warp, Mask mask, Mask live, Fence fence, bool device, Stamp& now);

  // What all these lanes know, themselves up to now included; and the other way round.
  KnowledgePtr give(std::uint32_t warp, Mask mask, Mask live, Stamp& now);
  void take(std::uint32_t warp, Mask mask, Mask live, const KnowledgePtr& what);

  Handed handed(std::uint32_t warp, int lane, int kind) const;             // by a strong write of this lane
  KnowledgePtr everything(std::uint32_t warp, int lane, Stamp now) const;  // by a releasing write
  // A strong read of this lane found that.
  void take(std::uint32_t warp, int lane, const Handed& what, int kind, bool acquires);

 private:
  using Kinds = std::array<KnowledgePtr, 2>;
  // For fence.sc alone, and so past barriers: what such fences before this point have seen, and what the next
  // one will know.
  struct Flow {
    Kinds given, taken;
    bool empty() const;
    void add(const Flow& more);
  };
  struct Own {  // one lane's: at its fences, and for its next one
    Kinds given;
    std::array<Handed, 2> taken;
    Flow flow;
    bool empty() const;
  };
  struct Lanes {  // made when lanes of a warp know different things
    bool peers_valid = false;
    std::array<std::array<Stamp, kLanes>, kLanes> peers;  // [lane][what it knows of that lane]
    std::array<KnowledgePtr, kLanes> more;
    std::array<Own, kLanes> own;
    Mask with_more = 0;
    Mask with_own = 0;
  };
  struct Mark {  // the last fence of these lanes, kept unfolded: base, and each lane itself up to stamp
    KnowledgePtr base;
    Stamp stamp = 0;
    Mask lanes = 0;
    bool sc = false;  // and not in the warp's flow yet
  };
  struct WarpClock {
    Stamp all_known = 0;
    Stamp last_access = 0;
    Stamp last_event = 0;
    std::uint64_t version = 0;
    bool rare = false;  // any of what follows is in use
    KnowledgePtr common;
    std::array<Mark, 2> mark;
    Flow flow;
    std::unique_ptr<Lanes> lanes;
    std::array<std::uint32_t, 16> phase{};  // of each barrier: the one last arrived at
    std::array<Mask, 16> left{};
  };
  struct Phase {
    std::vector<Stamp> known;
    KnowledgePtr more;
    Flow flow;
    std::vector<Mask> arrived;
    std::vector<Mask> whole;   // nonzero: arrived at once
    std::vector<Stamp> first;  // the first lane's arrival
    void clear(std::size_t warps);
  };
  struct Barrier {
    std::array<Phase, 4> phases;  // a warp may leave late: a few finished ones stay
    std::uint32_t now = 0;
  };

  Lanes& lanes(std::uint32_t warp);
  Stamp* row(std::uint32_t warp) { return known_.data() + warp * count_; }
  void refresh(std::uint32_t warp);
  void learn(std::uint32_t warp, int lane, const KnowledgePtr& what);
  void learn_common(std::uint32_t warp, const KnowledgePtr& what);
  void raise(std::uint32_t warp, const ClockPart& part);
  KnowledgePtr leaf(std::vector<Stamp> warps, std::vector<std::pair<std::uint32_t, Stamp>> threads) const;
  KnowledgePtr marked(std::uint32_t warp, int lane, int kind) const;
  Own& own_of(std::uint32_t warp, std::size_t lane);
  bool keep(std::uint32_t warp, KnowledgePtr& at, const KnowledgePtr& what);
  Flow flow_of(std::uint32_t warp, Mask mask, Mask live) const;
  void add_flow(std::uint32_t warp, Mask mask, const Flow& flow);
  void acquire(std::uint32_t warp, Mask mask, Mask live, int kind, bool sc);
  void set_mark(std::uint32_t warp, Mask mask, int kind, const KnowledgePtr& base, Stamp now, bool sc);
  void settle(std::uint32_t warp);
  void leave_whole(std::uint32_t warp, const Phase& phase, bool at_once);

  std::uint32_t serial_ = 0;
  std::size_t count_ = 0;
  bool exact_ = false;
  std::vector<Stamp> known_;  // [warp][warp]; its own: what every lane knows of every other one
  std::vector<WarpClock> warps_;
  std::array<std::unique_ptr<Barrier>, 16> barriers_;
};

}  // namespace gpuforge::sim
