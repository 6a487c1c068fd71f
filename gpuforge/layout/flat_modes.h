// The integers of a layout without their hierarchy, and the way back to layouts. Not installed.
#pragma once

#include "gpuforge/layout/layout.h"

namespace gpuforge::layout {

struct FlatMode {
  Integer shape;
  Integer stride;
};
using FlatModes = InlineVector<FlatMode, 16>;

FlatModes flat_modes(const Layout& layout);
// As few modes as possible. `beyond` keeps the function outside of the layout's domain too, so that a last
// mode of size 1 stays; composition needs that.
FlatModes coalesced(const FlatModes& flat, bool beyond = false);
// One mode is an integer, several are a tuple; none is 1:0.
Layout layout_of(const FlatModes& modes);

// Writes shape and stride side by side.
class LayoutBuilder {
 public:
  void open() { shape_.open(), stride_.open(); }
  void close() { shape_.close(), stride_.close(); }
  void add(Integer shape, Integer stride) { shape_.add(shape), stride_.add(stride); }
  void add(TupleView shape, TupleView stride) { shape_.add(shape), stride_.add(stride); }
  void add(const Layout& layout) { add(layout.shape(), layout.stride()); }
  // One mode as an integer, several as a tuple.
  void add(const FlatModes& modes);
  Layout take() { return {shape_.take(), stride_.take()}; }

 private:
  TupleBuilder shape_;
  TupleBuilder stride_;
};

}  // namespace gpuforge::layout
