#include "gpuforge/array/indexing.h"

namespace gpuforge {
namespace {

// Counted once, so that every later step knows which axis it is on.
struct Counted {
  std::size_t axes = 0;  // that items take
  std::size_t ellipses = 0;
};
Counted count(std::span<const IndexItem> items) {
  Counted result;
  for (const IndexItem& item : items) {
    result.axes += std::holds_alternative<std::int64_t>(item) || std::holds_alternative<Slice>(item);
    result.ellipses += std::holds_alternative<Ellipsis>(item);
  }
  return result;
}

Array with_new_axis(const Array& array, std::size_t at) {
  Shape shape = array.shape();
  shape.insert(at, 1);
  return array.reshape(shape);
}

}  // namespace

Array index_view(const Array& array, std::span<const IndexItem> items) {
  const Counted counted = count(items);
  GPUFORGE_CHECK(counted.ellipses <= 1, "index: at most one ellipsis was expected; found {}",
                 counted.ellipses);
  GPUFORGE_CHECK(counted.axes <= array.rank(), "index: an array of shape {} has {} axes; {} were indexed",
                 to_string(array.shape()), array.rank(), counted.axes);
  Array view = array;
  std::size_t at = 0;    // of the view, which may have lost and gained axes
  std::size_t axis = 0;  // of the array
  for (const IndexItem& item : items) {
    if (const auto* const place = std::get_if<std::int64_t>(&item)) {
      const std::int64_t extent = array.shape()[axis];
      GPUFORGE_CHECK(*place >= -extent && *place < extent, "index: {} is not in axis {} of extent {}", *place,
                     axis, extent);
      view = view.index(static_cast<std::int64_t>(at), *place);
      ++axis;
    } else if (const auto* const slice = std::get_if<Slice>(&item)) {
      GPUFORGE_CHECK(slice->step != 0, "index: a step other than zero was expected for axis {}", axis);
      view = view.slice(static_cast<std::int64_t>(at), *slice);
      ++axis;
      ++at;
    } else if (std::holds_alternative<NewAxis>(item)) {
      view = with_new_axis(view, at);
      ++at;
    } else {
      const std::size_t rest = array.rank() - counted.axes;
      axis += rest;
      at += rest;
    }
  }
  return view;
}

}  // namespace gpuforge
