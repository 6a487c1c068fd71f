// For the race detector's tests: blocks without an executor. A test says what threads do, in the order of
// some schedule, and asks what was found. The stand-ins for the executor's report() are in
// race_stage_for_tests.cpp.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/races.h"

namespace gpuforge::sim {

class RaceStage {
 public:
  RaceStage(std::uint32_t blocks, std::uint32_t warps, Mask live = kAllLanes,
            std::uint32_t shared_bytes = 4096, std::size_t global_words = 4096);
  ~RaceStage();

  struct How {
    bool shared = true;
    bool reads = false;
    bool writes = false;
    std::uint32_t bytes = 4;
    Order order = Order::weak;
    Scope scope = Scope::gpu;
    std::uint32_t site = 0;
    std::uint64_t value = 0;  // lane l stores value + l * value_step
    std::uint64_t value_step = 0;
    bool one_value = false;  // else every access stores values never stored before
    bool untold = false;     // the detector is not told the values
  };
  // Lanes of a warp; `at` gives the offset in shared memory, or in the global words, for a lane.
  void access(std::uint32_t block, std::uint32_t warp, Mask lanes,
              const std::function<std::uint64_t(int lane)>& at, How how);
  // One thread, word number `word`.
  void read(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared = true);
  void write(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared = true);
  void strong_read(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared = false,
                   Order order = Order::relaxed, Scope scope = Scope::gpu);
  void strong_write(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared = false,
                    Order order = Order::relaxed, Scope scope = Scope::gpu);
  void update(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared = false,
              Order order = Order::relaxed, Scope scope = Scope::gpu);  // an atomic
  void fence(std::uint32_t block, std::uint32_t thread, Scope scope = Scope::gpu, Fence fence = Fence::sc);
  void fence_lanes(std::uint32_t block, std::uint32_t warp, Mask mask, Scope scope, Fence fence = Fence::sc);
  void warp_sync(std::uint32_t block, std::uint32_t warp, Mask mask = kAllLanes);
  void arrive(std::uint32_t block, std::uint32_t warp, int barrier = 0, Mask mask = kAllLanes);
  void complete(std::uint32_t block, int barrier = 0);  // number 0 waits for all threads, the others count
  void leave(std::uint32_t block, std::uint32_t warp, int barrier = 0, Mask mask = kAllLanes);
  void barrier(std::uint32_t block);  // bar.sync 0 of all warps
  void end_block(std::uint32_t block);
  void next_launch();

  std::uint64_t found() const;  // races so far, repeated ones counted
  const std::vector<Finding>& findings() const { return launch_->findings.entries(); }
  Warp& warp(std::uint32_t block, std::uint32_t index) { return blocks_[block]->warps[index]; }
  std::uint32_t warps() const { return warps_; }

 private:
  void start();
  How one(bool shared, bool reads, bool writes, Order order = Order::weak, Scope scope = Scope::gpu);

  std::uint32_t count_, warps_;
  Mask live_;
  std::uint32_t shared_bytes_;
  std::vector<std::uint32_t> global_;
  std::byte* words_;  // of them those that are the allocation, which begins with a line of 128 bytes
  std::shared_ptr<Allocation> allocation_;
  std::shared_ptr<Allocations> allocations_;
  std::unique_ptr<Launch> launch_;
  std::unique_ptr<RaceDetector> races_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::vector<std::uint64_t>> shared_;
  std::deque<Op> ops_;
  std::uint64_t next_value_ = 1;
};

}  // namespace gpuforge::sim
