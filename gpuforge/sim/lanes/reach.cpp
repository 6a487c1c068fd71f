#include "gpuforge/sim/lanes/reach.h"

#include "gpuforge/sim/races.h"
#include "gpuforge/sim/thread_memory.h"

namespace gpuforge::sim {
namespace {

using Offsets = std::uint32_t[kLanes];

// The lanes of one access that lie in one space.
struct Part {
  Warp& warp;
  const Op* op;
  const Request& request;
  Mask lanes = 0;
  // Offsets in the space, addresses for global. Lanes outside repeat the lowest one inside.
  alignas(64) std::uint64_t address[kLanes];
};

// Each lane outside repeats the next one inside below it, so that rising addresses stay rising.
template <class Word>
void fill_outside(Word* address, Mask lanes) {
  if (lanes == kAllLanes) return;
  Word last = address[first_lane(lanes)];
  for (int lane = 0; lane < kLanes; ++lane) {
    last = ((lanes >> lane) & 1u) != 0 ? address[lane] : last;
    address[lane] = last;
  }
}

Access make_access(const Op* op, const Request& request, Pattern pattern, const std::uint64_t* address,
                   Mask lanes) {
  Access access;
  access.address = address;
  access.lanes = lanes;
  access.bytes = request.bytes;
  access.pattern = pattern;
  access.reads = request.use != Use::write;
  access.writes = request.use != Use::read;
  access.order = request.strength.order;
  access.scope = request.strength.scope;
  access.op = op;
  access.values = request.values;
  return access;
}

// Finds the lowest lane that is out of bounds or misaligned and reports it.
bool fail(const Part& part, Space space, std::uint64_t size) {
  const std::uint32_t bytes = part.request.bytes;
  for (Mask left = part.lanes; left != 0; left &= left - 1) {
    const int lane = first_lane(left);
    const std::uint64_t at = part.address[lane];
    if (at >= size || bytes > size - at) {
      report_outside(part.warp, part.op, part.request.use, space, lane, at, bytes);
      return false;
    }
    if ((at & (bytes - 1)) != 0) {
      report_misaligned(part.warp, part.op, part.request.use, space, lane, at, bytes);
      return false;
    }
  }
  return true;
}

// The offsets as 32-bit numbers, checked against the space's size.
bool checked_offsets(Offsets& offset, const Part& part, Space space, std::uint64_t size) {
  std::uint64_t high = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    high |= part.address[lane] >> 32;
    offset[lane] = static_cast<std::uint32_t>(part.address[lane]);
  }
  std::uint32_t top = 0;
  std::uint32_t low = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    top = top > offset[lane] ? top : offset[lane];
    low |= offset[lane];
  }
  const std::uint32_t bytes = part.request.bytes;
  if (high == 0 && std::uint64_t{top} + bytes <= size && (low & (bytes - 1)) == 0) [[likely]]
    return true;
  return fail(part, space, size);
}

// Bits of one lane's bytes, at the low end.
std::uint64_t bits_at(const std::uint64_t* bits, std::uint64_t first) {
  const std::uint64_t shift = first & 63;
  const std::uint64_t low = load_word(bits + (first >> 6)) >> shift;
  return shift == 0 ? low : low | load_word(bits + (first >> 6) + 1) << (64 - shift);
}

// Lanes may lie apart; first_bit(lane) is where the lane's bits start in `bits`. No lane's bits cross a word
// when `whole`.
template <bool kWhole, class FirstBit>
void note_lanes(Warp& warp, const Op* op, const Request& request, Mask lanes, Space space,
                std::uint64_t* bits, FirstBit first_bit) {
  const std::uint64_t wanted = low_bits(request.bytes);
  std::uint64_t common = wanted;
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t bit = first_bit(lane);
    common &= kWhole ? bits[bit >> 6] >> (bit & 63) : bits_at(bits, bit);
  }
  if (common == wanted) [[likely]]
    return;
  if (request.use != Use::write) {
    Mask unwritten = 0;
    for (Mask left = lanes; left != 0; left &= left - 1) {
      const int lane = first_lane(left);
      if (mark_lane(warp, op, request, lane, bits, first_bit(lane))) unwritten |= 1u << lane;
    }
    found_unwritten(warp, op, request, space, unwritten);
  }
  if (request.use == Use::read) return;
  for (Mask left = lanes; left != 0; left &= left - 1) {
    const std::uint64_t bit = first_bit(first_lane(left));
    if (kWhole)  // shared and local memory: no other host thread has it
      bits[bit >> 6] |= wanted << (bit & 63);
    else
      set_written(bits, bit, request.bytes);
  }
}

