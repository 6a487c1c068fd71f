#include "gpuforge/array/array_index.h"

namespace gpuforge {
namespace {

// How many axes of the array the items use up, the ellipsis aside.
std::size_t used_axes(const Array& array, std::span<const IndexItem> items) {
  std::size_t used = 0;
  bool ellipsis = false;
  for (const IndexItem& item : items) {
    if (std::holds_alternative<Ellipsis>(item)) {
      GPUFORGE_CHECK(!ellipsis, "index: one ellipsis was expected, found a second");
      ellipsis = true;
    } else if (!std::holds_alternative<NewAxis>(item)) {
      ++used;
    }
  }
  GPUFORGE_CHECK(used <= array.rank(), "index: an array of shape {} has {} axes, {} were indexed",
                 to_string(array.shape()), array.rank(), used);
  return used;
}

Array with_new_axis(const Array& array, std::size_t at) {
  Shape shape = array.shape();
  shape.insert(at, 1);
  return array.reshape(shape);  // never a copy: extents of one follow no stride
}

}  // namespace

Array index_view(const Array& array, std::span<const IndexItem> items) {
  const std::size_t skipped = array.rank() - used_axes(array, items);
  Array view = array;
  std::size_t axis = 0;
  for (const IndexItem& item : items) {
    const auto signed_axis = static_cast<std::int64_t>(axis);
    if (const auto* const at = std::get_if<std::int64_t>(&item)) {
      view = view.index(signed_axis, *at);
    } else if (const auto* const slice = std::get_if<Slice>(&item)) {
      view = view.slice(signed_axis, *slice);
      ++axis;
    } else if (std::holds_alternative<NewAxis>(item)) {
      view = with_new_axis(view, axis);
      ++axis;
    } else {
      axis += skipped;
    }
  }
  return view;
}

}  // namespace gpuforge
