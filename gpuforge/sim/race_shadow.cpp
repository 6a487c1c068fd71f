#include "gpuforge/sim/race_shadow.h"

#include <algorithm>
#include <bit>
#include <new>

namespace gpuforge::sim {

Words zeroed_words(std::size_t count) {
  Words words(static_cast<std::uint32_t*>(std::calloc(count == 0 ? 1 : count, sizeof(std::uint32_t))));
  if (words == nullptr) throw std::bad_alloc();
  return words;
}

void SharedShadow::prepare(std::uint32_t warp_count, std::size_t shared_bytes) {
  apart.clear();
  if (warp_count == warps && shared_bytes == bytes) return;
  warps = warp_count;
  bytes = shared_bytes;
  cells = (((bytes >> shift) + 1) | 31) + 1;
  write_stamp = zeroed_words(cells);
  write_who = zeroed_words(cells);
  rows = {};
  made(RowKind::reads);
}

SharedRows& SharedShadow::made(RowKind kind) {
  SharedRows& row = rows[static_cast<std::size_t>(kind)];
  if (row.stamp == nullptr) {
    row.stamp = zeroed_words(cells * warps);
    row.lanes = zeroed_words(cells * warps);
    row.site = zeroed_words(cells * warps);
    row.chunk = zeroed_words(cells / 32);
  }
  return row;
}

void SharedShadow::split(int new_shift) {
  const std::size_t factor = std::size_t{1} << (shift - new_shift);
  const auto spread = [&](Words& words, std::size_t count) {
    if (words == nullptr) return;
    Words finer = zeroed_words(count * factor);
    for (std::size_t i = 0; i < count * factor; ++i) finer[i] = words[i / factor];
    words = std::move(finer);
  };
  spread(write_stamp, cells);
  spread(write_who, cells);
  for (SharedRows& row : rows) {
    spread(row.stamp, cells * warps);
    spread(row.lanes, cells * warps);
    spread(row.site, cells * warps);
    spread(row.chunk, cells / 32);
  }
  std::unordered_map<std::uint64_t, LaneStamps> finer;
  for (const auto& [key, value] : apart) {
    const std::uint64_t cell = key & 0xffffffffffu, rest = key - cell;
    for (std::size_t i = 0; i < factor; ++i) finer.emplace(rest | (cell * factor + i), value);
  }
  apart = std::move(finer);
  cells *= factor;
  shift = new_shift;
}

void SharedShadow::forget(std::size_t first, std::size_t count) {
  std::fill_n(&write_stamp[first], count, 0u);
  for (SharedRows& row : rows)
    if (row.stamp != nullptr)
      for (std::uint32_t warp = 0; warp < warps; ++warp) std::fill_n(&row.stamp[at(warp, first)], count, 0u);
}

Stamp SharedShadow::lane_stamp(RowKind kind, std::uint32_t warp, std::size_t cell, int lane) const {
  const SharedRows& row = rows[static_cast<std::size_t>(kind)];
  const Stamp last = row.stamp[at(warp, cell)];
  if (!apart.empty() && std::popcount(row.lanes[at(warp, cell)]) > 1) {
    const auto found = apart.find(apart_key(kind, warp, cell));
    if (found != apart.end() && found->second.last == last)
      return found->second.stamp[static_cast<std::size_t>(lane)];
  }
  return last;
}

void SharedShadow::put(RowKind kind, std::size_t cell, int lane, const Moment& moment,
                       const BlockClocks& clocks) {
  SharedRows& row = rows[static_cast<std::size_t>(kind)];
  const std::size_t index = at(moment.warp, cell);
  const Mask bit = Mask{1} << lane;
  Stamp& stamp = row.stamp[index];
  Mask& lanes = row.lanes[index];
  row.chunk[cell / 32] = moment.now;
  row.site[index] = moment.site;
  if (!moment.exact || stamp <= moment.own || lanes == bit) {
    lanes = (stamp > moment.own ? lanes : 0u) | bit;
    stamp = moment.now;
    return;
  }
  LaneStamps left;
  left.last = moment.now;
  Mask keep = 0;
  bool differ = false;
  for (Mask rest = lanes & ~bit; rest != 0; rest &= rest - 1) {
    const int other = std::countr_zero(rest);
    const Stamp when = lane_stamp(kind, moment.warp, cell, other);
    if (clocks.knows(moment.warp, lane, clocks.serial(),
                     moment.warp * kLanes + static_cast<std::uint32_t>(other), when))
      continue;  // it comes before this one: who is ordered after this one is ordered after it
    keep |= Mask{1} << other;
    left.stamp[static_cast<std::size_t>(other)] = when;
    differ |= when != moment.now;
  }
  left.stamp[static_cast<std::size_t>(lane)] = moment.now;
  lanes = keep | bit;
  stamp = moment.now;
  const std::uint64_t key = apart_key(kind, moment.warp, cell);
  if (differ)
    apart[key] = left;
  else if (!apart.empty())
    apart.erase(key);
}

}  // namespace gpuforge::sim
