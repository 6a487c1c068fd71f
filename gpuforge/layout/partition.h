// Who works on what: tiles of a layout, threads and values over a tile, and how wide a thread's accesses can
// be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuforge/layout/composed.h"

namespace gpuforge::layout {

// Threads and values over a tile: tv sends (thread, value) to the tile's coordinate.
struct ThreadValueLayout {
  IntTuple tiler;
  Layout tv;
};
// From a layout of threads and a layout of the values of each, beside each other in every mode.
ThreadValueLayout make_layout_tv(const Layout& threads, const Layout& values);

// Part of a layout, and the index where it begins. Of several layouts one after the other that index is
// within the part, and the offset 0.
struct OffsetLayout {
  Mapping layout;
  Integer offset;
};
// The tile at `coordinate`; `_` keeps all tiles of that mode.
OffsetLayout local_tile(const Mapping& layout, const Tiler& tiler, TupleView coordinate);
// What thread `index` of the thread layout has, when threads take elements in turns.
OffsetLayout local_partition(const Mapping& layout, const Layout& threads, Integer index);
// ((thread,value),rest) -> index
Mapping partition_tv(const Mapping& layout, const ThreadValueLayout& by);

// How many elements a thread can load or store at once.
struct VectorWidth {
  std::int64_t elements = 1;
  std::int64_t bytes = 0;
  std::vector<std::string> why;  // sentences: what each limit is, the last one binding
};
// `layout` maps the tensor to memory whose first element is aligned to `alignment` bytes. Elements have a
// power of two bits; `bytes` is 0 for part of a byte.
VectorWidth vector_width(const Mapping& layout, const ThreadValueLayout& by, std::int64_t element_bits,
                         std::int64_t alignment, std::int64_t widest_bytes = 16);

}  // namespace gpuforge::layout
