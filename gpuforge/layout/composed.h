// Layouts and swizzles one after the other where that is neither a layout nor a layout behind one swizzle:
// coordinate -> outer(offset + inner(coordinate)). The innermost layout has the coordinates, and most
// operations are done on it alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "gpuforge/layout/swizzle.h"

namespace gpuforge::layout {

class ComposedLayout;
// Whatever sends coordinates or indices to indices.
using Mapping = std::variant<Layout, Swizzle, SwizzledLayout, ComposedLayout>;

class ComposedLayout {
 public:
  ComposedLayout(const Mapping& outer, Integer offset, const Mapping& inner);

  const Mapping& outer() const;
  Integer offset() const;
  const Mapping& inner() const;

  // The same functions one after the other, however they were put together.
  friend bool operator==(const ComposedLayout& a, const ComposedLayout& b);

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

std::string to_text(const ComposedLayout& layout);  // "16:1 o -1 o Sw<1,1,3>"
std::string to_text(const Mapping& mapping);
Mapping as_mapping(const AnyLayout& layout);

// The layout that has the coordinates; nullptr where a swizzle comes first, which takes any index.
const Layout* domain(const Mapping& mapping);
const Layout& expect_domain(const Mapping& mapping);  // an Error instead

// index -> outer(offset + inner(index)); as simple as it can be.
Mapping composition(const Mapping& outer, Integer offset, const Mapping& inner);
Mapping composition(const Mapping& a, const Mapping& b);
Mapping right_inverse(const Mapping& mapping);
Mapping left_inverse(const Mapping& mapping);
Mapping upcast(const Mapping& mapping, std::int64_t count);
Mapping downcast(const Mapping& mapping, std::int64_t count);
// Block and repetitions, both halves as a logical product has them.
Mapping logical_product(const Mapping& block, const Mapping& tiler);

Integer crd2idx(TupleView coordinate, const Mapping& mapping);
struct SlicedMapping {
  Mapping mapping;
  Integer offset;
};
SlicedMapping slice_and_offset(TupleView coordinate, const Mapping& mapping);

Layout max_common_layout(const Mapping& a, const Mapping& b);
Integer max_common_vector(const Mapping& a, const Mapping& b);

// The same mapping with its domain changed. A swizzle that changes nothing stays where a cast has left it, as
// in CuTe.
template <class Change>
Mapping with_domain(const Mapping& mapping, const Change& change) {
  if (const auto* const composed = std::get_if<ComposedLayout>(&mapping))
    return composition(composed->outer(), composed->offset(), with_domain(composed->inner(), change));
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping))
    return SwizzledLayout{swizzled->swizzle, swizzled->offset, change(swizzled->layout)};
  return change(expect_domain(mapping));
}

}  // namespace gpuforge::layout
