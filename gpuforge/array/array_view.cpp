#include <algorithm>
#include <limits>

#include "gpuforge/array/storage.h"

namespace gpuforge {
namespace {

struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// One end of a slice as Python clamps it: negative counts from the end, then into [lowest, highest].
std::int64_t clamp_end(std::int64_t at, std::int64_t extent, std::int64_t lowest, std::int64_t highest) {
  if (at < 0) at += extent;
  return std::clamp(at, lowest, highest);
}

Range resolve(const Slice& slice, std::int64_t extent) {
  // The most negative step has no positive twin; one more reaches the same elements.
  const std::int64_t step = std::max(slice.step, -std::numeric_limits<std::int64_t>::max());
  const bool forward = step > 0;
  const std::int64_t lowest = forward ? 0 : -1;
  const std::int64_t highest = forward ? extent : extent - 1;
  const std::int64_t start =
      slice.start ? clamp_end(*slice.start, extent, lowest, highest) : (forward ? 0 : extent - 1);
  const std::int64_t stop =
      slice.stop ? clamp_end(*slice.stop, extent, lowest, highest) : (forward ? extent : -1);
  const std::int64_t distance = forward ? stop - start : start - stop;
  return {start, step, distance > 0 ? (distance - 1) / (forward ? step : -step) + 1 : 0};
}

}  // namespace

Array Array::view(const Shape& shape, const Strides& strides, std::int64_t offset) const {
  Array result = *this;
  result.shape_ = shape;
  result.strides_ = strides;
  const auto bytes = offset * static_cast<std::int64_t>(element_bytes(dtype_));
  result.address_ = element_count(shape) == 0 ? 0 : address_ + static_cast<device::Address>(bytes);
  return result;
}

Array Array::slice(std::int64_t axis, Slice range) const {
  const std::size_t at = normalize_axis(axis, rank(), "slice");
  GPUFORGE_CHECK(range.step != 0, "slice: a step other than zero was expected for axis {}", at);
  const Range resolved = resolve(range, shape_[at]);
  Shape shape = shape_;
  Strides strides = strides_;
  shape[at] = resolved.count;
  // With one element or none the stride is never followed, and a huge step could not be multiplied.
  if (resolved.count > 1) strides[at] *= resolved.step;
  return view(shape, strides, resolved.count > 0 ? resolved.start * strides_[at] : 0);
}

Array Array::index(std::int64_t axis, std::int64_t at) const {
  const std::size_t dropped = normalize_axis(axis, rank(), "index");
  const std::int64_t extent = shape_[dropped];
  GPUFORGE_CHECK(at >= -extent && at < extent, "index: {} is not in axis {} of extent {}", at, dropped,
                 extent);
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(dropped);
  strides.erase(dropped);
  return view(shape, strides, (at < 0 ? at + extent : at) * strides_[dropped]);
}

Array Array::transpose() const {
  Dims reversed;
  for (std::size_t i = rank(); i > 0; --i) reversed.push_back(static_cast<std::int64_t>(i - 1));
  return transpose(reversed);
}

Array Array::transpose(const Dims& permutation) const {
  GPUFORGE_CHECK(permutation.size() == rank(),
                 "transpose: an array of shape {} has {} axes, the permutation {} names {}",
                 to_string(shape_), rank(), to_string(permutation), permutation.size());
  Shape shape;
  Strides strides;
  std::array<bool, kMaxRank> seen{};
  for (const std::int64_t axis : permutation) {
    const std::size_t from = normalize_axis(axis, rank(), "transpose");
    GPUFORGE_CHECK(!seen[from], "transpose: the permutation {} names axis {} twice", to_string(permutation),
                   from);
    seen[from] = true;
    shape.push_back(shape_[from]);
    strides.push_back(strides_[from]);
  }
  return view(shape, strides, 0);
}

Array Array::reshape(const Shape& shape) const {
  const Shape resolved = resolve_reshape(shape_, shape);
  const std::optional<Strides> strides = reshape_strides(shape_, strides_, resolved);
  GPUFORGE_CHECK(strides.has_value(),
                 "reshape: a view of shape {} with strides {} cannot be seen as {} without a copy; call "
                 "to_contiguous first",
                 to_string(shape_), to_string(strides_), to_string(resolved));
  return view(resolved, *strides, 0);
}

Array Array::broadcast_to(const Shape& shape) const {
  element_count(shape);
  return view(shape, broadcast_strides(shape_, strides_, shape), 0);
}

}  // namespace gpuforge
