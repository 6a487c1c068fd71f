// Walks over strided elements: the shortest list of dimensions that reaches them, and the host's loops over
// it.
#pragma once

#include <cstddef>

#include "gpuforge/base/dtype.h"
#include "gpuforge/base/shape.h"

namespace gpuforge {

// Pairs of elements of two views, in an order of our choice: outermost dimension first, no extent of one, the
// destination's strides positive (or zero) and falling, neighbours merged where both views allow it. Rank 0
// is one pair.
struct StridedWalk {
  Shape extents;
  Strides to_strides;
  Strides from_strides;
  std::int64_t to_start = 0;  // element offsets of the first pair from each view's first element
  std::int64_t from_start = 0;

  // One run of neighbours on both sides.
  bool dense() const;
  // Every pair is an element with itself, for views of one dtype that begin at one address.
  bool same() const { return to_start == from_start && to_strides == from_strides; }
};
StridedWalk make_walk(const Shape& shape, const Strides& to, const Strides& from);

// `to` and `from` are the views' first elements; the element ranges must not overlap.
void copy_on_host(std::byte* to, DType to_dtype, const std::byte* from, DType from_dtype,
                  const StridedWalk& walk);
// Writes the `element_bytes` at `value` to every element of the destination.
void fill_on_host(std::byte* to, const std::byte* value, std::size_t element_bytes, const StridedWalk& walk);

}  // namespace gpuforge
