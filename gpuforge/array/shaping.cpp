#include "gpuforge/array/shaping.h"

#include <algorithm>
#include <array>

#include "gpuforge/base/promotion.h"

namespace gpuforge {
namespace {

Array with_shape(const Array& array, const Shape& shape, device::Stream& stream) {
  if (reshape_strides(array.shape(), array.strides(), shape)) return array.reshape(shape);
  return array.copy(stream).reshape(shape);
}

void check_fits(const Array& array, const Array& first, std::size_t number, std::size_t axis) {
  GPUFORGE_CHECK(&array.device() == &first.device(), "concat: array {} is on {}, the first on {}", number,
                 array.device().facts().name, first.device().facts().name);
  Shape shape = array.shape();
  if (shape.size() == first.rank()) shape[axis] = first.shape()[axis];
  GPUFORGE_CHECK(shape == first.shape(),
                 "concat: array {} of shape {} does not fit the first, of shape {}, along axis {}", number,
                 to_string(array.shape()), to_string(first.shape()), axis);
}

}  // namespace

Array squeeze(const Array& array, std::optional<std::span<const std::int64_t>> axes) {
  std::array<bool, kMaxRank> gone{};
  for (std::size_t d = 0; d < array.rank(); ++d) gone[d] = !axes && array.shape()[d] == 1;
  if (axes) {
    for (const std::int64_t axis : *axes) {
      const std::size_t at = normalize_axis(axis, array.rank(), "squeeze");
      GPUFORGE_CHECK(array.shape()[at] == 1, "squeeze: axis {} has {} elements, where one was expected", axis,
                     array.shape()[at]);
      gone[at] = true;
    }
  }
  Shape shape;
  for (std::size_t d = 0; d < array.rank(); ++d) {
    if (!gone[d]) shape.push_back(array.shape()[d]);
  }
  return array.reshape(shape);
}

Array expand_dims(const Array& array, std::span<const std::int64_t> axes) {
  GPUFORGE_CHECK(array.rank() + axes.size() <= kMaxRank, "expand_dims: {} axes are more than {}",
                 array.rank() + axes.size(), kMaxRank);
  const std::size_t rank = array.rank() + axes.size();
  std::array<bool, kMaxRank> added{};
  for (const std::int64_t axis : axes) {
    const std::size_t at = normalize_axis(axis, rank, "expand_dims");
    GPUFORGE_CHECK(!added[at], "expand_dims: axis {} is named twice", axis);
    added[at] = true;
  }
  Shape shape;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(added[d] ? 1 : array.shape()[next++]);
  return array.reshape(shape);
}

Array swap_axes(const Array& array, std::int64_t first, std::int64_t second) {
  Dims order;
  for (std::size_t d = 0; d < array.rank(); ++d) order.push_back(static_cast<std::int64_t>(d));
  std::swap(order[normalize_axis(first, array.rank(), "swap_axes")],
            order[normalize_axis(second, array.rank(), "swap_axes")]);
  return array.transpose(order);
}

Array move_axis(const Array& array, std::int64_t from, std::int64_t to) {
  const std::size_t moved = normalize_axis(from, array.rank(), "move_axis");
  Dims order;
  for (std::size_t d = 0; d < array.rank(); ++d) {
    if (d != moved) order.push_back(static_cast<std::int64_t>(d));
  }
  order.insert(normalize_axis(to, array.rank(), "move_axis"), static_cast<std::int64_t>(moved));
  return array.transpose(order);
}

Array ravel(const Array& array, device::Stream& stream) {
  return with_shape(array, {array.size()}, stream);
}

Array flatten(const Array& array, device::Stream& stream) {
  return array.copy(stream).reshape({array.size()});
}

Array concat(std::span<const Array> arrays, std::int64_t axis, device::Stream& stream) {
  GPUFORGE_CHECK(!arrays.empty(), "concat: one array or more was expected; found none");
  const Array& first = arrays.front();
  GPUFORGE_CHECK(first.rank() > 0, "concat: arrays of one axis or more were expected; stack joins scalars");
  const std::size_t at = normalize_axis(axis, first.rank(), "concat");
  Shape shape = first.shape();
  shape[at] = 0;
  DType dtype = first.dtype();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    check_fits(arrays[i], first, i, at);
    shape[at] += arrays[i].shape()[at];
    dtype = promote(dtype, arrays[i].dtype());
  }
  Array result = empty(first.context().shared_from_this(), shape, dtype, stream);
  std::int64_t begin = 0;
  for (const Array& array : arrays) {
    const std::int64_t end = begin + array.shape()[at];
    result.slice(static_cast<std::int64_t>(at), {begin, end, 1}).assign(array, stream);
    begin = end;
  }
  return result;
}

Array stack(std::span<const Array> arrays, std::int64_t axis, device::Stream& stream) {
  GPUFORGE_CHECK(!arrays.empty(), "stack: one array or more was expected; found none");
  std::vector<Array> taller;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    GPUFORGE_CHECK(arrays[i].shape() == arrays[0].shape(),
                   "stack: array {} of shape {} does not have the first one's, {}", i,
                   to_string(arrays[i].shape()), to_string(arrays[0].shape()));
    taller.push_back(expand_dims(arrays[i], std::span(&axis, 1)));
  }
  return concat(taller, axis, stream);
}

}  // namespace gpuforge