// Shared memory, with offsets that are in bounds and aligned.
void reach_shared_offsets(Warp& warp, const Op* op, const Request& request, Mask lanes, const Offsets& offset,
                          Target* target) {
  Block& block = *warp.block;
  Launch& launch = *block.launch;
  if (launch.checks.initialized)
    note_lanes<true>(warp, op, request, lanes, Space::shared, block.shared_initialized,
                     [&](int lane) { return std::uint64_t{offset[lane]}; });
  if (launch.checks.counters) {
    SiteCounters& site = launch.counters[op->site];
    const BankCount count = count_banks(offset, lanes, request.bytes, request.use == Use::read);
    count_access(site, lanes, request.bytes, count.distinct * request.bytes);
    site.wavefronts += count.wavefronts;
    site.ideal_wavefronts += count.ideal;
  }
  if (launch.races != nullptr) {
    alignas(64) std::uint64_t address[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) address[lane] = offset[lane];
    launch.races->shared(warp, make_access(op, request, Pattern::other, address, lanes));
  }
  const auto base = reinterpret_cast<std::uint64_t>(block.shared);
  if (lanes == warp.active)
    for (int lane = 0; lane < kLanes; ++lane) target->host[lane] = base + offset[lane];
  else
    for (Mask left = lanes; left != 0; left &= left - 1)
      target->host[first_lane(left)] = base + offset[first_lane(left)];
}

bool reach_shared_lanes(Part& part, Target* target) {
  alignas(64) Offsets offset;
  if (!checked_offsets(offset, part, Space::shared, part.warp.block->launch->shared_bytes)) return false;
  reach_shared_offsets(part.warp, part.op, part.request, part.lanes, offset, target);
  return true;
}

// With alloca each lane's local memory ends somewhere else.
bool within_stack(const Part& part) {
  for (Mask left = part.lanes; left != 0; left &= left - 1) {
    const int lane = first_lane(left);
    if (part.address[lane] + part.request.bytes <= part.warp.frame->stack[static_cast<std::size_t>(lane)])
      continue;
    report_outside(part.warp, part.op, part.request.use, Space::local, lane, part.address[lane],
                   part.request.bytes);
    return false;
  }
  return true;
}

bool reach_local_lanes(Part& part, Target* target) {
  Block& block = *part.warp.block;
  Launch& launch = *block.launch;
  alignas(64) Offsets offset;
  if (!checked_offsets(offset, part, Space::local, block.local_stride)) return false;
  if (block.uses_stack && !within_stack(part)) return false;
  const std::uint64_t stride = block.local_stride;
  const std::uint64_t thread = std::uint64_t{part.warp.index} * kLanes;
  const int filler = first_lane(part.lanes);
  // Threads beyond the block's last have no memory: lanes that take no part stand in for one that does.
  const auto owner = [&](int lane) {
    return thread + static_cast<std::uint64_t>(((part.lanes >> lane) & 1u) != 0 ? lane : filler);
  };
  if (launch.checks.initialized)
    note_lanes<true>(part.warp, part.op, part.request, part.lanes, Space::local, block.local_initialized,
                     [&](int lane) { return owner(lane) * stride + offset[lane]; });
  if (launch.checks.counters) {
    SiteCounters& site = launch.counters[part.op->site];
    std::uint32_t different = 0;
    for (int lane = 0; lane < kLanes; ++lane) different |= offset[lane] ^ offset[0];
    const std::uint32_t bytes = part.request.bytes;
    count_access(site, part.lanes, bytes, static_cast<std::uint32_t>(std::popcount(part.lanes)) * bytes);
    site.sectors += different == 0 ? uniform_local_sectors(part.lanes, bytes)
                                   : count_local_sectors(offset, part.lanes, bytes);
  }
  const auto base = reinterpret_cast<std::uint64_t>(block.local);
  for (int lane = 0; lane < kLanes; ++lane)
    if (part.lanes == part.warp.active || ((part.lanes >> lane) & 1u) != 0)
      target->host[lane] = base + owner(lane) * stride + offset[lane];
  return true;
}

