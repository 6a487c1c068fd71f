// Something to measure: one call, on one of several sets of operands.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "gpuforge/lab/worked.h"

namespace gpuforge::lab {

struct Workload {
  std::string name;
  std::size_t sets = 1;
  std::size_t set_bytes = 0;
  std::function<void(std::size_t set, device::Stream& stream)> enqueue;
  // What comes before each call and is not measured; empty: nothing does.
  std::function<void(std::size_t set, device::Stream& stream)> prepare;
  // All outputs become a pattern, so that what they hold later was written by calls after that; may be empty.
  std::function<void(device::Stream& stream)> poison;
  // Of each set; nullptr when they are nobody else's business.
  std::shared_ptr<const std::vector<std::vector<Array>>> operands;
};

// Sets to rotate over, so that no call finds its operands in the cache: enough to fill it three times, at
// least four, at most 1024, and no more than `free_bytes` hold.
std::size_t operand_sets(std::size_t set_bytes, std::size_t cache_bytes, std::size_t free_bytes);

// An op's call on the inputs that were worked out; every set holds the same values. An operand that is read
// and written has them again before each call. out_of_memory when not even one set fits.
Workload op_workload(const Op& op, const Problem& problem, std::string_view variant, const Config* config,
                     const Worked& worked, const std::shared_ptr<Context>& context, std::size_t most_sets);

}  // namespace gpuforge::lab
