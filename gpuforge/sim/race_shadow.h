// The race detector's shadow of a block's shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "gpuforge/sim/lanes/race_rows.h"
#include "gpuforge/sim/race_clocks.h"

namespace gpuforge::sim {

struct FreeWords {
  void operator()(std::uint32_t* words) const { std::free(words); }
};
using Words = std::unique_ptr<std::uint32_t[], FreeWords>;
Words zeroed_words(std::size_t count);  // untouched pages cost nothing

enum class RowKind : std::uint8_t { reads, strong_reads, strong_writes };

// Accesses of one kind, the last of each warp: stamp, the lanes that made it or unordered ones before it,
// site. chunk: the last stamp of any warp in 32 neighbouring cells.
struct SharedRows {
  Words stamp, lanes, site, chunk;
};

struct SharedShadow {
  int shift = 2;  // bytes of a cell: 4 until a narrower access comes
  std::size_t cells = 0;
  std::size_t bytes = 0;
  std::uint32_t warps = 0;
  Words write_stamp, write_who;
  std::array<SharedRows, 3> rows;  // by RowKind, made when used
  // Lanes of one row entry whose stamps differ, where that counts (BlockClocks::exact).
  struct LaneStamps {
    Stamp last = 0;  // the row's stamp when this was made; another one: stale
    std::array<Stamp, kLanes> stamp{};
  };
  std::unordered_map<std::uint64_t, LaneStamps> apart;

  void prepare(std::uint32_t warp_count, std::size_t shared_bytes);
  void split(int new_shift);
  SharedRows& made(RowKind kind);
  std::size_t at(std::uint32_t warp, std::size_t cell) const { return warp * cells + cell; }
  std::uint64_t apart_key(RowKind kind, std::uint32_t warp, std::size_t cell) const {
    return (static_cast<std::uint64_t>(kind) << 60) | (std::uint64_t{warp} << 40) | cell;
  }
  // Whether nothing of this kind in these chunks is later than `known`.
  bool chunks_known(RowKind kind, std::size_t from, std::size_t to, Stamp known) const {
    const SharedRows& row = rows[static_cast<std::size_t>(kind)];
    if (row.stamp == nullptr) return true;
    for (; from <= to; ++from)
      if (row.chunk[from] > known) return false;
    return true;
  }
  // As if nobody had touched these cells.
  void forget(std::size_t first, std::size_t count);
  // The stamp of one of the lanes of an entry.
  Stamp lane_stamp(RowKind kind, std::uint32_t warp, std::size_t cell, int lane) const;
  // Adds a lane's access to an entry of its warp.
  void put(RowKind kind, std::size_t cell, int lane, const Moment& moment, const BlockClocks& clocks);
};

}  // namespace gpuforge::sim