bool reach_param_lanes(Part& part, Target* target) {
  Launch& launch = *part.warp.block->launch;
  alignas(64) Offsets offset;
  if (!checked_offsets(offset, part, Space::param, launch.params.size())) return false;
  if (part.request.use != Use::read) {
    const int lane = first_lane(part.lanes);
    report_read_only(part.warp, part.op, Space::param, lane, part.address[lane], part.request.bytes);
    return false;
  }
  const auto base = reinterpret_cast<std::uint64_t>(launch.params.data());
  for (int lane = 0; lane < kLanes; ++lane)
    if (part.lanes == part.warp.active || ((part.lanes >> lane) & 1u) != 0)
      target->host[lane] = base + offset[lane];
  return true;
}

// Those of part.lanes that lie in the allocation.
Mask lanes_inside(const Part& part, const Allocation& allocation) {
  const std::uint64_t room = allocation.bytes - part.request.bytes;  // it holds one lane's bytes at least
  alignas(64) std::int32_t inside[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    inside[lane] = part.address[lane] - allocation.begin <= room ? 1 : 0;
  std::int32_t all = 1;
  for (int lane = 0; lane < kLanes; ++lane) all &= inside[lane];
  if (all != 0) return part.lanes;
  Mask result = 0;
  for (int lane = 0; lane < kLanes; ++lane) result |= static_cast<Mask>(inside[lane]) << lane;
  return result & part.lanes;
}

void count_global(const Part& part, const Allocation& allocation, bool first_part) {
  Launch& launch = *part.warp.block->launch;
  SiteCounters& site = launch.counters[part.op->site];
  const std::uint32_t bytes = part.request.bytes;
  launch.sectors.lanes(part.op->site, allocation, part.address, kLanes);
  SectorCount count;
  if (allocation.bytes < 0xffff0000u) {
    alignas(64) Offsets offset;
    const std::uint64_t base = allocation.begin & ~std::uint64_t{31};
    for (int lane = 0; lane < kLanes; ++lane)
      offset[lane] = static_cast<std::uint32_t>(part.address[lane] - base);
    count = count_sectors(offset, part.lanes, bytes);
  } else {
    count = count_far_sectors(part.address);
  }
  count_access(site, part.lanes, bytes, count.distinct * bytes);
  site.sectors += count.sectors;
  if (!first_part) --site.requests;
}

void note_global_lanes(const Part& part, const Allocation& allocation) {
  const std::uint64_t begin = allocation.begin;
  note_lanes<false>(part.warp, part.op, part.request, part.lanes, Space::global, allocation.initialized.get(),
                    [&](int lane) { return part.address[lane] - begin; });
}

// What nobody has written, as far as this host thread knows, is followed when one thread runs all blocks.
template <class Address>
void expect_written(ThreadMemory& own, const ThreadMemory::Area& area, Mask lanes, std::uint32_t bytes,
                    Address address) {
  for (Mask left = lanes; left != 0; left &= left - 1)
    if (!own.initialized(area, address(first_lane(left)), bytes)) return own.give_up();
}

// Notes one that passed all checks.
std::uint64_t touch(ThreadMemory& own, ThreadMemory::Area& area, std::uint64_t address, std::uint32_t bytes,
                    const Request& request) {
  // The narrower scopes order nothing between blocks: those are accesses like others.
  const Scope scope = request.strength.scope;
  if (request.reduction != nullptr && (scope == Scope::gpu || scope == Scope::sys))
    return own.reduce(area, address, bytes, *request.reduction);
  return own.touch(area, address, bytes, request.use);
}

void touch_lanes(const Part& part, Allocation& allocation, Target* target) {
  Launch& launch = *part.warp.block->launch;
  ThreadMemory& own = *launch.own;
  ThreadMemory::Area& area = own.area(allocation);
  const std::uint32_t bytes = part.request.bytes;
  if (launch.checks.initialized && !allocation.initialized_whole) {
    if (!own.apart())
      note_global_lanes(part, allocation);
    else if (part.request.use != Use::write)
      expect_written(own, area, part.lanes, bytes, [&](int lane) { return part.address[lane]; });
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (part.lanes == part.warp.active || ((part.lanes >> lane) & 1u) != 0)
      target->host[lane] = touch(own, area, part.address[lane], bytes, part.request);
}

bool reach_in_allocation(Part& part, Allocation& allocation, bool first_part, Target* target) {
  Launch& launch = *part.warp.block->launch;
  const std::uint32_t bytes = part.request.bytes;
  std::uint64_t low = 0;
  for (int lane = 0; lane < kLanes; ++lane) low |= part.address[lane];
  if ((low & (bytes - 1)) != 0) {
    for (Mask left = part.lanes; left != 0; left &= left - 1) {
      const int lane = first_lane(left);
      if ((part.address[lane] & (bytes - 1)) == 0) continue;
      report_misaligned(part.warp, part.op, part.request.use, Space::global, lane, part.address[lane], bytes);
      return false;
    }
  }
  if (part.request.use != Use::read && allocation.read_only) {
    const int lane = first_lane(part.lanes);
    report_read_only(part.warp, part.op, Space::constant, lane, part.address[lane], bytes);
    return false;
  }
  if (launch.own != nullptr) [[unlikely]]
    touch_lanes(part, allocation, target);
  else if (launch.checks.initialized && !allocation.initialized_whole)
    note_global_lanes(part, allocation);
  if (launch.checks.counters && part.op->space != Space::constant) count_global(part, allocation, first_part);
  if (launch.races != nullptr)
    launch.races->global(
        part.warp, make_access(part.op, part.request, Pattern::other, part.address, part.lanes), allocation);
  return true;
}

bool reach_global_lanes(Part& part, Target* target) {
  Launch& launch = *part.warp.block->launch;
  const std::uint32_t bytes = part.request.bytes;
  if (part.lanes == part.warp.active)
    for (int lane = 0; lane < kLanes; ++lane) target->host[lane] = part.address[lane];
  else
    for (Mask left = part.lanes; left != 0; left &= left - 1)
      target->host[first_lane(left)] = part.address[first_lane(left)];
  Mask left = part.lanes;
  while (left != 0) {
    const int lane = first_lane(left);
    Allocation* allocation = launch.last_allocation;
    if (allocation == nullptr || !holds(*allocation, part.address[lane], bytes)) {
      allocation = find_allocation(launch, part.address[lane], bytes);
      if (allocation == nullptr) {
        report_outside(part.warp, part.op, part.request.use,
                       part.op->space == Space::constant ? Space::constant : Space::global, lane,
                       part.address[lane], bytes);
        return false;
      }
    }
    const Mask inside = lanes_inside(part, *allocation) & left;
    if (inside == part.lanes) [[likely]]
      return reach_in_allocation(part, *allocation, true, target);
    Part piece{part.warp, part.op, part.request, inside, {}};
    for (int at = 0; at < kLanes; ++at) piece.address[at] = part.address[at];
    fill_outside(piece.address, inside);
    if (!reach_in_allocation(piece, *allocation, left == part.lanes, target)) return false;
    left &= ~inside;
  }
  return true;
}

bool reach_space(Part& part, Space space, Target* target) {
  switch (space) {
    case Space::shared:
      return reach_shared_lanes(part, target);
    case Space::local:
      return reach_local_lanes(part, target);
    case Space::param:
    case Space::function_param:
      return reach_param_lanes(part, target);
    default:
      return reach_global_lanes(part, target);
  }
}

bool reach_generic(Part& part, Target* target) {
  std::uint64_t different = 0;
  const std::uint64_t half = std::uint64_t{1} << 59;
  const std::uint64_t first = part.address[0] + half;
  for (int lane = 0; lane < kLanes; ++lane) different |= (part.address[lane] + half) ^ first;
  if (different >> 60 == 0) [[likely]] {
    const Located located = locate(part.address[0]);
    const std::uint64_t window = part.address[0] - located.offset;
    if (window != 0)
      for (int lane = 0; lane < kLanes; ++lane) part.address[lane] -= window;
    return reach_space(part, located.space, target);
  }
  Launch& launch = *part.warp.block->launch;
  SiteCounters* site = launch.checks.counters ? &launch.counters[part.op->site] : nullptr;
  const std::uint64_t requests = site != nullptr ? site->requests : 0;
  for (const Space space : {Space::global, Space::shared, Space::local, Space::param}) {
    Part piece{part.warp, part.op, part.request, 0, {}};
    for (int lane = 0; lane < kLanes; ++lane) {
      const Located located = locate(part.address[lane]);
      piece.address[lane] = located.offset;
      if (located.space == space) piece.lanes |= (part.lanes >> lane & 1u) << lane;
    }
    if (piece.lanes == 0) continue;
    fill_outside(piece.address, piece.lanes);
    if (!reach_space(piece, space, target)) return false;
  }
  if (site != nullptr && site->requests > requests) site->requests = requests + 1;
  // Lanes that are not active got no address from a part of the lanes.
  fill_outside(target->host, part.lanes);
  return true;
}

}  // namespace

bool reach_any(Warp& warp, const Op* op, const Request& request, Target* target) {
  Part part{warp, op, request, warp.active, {}};
  if (!op->has_address_row) {
    for (int lane = 0; lane < kLanes; ++lane) part.address[lane] = static_cast<std::uint64_t>(op->immediate);
  } else if (op->address_bytes == 8) {
    const std::uint64_t* address = row<std::uint64_t>(warp, op->address);
    const auto offset = static_cast<std::uint64_t>(op->immediate);
    for (int lane = 0; lane < kLanes; ++lane) part.address[lane] = address[lane] + offset;
  } else {
    const std::uint32_t* address = row<std::uint32_t>(warp, op->address);
    const auto offset = static_cast<std::uint32_t>(op->immediate);
    for (int lane = 0; lane < kLanes; ++lane) part.address[lane] = address[lane] + offset;
  }
  fill_outside(part.address, part.lanes);
  target->pattern = Pattern::other;
  return op->space == Space::generic ? reach_generic(part, target) : reach_space(part, op->space, target);
}

bool reach_shared_apart(Warp& warp, const Op* op, const Request& request, Target* target) {
  if (!op->has_address_row || op->address_bytes != 4) return reach_any(warp, op, request, target);
  const std::uint32_t* address = row<std::uint32_t>(warp, op->address);
  const auto added = static_cast<std::uint32_t>(op->immediate);
  alignas(64) Offsets offset;
  for (int lane = 0; lane < kLanes; ++lane) offset[lane] = address[lane] + added;
  fill_outside(offset, warp.active);
  std::uint32_t top = 0;
  std::uint32_t low = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    top = top > offset[lane] ? top : offset[lane];
    low |= offset[lane];
  }
  if (std::uint64_t{top} + request.bytes > warp.block->launch->shared_bytes ||
      (low & (request.bytes - 1)) != 0) [[unlikely]]
    return reach_any(warp, op, request, target);
  reach_shared_offsets(warp, op, request, warp.active, offset, target);
  target->pattern = Pattern::other;
  return true;
}

