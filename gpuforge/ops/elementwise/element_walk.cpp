#include "gpuforge/ops/elementwise/element_walk.h"

#include <algorithm>
#include <array>

namespace gpuforge::ops {

bool ElementWalk::unit_rows() const {
  if (extents.empty()) return true;
  if (arrays[0].strides.back() != 1) return false;
  return std::all_of(arrays.begin(), arrays.end(), [](const WalkedArray& array) {
    return array.strides.back() == 1 || array.strides.back() == 0;
  });
}

ElementWalk make_element_walk(const Shape& shape, std::vector<WalkedArray> arrays) {
  // Dimensions walked from their other end where the output runs backwards.
  std::array<std::size_t, kMaxRank> order;
  std::size_t rank = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (arrays[0].strides[d] < 0) {
      for (WalkedArray& array : arrays) {
        const auto bytes = static_cast<std::int64_t>(element_bytes(array.dtype));
        array.address += static_cast<device::Address>((shape[d] - 1) * array.strides[d] * bytes);
        array.strides[d] = -array.strides[d];
      }
    }
    // Falling strides of the output, in the order given where they are alike.
    std::size_t at = rank++;
    for (; at > 0 && arrays[0].strides[order[at - 1]] < arrays[0].strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  ElementWalk walk;
  walk.arrays.reserve(arrays.size());
  for (const WalkedArray& array : arrays) walk.arrays.push_back({array.address, array.dtype, {}});
  for (const std::size_t d : std::span(order).first(rank)) {
    const bool merges = !walk.extents.empty() && [&] {
      for (std::size_t a = 0; a < arrays.size(); ++a) {
        if (walk.arrays[a].strides.back() != arrays[a].strides[d] * shape[d]) return false;
      }
      return true;
    }();
    if (merges) {
      const std::size_t last = walk.extents.size() - 1;
      walk.extents[last] *= shape[d];
      for (std::size_t a = 0; a < arrays.size(); ++a) walk.arrays[a].strides[last] = arrays[a].strides[d];
      continue;
    }
    walk.extents.push_back(shape[d]);
    for (std::size_t a = 0; a < arrays.size(); ++a) walk.arrays[a].strides.push_back(arrays[a].strides[d]);
  }
  return walk;
}

ElementWalk make_element_walk(std::span<const Array> arrays) {
  std::vector<WalkedArray> walked;
  walked.reserve(arrays.size());
  for (const Array& array : arrays) walked.push_back({array.address(), array.dtype(), array.strides()});
  return make_element_walk(arrays[0].shape(), std::move(walked));
}

}  // namespace gpuforge::ops
