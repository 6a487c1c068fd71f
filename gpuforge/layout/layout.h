// Room layout: the algebra of layouts. A layout is a function from coordinates to indices, written
// shape:stride, as in CuTe: (4,8):(8,1) sends (i,j) to 8*i + j. Here: tuples, layouts, swizzles, all
// operations on them, and their text. Not here: data (array/), the same notions as types in kernels
// (kernels/tile.cuh), pictures (picture.h).
//
// Results are those of CuTe's C++ templates, known integers standing for its compile-time ones and `?` for
// its run-time ones. What does not compile there is an invalid_argument Error here, which names the
// operation, its operands, and why.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpuforge/layout/int_tuple.h"

namespace gpuforge::layout {

class Layout {
 public:
  Layout() : Layout(1, 0) {}
  // shape:stride, which must be congruent; no negative sizes.
  Layout(IntTuple shape, IntTuple stride);
  // Compact, the first mode running fastest (modes of size 1 get stride 0).
  explicit Layout(const IntTuple& shape);

  const IntTuple& shape() const { return shape_; }
  const IntTuple& stride() const { return stride_; }
  std::size_t rank() const { return shape_.rank(); }
  Layout mode(std::size_t index) const;  // rank 1 of `4:1` is itself

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  friend class LayoutBuilder;
  struct Congruent {};  // for what was written side by side
  Layout(Congruent, IntTuple&& shape, IntTuple&& stride);

  IntTuple shape_;
  IntTuple stride_;
};

// What to tile or compose by: a layout, a size, `_` (leave the mode as it is), or one of these for each mode.
class Tiler {
 public:
  struct Whole {};  // `_`
  using Modes = std::vector<Tiler>;
  Tiler(Layout layout) : value_(std::move(layout)) {}
  Tiler(Integer size) : value_(size) {}
  Tiler(int size) : value_(Integer(size)) {}
  Tiler(Whole) : value_(Whole{}) {}
  Tiler(Modes modes) : value_(std::move(modes)) {}
  Tiler(TupleView sizes);  // integers and `_` in any hierarchy

  const std::variant<Layout, Integer, Whole, Modes>& value() const { return value_; }
  const Modes* modes() const { return std::get_if<Modes>(&value_); }

 private:
  std::variant<Layout, Integer, Whole, Modes> value_;
};

std::string to_text(const Layout& layout);  // "((2,4),8):((1,2),8)"
std::string to_text(const Tiler& tiler);    // "(3:1,_,8)"
Layout parse_layout(std::string_view text);

// --- Making (make.cpp)
IntTuple compact_col_major(TupleView shape, Integer first = 1);
IntTuple compact_row_major(TupleView shape, Integer first = 1);
// Strides in the order of the numbers in `order`; unknown ones come last, from left to right.
IntTuple compact_order(TupleView shape, TupleView order);
Layout make_ordered_layout(const IntTuple& shape, TupleView order);
// Compact, with strides in the order of the layout's own; strides of 0 stay.
Layout make_layout_like(const Layout& layout);
// The layouts as the modes of one.
Layout make_layout(std::initializer_list<Layout> modes);
Layout make_layout(const std::vector<Layout>& modes);

// --- Asking (coordinates.cpp)
Integer size(const Layout& layout);
Integer cosize(const Layout& layout);  // one more than the largest index
std::size_t depth(const Layout& layout);
// The index of a coordinate: an integer, or a tuple that the shape refines.
Integer crd2idx(TupleView coordinate, TupleView shape, TupleView stride);
Integer crd2idx(TupleView coordinate, const Layout& layout);
// The index in a compact layout of this shape.
Integer crd2idx(TupleView coordinate, TupleView shape);
// The coordinate of an index; with a stride, for compact layouts alone.
IntTuple idx2crd(TupleView index, TupleView shape);
IntTuple idx2crd(TupleView index, TupleView shape, TupleView stride);
IntTuple crd2crd(TupleView coordinate, TupleView from_shape, TupleView to_shape);
// What stands where the coordinate has `_`; and where it has not.
IntTuple slice(TupleView coordinate, TupleView tuple);
IntTuple dice(TupleView coordinate, TupleView tuple);
Layout slice(TupleView coordinate, const Layout& layout);
Layout dice(TupleView coordinate, const Layout& layout);

// --- Modes (modes.cpp)
Layout flatten(const Layout& layout);
Layout unflatten(const Layout& layout, TupleView profile);
Layout coalesce(const Layout& layout);                     // the same function, as few modes as possible
Layout coalesce(const Layout& layout, TupleView profile);  // at each integer of the profile
Layout filter_zeros(const Layout& layout);                 // modes of stride 0 get size 1
Layout filter(const Layout& layout);                       // and are dropped
Layout filter(const Layout& layout, TupleView profile);
Layout group_modes(const Layout& layout, std::size_t begin, std::size_t end);
Layout append(const Layout& layout, const Layout& mode);
Layout append(const Layout& layout, std::size_t rank,
              const Layout& mode);  // as often as it takes to have that rank
Layout prepend(const Layout& layout, const Layout& mode);
Layout prepend(const Layout& layout, std::size_t rank, const Layout& mode);
Layout replace(const Layout& layout, std::size_t index, const Layout& mode);  // at the rank: append
Layout take(const Layout& layout, std::size_t begin, std::size_t end);
Layout select(const Layout& layout, const std::vector<std::size_t>& modes);
Layout zip(const Layout& layout);
Layout zip(const Layout& a, const Layout& b);

// --- The algebra
Layout composition(const Layout& a, const Layout& b);  // composition.cpp: c -> a(b(c))
Layout composition(const Layout& a, const Tiler& b);
Layout complement(const Layout& layout);  // inverse.cpp: what the layout leaves out, up to its cosize
Layout complement(const Layout& layout, TupleView cotarget);
Layout right_inverse(const Layout& layout);  // layout(result(i)) == i
Layout left_inverse(const Layout& layout);   // result(layout(i)) == i
Layout nullspace(const Layout& layout);
Layout max_common_layout(const Layout& a, const Layout& b);
Integer max_common_vector(const Layout& a, const Layout& b);

Layout logical_divide(const Layout& layout, const Tiler& tiler);  // divide.cpp
Layout zipped_divide(const Layout& layout, const Tiler& tiler);
Layout tiled_divide(const Layout& layout, const Tiler& tiler);
Layout flat_divide(const Layout& layout, const Tiler& tiler);
Layout logical_product(const Layout& block, const Tiler& tiler);  // product.cpp
Layout zipped_product(const Layout& block, const Tiler& tiler);
Layout tiled_product(const Layout& block, const Tiler& tiler);
Layout flat_product(const Layout& block, const Tiler& tiler);
Layout blocked_product(const Layout& block, const Layout& tiler);
Layout raked_product(const Layout& block, const Layout& tiler);
Layout tile_to_shape(const Layout& block, TupleView shape);
Layout tile_to_shape(const Layout& block, TupleView shape, TupleView order);

Layout upcast(const Layout& layout,
              std::int64_t count);  // recast.cpp: of elements that are `count` times as wide
Layout downcast(const Layout& layout, std::int64_t count);
Layout recast(const Layout& layout, std::int64_t old_bits, std::int64_t new_bits);

}  // namespace gpuforge::layout
