// What the race detector keeps for a launch, and the pieces its files share.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/race_cells.h"
#include "gpuforge/sim/race_clocks.h"
#include "gpuforge/sim/race_shadow.h"
#include "gpuforge/sim/races.h"

namespace gpuforge::sim {

// What a strong write left for those who read it.
struct Location {
  Handed device;             // for everyone
  Handed block;              // for the writer's block
  std::uint32_t serial = 0;  // that block
  std::uint64_t owner = 0;   // the one thread that wrote last by a plain strong store; 0: none
  // Who accessed it last, and how: a warp that polls changes nothing any more from the third time on.
  struct Again {
    std::uint32_t serial = 0;
    std::uint32_t warp = 0;
    Mask lanes = 0;
    std::uint32_t how = 0;
    std::uint64_t version = 0;  // of what the warp knows
    bool operator==(const Again&) const = default;
  };
  Again again;
  std::uint32_t times = 0;
};

enum class Did : std::uint8_t { read, wrote, read_strong, wrote_strong };

struct Conflict {
  std::uint32_t serial = 0;
  std::uint32_t thread = 0;
  std::uint32_t site = kNoSite;
  Did did = Did::read;
  bool thread_known = true;
  bool scope = false;             // both strong, but one does not reach the other
  bool same_instruction = false;  // two lanes of one store
};

// One of several unordered accesses to a cell of global memory.
struct Accessor {
  std::uint32_t serial = 0;
  Stamp stamp = 0;
  Mask lanes = 0;
  std::uint32_t who = 0;  // as in a cell; several_warps: it is not known which lanes
};

struct BlockRaces {
  std::uint64_t linear_index = 0;
  BlockClocks clocks;
  SharedShadow shared;
  std::unordered_map<std::uint64_t, Location> locations;  // in shared memory
};

struct RaceDetector::State {
  explicit State(Launch& of) : launch(of) {}

  Launch& launch;
  Stamp now = 1;
  bool off = false;                   // out of stamps
  bool releases = false;              // there was a fence or a release
  bool across = false;                // blocks may be synchronising: unordered accesses are kept in lists
  bool beyond_clusters = false;       // not only those of one cluster with each other
  std::uint32_t cluster_first = 1;    // number of the running cluster's first block
  bool own_cells = false;             // launch.own has the cells
  std::uint32_t base = 1;             // number of the launch's first block
  std::uint32_t next = 1;             // number of the next block
  std::vector<std::uint64_t> linear;  // index of a block by its number - base
  std::unordered_map<std::uint64_t, std::unique_ptr<BlockRaces>> running;
  std::vector<std::unique_ptr<BlockRaces>> spare;
  BlockRaces* last = nullptr;
  std::unordered_map<std::uint64_t, Location> locations;  // in global memory
  std::vector<std::vector<Accessor>> lists;
  std::vector<std::uint32_t> free_lists;
  std::size_t listed = 0;   // entries in all of them
  bool lists_lost = false;  // there were too many: cells of many accessors are not judged any more

  BlockRaces& races_of(const Block& block) {
    if (last != nullptr && last->linear_index == block.linear_index) return *last;
    return find(block);
  }
  BlockRaces& find(const Block& block);
  Moment moment(const BlockRaces& block, const Warp& warp, const Access& access) const;

