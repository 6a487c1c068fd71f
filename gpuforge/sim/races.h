// Races by happens-before, for one launch. Edges are only those PTX gives: barriers, bar.warp.sync, fences
// and acquire/release with strong accesses, kernel start and end. Relaxed atomics and volatile accesses order
// nothing, but do not race with each other (within their scopes). Accesses are shadowed per 4-byte
// word, and finer from the first narrower access on. Cells of global memory belong to the allocation, or to
// launch.own where a host thread has memory of its own: one detector at a time may use them.
#pragma once

#include <cstdint>
#include <memory>

#include "gpuforge/sim/access.h"
#include "gpuforge/sim/memory.h"

namespace gpuforge::sim {

struct Warp;
class Block;
class Knowledge;  // race_clocks.h
struct Launch;

enum class Fence : std::uint8_t { acquire, release, acq_rel, sc };

class RaceDetector {
 public:
  explicit RaceDetector(Launch& launch);
  ~RaceDetector();
  RaceDetector(const RaceDetector&) = delete;
  RaceDetector& operator=(const RaceDetector&) = delete;

  // Blocks may run interleaved (when they wait for each other); a block is known by its linear index.
  void begin_block(Block& block);
  void end_block(Block& block);

  // Synchronisation, told by the executor, always for the lanes `mask` of one warp.
  void warp_sync(Warp& warp, Mask mask);  // bar.warp.sync, once for all its lanes
  // Named barriers 0 to 15 of the block. arrive: bar.arrive, and the first half of bar.sync. leave: the
  // second half, once the barrier has completed. All arrivals of a phase come before its first leave;
  // `completed` is told once in between, and whether the barrier waited for every thread that lives (one
  // with a count of threads does not).
  void barrier_arrive(Warp& warp, Mask mask, int barrier);
  void barrier_completed(Block& block, int barrier, bool waited_for_all);
  void barrier_leave(Warp& warp, Mask mask, int barrier);
  void fence(Warp& warp, Mask mask, Fence fence, Scope scope);
  // What these lanes know is known as well to whoever takes it from there.
  using Given = std::shared_ptr<const Knowledge>;
  void give(Warp& warp, Mask mask, Given& to);
  void take(Warp& warp, Mask mask, const Given& from);
  void pass_on(const Given& from, Given& to);
  // Something is to come to these bytes of the warp's own block by itself: the lane must know of all accesses
  // so far. Who touches them later is not judged by them any more.
  void copy_starts(Warp& warp, const Op* op, int lane, std::uint64_t offset, std::uint32_t bytes);

  // Accesses that have passed the bounds check, told before the bytes move.
  void shared(Warp& warp, const Access& access);
  void global(Warp& warp, const Access& access, Allocation& allocation);  // all lanes in one allocation

  // Moments told apart since the first block. From kLateStamp on, accesses of blocks that have ended are
  // forgotten before the next one starts.
  static constexpr std::uint64_t kLateStamp = 0x80000000u;
  std::uint64_t stamps() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuforge::sim
