#include "gpuforge/sim/races.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/race_state.h"
#include "gpuforge/sim/thread_memory.h"

namespace gpuforge::sim {

namespace {

constexpr Stamp kLastStamp = 0xfffff000u;
constexpr std::uint32_t kLateBlock = 0x40000000u;  // numbers stay below 2^31: keys compare as signed

bool device_wide(Scope scope) {
  return scope == Scope::gpu || scope == Scope::sys;
}

std::string text(const Index3& index) {
  return format_text("({}, {}, {})", index.x, index.y, index.z);
}

std::string_view doing(const Access& access) {
  if (access.order == Order::weak) return access.writes ? "writes" : "reads";
  if (access.reads && access.writes) return "atomically updates";
  return access.writes ? "writes (strong)" : "reads (strong)";
}

std::string_view done(Did did) {
  switch (did) {
    case Did::read:
      return "read";
    case Did::wrote:
      return "wrote";
    case Did::read_strong:
      return "read (strong)";
    case Did::wrote_strong:
      return "wrote atomically or strong";
  }
  return "accessed";
}

}  // namespace

bool same_bytes(const Access& access, int lane, std::uint64_t address, std::size_t bytes,
                const std::byte* held) {
  const std::byte* values = access.values + static_cast<std::size_t>(lane) * access.bytes;
  return std::memcmp(values + (address - access.address[lane]), held, bytes) == 0;
}

bool same_bytes(const Access& access, int lane, int other, std::uint64_t address, std::size_t bytes) {
  const std::byte* values = access.values + static_cast<std::size_t>(other) * access.bytes;
  return same_bytes(access, lane, address, bytes, values + (address - access.address[other]));
}

const std::byte* held_bytes(const Launch& launch, std::uint64_t address) {
  return launch.own != nullptr ? launch.own->look(address) : reinterpret_cast<const std::byte*>(address);
}

BlockRaces& RaceDetector::State::find(const Block& block) {
  last = running.at(block.linear_index).get();
  return *last;
}

Moment RaceDetector::State::moment(const BlockRaces& block, const Warp& warp, const Access& access) const {
  return {.now = now,
          .all_known = block.clocks.all_known(warp.index),
          .own = block.clocks.own(warp.index),
          .warp = warp.index,
          .site = access.op != nullptr ? access.op->site : kNoSite,
          .exact = block.clocks.exact() || across,
          .base = std::uint64_t{base} << 32,
          .block = std::uint64_t{block.clocks.serial()} << 32};
}

void RaceDetector::State::tell(Warp& warp, const Access& access, int lane, const Conflict& conflict,
                               bool in_shared) const {
  Finding* finding = report(warp, access.op, FindingKind::race, lane, false, conflict.site);
  if (finding == nullptr) return;
  const std::uint64_t linear_block = linear[conflict.serial - base];
  const std::uint64_t x = std::max(1u, launch.grid.x), y = std::max(1u, launch.grid.y);
  const Index3 other_block{static_cast<std::uint32_t>(linear_block % x),
                           static_cast<std::uint32_t>(linear_block / x % y),
                           static_cast<std::uint32_t>(linear_block / x / y)};
  const Index3 other_thread = thread_index(launch, conflict.thread);
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  const bool same_block = linear_block == warp.block->linear_index;

  finding->space = in_shared ? "shared" : "global";
  finding->address = access.address[lane];
  finding->bytes = access.bytes;
  finding->other_block = other_block;
  finding->other_thread = other_thread;
  if (conflict.site != kNoSite) finding->other = place_of(launch, conflict.site);

  std::string other = conflict.thread_known ? "thread " + text(other_thread) : std::string("another thread");
  if (!same_block) other += conflict.thread_known ? " of block " + text(other_block) : " of another block";
  std::string_view why;
  if (conflict.same_instruction)
    why = "with the same instruction and another value";
  else if (conflict.scope)
    why = "with a scope that does not reach from one block to the other";
  else if (!same_block)
    why = "with nothing that orders the two blocks";
  else if (conflict.thread / kLanes == warp.index)
    why = "with no barrier or warp sync between them";
  else
    why = "with no barrier between them";
  finding->message =
      format_text("thread {} {} {} bytes of {} memory at {} 0x{} that {} {}, {}",
                  text(thread_index(launch, thread)), doing(access), access.bytes, finding->space,
                  in_shared ? "offset" : "address", format_text("{:x}", access.address[lane]), other,
                  conflict.same_instruction ? "writes" : done(conflict.did), why);
}

// Release and acquire through a location, lane by lane in the order in which atomics run.
void RaceDetector::State::synchronise(BlockRaces& block, Warp& warp, const Access& access,
                                      std::unordered_map<std::uint64_t, Location>& where) {
  const bool gives = access.order == Order::release || access.order == Order::acq_rel;
  if (gives) releases = true;
  if (!releases) return;
  if (gives || !one_place(access)) {
    synchronise_lanes(block, warp, access, where);
    if (!gives) return;
    block.clocks.released(warp.index, now);
    ++now;
    return;
  }
  const std::uint64_t address = access.address[std::countr_zero(access.lanes)];
  auto found = where.find(address);
  if (found == where.end() && !access.writes) return;
  Location::Again again{.serial = block.clocks.serial(),
                        .warp = warp.index,
                        .lanes = access.lanes,
                        .how = static_cast<std::uint32_t>(access.order) |
                               (static_cast<std::uint32_t>(access.scope) << 8) |
                               (access.reads ? 1u << 16 : 0u) | (access.writes ? 1u << 17 : 0u),
                        .version = block.clocks.version(warp.index)};
  // The first time lanes take what is there and leave what they have; the second time they take what the
  // others of them left; then there is nothing new.
  const std::uint32_t times = found != where.end() && found->second.again == again ? found->second.times : 0;
  if (times >= 2) return;
  synchronise_lanes(block, warp, access, where);
  if (found == where.end()) found = where.find(address);
  if (found == where.end()) return;
  again.version = block.clocks.version(warp.index);
  found->second.again = again;
  found->second.times = times + 1;
}

void RaceDetector::State::synchronise_lanes(BlockRaces& block, Warp& warp, const Access& access,
                                            std::unordered_map<std::uint64_t, Location>& where) {
  const bool acquires = access.order == Order::acquire || access.order == Order::acq_rel;
  const bool gives = access.order == Order::release || access.order == Order::acq_rel;
  const bool device = device_wide(access.scope);
  const std::uint32_t serial = block.clocks.serial();
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto found = where.find(access.address[lane]);
    if (access.reads && found != where.end()) {
      const Location& from = found->second;
      if (from.serial == serial) block.clocks.take(warp.index, lane, from.block, 0, acquires);
      if (device) block.clocks.take(warp.index, lane, from.device, 1, acquires);
    }
    if (!access.writes) continue;
    Handed to_block = block.clocks.handed(warp.index, lane, 0);
    Handed to_device = device ? block.clocks.handed(warp.index, lane, 1) : Handed{};
    if (gives) {
      const KnowledgePtr all = block.clocks.everything(warp.index, lane, now);
      to_block.released = join(to_block.released, all);
      if (device) to_device.released = join(to_device.released, all);
    }
    if (to_block.empty() && to_device.empty() && found == where.end()) continue;
    Location& to = found != where.end() ? found->second : where[access.address[lane]];
    const std::uint64_t me =
        (std::uint64_t{serial} << 10) | (warp.index * kLanes + static_cast<std::uint32_t>(lane));
    // An update hands on what it found; so does a store after a release of the same thread.
    const bool hands_on = access.reads || to.owner == me;
    if (!hands_on) to.device = {};
    if (!hands_on || to.serial != serial) to.block = {};
    to.device.add(to_device);
    to.block.add(to_block);
    to.serial = serial;
    to.owner = access.reads ? 0 : me;
    to.times = 0;
  }
}