void tell_races(Warp& warp, const Op* op, const Request& request, Pattern pattern, std::uint64_t first,
                Allocation* allocation) {
  alignas(64) std::uint64_t address[kLanes];
  const std::uint64_t step = pattern == Pattern::uniform ? 0 : request.bytes;
  const std::uint64_t base = first - static_cast<std::uint64_t>(first_lane(warp.active)) * step;
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) address[lane] = base + lane * step;
  const Access access = make_access(op, request, pattern, address, warp.active);
  RaceDetector& races = *warp.block->launch->races;
  if (allocation == nullptr)
    races.shared(warp, access);
  else
    races.global(warp, access, *allocation);
}

void touch_piece(Warp& warp, const Op* op, const Request& request, Pattern pattern, std::uint64_t first,
                 Allocation& allocation, Target* target) {
  Launch& launch = *warp.block->launch;
  ThreadMemory& own = *launch.own;
  ThreadMemory::Area& area = own.area(allocation);
  const std::uint32_t span = span_bytes(pattern, warp.active, request.bytes);
  const std::uint64_t step = pattern == Pattern::uniform ? 0 : request.bytes;
  const std::uint64_t base = first - static_cast<std::uint64_t>(first_lane(warp.active)) * step;
  const auto address = [&](int lane) { return base + static_cast<std::uint64_t>(lane) * step; };
  if (launch.checks.initialized && !allocation.initialized_whole) {
    const std::uint64_t bit = first - allocation.begin;
    if (!own.apart())
      note_written(warp, op, request, pattern, Space::global, allocation.initialized.get(), bit, span);
    else if (request.use != Use::write && !all_written(allocation.initialized.get(), bit, span))
      expect_written(own, area, warp.active, request.bytes, address);
  }
  if (ThreadMemory::in_one_chunk(first, span)) [[likely]] {
    target->first = touch(own, area, first, span, request);
    // What the lanes that are not active have may lie elsewhere.
    if (own.apart() && warp.active != kAllLanes) target->around = false;
    return;
  }
  target->pattern = Pattern::other;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = first_lane(left);
    target->host[lane] = touch(own, area, address(lane), request.bytes, request);
  }
  fill_outside(target->host, warp.active);
}

