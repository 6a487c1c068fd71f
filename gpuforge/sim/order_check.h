// Whether another order of blocks and warps gives another result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpuforge/sim/launch.h"

namespace gpuforge::sim {

// Memory that a launch may write, as it was: taken before, put back for every further run.
class MemoryCopy {
 public:
  explicit MemoryCopy(std::shared_ptr<const Allocations> allocations);
  void put_back() const;
  // The first byte in which memory differs from this copy.
  struct Difference {
    const Allocation* allocation = nullptr;
    std::uint64_t address = 0;
  };
  std::optional<Difference> difference() const;

 private:
  struct One {
    std::vector<std::byte> bytes;
    std::vector<std::uint64_t> initialized;
    bool initialized_whole = true;
  };
  std::shared_ptr<const Allocations> allocations_;
  std::vector<One> copies_;
};

}  // namespace gpuforge::sim
