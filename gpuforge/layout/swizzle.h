// Swizzles and layouts behind one. A swizzle permutes indices by an exclusive or of bits, so that rows of
// shared memory start in different banks.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "gpuforge/layout/layout.h"

namespace gpuforge::layout {

// Swizzle<B,M,S>: the lowest M bits stay; the B bits above them are changed by the B bits that lie S further
// up. With a negative S the upper ones are changed by the lower ones.
class Swizzle {
 public:
  Swizzle() = default;  // changes nothing
  Swizzle(int bits, int base, int shift);

  int bits() const { return bits_; }
  int base() const { return base_; }
  int shift() const { return shift_; }
  std::int64_t source_mask() const;  // the bits that change others (Y)
  std::int64_t target_mask() const;  // the bits that are changed (Z)
  Integer operator()(Integer index) const;

  friend bool operator==(const Swizzle&, const Swizzle&) = default;

 private:
  int bits_ = 0;
  int base_ = 0;
  int shift_ = 0;
};

// The swizzle with these masks; an Error when there is none.
Swizzle make_swizzle(std::int64_t source_mask, std::int64_t target_mask);

// coordinate -> swizzle(offset + layout(coordinate))
struct SwizzledLayout {
  Swizzle swizzle;
  Integer offset;
  Layout layout;

  friend bool operator==(const SwizzledLayout&, const SwizzledLayout&) = default;
};

// What operations on swizzled layouts give: a swizzle that changes nothing is dropped where it is composed.
using AnyLayout = std::variant<Layout, SwizzledLayout>;

std::string to_text(const Swizzle& swizzle);        // "Sw<3,4,3>"
std::string to_text(const SwizzledLayout& layout);  // "Sw<3,4,3> o 0 o (8,64):(64,1)"
std::string to_text(const AnyLayout& layout);

// Swizzles of the same shift, as one.
Swizzle composition(const Swizzle& a, const Swizzle& b);
AnyLayout composition(const Swizzle& swizzle, Integer offset, const Layout& layout);
AnyLayout composition(const Layout& layout, const Swizzle& swizzle);

Integer crd2idx(TupleView coordinate, const SwizzledLayout& layout);
// A slice and the index its first element has. Where the slice does not mix source and target bits, or it is
// not known whether it does, it is a plain layout.
struct SlicedLayout {
  AnyLayout layout;
  Integer offset;
};
SlicedLayout slice_and_offset(TupleView coordinate, const SwizzledLayout& layout);
AnyLayout slice(TupleView coordinate, const SwizzledLayout& layout);

AnyLayout logical_product(const Layout& block, const SwizzledLayout& tiler);
Swizzle upcast(const Swizzle& swizzle, std::int64_t count);
Swizzle downcast(const Swizzle& swizzle, std::int64_t count);
AnyLayout upcast(const SwizzledLayout& layout, std::int64_t count);
AnyLayout downcast(const SwizzledLayout& layout, std::int64_t count);
// An offset counted in elements `count` times as wide; an Error where it is no multiple of them.
Integer upcast_offset(Integer offset, std::int64_t count);

}  // namespace gpuforge::layout