bool mark_lane(Warp& warp, const Op* op, const Request& request, int lane, const std::uint64_t* bits,
               std::uint64_t first) {
  const std::uint64_t all = low_bits(request.bytes);
  const std::uint64_t written = bits_at(bits, first) & all;
  if (written == all) return false;
  if (bits == warp.block->shared_initialized && met_on_its_way(warp, op, lane, first, request.bytes))
    return false;
  if (request.use == Use::read) {
    const auto& partly = warp.block->partly_written;
    std::uint8_t unwritten[32] = {};
    bool beside = request.bytes >= 4 ? written != 0 : (bits_at(bits, first & ~std::uint64_t{3}) & 15) != 0;
    for (std::uint32_t byte = 0; byte < request.bytes; ++byte) {
      if ((written >> byte & 1) != 0) continue;
      const auto found = partly.find(written_key(bits, first + byte));
      unwritten[byte] = found != partly.end() ? found->second : std::uint8_t{0xff};
      beside = beside || unwritten[byte] != 0xff;
    }
    mark_unwritten(warp, op, lane, std::span(unwritten).first(request.bytes), beside);
  }
  return true;
}

void found_unwritten(Warp& warp, const Op* op, const Request& request, Space space, Mask lanes) {
  if (lanes == 0 || request.use == Use::read) return;
  if (request.finds_unwritten) {
    const int lane = first_lane(lanes);
    report_uninitialized_atomic(warp, op, space, lane, lane_place(warp, op, lane).offset, request.bytes);
  } else {
    mark_uninitialized(warp, op, lanes);
  }
}

void unwritten_run(Warp& warp, const Op* op, const Request& request, Pattern pattern, Space space,
                   const std::uint64_t* bits, std::uint64_t bit) {
  Mask unwritten = 0;
  for (Mask left = warp.active; left != 0; left &= left - 1) {
    const int lane = first_lane(left);
    const std::uint64_t skipped =
        pattern == Pattern::uniform
            ? 0
            : static_cast<std::uint64_t>(lane - first_lane(warp.active)) * request.bytes;
    if (mark_lane(warp, op, request, lane, bits, bit + skipped)) unwritten |= 1u << lane;
  }
  found_unwritten(warp, op, request, space, unwritten);
}

}  // namespace gpuforge::sim
