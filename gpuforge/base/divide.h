// Whole numbers of tiles, blocks and loads.
#pragma once

#include <cstdint>

namespace gpuforge {

// As many times `by` as hold `value`: value is 0 or more, by 1 or more.
constexpr std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace gpuforge
