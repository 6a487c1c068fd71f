// Arrays of another shape, and several as one: squeeze, expand_dims, ravel, flatten, move_axis, swap_axes
// (views wherever there is one), concat and stack.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gpuforge/array/array.h"

namespace gpuforge {

// Without its axes of one element: all of them, or those named. invalid_argument for another extent.
Array squeeze(const Array& array, std::optional<std::span<const std::int64_t>> axes = {});
// With an axis of one element at each of these places of the result.
Array expand_dims(const Array& array, std::span<const std::int64_t> axes);
Array swap_axes(const Array& array, std::int64_t first, std::int64_t second);
Array move_axis(const Array& array, std::int64_t from, std::int64_t to);
// One axis, row-major. ravel is a view where there is one; flatten copies always.
Array ravel(const Array& array, device::Stream& stream);
Array flatten(const Array& array, device::Stream& stream);

// One after the other along an axis; all other extents agree, and dtypes meet as promote() says.
// invalid_argument with the first array that does not fit.
Array concat(std::span<const Array> arrays, std::int64_t axis, device::Stream& stream);
// Along a new axis, at that place of the result.
Array stack(std::span<const Array> arrays, std::int64_t axis, device::Stream& stream);

}  // namespace gpuforge
