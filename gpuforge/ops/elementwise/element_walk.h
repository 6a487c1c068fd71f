// The shortest list of dimensions that reaches the elements of several views together. Not installed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

// One view of the walk: array 0 is the output.
struct WalkedArray {
  device::Address address = 0;  // of the element the walk begins with
  DType dtype = DType::f32;
  Strides strides;  // of each dimension, in elements
};

// Outermost dimension first, no extent of one, the output's strides positive and falling, neighbours merged
// where every array allows it. Rank 0 is one element.
struct ElementWalk {
  Shape extents;
  std::vector<WalkedArray> arrays;
  std::int64_t count() const { return element_count(extents); }
  // Rows of neighbours without gaps in the output, and there or repeated in every input.
  bool unit_rows() const;
};

// All of the shape of the first, which does not overlap itself and has elements.
ElementWalk make_element_walk(std::span<const Array> arrays);
// The same of arrays without data, for tests and plans.
ElementWalk make_element_walk(const Shape& shape, std::vector<WalkedArray> arrays);

}  // namespace gpuforge::ops