RaceDetector::RaceDetector(Launch& launch) : state_(std::make_unique<State>(launch)) {
  state_->own_cells = launch.own != nullptr && launch.own->apart();
  if (launch.allocations == nullptr || state_->own_cells) return;
  for (const auto& allocation : *launch.allocations)
    if (allocation->races != nullptr)
      state_->base = std::max(state_->base, allocation->races->last_block + 1);
  if (state_->base > kLateBlock) {
    for (const auto& allocation : *launch.allocations) allocation->races = nullptr;
    state_->base = 1;
  }
  state_->next = state_->base;
}

RaceDetector::~RaceDetector() {
  if (state_->launch.allocations == nullptr || state_->own_cells) return;
  for (const auto& allocation : *state_->launch.allocations)
    if (allocation->races != nullptr) allocation->races->last_block = state_->next;
}

void RaceDetector::begin_block(Block& block) {
  State& state = *state_;
  if (state.running.empty() && state.now > kLateStamp) {
    state.now = 1;
    state.off = false;
    state.spare.clear();
    state.locations.clear();
    state.lists.clear();
    state.free_lists.clear();
    state.listed = 0;
    state.lists_lost = false;
    state.base = state.next;
    state.linear.clear();
  }
  std::unique_ptr<BlockRaces> races;
  if (!state.spare.empty()) {
    races = std::move(state.spare.back());
    state.spare.pop_back();
    races->locations.clear();
  } else {
    races = std::make_unique<BlockRaces>();
  }
  races->linear_index = block.linear_index;
  const auto warps = static_cast<std::uint32_t>(block.warps.size());
  if (block.rank == 0 && blocks_of(state.launch.cluster) > 1) state.cluster_first = state.next;
  races->clocks.start(state.next++, warps, state.now);
  races->shared.prepare(warps, state.launch.shared_bytes);
  state.linear.push_back(block.linear_index);
  state.last = races.get();
  state.running[block.linear_index] = std::move(races);
}

