// The race detector's shadow of an allocation of global memory: pages of cells, made when first touched.
// Cells of earlier launches have smaller block numbers, so nothing is cleared between launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpuforge/sim/lanes/race_rows.h"

namespace gpuforge::sim {

// A page: 256 KiB of the allocation, whose cells fill one large page of the host.
inline constexpr int kRacePageShift = 18;
inline constexpr std::size_t kRacePageBytes = std::size_t{1} << kRacePageShift;

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
  explicit RacePage(std::size_t of_bytes);
  std::size_t bytes = 0;
  int shift = 2;                   // bytes of a cell: 4 until a narrower access comes
  std::uint32_t strong_block = 0;  // number of the last block in any of `strong`
  ZeroedArray<GlobalCells> cells;
  std::array<ZeroedArray<StrongCell>, 4> strong;  // by StrongKind, made when used

  std::size_t count() const { return bytes >> shift; }
  void split(int new_shift);
  StrongCell* strong_cells(StrongKind kind);
};

struct RaceCells {
  RaceCells(std::uint64_t begin, std::size_t size);
  std::uint64_t base = 0;  // the allocation's begin, on a multiple of the widest access
  std::size_t bytes = 0;
  std::vector<std::unique_ptr<RacePage>> pages;
  std::uint32_t last_block = 0;  // number of the last block of the last launch that may stand in a cell

  RacePage& page(std::uint64_t address) {
    const std::uint64_t index = (address - base) >> kRacePageShift;
    return pages[index] != nullptr ? *pages[index] : make(index);
  }
  std::size_t cell(std::uint64_t address, const RacePage& page) const {
    return ((address - base) & (kRacePageBytes - 1)) >> page.shift;
  }
  RacePage& make(std::uint64_t index);
};

}  // namespace gpuforge::sim
