// Global memory as the blocks of one host thread see it while other threads run other blocks: every byte they
// touch is noted, and what they write stays in copies of their own. When no byte that one thread wrote was
// touched by another, nobody can tell in which order the blocks ran, and the copies go into memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpuforge/sim/address.h"
#include "gpuforge/sim/race_cells.h"

namespace gpuforge::sim {

// An atomic without a result whose order nobody can tell: values can be brought together before they reach
// memory.
struct Reduction {
  std::uint32_t bytes = 4;                                               // of a value
  std::uint64_t identity = 0;                                            // changes nothing
  void (*combine)(std::byte* memory, const std::byte* value) = nullptr;  // tells reductions apart, too
};

class ThreadMemory {
 public:
  // in_place: of a thread that runs alone; only notes what is touched.
  enum class Writes : std::uint8_t { in_place, apart };
  ThreadMemory(std::shared_ptr<const Allocations> allocations, Writes writes);

  static constexpr int kChunkShift = 10;
  static constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << kChunkShift;
  using Bits = std::array<std::uint64_t, kChunkBytes / 64>;  // one per byte
  struct alignas(64) Sums {                                  // of reductions, one kind for a chunk
    std::array<std::byte, kChunkBytes> value;
    Bits reduced;
    const Reduction* reduction;
    std::uint64_t begin;  // of the chunk
  };
  struct alignas(64) Touched {
    Bits read;
    Bits written;
    Sums* sums;  // nullptr until there are some
  };
  struct Chunk {  // memory from a multiple of kChunkBytes on
    Touched* touched;
    std::byte* copy;  // nullptr until something is written apart
  };
  struct Area {  // an allocation
    Allocation* allocation = nullptr;
    ZeroedArray<Chunk> chunks;
    std::unique_ptr<RaceCells> races;
  };

  bool apart() const { return apart_; }
  Area& area(Allocation& allocation) {
    Area* const last = last_[slot(allocation)];
    return last != nullptr && last->allocation == &allocation ? *last : find(allocation);
  }
  // Whether an access stays within one chunk, as that of one lane always does.
  static bool in_one_chunk(std::uint64_t address, std::uint32_t bytes) {
    return (address ^ (address + bytes - 1)) >> kChunkShift == 0;
  }
  // Notes an access within one chunk; gives the address of the bytes on the host.
  std::uint64_t touch(Area& area, std::uint64_t address, std::uint32_t bytes, Use use);
  // The same for a reduction, whose values go elsewhere when they are written apart.
  std::uint64_t reduce(Area& area, std::uint64_t address, std::uint32_t bytes, const Reduction& reduction);
  // This thread cannot know what its blocks would have seen: what it did is void.
  void give_up() { given_up_ = true; }
  bool given_up() const { return given_up_; }
  // Whether the bytes were written before the launch or by this thread.
  bool initialized(const Area& area, std::uint64_t address, std::uint32_t bytes) const;
  // What an address within one chunk holds for this thread.
  const std::byte* look(std::uint64_t address) const;

  // Writes the copies to memory, and marks there what was written if the launch follows that. Threads that
  // are not in conflict may do it at the same time.
  void commit(bool mark_initialized);
  void commit_sums();                            // after that, one thread after the other
  std::size_t bytes() const { return mapped_; }  // of host memory that it takes, about

  // Whether a byte that one of them wrote was touched by another. All are of one launch.
  static bool conflict(std::span<const ThreadMemory* const> all);

 private:
  static constexpr int kLastBits = 4;
  static std::size_t slot(const Allocation& allocation) {
    return reinterpret_cast<std::uintptr_t>(&allocation) * 0x9e3779b97f4a7c15u >> (64 - kLastBits);
  }
  Area& find(Allocation& allocation);
  Chunk& chunk_at(Area& area, std::uint64_t address);
  Sums& make_sums(Touched& touched, std::uint64_t address, const Reduction& reduction);
  void make_copy(Chunk& chunk, const Allocation& allocation, std::uint64_t address);
  template <class T>
  T* make();
  std::byte* take(std::size_t bytes);

  std::shared_ptr<const Allocations> allocations_;
  bool apart_ = false;
  bool given_up_ = false;
  std::vector<Area> areas_;                                // as in allocations_
  std::array<Area*, std::size_t{1} << kLastBits> last_{};  // by slot()
  std::vector<const Sums*> sums_;
  std::vector<ZeroedMemory> slabs_;
  std::byte* next_ = nullptr;  // free room of the last slab
  std::size_t room_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace gpuforge::sim
