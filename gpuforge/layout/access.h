// One warp's access through a layout: which thread touches what, what that costs, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/layout/access_cost.h"
#include "gpuforge/layout/partition.h"

namespace gpuforge::layout {

// What a thread accesses at once: "f16x8" is 8 elements of 2 bytes, "f32" one of 4.
struct AccessType {
  std::string name;
  std::int64_t element_bytes = 0;
  std::int64_t elements = 1;
  std::int64_t bytes() const { return element_bytes * elements; }
};
// An element type, and with x a number of elements. At most 32 bytes (16 in shared memory), a power of two.
AccessType parse_access(std::string_view text);

enum class Space { shared, global };

struct AccessRequest {
  AccessType type;
  Space space = Space::shared;
  bool is_load = true;
};

struct ThreadAccess {
  int thread = 0;
  std::vector<std::int64_t> coordinates;  // 1-D coordinates of the elements
  std::int64_t index = 0;                 // of the first element in memory, which is index * element_bytes
};
struct WarpAccess {
  AccessRequest request;
  std::vector<ThreadAccess> threads;
  std::optional<SharedCost> shared;  // one of the two
  std::optional<GlobalCost> global;
  // Shared memory: who waits for the bank that is asked for most, one thread for each word of it.
  std::vector<int> in_conflict;
  std::int64_t conflict_bank = -1;
  std::string sentence;
};

// The first access of threads 0 to 31: each its first values, as many as the type has. `memory` sends the
// tile's coordinates to indices. Values that do not lie side by side, or not aligned, are an Error: they are
// no single access.
WarpAccess warp_access(const ThreadValueLayout& by, const Mapping& memory, const AccessRequest& request);

// Threads over a plain layout, for the above. Elements that lie side by side in memory are taken together,
// `elements` at a time; threads take these vectors in the order of coordinates, the first mode running
// fastest. With one element at a time thread t has the coordinate t.
ThreadValueLayout threads_in_order(const Mapping& layout, std::int64_t elements);

// Never an unknown one: an Error says to bind it.
std::int64_t index_at(std::int64_t coordinate, const Mapping& layout);

}  // namespace gpuforge::layout
