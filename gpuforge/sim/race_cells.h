// The race detector's shadow of an allocation of global memory, in two levels. Warps mostly access whole
// lines of 128 bytes, lane by lane: a line has one small record for that. From the first access of a launch
// on that a record cannot hold, the line has cells, a record per word or finer, in pages made when first
// touched. Records of earlier launches have smaller block numbers, so nothing is cleared between launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpuforge/sim/lanes/race_rows.h"

namespace gpuforge::sim {

// A page: 512 KiB of the allocation, whose reads and whose writes fill one large page of the host each.
inline constexpr int kRacePageShift = 19;
inline constexpr std::size_t kRacePageBytes = std::size_t{1} << kRacePageShift;
inline constexpr int kLineShift = 7;
inline constexpr std::uint32_t kLineBytes = 1u << kLineShift;

// Zeroed memory that costs nothing until touched, in large pages where there is enough of it: scattered
// accesses to small ones spend their time on address translation.
class ZeroedMemory {
 public:
  ZeroedMemory() = default;
  explicit ZeroedMemory(std::size_t bytes);
  ZeroedMemory(ZeroedMemory&& other) noexcept;
  ZeroedMemory& operator=(ZeroedMemory&& other) noexcept;
  ~ZeroedMemory();
  void* data() const { return data_; }

 private:
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  void* data_ = nullptr;
};

template <class T>
class ZeroedArray {
 public:
  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t count) : memory_(count * sizeof(T)) {}
  T& operator[](std::size_t index) const { return get()[index]; }
  T* get() const { return static_cast<T*>(memory_.data()); }
  bool empty() const { return memory_.data() == nullptr; }

 private:
  ZeroedMemory memory_;
};

// Strong accesses of one kind to one cell: the same record as for reads.
struct StrongCell {
  std::uint64_t key;
  Mask lanes;
  std::uint32_t who;
};
enum class StrongKind : std::uint8_t { write, read, block_write, block_read };  // block_: of scope cta

struct RacePage {
  std::size_t bytes = 0;
  int shift = 2;                   // bytes of a cell: 4 until a narrower access comes
  std::uint32_t strong_block = 0;  // number of the last block in any of `strong`
  std::uint32_t read_block = 0;    // and in `reads`
  std::uint32_t write_block = 0;   // and in `writes`
  std::uint32_t full = 0;          // all lines have cells, in the launch whose first block has this number
  std::uint32_t counted = 0;       // lines that got them, in the launch `counting`
  std::uint32_t counting = 0;
  ZeroedArray<ReadCells> reads;
  ZeroedArray<WriteCells> writes;
  std::array<ZeroedArray<StrongCell>, 4> strong;  // by StrongKind, made when used

  std::size_t count() const { return bytes >> shift; }
  GlobalCells cells(std::uint32_t base) const {
    return {reads.get(), writes.get(), read_block >= base, write_block >= base};
  }
  void make_cells();
  void split(int new_shift);
  StrongCell* strong_cells(StrongKind kind);
};

// Neighbouring lanes that access one line: bytes begin to end of it, 1 << log for each lane from `lane` on.
struct LinePiece {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t lane = 0;
  int log = 0;
  std::uint32_t shape() const { return lane | (static_cast<std::uint32_t>(log) << 5); }
  bool whole() const { return begin == 0 && end == kLineBytes; }
};

// What was done to a whole line, or to one of its two sides: rows that do not end with a line leave lines of
// which one access took the first part and another one the rest.
struct LineCell {
  std::uint64_t write_key;
  std::uint64_t read_key;
  std::uint32_t write_who;  // of the first lane
  std::uint32_t read_who;
  std::uint32_t read_lanes;  // of one warp: the shape of the piece; several: those
  std::uint16_t write_shape;
  std::uint8_t split;  // in the first side: where the other one begins; 0: there is none
  std::uint8_t spare;

