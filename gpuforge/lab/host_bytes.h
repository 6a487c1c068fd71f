// Elements on the host as they are stored: made and compared on all threads. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpuforge/base/dtype.h"

namespace gpuforge::lab {

// Calls work(block, begin, end) for consecutive blocks of kBlockElements, on all threads. The blocks do not
// depend on the machine, so what is added up within each and then over them in order does not either.
inline constexpr std::size_t kBlockElements = std::size_t{1} << 12;
std::size_t block_count(std::size_t elements);
void for_blocks(std::size_t elements,
                const std::function<void(std::size_t block, std::size_t begin, std::size_t end)>& work);

std::vector<std::byte> as_stored(std::span<const double> values, DType dtype);

// How many elements there are of a kind, and the first.
struct Occurrences {
  std::size_t count = 0;
  std::size_t first = 0;
};
// Elements of `width` bytes in which two equally long runs of bytes differ, and of those the ones that count.
using ElementTest = std::function<bool(const std::byte* a, const std::byte* b)>;
Occurrences differences(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t width,
                        const ElementTest& counts = {});

}  // namespace gpuforge::lab