  // race_shared.cpp
  void shared(BlockRaces& block, Warp& warp, const Access& access);
  bool shared_run(BlockRaces& block, Warp& warp, const Access& access, const Moment& moment);
  void shared_lanes(BlockRaces& block, Warp& warp, const Access& access, const Moment& moment);
  bool rows_known(const BlockRaces& block, RowKind kind, const CellRun& run, const Moment& moment) const;
  void check_shared(BlockRaces& block, Warp& warp, const Access& access, int lane, std::size_t first,
                    std::size_t count);
  void check_together(Warp& warp, const Access& access, const SharedShadow& shadow) const;
  std::optional<Conflict> row_conflict(const BlockRaces& block, RowKind kind, std::uint32_t warp, int lane,
                                       std::size_t cell) const;
  // race_global.cpp
  void global(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells);
  void global_run(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                  const Moment& moment);
  void global_piece(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                    const Moment& moment, const LinePiece& piece);
  RacePage& cells_for(RaceCells& cells, std::uint64_t address, std::uint32_t bytes);
  void make_cells(RaceCells& cells, RacePage& page, std::size_t line, int shift);
  void read_lanes(const BlockRaces& block, const Access& access, const RaceCells& cells, const Moment& moment,
                  const std::array<RacePage*, kLanes>& pages);
  void global_uniform(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                      const Moment& moment);
  void strong_uniform(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                      const Moment& moment);
  void global_lanes(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                    const Moment& moment);
  void global_strong(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                     const Moment& moment);
  bool check_global(BlockRaces& block, Warp& warp, const Access& access, int lane, RacePage& page,
                    std::size_t first, std::size_t count);
  void split(RacePage& page, int shift);
  std::uint32_t keep_list(std::vector<Accessor> list);
  void forget_ended_clusters(std::vector<Accessor>& list);
  bool cells_known(const RacePage& page, std::size_t first, std::size_t count, const Access& access,
                   const Moment& moment) const;
  std::optional<Conflict> kept_conflict(const BlockRaces& block, std::uint32_t warp, int lane,
                                        std::uint64_t key, Mask lanes, std::uint32_t who, Did did,
                                        bool only_other_blocks) const;
  void put(const BlockRaces& block, std::uint64_t& key, Mask& lanes, std::uint32_t& who, Mask bits,
           const Moment& moment);
  // races.cpp
  void synchronise(BlockRaces& block, Warp& warp, const Access& access,
                   std::unordered_map<std::uint64_t, Location>& where);
  void synchronise_lanes(BlockRaces& block, Warp& warp, const Access& access,
                         std::unordered_map<std::uint64_t, Location>& where);
  void tell(Warp& warp, const Access& access, int lane, const Conflict& conflict, bool in_shared) const;
};

// Whether two lanes of one store write different bytes into these `bytes` bytes at `address`, or a lane
// something else than memory holds (`held`).
bool same_bytes(const Access& access, int lane, std::uint64_t address, std::size_t bytes,
                const std::byte* held);
bool same_bytes(const Access& access, int lane, int other, std::uint64_t address, std::size_t bytes);
const std::byte* held_bytes(const Launch& launch, std::uint64_t address);  // of global memory
inline bool touches(const Access& access, int lane, std::uint64_t address) {
  return ((access.lanes >> lane) & 1u) != 0 && access.address[lane] <= address &&
         address < access.address[lane] + access.bytes;
}
// The lanes as one run of neighbours, when they are that.
inline bool one_run(const Access& access, int& first, std::uint32_t& lanes) {
  if (access.pattern != Pattern::contiguous || access.lanes == 0) return false;
  if (access.lanes == kAllLanes) [[likely]] {
    first = 0;
    lanes = kLanes;
    return true;
  }
  first = __builtin_ctz(access.lanes);
  const Mask packed = access.lanes >> first;
  lanes = static_cast<std::uint32_t>(__builtin_popcount(packed));
  return (packed & (packed + 1)) == 0;
}
// Whether all lanes are at one address; strong accesses do not always say so.
inline bool one_place(const Access& access) {
  if (access.pattern == Pattern::uniform) return true;
  const std::uint64_t first = access.address[__builtin_ctz(access.lanes)];
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1)
    if (access.address[__builtin_ctz(rest)] != first) return false;
  return true;
}
inline std::uint32_t site_of(std::uint32_t site, std::uint32_t limit) {
  return site < limit ? site : kNoSite;
}

}  // namespace gpuforge::sim
