#include "gpuforge/sim/address.h"

#include <algorithm>
#include <string>

#include "gpuforge/base/format.h"

namespace gpuforge::sim {
namespace {

std::string hex(std::uint64_t value) {
  return format_text("0x{:x}", value);
}

std::string counted(std::uint64_t count) {
  return format_text("{} byte{}", count, count == 1 ? "" : "s");
}

std::string_view verb(Use use) {
  switch (use) {
    case Use::read:
      return "load";
    case Use::write:
      return "store";
    case Use::atomic:
      return "atomic";
  }
  return "";
}

std::uint64_t as_written(const Op* op, Space space, std::uint64_t address) {
  if (op->space != Space::generic) return address;
  switch (space) {
    case Space::shared:
      return kSharedWindow + address;
    case Space::local:
      return kLocalWindow + address;
    case Space::param:
      return kParamWindow + address;
    default:
      return address;
  }
}

Finding* made(Warp& warp, const Op* op, FindingKind kind, Space space, int lane, std::uint64_t address,
              std::uint32_t bytes, bool fatal) {
  Finding* finding = report(warp, op, kind, lane, fatal);
  if (finding == nullptr) return nullptr;
  finding->space = space_name(space);
  finding->address = as_written(op, space, address);
  finding->bytes = bytes;
  return finding;
}

std::uint64_t space_bytes(const Warp& warp, Space space, int lane) {
  const Block& block = *warp.block;
  switch (space) {
    case Space::shared:
      return block.launch->shared_bytes;
    case Space::local:
      return block.uses_stack ? warp.frame->stack[static_cast<std::size_t>(lane)] : block.local_stride;
    default:
      return block.launch->params.size();
  }
}

// "12 bytes past the end of x, 4096 bytes at 0x7f00": a piece of memory as seen from an access that missed
// it.
std::string seen_from(std::uint64_t address, std::uint32_t bytes, std::uint64_t begin, std::uint64_t size,
                      std::string_view label) {
  const std::string it = format_text("{}, {} at {}", label, counted(size), hex(begin));
  if (address < begin) {
    if (begin - address < bytes)
      return format_text("{} before the start of {}", counted(begin - address), it);
    return format_text("{} before {}", counted(begin - address), it);
  }
  const std::uint64_t end = begin + size;
  if (address < end) return format_text("with {} past the end of {}", counted(address + bytes - end), it);
  if (address == end) return format_text("right past the end of {}", it);
  return format_text("{} past the end of {}", counted(address - end), it);
}

std::string nearest(const Launch& launch, std::uint64_t address, std::uint32_t bytes) {
  if (launch.allocations == nullptr || launch.allocations->empty())
    return "and there is no allocation at all";
  const Allocations& all = *launch.allocations;
  const auto after = std::upper_bound(all.begin(), all.end(), address,
                                      [](std::uint64_t at, const auto& one) { return at < one->begin; });
  const Allocation* best = after != all.end() ? after->get() : nullptr;
  if (after != all.begin()) {
    const Allocation* before = std::prev(after)->get();
    const std::uint64_t behind = address < before->end() ? 0 : address - before->end();
    if (best == nullptr || behind <= best->begin - address) best = before;
  }
  return seen_from(address, bytes, best->begin, best->bytes, best->label);
}

// What was freed there, when the access lies in it.
bool was_freed(const Launch& launch, std::uint64_t address, std::uint32_t bytes, Memory::Freed* found) {
  if (launch.memory == nullptr) return false;
  for (const Memory::Freed& one : launch.memory->freed()) {
    const std::uint64_t offset = address - one.begin;
    if (offset < one.bytes && bytes <= one.bytes - offset) {
      *found = one;
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view space_name(Space space) {
  switch (space) {
    case Space::generic:
      return "generic";
    case Space::global:
      return "global";
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::constant:
      return "const";
    case Space::param:
    case Space::function_param:
      return "param";
  }
  return "";
}

Located lane_place(const Warp& warp, const Op* op, int lane) {
  std::uint64_t address = static_cast<std::uint64_t>(op->immediate);
  if (op->has_address_row && op->address_bytes == 8)
    address += row<std::uint64_t>(warp, op->address)[lane];
  else if (op->has_address_row)
    address = static_cast<std::uint32_t>(row<std::uint32_t>(warp, op->address)[lane] + address);
  if (op->space == Space::generic) return locate(address);
  return {op->space, address};
}

Allocation* find_allocation(Launch& launch, std::uint64_t address, std::size_t bytes) {
  if (launch.allocations == nullptr) return nullptr;
  const Allocations& all = *launch.allocations;
  const auto after = std::upper_bound(all.begin(), all.end(), address,
                                      [](std::uint64_t at, const auto& one) { return at < one->begin; });
  if (after == all.begin()) return nullptr;
  Allocation* found = std::prev(after)->get();
  if (!holds(*found, address, bytes)) return nullptr;
  launch.last_allocation = found;
  return found;
}

void report_outside(Warp& warp, const Op* op, Use use, Space space, int lane, std::uint64_t address,
                    std::uint32_t bytes) {
  const Launch& launch = *warp.block->launch;
  if (space == Space::global || space == Space::constant || space == Space::generic) {
    Memory::Freed freed;
    if (was_freed(launch, address, bytes, &freed)) {
      if (Finding* finding = made(warp, op, FindingKind::use_after_free, space, lane, address, bytes, true))
        finding->message =
            format_text("A {} of {} at {} lies in memory that was freed: {}, {} at {}.", verb(use),
                        counted(bytes), hex(address), freed.label, counted(freed.bytes), hex(freed.begin));
      return;
    }
    Finding* finding = made(warp, op, FindingKind::out_of_bounds, space, lane, address, bytes, true);
    if (finding == nullptr) return;
    if (address < 4096)
      finding->message = format_text("A {} of {} at {} goes through a null pointer.", verb(use),
                                     counted(bytes), hex(address));
    else
      finding->message = format_text("A {} of {} at {} is {}.", verb(use), counted(bytes), hex(address),
                                     nearest(launch, address, bytes));
    return;
  }
  Finding* finding = made(warp, op, FindingKind::out_of_bounds, space, lane, address, bytes, true);
  if (finding == nullptr) return;
  const std::uint64_t size = space_bytes(warp, space, lane);
  std::string_view owner = "block's shared memory";
  if (space == Space::local) owner = "thread's local memory";
  if (space == Space::param) owner = "kernel's parameters";
  const auto offset = static_cast<std::int64_t>(address);
  if (size == 0)
    finding->message = format_text("A {} of {} at offset {}, but the {} has no bytes.", verb(use),
                                   counted(bytes), offset, owner);
  else
    finding->message = format_text("A {} of {} at offset {} is outside the {}, which has {}.", verb(use),
                                   counted(bytes), offset, owner, counted(size));
}

void report_misaligned(Warp& warp, const Op* op, Use use, Space space, int lane, std::uint64_t address,
                       std::uint32_t bytes) {
  if (Finding* finding = made(warp, op, FindingKind::misaligned, space, lane, address, bytes, true))
    finding->message = format_text("A {} of {} needs an address that is a multiple of {}; {} is {} past one.",
                                   verb(use), counted(bytes), bytes, hex(as_written(op, space, address)),
                                   counted(address & (bytes - 1)));
}

void report_read_only(Warp& warp, const Op* op, Space space, int lane, std::uint64_t address,
                      std::uint32_t bytes) {
  Finding* finding = made(warp, op, FindingKind::read_only, space, lane, address, bytes, true);
  if (finding == nullptr) return;
  if (space == Space::param)
    finding->message =
        format_text("A store of {} to the kernel's parameters, which cannot be written.", counted(bytes));
  else
    finding->message = format_text("A store of {} at {} to constant memory.", counted(bytes), hex(address));
}

void report_uninitialized_store(Warp& warp, const Op* op, Space space, int lane, std::uint64_t address,
                                std::uint32_t bytes) {
  if (Finding* finding = made(warp, op, FindingKind::uninitialized, space, lane, address, bytes, false))
    finding->message = format_text(
        "A value made from memory or registers never written is stored to {} memory.", space_name(space));
}

void report_uninitialized_atomic(Warp& warp, const Op* op, Space space, int lane, std::uint64_t address,
                                 std::uint32_t bytes) {
  if (Finding* finding = made(warp, op, FindingKind::uninitialized, space, lane, address, bytes, false))
    finding->message = format_text("An atomic works on {} memory that was never written.", space_name(space));
}

void report_uninitialized_address(Warp& warp, const Op* op, int lane, std::uint32_t bytes) {
  Finding* finding = report(warp, op, FindingKind::uninitialized, lane, false);
  if (finding == nullptr) return;
  const Located at = lane_place(warp, op, lane);
  finding->space = space_name(at.space);
  finding->address = as_written(op, at.space, at.offset);
  finding->bytes = bytes;
  finding->message = "An address was made from memory or registers never written.";
}

}  // namespace gpuforge::sim
