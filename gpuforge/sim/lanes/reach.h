// From a memory instruction's addresses to host bytes, with every check made on the way: bounds, alignment,
// bytes never written, races, and the counters. One lane after the other only where lanes lie apart.
#pragma once

#include <bit>
#include <cstdint>

#include "gpuforge/sim/address.h"
#include "gpuforge/sim/lanes/pattern.h"
#include "gpuforge/sim/lanes/sectors.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {

struct Reduction;

// Where the bytes of the active lanes are on the host.
struct Target {
  Pattern pattern = Pattern::other;
  std::uint64_t first = 0;  // contiguous and uniform: of the lowest active lane
  bool around = false;      // contiguous: the bytes of the lanes that are not active may be read as well
  // Other: of every lane. Lanes that are not active repeat one that is.
  alignas(64) std::uint64_t host[kLanes];
};

// What a handler wants of memory.
struct Request {
  std::uint32_t bytes = 4;  // of a lane
  Use use = Use::read;
  Strength strength;
  const std::byte* values = nullptr;     // stores: lane after lane
  bool finds_unwritten = true;           // atomics: whether bytes never written are a finding (not for exch)
  const Reduction* reduction = nullptr;  // atomics that are one (thread_memory.h)
};

// Any space and any addresses. false: the launch failed, and the finding is made.
bool reach_any(Warp& warp, const Op* op, const Request& request, Target* target);
// The same for shared memory, quicker when the addresses are of 32 bits.
bool reach_shared_apart(Warp& warp, const Op* op, const Request& request, Target* target);

// The parts that the short ways below leave to others.
void tell_races(Warp& warp, const Op* op, const Request& request, Pattern pattern, std::uint64_t first,
                Allocation* allocation);  // shared memory without one
// One lane's bytes are at `first` of `bits`: what of them was never written is marked. True when some were
// not.
bool mark_lane(Warp& warp, const Op* op, const Request& request, int lane, const std::uint64_t* bits,
               std::uint64_t first);
void found_unwritten(Warp& warp, const Op* op, const Request& request, Space space, Mask lanes);
void unwritten_run(Warp& warp, const Op* op, const Request& request, Pattern pattern, Space space,
                   const std::uint64_t* bits, std::uint64_t bit);
// Through launch.own: looks for bytes never written, notes the access, and says where the bytes are.
void touch_piece(Warp& warp, const Op* op, const Request& request, Pattern pattern, std::uint64_t first,
                 Allocation& allocation, Target* target);

// Bytes from the lowest active lane's first to the highest one's last.
inline std::uint32_t span_bytes(Pattern pattern, Mask lanes, std::uint32_t bytes) {
  return pattern == Pattern::uniform ? bytes : static_cast<std::uint32_t>(std::popcount(lanes)) * bytes;
}

inline void note_written(Warp& warp, const Op* op, const Request& request, Pattern pattern, Space space,
                         std::uint64_t* bits, std::uint64_t bit, std::uint32_t span) {
  if (request.use != Use::write && !all_written(bits, bit, span)) [[unlikely]]
    unwritten_run(warp, op, request, pattern, space, bits, bit);
  if (request.use != Use::read) set_written(bits, bit, span);
}

inline void count_access(SiteCounters& site, Mask lanes, std::uint32_t bytes, std::uint32_t distinct_bytes) {
  ++site.requests;
  site.requested_bytes += static_cast<std::uint32_t>(std::popcount(lanes)) * bytes;
  site.useful_bytes += distinct_bytes;
}

// Whether 32 lanes' bytes lie within `size`, when the lowest active lane's are at `offset`.
inline bool room_around(const Warp& warp, std::uint32_t bytes, std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t before = static_cast<std::uint64_t>(first_lane(warp.active)) * bytes;
  return offset >= before && offset - before + kLanes * bytes <= size;
}

