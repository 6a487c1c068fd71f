// What stands between the brackets of a[...], NumPy's basic indexing: integers, slices, one ellipsis, new
// axes.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "gpuforge/array/array.h"

namespace gpuforge {

struct Ellipsis {};  // as many whole axes as are missing
struct NewAxis {};   // an axis of extent 1 that was not there

using IndexItem = std::variant<std::int64_t, Slice, Ellipsis, NewAxis>;

// A view. invalid_argument for an index out of its axis, more indices than axes, a second ellipsis, a step of
// zero.
Array index_view(const Array& array, std::span<const IndexItem> items);

}  // namespace gpuforge
