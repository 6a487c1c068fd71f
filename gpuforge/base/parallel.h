// Work over a range on all host threads.
#pragma once

#include <cstdint>
#include <functional>

namespace gpuforge {

// Calls work(begin, end) for pieces that cover 0..count once, at the same time on up to as many threads as
// the machine has; each piece has at least `grain` items, so that small ranges run on the calling thread
// alone. Returns when all are done; the first exception is thrown again.
void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& work);

}  // namespace gpuforge