// Addresses in one piece or all the same, in one allocation. false: it is not so, or something is wrong.
inline bool reach_global_piece(Warp& warp, const Op* op, const Request& request, Pattern pattern,
                               std::uint64_t first, Target* target) {
  Launch& launch = *warp.block->launch;
  const std::uint32_t span = span_bytes(pattern, warp.active, request.bytes);
  Allocation* allocation = launch.last_allocation;
  if (allocation == nullptr || !holds(*allocation, first, span)) {
    allocation = find_allocation(launch, first, span);
    if (allocation == nullptr) return false;
  }
  if ((first & (request.bytes - 1)) != 0) return false;
  if (request.use != Use::read && allocation->read_only) return false;
  target->pattern = pattern;
  target->first = first;
  target->around = room_around(warp, request.bytes, first - allocation->begin, allocation->bytes);
  if (launch.own != nullptr) [[unlikely]]
    touch_piece(warp, op, request, pattern, first, *allocation, target);
  else if (launch.checks.initialized && !allocation->initialized_whole)
    note_written(warp, op, request, pattern, Space::global, allocation->initialized.get(),
                 first - allocation->begin, span);
  if (launch.checks.counters && op->space != Space::constant) {
    SiteCounters& site = launch.counters[op->site];
    count_access(site, warp.active, request.bytes, span);
    site.sectors += ((first + span - 1) >> 5) - (first >> 5) + 1;
    launch.sectors.piece(op->site, *allocation, first, span);
  }
  if (launch.races != nullptr) tell_races(warp, op, request, pattern, first, allocation);
  return true;
}

inline bool reach_shared_piece(Warp& warp, const Op* op, const Request& request, Pattern pattern,
                               std::uint64_t first, Target* target) {
  Block& block = *warp.block;
  Launch& launch = *block.launch;
  const std::uint32_t span = span_bytes(pattern, warp.active, request.bytes);
  if (first >= launch.shared_bytes || span > launch.shared_bytes - first) return false;
  if ((first & (request.bytes - 1)) != 0) return false;
  if (launch.checks.initialized)
    note_written(warp, op, request, pattern, Space::shared, block.shared_initialized, first, span);
  if (launch.checks.counters) {
    SiteCounters& site = launch.counters[op->site];
    count_access(site, warp.active, request.bytes, span);
    if (request.bytes <= 4) {
      ++site.wavefronts;
      ++site.ideal_wavefronts;
    } else {
      const bool is_load = request.use == Use::read;
      const BankCount banks = pattern == Pattern::uniform
                                  ? uniform_banks(warp.active, request.bytes, is_load)
                                  : contiguous_banks(warp.active, request.bytes, is_load);
      site.wavefronts += banks.wavefronts;
      site.ideal_wavefronts += banks.ideal;
    }
  }
  if (launch.races != nullptr) tell_races(warp, op, request, pattern, first, nullptr);
  target->pattern = pattern;
  target->first = reinterpret_cast<std::uint64_t>(block.shared) + first;
  target->around = room_around(warp, request.bytes, first, launch.shared_bytes);
  return true;
}

// The pattern of an instruction's addresses and the lowest active lane's.
struct Shape {
  Pattern pattern = Pattern::uniform;
  std::uint64_t first = 0;
};
template <unsigned kBytes>
Shape shape_of(const Warp& warp, const Op* op) {
  if (!op->has_address_row) return {Pattern::uniform, static_cast<std::uint64_t>(op->immediate)};
  const int lane = first_lane(warp.active);
  if (op->address_bytes == 8) {
    const std::uint64_t* address = row<std::uint64_t>(warp, op->address);
    return {pattern_of<kBytes>(address, warp.active),
            address[lane] + static_cast<std::uint64_t>(op->immediate)};
  }
  // 32-bit addresses wrap: a base below the space's start plus an offset is a good address.
  const std::uint32_t* address = row<std::uint32_t>(warp, op->address);
  return {pattern_of<kBytes>(address, warp.active),
          address[lane] + static_cast<std::uint32_t>(op->immediate)};
}

// global, const, generic
template <unsigned kBytes>
bool reach_global(Warp& warp, const Op* op, const Request& request, Target* target) {
  const Shape shape = shape_of<kBytes>(warp, op);
  if (shape.pattern != Pattern::other) [[likely]] {
    if (reach_global_piece(warp, op, request, shape.pattern, shape.first, target)) [[likely]]
      return true;
    if (op->space == Space::generic) {
      const Located located = locate(shape.first);
      if (located.space == Space::shared &&
          reach_shared_piece(warp, op, request, shape.pattern, located.offset, target))
        return true;
    }
  }
  return reach_any(warp, op, request, target);
}

template <unsigned kBytes>
bool reach_shared(Warp& warp, const Op* op, const Request& request, Target* target) {
  const Shape shape = shape_of<kBytes>(warp, op);
  if (shape.pattern != Pattern::other &&
      reach_shared_piece(warp, op, request, shape.pattern, shape.first, target)) [[likely]]
    return true;
  return reach_shared_apart(warp, op, request, target);
}

}  // namespace gpuforge::sim
