// Which blocks an address range has mapped where: the checks and the table every implementation shares. Not
// installed.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/device/virtual_memory.h"

namespace gpuforge::device {

void check_multiple(std::size_t bytes, std::size_t granularity, const char* what,
                    const std::string& device_name);

// Not thread-safe.
class MappedBlocks {
 public:
  // An invalid_argument unless `blocks` fit between what is mapped and the end.
  void check_map(std::size_t offset, std::span<const std::shared_ptr<PhysicalBlock>> blocks,
                 std::size_t range_bytes, std::size_t granularity, const std::string& device_name) const;
  void add(std::size_t offset, std::shared_ptr<PhysicalBlock> block);
  // The blocks of exactly this piece, taken out; an invalid_argument when it is not whole blocks in a row.
  std::vector<std::shared_ptr<PhysicalBlock>> take(std::size_t offset, std::size_t bytes,
                                                   const std::string& device_name);
  const std::map<std::size_t, std::shared_ptr<PhysicalBlock>>& all() const { return blocks_; }

 private:
  std::map<std::size_t, std::shared_ptr<PhysicalBlock>> blocks_;
};

}  // namespace gpuforge::device
