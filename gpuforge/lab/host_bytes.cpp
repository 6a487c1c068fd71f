#include "gpuforge/lab/host_bytes.h"

#include <algorithm>
#include <cstring>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/parallel.h"

namespace gpuforge::lab {

std::size_t block_count(std::size_t elements) {
  return (elements + kBlockElements - 1) / kBlockElements;
}

void for_blocks(std::size_t elements,
                const std::function<void(std::size_t block, std::size_t begin, std::size_t end)>& work) {
  parallel_ranges(
      static_cast<std::int64_t>(block_count(elements)), 16, [&](std::int64_t first, std::int64_t last) {
        for (auto block = static_cast<std::size_t>(first); block < static_cast<std::size_t>(last); ++block) {
          const std::size_t begin = block * kBlockElements;
          work(block, begin, std::min(begin + kBlockElements, elements));
        }
      });
}

std::vector<std::byte> as_stored(std::span<const double> values, DType dtype) {
  const std::size_t width = element_bytes(dtype);
  std::vector<std::byte> bytes(values.size() * width);
  for_blocks(values.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    convert_elements(bytes.data() + begin * width, dtype, values.data() + begin, DType::f64, end - begin);
  });
  return bytes;
}

Occurrences differences(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t width,
                        const ElementTest& counts) {
  GPUFORGE_ASSERT(a.size() == b.size(), "lab: {} bytes beside {}", a.size(), b.size());
  const std::size_t elements = a.size() / width;
  std::vector<Occurrences> found(block_count(elements));
  for_blocks(elements, [&](std::size_t block, std::size_t begin, std::size_t end) {
    const std::byte* const one = a.data();
    const std::byte* const two = b.data();
    if (std::memcmp(one + begin * width, two + begin * width, (end - begin) * width) == 0) return;
    for (std::size_t i = begin; i < end; ++i) {
      if (std::memcmp(one + i * width, two + i * width, width) == 0) continue;
      if (counts && !counts(one + i * width, two + i * width)) continue;
      if (found[block].count++ == 0) found[block].first = i;
    }
  });
  Occurrences all;
  for (const Occurrences& each : found) {
    if (all.count == 0) all.first = each.first;
    all.count += each.count;
  }
  return all;
}

}  // namespace gpuforge::lab