void RaceDetector::end_block(Block& block) {
  State& state = *state_;
  const auto found = state.running.find(block.linear_index);
  if (found == state.running.end()) return;
  state.spare.push_back(std::move(found->second));
  state.running.erase(found);
  state.last = nullptr;
  if (state.now > kLastStamp) state.off = true;
}

void RaceDetector::warp_sync(Warp& warp, Mask mask) {
  State& state = *state_;
  if (state.now > kLastStamp) state.off = true;
  if (state.off) return;
  state.races_of(*warp.block).clocks.warp_sync(warp.index, mask & warp.live, warp.live, state.now);
}

void RaceDetector::barrier_arrive(Warp& warp, Mask mask, int barrier) {
  State& state = *state_;
  if (state.now > kLastStamp) state.off = true;
  if (state.off) return;
  state.races_of(*warp.block).clocks.arrive(warp.index, mask, warp.live, barrier, state.now);
}

void RaceDetector::barrier_completed(Block& block, int barrier, bool waited_for_all) {
  State& state = *state_;
  if (state.off) return;
  std::array<Mask, 64> live{};
  const std::size_t count = std::min(live.size(), block.warps.size());
  for (std::size_t i = 0; i < count; ++i) live[i] = block.warps[i].live;
  state.races_of(block).clocks.completed({live.data(), count}, barrier, waited_for_all, state.now);
}

void RaceDetector::barrier_leave(Warp& warp, Mask mask, int barrier) {
  State& state = *state_;
  if (state.off) return;
  state.races_of(*warp.block).clocks.leave(warp.index, mask, warp.live, barrier);
}

void RaceDetector::fence(Warp& warp, Mask mask, Fence fence, Scope scope) {
  State& state = *state_;
  if (state.now > kLastStamp) state.off = true;
  if (state.off) return;
  state.releases = true;
  if (device_wide(scope)) state.across = state.beyond_clusters = true;
  state.races_of(*warp.block).clocks.fence(warp.index, mask, warp.live, fence, device_wide(scope), state.now);
}

void RaceDetector::give(Warp& warp, Mask mask, Given& to) {
  State& state = *state_;
  if (state.now > kLastStamp) state.off = true;
  if (state.off) return;
  state.releases = true;
  if (warp.block->cluster != nullptr) state.across = true;
  pass_on(state.races_of(*warp.block).clocks.give(warp.index, mask, warp.live, state.now), to);
}

void RaceDetector::take(Warp& warp, Mask mask, const Given& from) {
  State& state = *state_;
  if (state.off || mask == 0) return;
  state.races_of(*warp.block).clocks.take(warp.index, mask, warp.live, from);
}

void RaceDetector::pass_on(const Given& from, Given& to) {
  to = join(from, to);
}

void RaceDetector::copy_starts(Warp& warp, const Op* op, int lane, std::uint64_t offset,
                               std::uint32_t bytes) {
  State& state = *state_;
  if (state.off) return;
  BlockRaces& block = state.races_of(*warp.block);
  SharedShadow& shadow = block.shared;
  std::uint64_t at[kLanes];
  at[lane] = offset;
  const Access access{.address = at, .lanes = Mask{1} << lane, .bytes = bytes, .writes = true, .op = op};
  const std::size_t first = offset >> shadow.shift, count = bytes >> shadow.shift;
  state.check_shared(block, warp, access, lane, first, count);
  shadow.forget(first, count);
}

std::uint64_t RaceDetector::stamps() const {
  return state_->now;
}

void RaceDetector::shared(Warp& warp, const Access& access) {
  State& state = *state_;
  if (state.off || access.lanes == 0) return;
  BlockRaces& block = state.races_of(*warp.block);
  block.clocks.touch(warp.index, state.now);
  state.shared(block, warp, access);
  if (access.order != Order::weak) state.synchronise(block, warp, access, block.locations);
}

void RaceDetector::global(Warp& warp, const Access& access, Allocation& allocation) {
  State& state = *state_;
  if (state.off || access.lanes == 0) return;
  BlockRaces& block = state.races_of(*warp.block);
  block.clocks.touch(warp.index, state.now);
  std::unique_ptr<RaceCells>& cells =
      state.own_cells ? state.launch.own->area(allocation).races : allocation.races;
  if (cells == nullptr) cells = std::make_unique<RaceCells>(allocation.begin, allocation.bytes);
  // Blocks that poll, acquire or release may order each other; plain atomics alone do not.
  if (access.order != Order::weak && device_wide(access.scope) &&
      (access.order != Order::relaxed || !access.writes))
    state.across = state.beyond_clusters = true;
  state.global(block, warp, access, *cells);
  if (access.order != Order::weak) state.synchronise(block, warp, access, state.locations);
}

}  // namespace gpuforge::sim
