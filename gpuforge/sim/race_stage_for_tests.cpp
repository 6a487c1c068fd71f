#include "gpuforge/sim/race_stage_for_tests.h"

#include <bit>
#include <cstring>

namespace gpuforge::sim {

Finding* report(Warp& warp, const Op* op, FindingKind kind, int lane, bool, std::uint32_t other_site) {
  Launch& launch = *warp.block->launch;
  Finding* finding = launch.findings.add(kind, op->site, other_site);
  if (finding == nullptr) return nullptr;
  finding->block = warp.block->index;
  finding->thread = thread_index(launch, warp.index * kLanes + static_cast<std::uint32_t>(lane));
  return finding;
}
Place place_of(const Launch&, std::uint32_t site) {
  return {"stage.cu", site, 0, "instruction"};
}
Index3 thread_index(const Launch& launch, std::uint32_t thread) {
  return {thread % launch.block.x, thread / launch.block.x % launch.block.y,
          thread / launch.block.x / launch.block.y};
}

RaceStage::RaceStage(std::uint32_t blocks, std::uint32_t warps, Mask live, std::uint32_t shared_bytes,
                     std::size_t global_words)
    : count_(blocks), warps_(warps), live_(live), shared_bytes_(shared_bytes), global_(global_words + 32) {
  const std::uint64_t past = reinterpret_cast<std::uint64_t>(global_.data()) % 128;
  words_ = reinterpret_cast<std::byte*>(global_.data()) + (past == 0 ? 0 : 128 - past);
  allocation_ = std::make_shared<Allocation>(reinterpret_cast<std::uint64_t>(words_),
                                             global_words * sizeof global_[0], "words", true);
  allocations_ = std::make_shared<Allocations>(Allocations{allocation_});
  start();
}
RaceStage::~RaceStage() = default;

void RaceStage::start() {
  races_ = nullptr;
  blocks_.clear();
  shared_.clear();
  launch_ = std::make_unique<Launch>();
  launch_->grid = {count_, 1, 1};
  launch_->block = {warps_ * kLanes, 1, 1};
  launch_->threads_per_block = warps_ * kLanes;
  launch_->shared_bytes = shared_bytes_;
  launch_->allocations = allocations_;
  races_ = std::make_unique<RaceDetector>(*launch_);
  launch_->races = races_.get();
  for (std::uint32_t i = 0; i < count_; ++i) {
    auto block = std::make_unique<Block>();
    block->launch = launch_.get();
    block->index = {i, 0, 0};
    block->linear_index = i;
    shared_.emplace_back(shared_bytes_ / 8 + 1);
    block->shared = reinterpret_cast<std::byte*>(shared_.back().data());
    block->warps.resize(warps_);
    for (std::uint32_t w = 0; w < warps_; ++w) {
      block->warps[w].index = w;
      block->warps[w].live = live_;
      block->warps[w].active = live_;
      block->warps[w].block = block.get();
    }
    races_->begin_block(*block);
    blocks_.push_back(std::move(block));
  }
}

void RaceStage::next_launch() {
  start();
}

void RaceStage::access(std::uint32_t block, std::uint32_t warp_index, Mask lanes,
                       const std::function<std::uint64_t(int lane)>& at, How how) {
  std::array<std::uint64_t, kLanes> address{};
  std::vector<std::byte> values(std::size_t{kLanes} * how.bytes);
  std::byte* const begin = how.shared ? nullptr : words_;
  const int first = std::countr_zero(lanes);
  Access access;
  access.pattern = Pattern::contiguous;
  bool uniform = true;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (((lanes >> lane) & 1u) == 0) continue;
    const auto index = static_cast<std::size_t>(lane);
    address[index] = reinterpret_cast<std::uint64_t>(begin) + at(lane);
    const std::uint64_t value =
        how.one_value ? how.value + static_cast<std::uint64_t>(lane) * how.value_step : next_value_++;
    std::memcpy(&values[index * how.bytes], &value, std::min<std::size_t>(how.bytes, sizeof value));
    const std::uint64_t start_at = address[static_cast<std::size_t>(first)];
    if (address[index] != start_at + static_cast<std::uint64_t>(lane - first) * how.bytes)
      access.pattern = Pattern::other;
    uniform = uniform && address[index] == start_at;
  }
  if (uniform && access.pattern == Pattern::other) access.pattern = Pattern::uniform;
  while (ops_.size() <= how.site) {
    ops_.emplace_back();
    ops_.back().site = static_cast<std::uint32_t>(ops_.size() - 1);
  }
  access.address = address.data();
  access.lanes = lanes;
  access.bytes = how.bytes;
  access.reads = how.reads;
  access.writes = how.writes;
  access.order = how.order;
  access.scope = how.scope;
  access.op = &ops_[how.site];
  access.values = how.writes && !how.reads && !how.untold ? values.data() : nullptr;
  Warp& by = warp(block, warp_index);
  if (how.shared)
    races_->shared(by, access);
  else
    races_->global(by, access, *allocation_);
  if (!how.writes) return;
  std::byte* const base = how.shared ? blocks_[block]->shared : nullptr;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(rest));
    std::memcpy(how.shared ? base + address[index] : reinterpret_cast<std::byte*>(address[index]),
                &values[index * how.bytes], how.bytes);
  }
}

