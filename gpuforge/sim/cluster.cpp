#include "gpuforge/sim/cluster.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/address.h"
#include "gpuforge/sim/block_state.h"
#include "gpuforge/sim/converge.h"
#include "gpuforge/sim/fragments.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/schedule.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

// Without a launch in clusters a block is one by itself.
Cluster& cluster_of(Block& block) {
  if (block.cluster != nullptr) return *block.cluster;
  if (block.alone == nullptr) block.alone = std::make_shared<Cluster>(std::vector<Block*>{&block});
  return *block.alone;
}

void complete(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  bool any = false;
  for (std::size_t rank = 0; rank < cluster.blocks.size(); ++rank)
    for (const Warp& warp : cluster.blocks[rank]->warps) {
      const Mask arrived = barrier.blocks[rank].arrived[warp.index];
      any = any || arrived != 0;
      if (!cluster.over[rank] && (warp.live & ~arrived) != 0) return;
    }
  if (!any) return;
  barrier.arrived = std::exchange(barrier.arriving, nullptr);
  for (std::size_t rank = 0; rank < cluster.blocks.size(); ++rank) {
    Block& block = *cluster.blocks[rank];
    block.arrivals.timeouts = 0;
    for (Warp& warp : block.warps) {
      barrier.blocks[rank].released[warp.index] |=
          std::exchange(barrier.blocks[rank].arrived[warp.index], 0u);
      for (Fragment& one : warp.fragments)
        if (one.wait == Wait::cluster) one.wait = Wait::ready;
    }
  }
}

// True: it is so for none of the lanes.
bool expect_none(Warp& warp, const Op* op, Mask lanes, std::string_view message) {
  if (lanes == 0) return true;
  report_wrong(warp, op, FindingKind::barrier, std::countr_zero(lanes), std::string(message));
  return false;
}

template <bool aligned, bool releases>
const Op* arrive(Warp& warp, const Op* op) {
  if (aligned && !converge_aligned(warp, op)) return take_next(warp);
  Cluster& cluster = cluster_of(*warp.block);
  ClusterBarrier::OfBlock& own = cluster.barrier.blocks[warp.block->rank];
  const Mask twice = warp.active & (own.arrived[warp.index] | own.released[warp.index]);
  if (!expect_none(warp, op, twice,
                   "a thread arrives at the cluster's barrier again and has not waited there since"))
    return nullptr;
  own.arrived[warp.index] |= warp.active;
  RaceDetector* const races = warp.block->launch->races;
  if (releases && races != nullptr) races->give(warp, warp.active, cluster.barrier.arriving);
  complete(cluster);
  return op + 1;
}

template <bool aligned>
const Op* wait(Warp& warp, const Op* op) {
  if (aligned && !converge_aligned(warp, op)) return take_next(warp);
  Cluster& cluster = cluster_of(*warp.block);
  ClusterBarrier::OfBlock& own = cluster.barrier.blocks[warp.block->rank];
  Mask& released = own.released[warp.index];
  if (!expect_none(warp, op, warp.active & ~(own.arrived[warp.index] | released),
                   "a thread waits at the cluster's barrier and has not arrived there"))
    return nullptr;
  if ((warp.active & ~released) != 0) {
    set_aside(warp, op, Wait::cluster);
    return take_next(warp);
  }
  released &= ~warp.active;
  RaceDetector* const races = warp.block->launch->races;
  if (races != nullptr) races->take(warp, warp.active, cluster.barrier.arrived);
  return op + 1;
}

const Op* map_address(Warp& warp, const Op* op) {
  const auto* const address = row<std::uint32_t>(warp, op->operand[1]);
  const auto* const rank = row<std::uint32_t>(warp, op->operand[2]);
  const auto blocks = static_cast<std::uint32_t>(cluster_of(*warp.block).blocks.size());
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (rank[lane] >= blocks) {
      if (Finding* finding = report(warp, op, FindingKind::out_of_bounds, lane, true)) {
        finding->space = space_name(Space::shared);
        finding->address = address[lane];
        finding->message = format_text("mapa to block {} of a cluster, which has {}", rank[lane], blocks);
      }
      return nullptr;
    }
    row<std::uint32_t>(warp, op->operand[0])[lane] =
        ((rank[lane] + 1) << kRankShift) | cluster_place(*warp.block, address[lane]).offset;
  }
  return op + 1;
}

const Op* rank_of_address(Warp& warp, const Op* op) {
  const auto* const address = row<std::uint32_t>(warp, op->operand[1]);
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    row<std::uint32_t>(warp, op->operand[0])[lane] = cluster_place(*warp.block, address[lane]).rank;
  }
  return op + 1;
}

