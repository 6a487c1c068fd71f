// What stands between the brackets of x[...]: integers, slices, new axes and an ellipsis, as NumPy's basic
// indexing, all of which are views. Picking elements with arrays of integers or bools is not here.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "gpuforge/array/array.h"

namespace gpuforge {

struct NewAxis {};   // None: an axis of one element here
struct Ellipsis {};  // ...: all the axes that nothing else is said of; at most one
using IndexItem = std::variant<std::int64_t, Slice, NewAxis, Ellipsis>;

// Each integer and slice takes the next axis; axes at the end that nothing is said of stay whole. Integers
// drop their axis. invalid_argument: more items than axes, two ellipses, an index outside of its axis (named
// with its extent), a step of zero.
Array index_view(const Array& array, std::span<const IndexItem> items);

}  // namespace gpuforge