RaceStage::How RaceStage::one(bool shared, bool reads, bool writes, Order order, Scope scope) {
  How how;
  how.shared = shared;
  how.reads = reads;
  how.writes = writes;
  how.order = order;
  how.scope = scope;
  how.site = (reads ? 1u : 0u) | (writes ? 2u : 0u) | (order == Order::weak ? 0u : 4u);
  return how;
}

void RaceStage::read(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared) {
  access(
      block, thread / kLanes, Mask{1} << thread % kLanes, [&](int) { return word * 4; },
      one(shared, true, false));
}
void RaceStage::write(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared) {
  access(
      block, thread / kLanes, Mask{1} << thread % kLanes, [&](int) { return word * 4; },
      one(shared, false, true));
}
void RaceStage::strong_read(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared,
                            Order order, Scope scope) {
  access(
      block, thread / kLanes, Mask{1} << thread % kLanes, [&](int) { return word * 4; },
      one(shared, true, false, order, scope));
}
void RaceStage::strong_write(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared,
                             Order order, Scope scope) {
  access(
      block, thread / kLanes, Mask{1} << thread % kLanes, [&](int) { return word * 4; },
      one(shared, false, true, order, scope));
}
void RaceStage::update(std::uint32_t block, std::uint32_t thread, std::uint64_t word, bool shared,
                       Order order, Scope scope) {
  access(
      block, thread / kLanes, Mask{1} << thread % kLanes, [&](int) { return word * 4; },
      one(shared, true, true, order, scope));
}
void RaceStage::fence(std::uint32_t block, std::uint32_t thread, Scope scope, Fence fence) {
  races_->fence(warp(block, thread / kLanes), Mask{1} << thread % kLanes, fence, scope);
}
void RaceStage::fence_lanes(std::uint32_t block, std::uint32_t index, Mask mask, Scope scope, Fence fence) {
  races_->fence(warp(block, index), mask, fence, scope);
}
void RaceStage::warp_sync(std::uint32_t block, std::uint32_t index, Mask mask) {
  races_->warp_sync(warp(block, index), mask & live_);
}
void RaceStage::arrive(std::uint32_t block, std::uint32_t index, int barrier, Mask mask) {
  races_->barrier_arrive(warp(block, index), mask & live_, barrier);
}
void RaceStage::complete(std::uint32_t block, int barrier) {
  races_->barrier_completed(*blocks_[block], barrier, barrier == 0);
}
void RaceStage::leave(std::uint32_t block, std::uint32_t index, int barrier, Mask mask) {
  races_->barrier_leave(warp(block, index), mask & live_, barrier);
}
void RaceStage::barrier(std::uint32_t block) {
  for (std::uint32_t w = 0; w < warps_; ++w) arrive(block, w);
  complete(block);
  for (std::uint32_t w = 0; w < warps_; ++w) leave(block, w);
}
void RaceStage::end_block(std::uint32_t block) {
  races_->end_block(*blocks_[block]);
}

std::uint64_t RaceStage::found() const {
  std::uint64_t count = 0;
  for (const Finding& finding : findings()) count += finding.count;
  return count;
}

}  // namespace gpuforge::sim
