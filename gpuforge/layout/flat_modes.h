// What the algebra computes with: a part of a layout without a copy of it, the modes of a layout without
// their hierarchy, and the way back to layouts. Not installed.
#pragma once

#include "gpuforge/layout/layout.h"

namespace gpuforge::layout {

// A layout, or a mode of one. Valid while that layout is.
struct LayoutView {
  TupleView shape;
  TupleView stride;

  LayoutView(TupleView of_shape, TupleView of_stride) : shape(of_shape), stride(of_stride) {}
  LayoutView(const Layout& layout) : shape(layout.shape()), stride(layout.stride()) {}
  std::size_t rank() const { return shape.rank(); }
  LayoutView operator[](std::size_t mode) const { return {shape[mode], stride[mode]}; }
};

struct FlatMode {
  Integer shape;
  Integer stride;
};
using FlatModes = InlineVector<FlatMode, 16>;
using Integers = InlineVector<Integer, 16>;

FlatModes flat_modes(LayoutView layout);
// An Error for `()`, on which most operations are not defined.
FlatModes some_flat_modes(LayoutView layout);
// As few modes as possible. `beyond` keeps the function outside of the layout's domain too, so that a last
// mode of size 1 stays; composition needs that.
FlatModes coalesced(const FlatModes& flat, bool beyond = false);
// Without modes of stride 0, coalesced.
FlatModes filtered(FlatModes flat);
// The modes that `modes`, which are filtered, leave out of a shape that has these integers.
FlatModes complemented(FlatModes modes, const Integers& cotarget);
// One mode is an integer, several are a tuple; none is 1:0.
Layout layout_of(const FlatModes& modes);

// Writes shape and stride side by side. What lies between open and close becomes a tuple.
class LayoutBuilder {
 public:
  LayoutBuilder() : shape_(IntTuple::Empty{}), stride_(IntTuple::Empty{}) {}
  void open() {
    count_element();
    open_.push_back(static_cast<std::uint32_t>(shape_.nodes_.size()));
    shape_.nodes_.push_back({0, 1, TupleNode::Kind::tuple});
    stride_.nodes_.push_back({0, 1, TupleNode::Kind::tuple});
  }
  void close() {
    const std::uint32_t at = open_.back();
    open_.erase(open_.size() - 1);
    shape_.nodes_[at].span = static_cast<std::uint32_t>(shape_.nodes_.size()) - at;
    stride_.nodes_[at] = shape_.nodes_[at];
  }
  void add(Integer shape, Integer stride) {
    count_element();
    shape_.nodes_.push_back({shape, 1, TupleNode::Kind::integer});
    stride_.nodes_.push_back({stride, 1, TupleNode::Kind::integer});
  }
  void add(LayoutView layout) {
    count_element();
    shape_.nodes_.append(layout.shape.nodes(), layout.shape.node_count());
    stride_.nodes_.append(layout.stride.nodes(), layout.stride.node_count());
  }
  // One mode as an integer, several as a tuple.
  void add(const FlatModes& modes);
  // What was built so far, which must be whole. Valid until the builder changes.
  LayoutView view() const { return {shape_.view(), stride_.view()}; }
  Layout take();

 private:
  void count_element() {
    if (open_.empty()) return;
    TupleNode& around = shape_.nodes_[open_.back()];
    around.value = around.value.value() + 1;
  }
  IntTuple shape_;
  IntTuple stride_;
  InlineVector<std::uint32_t, 8> open_;  // where the tuples stand that are not closed
};

// The layout a size stands for as a tiler: size:1.
class SizeLayout {
 public:
  explicit SizeLayout(Integer size) : size_{size, 1}, stride_{size.is(1) ? 0 : 1, 1} {}
  LayoutView view() const { return {TupleView(&size_), TupleView(&stride_)}; }

 private:
  TupleNode size_;
  TupleNode stride_;
};

// coordinates.cpp: of a layout of size 0 it may be negative, and products count with that
Integer cosize(LayoutView layout);

// composition.cpp: every coordinate of `b` sent through the modes, which come from modes_to_compose.
FlatModes modes_to_compose(const FlatModes& flat);
void add_composed(const FlatModes& modes, LayoutView b, LayoutBuilder& builder);

}  // namespace gpuforge::layout