  bool old(std::uint64_t base_key) const { return write_key < base_key && read_key < base_key; }
  // It has cells in this launch: marked by a stamp that nothing has.
  static constexpr std::uint32_t kMark = 0xffffffffu;
  bool has_cells(std::uint64_t base_key) const { return write_key == (base_key | kMark); }
  void mark(std::uint64_t base_key) {
    write_key = base_key | kMark;
    write_who = kMark;
    write_shape = 0xffff;
    split = 0;
  }
  // The access in one step. False, and nothing done, where that takes cells, or has to be looked into.
  bool read(std::uint32_t shape, const Moment& moment);
  bool write(std::uint32_t shape, const Moment& moment);

 private:
  bool write_known(std::uint32_t shape, const Moment& moment) const {
    return known_key(write_key, moment) || (write_key - moment.block <= kMark && write_shape == shape &&
                                            (write_who >> kWhoShift) == moment.warp * kLanes + (shape & 31u));
  }
};

struct RaceCells {
  RaceCells(std::uint64_t begin, std::size_t size);
  std::uint64_t base = 0;  // the allocation's begin, on a multiple of the widest access
  std::size_t bytes = 0;
  ZeroedArray<LineCell> lines;
  ZeroedArray<LineCell> sides;  // the other sides, made when used
  std::vector<RacePage> pages;
  std::uint32_t last_block = 0;  // number of the last block of the last launch that may stand in a cell

  std::size_t line(std::uint64_t address) const { return (address - base) >> kLineShift; }
  RacePage& page(std::uint64_t address) { return pages[(address - base) >> kRacePageShift]; }
  std::size_t cell(std::uint64_t address, const RacePage& page) const {
    return ((address - base) & (kRacePageBytes - 1)) >> page.shift;
  }
  // The record for this piece of a line; nullptr: it takes cells.
  LineCell* record(std::size_t line, const LinePiece& piece, std::uint64_t base_key) {
    LineCell& first = lines[line];
    if (piece.whole() && first.split == 0) [[likely]]
      return &first;
    return side(line, piece, base_key);
  }
  LineCell* side(std::size_t line, const LinePiece& piece, std::uint64_t base_key);
  // Copies the line's records into its cells, which are fine enough for them.
  void spread(std::size_t line, RacePage& page, std::uint64_t base_key);
  // The finest of the line's accesses, as a shift.
  int finest(std::size_t line, std::uint64_t base_key) const;
};

inline bool LineCell::read(std::uint32_t shape, const Moment& moment) {
  if (!write_known(shape, moment)) return false;
  const std::uint64_t mine = moment.block | moment.now;
  if (read_key < moment.base || (!many(read_who) && read_key - moment.block <= moment.all_known)) {
    read_lanes = shape;
    read_who = moment.kept_who();
    read_key = mine;
    return true;
  }
  const bool same_warp = read_key - moment.block <= kMark && kept(read_who) == Kept::one_warp &&
                         (read_who >> kKeptWarpShift) == moment.warp;
  if (moment.exact) return same_warp && read_key == mine && read_lanes == shape;
  if (kept(read_who) == Kept::many_blocks) return true;
  if (read_key - moment.block > kMark) {
    read_who = moment.kept_who(Kept::many_blocks);
  } else if (same_warp) {
    if (static_cast<std::uint32_t>(read_key) > moment.own && read_lanes != shape) return false;
    read_lanes = shape;
    read_who = moment.kept_who();
  } else {
    read_lanes = (kept(read_who) == Kept::several_warps ? read_lanes : 1u << (read_who >> kKeptWarpShift)) |
                 (1u << moment.warp);
    read_who = moment.kept_who(Kept::several_warps);
  }
  read_key = mine;
  return true;
}

inline bool LineCell::write(std::uint32_t shape, const Moment& moment) {
  if (!write_known(shape, moment)) return false;
  const bool read_known = read_key < moment.base ||
                          (!many(read_who) && read_key - moment.block <= moment.all_known) ||
                          (kept(read_who) == Kept::one_warp && read_key - moment.block <= kMark &&
                           (read_who >> kKeptWarpShift) == moment.warp &&
                           (static_cast<std::uint32_t>(read_key) <= moment.own || read_lanes == shape));
  if (!read_known) return false;
  write_key = moment.block | moment.now;
  write_who = moment.write_who(shape & 31u);
  write_shape = static_cast<std::uint16_t>(shape);
  return true;
}

}  // namespace gpuforge::sim
