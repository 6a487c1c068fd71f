#include "gpuforge/sim/arrivals.h"

#include <algorithm>
#include <utility>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/address.h"
#include "gpuforge/sim/block_state.h"
#include "gpuforge/sim/mbarrier.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/report_lines.h"

namespace gpuforge::sim {
namespace {

// Waits that end without a reason before that is called a deadlock.
constexpr unsigned kMostTimeouts = 64;

void tell(const Delivery& one, FindingKind kind, bool fatal, std::string message) {
  if (Finding* finding = report(*one.warp, one.op, kind, one.lane, fatal)) {
    finding->space = space_name(Space::shared);
    finding->address = one.to;
    finding->bytes = one.bytes;
    finding->message = std::move(message);
  }
}

void move_bytes(Block& block, const Delivery& one) {
  std::byte* const to = block.shared + one.to;
  const bool follows = block.launch->checks.initialized;
  if (!one.value.empty()) {
    std::copy(one.value.begin(), one.value.end(), to);
    if (follows) set_written(block.shared_initialized, one.to, one.bytes);
    return;
  }
  std::memcpy(to, reinterpret_cast<const void*>(one.from), one.bytes);
  if (!follows) return;
  const Allocation* const from = find_allocation(*block.launch, one.from, one.bytes);
  for (std::uint32_t i = 0; i < one.bytes; ++i)
    if (from->initialized_whole || all_written(from->initialized.get(), one.from - from->begin + i, 1))
      set_written(block.shared_initialized, one.to + i, 1);
}

bool any_written(const std::uint64_t* bits, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    if (all_written(bits, first + i, 1)) return true;
  return false;
}

}  // namespace

void send_off(Block& to, Delivery delivery) {
  if (to.launch->checks.initialized)
    for (std::uint32_t i = 0; i < delivery.bytes; ++i)
      clear_partly(to, to.shared_initialized, delivery.to + i, 0xff);
  to.arrivals.under_way.push_back(std::move(delivery));
  // In other orders than the first some things come at once.
  const std::uint64_t seed = to.launch->schedule_seed;
  if (seed != 0 && (mix(seed ^ mix(to.linear_index ^ ++to.arrivals.sent << 32)) & 1) != 0) deliver_one(to);
}

bool met_on_its_way(Warp& warp, const Op* op, int lane, std::uint64_t offset, std::uint32_t bytes) {
  for (const Delivery& one : warp.block->arrivals.under_way) {
    if (offset >= std::uint64_t{one.to} + one.bytes || one.to >= offset + bytes) continue;
    if (Finding* finding = report(warp, op, FindingKind::race, lane, false, one.op->site)) {
      finding->space = space_name(Space::shared);
      finding->address = offset;
      finding->bytes = bytes;
      finding->other_block = one.warp->block->index;
      finding->other_thread =
          thread_index(*warp.block->launch, one.warp->index * kLanes + static_cast<std::uint32_t>(one.lane));
      finding->message = format_text(
          "thread {} reads {} bytes of shared memory at offset {} that are still on their way, with no wait "
          "for the mbarrier at offset {}, which counts them",
          text(finding->thread), bytes, offset, one.barrier);
    }
    return true;
  }
  return false;
}

bool deliver_one(Block& block) {
  std::vector<Delivery>& all = block.arrivals.under_way;
  if (all.empty()) return false;
  const std::uint64_t seed = block.launch->schedule_seed;
  const std::size_t which = seed == 0 ? 0 : mix(seed + all.size()) % all.size();
  const Delivery one = std::move(all[which]);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
  if (block.launch->checks.initialized && any_written(block.shared_initialized, one.to, one.bytes))
    tell(one, FindingKind::race, false,
         format_text(
             "{} bytes come to offset {} of shared memory, where something else was written while they "
             "were on their way",
             one.bytes, one.to));
  move_bytes(block, one);
  const auto found = block.arrivals.barriers.find(one.barrier);
  if (found == block.arrivals.barriers.end()) {
    tell(one, FindingKind::barrier, true,
         format_text("the mbarrier at offset {} that counts these bytes is no more when they arrive",
                     one.barrier));
    return true;
  }
  MBarrier& barrier = found->second;
  barrier.bytes -= one.bytes;
  if (block.launch->races != nullptr) block.launch->races->pass_on(one.known, barrier.arriving);
  settle(block, one.barrier, barrier);
  return true;
}

bool time_out(Block& block) {
  if (block.arrivals.timeouts >= kMostTimeouts) return false;
  for (Warp& warp : block.warps)
    for (Fragment& one : warp.fragments) {
      if (one.wait != Wait::arrivals) continue;
      one.wait = Wait::ready;
      one.timed_out = true;
      ++block.arrivals.timeouts;
      return true;
    }
  return false;
}

std::string missing_arrivals(const Block& block) {
  std::string all;
  int named = 0;
  for (const auto& [offset, barrier] : block.arrivals.barriers) {
    if (++named > 4) break;
    if (!all.empty()) all += ", ";
    all += format_text("the mbarrier at offset {} waits for {} of {} arrivals and {} bytes", offset,
                       barrier.pending, barrier.members, barrier.bytes);
  }
  return all;
}

void arrivals_over(Block& block) {
  if (block.arrivals.under_way.empty() || block.launch->failed) return;
  const Delivery& one = block.arrivals.under_way.front();
  tell(one, FindingKind::use_after_free, true,
       format_text(
           "{} bytes are on their way to offset {} of the shared memory of block {}, which ends and has not "
           "waited for them",
           one.bytes, one.to, text(block.index)));
}

}  // namespace gpuforge::sim
