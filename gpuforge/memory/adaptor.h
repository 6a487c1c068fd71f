// Allocators that wrap another: a limit, counting, a log, failures on purpose. Each passes on what the inner
// one does with evictable blocks and pins, and can wrap any other. All thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/memory/allocator.h"
#include "gpuforge/memory/trace.h"

namespace gpuforge::memory {

// Never more than `bytes` live at once, as asked for; beyond, out_of_memory with whose limit it is, size,
// limit and what is live.
class LimitAllocator : public Allocator {
 public:
  // For what is allocated from now on.
  virtual void set_limit(std::size_t bytes) = 0;
  virtual std::size_t live_bytes() const = 0;
};
std::shared_ptr<LimitAllocator> make_limit_allocator(std::shared_ptr<Allocator> inner, std::size_t bytes,
                                                     std::string who = "");

struct AllocationStatistics {
  std::size_t live_bytes = 0;
  std::size_t live_blocks = 0;
  std::size_t peak_bytes = 0;
  std::size_t total_bytes = 0;
  std::size_t allocations = 0;  // that succeeded
  std::size_t frees = 0;
  std::size_t failures = 0;  // allocations that threw
  std::size_t largest_bytes = 0;
};
std::string to_string(const AllocationStatistics& statistics);

class StatisticsAllocator : public Allocator {
 public:
  virtual AllocationStatistics statistics() const = 0;
};
std::shared_ptr<StatisticsAllocator> make_statistics_allocator(std::shared_ptr<Allocator> inner);

// Every step, as a trace that replays. Streams are numbered as they appear.
class LogAllocator : public Allocator {
 public:
  virtual Trace trace() const = 0;
};
std::shared_ptr<LogAllocator> make_log_allocator(std::shared_ptr<Allocator> inner);

// Allocations that fail as out_of_memory although there is memory: those of the numbers given (the first is
// 1), and each other one with the probability. The same seed fails the same ones.
struct FailurePlan {
  std::vector<std::size_t> numbers;
  double probability = 0;
  std::uint64_t seed = 1;
};
std::shared_ptr<Allocator> make_failing_allocator(std::shared_ptr<Allocator> inner, FailurePlan plan);

}  // namespace gpuforge::memory
