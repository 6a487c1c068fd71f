// Instructions whose bytes come to shared memory some time later: st.async to a block of the cluster, and
// bulk copies from global memory. Not before anybody could need them, so that who does not wait is found out.
#include <algorithm>
#include <bit>
#include <utility>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/address.h"
#include "gpuforge/sim/cluster.h"
#include "gpuforge/sim/mbarrier.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/report_lines.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kUnit = 16;  // a bulk copy moves whole ones, from and to multiples
constexpr std::uint32_t kNotedAtOnce =
    1024;  // bytes, whose sectors are noted: what a warp's access has at most

// The block that it goes to, with everything checked; nullptr after a finding.
Block* find_target(Warp& warp, const Op* op, int lane, std::size_t barrier_slot, std::uint32_t alignment,
                   Delivery& delivery) {
  Block& own = *warp.block;
  const ClusterPlace to = cluster_place(own, row<std::uint32_t>(warp, op->operand[0])[lane]);
  const ClusterPlace counter = cluster_place(own, row<std::uint32_t>(warp, op->operand[barrier_slot])[lane]);
  Block* const block = block_of_rank(own, to.rank);
  if (block == nullptr) {
    report_wrong(warp, op, FindingKind::out_of_bounds, lane,
                 format_text("these bytes go to block {} of a cluster, which has {}", to.rank,
                             blocks_of(own.launch->cluster)));
    return nullptr;
  }
  if (counter.rank != to.rank) {
    report_wrong(warp, op, FindingKind::barrier, lane,
                 format_text("these bytes go to block {} of the cluster, and the mbarrier is one of block {}",
                             to.rank, counter.rank));
    return nullptr;
  }
  if (has_ended(own, to.rank)) {
    report_wrong(
        warp, op, FindingKind::use_after_free, lane,
        format_text("these bytes go to the shared memory of block {}, which has ended", text(block->index)));
    return nullptr;
  }
  if (to.offset % alignment != 0) {
    report_misaligned(warp, op, Use::write, Space::shared, lane, to.offset, alignment);
    return nullptr;
  }
  if (std::uint64_t{to.offset} + delivery.bytes > own.launch->shared_bytes) {
    report_outside(warp, op, Use::write, Space::shared, lane, to.offset, delivery.bytes);
    return nullptr;
  }
  if (find_mbarrier(warp, op, lane, *block, counter.offset) == nullptr) return nullptr;
  delivery.to = to.offset;
  delivery.barrier = counter.offset;
  delivery.warp = &warp;
  delivery.op = op;
  delivery.lane = lane;
  return block;
}

// Slots: address, elements, mbarrier.
template <class Element, std::size_t kCount>
const Op* send(Warp& warp, const Op* op) {
  for (std::size_t i = 0; i < kCount; ++i)
    check_use(warp, op, static_cast<int>(1 + i), "a value that is sent");
  RaceDetector* const races = warp.block->launch->races;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Delivery one{.bytes = kCount * sizeof(Element),
                 .value = std::vector<std::byte>(kCount * sizeof(Element))};
    Block* const to = find_target(warp, op, lane, kCount + 1, one.bytes, one);
    if (to == nullptr) return nullptr;
    for (std::size_t i = 0; i < kCount; ++i)
      std::memcpy(one.value.data() + i * sizeof(Element), &row<Element>(warp, op->operand[1 + i])[lane],
                  sizeof(Element));
    if (races != nullptr) races->give(warp, Mask{1} << lane, one.known);
    send_off(*to, std::move(one));
  }
  return op + 1;
}

// A copy reads global memory as if its thread did, piece by piece.
bool read_source(Warp& warp, const Op* op, int lane, std::uint64_t from, std::uint32_t bytes) {
  Launch& launch = *warp.block->launch;
  Allocation* const allocation = find_allocation(launch, from, bytes);
  if (allocation == nullptr) {
    report_outside(warp, op, Use::read, Space::global, lane, from, bytes);
    return false;
  }
  if (launch.checks.counters) {
    SiteCounters& site = launch.counters[op->site];
    ++site.requests;
    site.requested_bytes += bytes;
    site.useful_bytes += bytes;
    site.sectors += ((from + bytes - 1) >> 5) - (from >> 5) + 1;
    for (std::uint32_t done = 0; done < bytes; done += kNotedAtOnce)
      launch.sectors.piece(op->site, *allocation, from + done, std::min(kNotedAtOnce, bytes - done));
  }
  if (launch.races == nullptr) return true;
  std::uint64_t at[kLanes];
  for (std::uint32_t done = 0; done < bytes; done += kUnit) {
    at[lane] = from + done;
    launch.races->global(warp,
                         {.address = at, .lanes = Mask{1} << lane, .bytes = kUnit, .reads = true, .op = op},
                         *allocation);
  }
  return true;
}

// Slots: to, from, bytes, mbarrier, [policy].
const Op* copy(Warp& warp, const Op* op) {
  check_use(warp, op, 1, "where a copy reads");
  check_use(warp, op, 2, "how much is copied");
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::uint64_t from = row<std::uint64_t>(warp, op->operand[1])[lane];
    Delivery one{.bytes = row<std::uint32_t>(warp, op->operand[2])[lane], .from = from};
    if (one.bytes == 0) continue;
    if (one.bytes % kUnit != 0) {
      report_wrong(warp, op, FindingKind::misaligned, lane,
                   format_text("a bulk copy moves a multiple of {} bytes, found {}", kUnit, one.bytes));
      return nullptr;
    }
    if (from % kUnit != 0) {
      report_misaligned(warp, op, Use::read, Space::global, lane, from, kUnit);
      return nullptr;
    }
    Block* const to = find_target(warp, op, lane, 3, kUnit, one);
    if (to == nullptr || !read_source(warp, op, lane, from, one.bytes)) return nullptr;
    if (to == warp.block && to->launch->races != nullptr)
      to->launch->races->copy_starts(warp, op, lane, one.to, one.bytes);
    send_off(*to, std::move(one));
  }
  return op + 1;
}

Handlers bind_send(const Match& match) {
  const bool wide = bits(match.type) == 64;
  if (match.has("v4")) return wide ? Handlers{} : both(send<std::uint32_t, 4>);
  if (match.has("v2")) return both(wide ? send<std::uint64_t, 2> : send<std::uint32_t, 2>);
  return both(wide ? send<std::uint64_t, 1> : send<std::uint32_t, 1>);
}

constexpr OpcodeRow kRows[] = {
    {"st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes(.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64) "
     "[a]:u32, a:t, [a]:u32",
     OpClass::store, bind_send},
    {"st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes(.v2|.v4)"
     "(.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64) [a]:u32, V:t, [a]:u32",
     OpClass::store, bind_send},
    {"cp.async.bulk(.shared::cluster|.shared::cta).global.mbarrier::complete_tx::bytes[.L2::cache_hint] "
     "[a]:u32, [a]:u64, a:u32, [a]:u32, ?b:u64",
     OpClass::load, bind_one<copy>},
};

}  // namespace

std::span<const OpcodeRow> async_copy_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
