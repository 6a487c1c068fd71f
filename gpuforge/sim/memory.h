// The simulator's view of global memory: which host bytes belong to the device, which of them were written,
// which were freed. A device address is the host address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gpuforge::sim {

struct RaceCells;  // race_cells.h: the race detector's shadow of an allocation

struct Allocation {
  Allocation(std::uint64_t begin, std::size_t bytes, std::string label, bool initialized);
  ~Allocation();
  std::uint64_t begin = 0;
  std::size_t bytes = 0;
  std::string label;       // "x (kernel argument 1)", "variable table", "1024 bytes allocated by allocate"
  bool read_only = false;  // constant memory
  // One bit per byte, set when written; empty when every byte is.
  bool initialized_whole = true;
  std::unique_ptr<std::uint64_t[]> initialized;
  std::unique_ptr<RaceCells> races;  // made by the race detector when it first sees this allocation
  std::uint64_t end() const { return begin + bytes; }
};

using Allocations = std::vector<std::shared_ptr<Allocation>>;  // by address

// Thread-safe. A launch works on a snapshot, so that it never sees a table change under it.
class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // `initialized`: the bytes have values already (variables, memory of the cpu device).
  std::shared_ptr<Allocation> add(std::uint64_t begin, std::size_t bytes, std::string label,
                                  bool initialized);
  void remove(std::uint64_t begin) noexcept;
  // A copy or fill from outside wrote these bytes. Bytes of no allocation are ignored.
  void mark_initialized(std::uint64_t begin, std::size_t bytes);
  std::shared_ptr<const Allocations> snapshot() const;
  // The last frees, newest first, to tell use after free from a wild address.
  struct Freed {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    std::string label;
  };
  std::vector<Freed> freed() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Allocation>> allocations_;
  mutable std::shared_ptr<const Allocations> snapshot_;  // dropped when the table changes
  std::vector<Freed> freed_;
};

}  // namespace gpuforge::sim