Handlers bind_arrive(const Match& match) {
  const bool releases = !match.has("relaxed");
  if (match.has("aligned")) return both(releases ? arrive<true, true> : arrive<true, false>);
  return both(releases ? arrive<false, true> : arrive<false, false>);
}
Handlers bind_wait(const Match& match) {
  return both(match.has("aligned") ? wait<true> : wait<false>);
}

constexpr OpcodeRow kRows[] = {
    {"barrier.cluster.arrive[.release|.relaxed][.aligned]", OpClass::barrier, bind_arrive},
    {"barrier.cluster.wait[.acquire][.aligned]", OpClass::barrier, bind_wait},
    {"mapa.shared::cluster.u32 d:u32, a:u32, b:u32", OpClass::other, bind_one<map_address>},
    {"getctarank.shared::cluster.u32 d:u32, a:u32", OpClass::other, bind_one<rank_of_address>},
};

// The grid's index of a block by its cluster's number and its rank.
std::uint64_t linear_index(const Launch& launch, std::uint64_t number, std::uint32_t rank) {
  const Index3 &cluster = launch.cluster, &grid = launch.grid;
  const std::uint64_t across = grid.x / cluster.x, down = grid.y / cluster.y;
  const std::uint64_t x = number % across * cluster.x + rank % cluster.x;
  const std::uint64_t y = number / across % down * cluster.y + rank / cluster.x % cluster.y;
  const std::uint64_t z = number / across / down * cluster.z + rank / cluster.x / cluster.y;
  return (z * grid.y + y) * grid.x + x;
}

using States = std::vector<std::unique_ptr<BlockState>>;

// Blocks run in turns. One that waits for the others is asked again in the next round.
void run_cluster(Launch& launch, const States& states, Cluster& cluster, std::uint64_t seed) {
  std::size_t left = states.size();
  for (std::uint64_t round = 0; left > 0 && !launch.failed; ++round) {
    const std::size_t first = seed == 0 ? 0 : mix(seed + round) % states.size();
    for (std::size_t i = 0; i < states.size() && !launch.failed; ++i) {
      const std::size_t rank = (first + i) % states.size();
      if (cluster.over[rank]) continue;
      Block& block = states[rank]->block();
      if (!run_block(block, true) || launch.failed) continue;
      cluster.over[rank] = true;
      --left;
      arrivals_over(block);
      complete(cluster);
      if (launch.races != nullptr) launch.races->end_block(block);
    }
    const auto any = [&](auto act) {
      for (std::size_t rank = 0; rank < states.size(); ++rank)
        if (!cluster.over[rank] && act(states[rank]->block())) return true;
      return false;
    };
    if (left > 0 && !launch.failed && !any(can_go_on) && !any(end_a_wait)) any(report_deadlock);
  }
}

}  // namespace

Cluster::Cluster(std::vector<Block*> all) : blocks(std::move(all)), over(blocks.size()) {
  for (const Block* block : blocks)
    barrier.blocks.push_back(
        {std::vector<Mask>(block->warps.size()), std::vector<Mask>(block->warps.size())});
}

std::span<const OpcodeRow> cluster_rows() {
  return kRows;
}

Block* block_of_rank(Block& block, std::uint32_t rank) {
  const Cluster& cluster = cluster_of(block);
  return rank < cluster.blocks.size() ? cluster.blocks[rank] : nullptr;
}

bool has_ended(const Block& block, std::uint32_t rank) {
  return block.cluster != nullptr && block.cluster->over[rank];
}

void complete_cluster_barrier(Block& block) {
  if (block.cluster != nullptr)
    complete(*block.cluster);
  else if (block.alone != nullptr)
    complete(*block.alone);
}

void run_clusters(Launch& launch, std::uint64_t seed) {
  States states;
  for (std::uint32_t rank = 0; rank < blocks_of(launch.cluster); ++rank)
    states.push_back(std::make_unique<BlockState>(launch));
  const std::uint64_t count = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z / states.size();
  // Not where later clusters may wait for earlier ones.
  const std::uint64_t offset = seed == 0 || launch.image->polls ? 0 : mix(seed) % count;
  for (std::uint64_t i = 0; i < count && !launch.failed; ++i) {
    std::vector<Block*> blocks;
    for (std::uint32_t rank = 0; rank < states.size(); ++rank) {
      Block& block = states[rank]->block();
      block.rank = rank;
      states[rank]->start(linear_index(launch, (i + offset) % count, rank), seed);
      if (launch.races != nullptr) launch.races->begin_block(block);
      blocks.push_back(&block);
    }
    Cluster cluster(std::move(blocks));
    for (const auto& state : states) state->block().cluster = &cluster;
    run_cluster(launch, states, cluster, seed);
    for (const auto& state : states) state->block().cluster = nullptr;
  }
}

}  // namespace gpuforge::sim
