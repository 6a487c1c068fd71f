// The race detector's checks over neighbouring cells, made for vectors: what a contiguous access costs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuforge/sim/op.h"

namespace gpuforge::sim {

// who of a write: its thread in the block above, its site below. All ones: a site too large to keep.
inline constexpr int kWhoShift = 22;
inline constexpr std::uint32_t kWhoSite = (1u << kWhoShift) - 1;

// who of a global access that may be several: the warp, what kind of record it is, the site.
enum class Kept : std::uint32_t { one_warp, several_warps, many_blocks, listed };
inline constexpr int kKeptWarpShift = 27;
inline constexpr int kKeptShift = 25;
inline constexpr std::uint32_t kKeptSite = (1u << kKeptShift) - 1;
inline Kept kept(std::uint32_t who) {
  return static_cast<Kept>((who >> kKeptShift) & 3u);
}

// An access to `count` neighbouring cells, 1 << log of them for each lane from `lane` on.
struct CellRun {
  std::size_t first = 0;
  std::uint32_t count = 0;
  int log = 0;
  std::uint32_t lane = 0;
};
inline constexpr int kMostLog = 5;  // cells per lane: up to 32

// Who is asking, and what the warp as a whole knows.
struct Moment {
  std::uint32_t now = 0;
  std::uint32_t all_known = 0;  // of every warp of the block
  std::uint32_t own = 0;        // of the warp's own lanes
  std::uint32_t warp = 0;
  std::uint32_t site = 0;
  bool exact = false;       // records that fall together must keep each stamp: not done here
  std::uint64_t base = 0;   // global: keys below are of earlier launches
  std::uint64_t block = 0;  // global: this block's key with stamp 0
  std::uint32_t write_who(std::uint32_t lane) const {
    return ((warp * kLanes + lane) << kWhoShift) | (site < kWhoSite ? site : kWhoSite);
  }
  std::uint32_t kept_who(Kept what = Kept::one_warp) const {
    return (warp << kKeptWarpShift) | (static_cast<std::uint32_t>(what) << kKeptShift) |
           (site < kKeptSite ? site : kKeptSite);
  }
};

// All of the functions take pointers to the run's first cell.

// Shared. Whether every cell's last write is known to the whole warp or the lane's own.
bool shared_writes_known(const std::uint32_t* stamp, const std::uint32_t* who, const CellRun& run,
                         const Moment& moment);
bool stamps_known(const std::uint32_t* stamp, std::size_t count, std::uint32_t known);
// The same for the row of the warp itself: older than its last sync, or of the lane alone.
bool own_row_known(const std::uint32_t* stamp, const Mask* lanes, const CellRun& run, std::uint32_t own);
void put_shared_writes(std::uint32_t* stamp, std::uint32_t* who, const CellRun& run, const Moment& moment);
// False, and nothing done, when moment.exact asks for more than a row can hold.
bool put_row(std::uint32_t* stamp, Mask* lanes, std::uint32_t* site, const CellRun& run,
             const Moment& moment);

// The usual case in one step: a full warp, and everything known to all of it. False, and nothing done, else.
bool shared_read_at_once(const std::uint32_t* write_stamp, std::uint32_t* stamp, Mask* lanes,
                         std::uint32_t* site, const CellRun& run, const Moment& moment);
bool shared_write_at_once(std::uint32_t* stamp, std::uint32_t* who, const CellRun& run, const Moment& moment);

// Lanes at any places: the cell of each, for shared memory.
struct LaneCells {
  std::uint32_t count = 0;
  std::uint32_t cell[kLanes];
  std::uint32_t lane[kLanes];
};
void find_cells(LaneCells& cells, const std::uint64_t* address, Mask lanes, int shift);
bool stamps_known_at(const std::uint32_t* stamp, const LaneCells& cells, std::uint32_t known, int shift = 0);
void put_rows_at(std::uint32_t* stamp, Mask* lanes, std::uint32_t* site, const LaneCells& cells,
                 const Moment& moment);
void put_writes_at(std::uint32_t* stamp, std::uint32_t* who, const LaneCells& cells, const Moment& moment);
// Whether each lane's cell still says what that lane put there: no two of them wrote one cell.
bool writes_stand(const std::uint32_t* who, const LaneCells& cells, const Moment& moment);

// Global. Records of four cells lie together in one cache line of the host, so that scattered accesses touch
// few of them and neighbouring ones make vectors; reads and writes lie apart, because most data is only read.
// A key: the block's number above, the stamp below. Of reads the last is kept, with the lanes of its warp, or
// the warps, that have read unordered.
struct alignas(64) ReadCells {
  std::uint64_t key[4];
  Mask lanes[4];
  std::uint32_t who[4];
};
struct alignas(64) WriteCells {
  std::uint64_t key[4];
  std::uint32_t who[4];
  std::uint32_t spare[4];
};
// The cells of a page.
struct GlobalCells {
  ReadCells* reads = nullptr;
  WriteCells* writes = nullptr;
  bool read = false;     // there may be reads of this launch
  bool written = false;  // and writes
};
inline bool known_key(std::uint64_t key, const Moment& moment) {
  return key < moment.base || key - moment.block <= moment.all_known;
}
inline bool many(std::uint32_t who) {
  return ((who >> (kKeptShift + 1)) & 1u) != 0;
}  // blocks or a list

// Adds lanes of moment's warp to a record. False, and nothing done, when moment.exact asks for a list.
inline bool put_kept(std::uint64_t& key, Mask& lanes, std::uint32_t& who, Mask bits, const Moment& moment) {
  if (key < moment.base || (!many(who) && key - moment.block <= moment.all_known)) {
    lanes = bits;
    who = moment.kept_who();
  } else if (moment.exact) {
    return false;
  } else if (kept(who) == Kept::many_blocks) {
    return true;
  } else if (key - moment.block > 0xffffffffu) {
    who = moment.kept_who(Kept::many_blocks);
  } else if (kept(who) == Kept::one_warp && (who >> kKeptWarpShift) == moment.warp) {
    lanes = (static_cast<std::uint32_t>(key) > moment.own ? lanes : 0u) | bits;
    who = moment.kept_who();
  } else {
    lanes = (kept(who) == Kept::several_warps ? lanes : 1u << (who >> kKeptWarpShift)) | (1u << moment.warp);
    who = moment.kept_who(Kept::several_warps);
  }
  key = moment.block | moment.now;
  return true;
}

// The usual case in one step: whole groups of cells, and everything known to all of the warp. False, and
// nothing done, else.
bool global_read_at_once(const GlobalCells& cells, const CellRun& run, const Moment& moment);
bool global_write_at_once(const GlobalCells& cells, const CellRun& run, const Moment& moment);

// These take any run.
bool global_writes_known(const GlobalCells& cells, const CellRun& run, const Moment& moment);
bool global_reads_known(const GlobalCells& cells, const CellRun& run, const Moment& moment);
void put_global_writes(const GlobalCells& cells, const CellRun& run, const Moment& moment);
// False when cells from `run.first + done` on need a list; those before are done.
bool put_global_reads(const GlobalCells& cells, const CellRun& run, const Moment& moment,
                      std::uint32_t& done);

}  // namespace gpuforge::sim
