#include "gpuforge/layout/composed.h"

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {

struct ComposedLayout::Parts {
  Mapping outer;
  Integer offset;
  Mapping inner;
};

ComposedLayout::ComposedLayout(const Mapping& outer, Integer offset, const Mapping& inner)
    : parts_(std::make_shared<const Parts>(Parts{outer, offset, inner})) {}

const Mapping& ComposedLayout::outer() const {
  return parts_->outer;
}

Integer ComposedLayout::offset() const {
  return parts_->offset;
}

const Mapping& ComposedLayout::inner() const {
  return parts_->inner;
}

bool operator==(const ComposedLayout& a, const ComposedLayout& b) {
  return to_text(a) == to_text(b);
}

std::string to_text(const ComposedLayout& layout) {
  return format_text("{} o {} o {}", to_text(layout.outer()), to_text(IntTuple(layout.offset())),
                     to_text(layout.inner()));
}

std::string to_text(const Mapping& mapping) {
  return std::visit([](const auto& one) { return to_text(one); }, mapping);
}

Mapping as_mapping(const AnyLayout& layout) {
  return std::visit([](const auto& one) { return Mapping(one); }, layout);
}

const Layout* domain(const Mapping& mapping) {
  if (const auto* const composed = std::get_if<ComposedLayout>(&mapping)) return domain(composed->inner());
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping)) return &swizzled->layout;
  return std::get_if<Layout>(&mapping);
}

const Layout& expect_domain(const Mapping& mapping) {
  const Layout* const layout = domain(mapping);
  if (layout == nullptr) refuse("layout: {} takes any index: it has no shape", to_text(mapping));
  return *layout;
}

Mapping composition(const Mapping& outer, Integer offset, const Mapping& inner) {
  const auto* const swizzle = std::get_if<Swizzle>(&outer);
  const auto* const layout = std::get_if<Layout>(&inner);
  if (swizzle != nullptr && layout != nullptr) return as_mapping(composition(*swizzle, offset, *layout));
  return ComposedLayout(outer, offset, inner);
}

namespace {

// The parts of what has two; false for a layout or a swizzle alone.
struct Parts {
  Mapping outer = Swizzle();
  Integer offset;
  Mapping inner = Swizzle();
};
bool taken_apart(const Mapping& mapping, Parts& parts) {
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping)) {
    parts = {swizzled->swizzle, swizzled->offset, swizzled->layout};
    return true;
  }
  const auto* const composed = std::get_if<ComposedLayout>(&mapping);
  if (composed != nullptr) parts = {composed->outer(), composed->offset(), composed->inner()};
  return composed != nullptr;
}

// The functions of a mapping that has parts, after another inner one.
Mapping with_inner(const Mapping& mapping, const Parts& parts, const Mapping& inner) {
  const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping);
  const auto* const layout = std::get_if<Layout>(&inner);
  if (swizzled != nullptr && layout != nullptr)
    return SwizzledLayout{swizzled->swizzle, swizzled->offset, *layout};
  return composition(parts.outer, parts.offset, inner);
}

Mapping composed(const Mapping& a, const Mapping& b) {
  Parts parts;
  if (taken_apart(a, parts)) return with_inner(a, parts, composed(parts.inner, b));
  const bool several = taken_apart(b, parts);
  if (const auto* const swizzle = std::get_if<Swizzle>(&a)) {
    if (several)
      refuse("a swizzle is composed with a swizzle or a layout; with {} by composition(swizzle, 0, A)",
             to_text(b));
    if (const auto* const other = std::get_if<Swizzle>(&b)) return composition(*swizzle, *other);
    return composition(a, 0, b);
  }
  const Layout& layout = std::get<Layout>(a);
  if (several) {
    if (!parts.offset.is(0)) refuse("the offset of {} must be 0", to_text(b));
    return composed(composed(a, parts.outer), parts.inner);
  }
  if (const auto* const swizzle = std::get_if<Swizzle>(&b)) return as_mapping(composition(layout, *swizzle));
  return composition(layout, std::get<Layout>(b));
}

Mapping inverse(const Mapping& mapping, Layout (*plain)(const Layout&)) {
  if (const auto* const layout = std::get_if<Layout>(&mapping)) return plain(*layout);
  Parts parts;
  if (!taken_apart(mapping, parts)) return mapping;  // a swizzle is its own
  const Mapping first = inverse(parts.inner, plain);
  if (std::holds_alternative<Swizzle>(parts.outer) && parts.offset.is(0)) return composed(first, parts.outer);
  if (!parts.offset.known()) refuse("the offset of {} is not known", to_text(mapping));
  return composition(first, Integer(0) - parts.offset, inverse(parts.outer, plain));
}

template <class Cast, class Offset>
Mapping cast(const Mapping& mapping, const Cast& change, const Offset& change_offset) {
  if (const auto* const composed = std::get_if<ComposedLayout>(&mapping)) {
    const Mapping outer = cast(composed->outer(), change, change_offset);
    return composition(outer, change_offset(composed->offset()),
                       cast(composed->inner(), change, change_offset));
  }
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping))
    return as_mapping(change(*swizzled));
  if (const auto* const swizzle = std::get_if<Swizzle>(&mapping)) return change(*swizzle);
  return change(std::get<Layout>(mapping));
}

Mapping multiplied(const Mapping& block, const Mapping& tiler) {
  Parts parts;
  if (taken_apart(block, parts)) return with_inner(block, parts, multiplied(parts.inner, tiler));
  const auto* const layout = std::get_if<Layout>(&block);
  const auto* const swizzled = std::get_if<SwizzledLayout>(&tiler);
  const auto* const plain = std::get_if<Layout>(&tiler);
  if (layout == nullptr) refuse("a swizzle cannot be repeated");
  if (plain != nullptr) return logical_product(*layout, Tiler(*plain));
  if (swizzled == nullptr) refuse("{} is no layout to repeat by", to_text(tiler));
  return as_mapping(logical_product(*layout, *swizzled));
}

// What is behind the swizzle that comes last.
const Mapping& expect_swizzled(const Mapping& mapping, Parts& parts) {
  if (!taken_apart(mapping, parts) || !std::holds_alternative<Swizzle>(parts.outer))
    refuse("{} is neither a layout nor one behind a swizzle", to_text(mapping));
  return parts.inner;
}

Integer together(const Parts& parts) {
  return std::int64_t{1} << std::get<Swizzle>(parts.outer).base();
}

Layout common_layout(const Mapping& a, const Mapping& b) {
  const auto *const first = std::get_if<Layout>(&a), *const second = std::get_if<Layout>(&b);
  if (first != nullptr && second != nullptr) return max_common_layout(*first, *second);
  if (first != nullptr) return common_layout(b, a);
  if (second == nullptr) refuse("one of the two must be a layout without a swizzle");
  Parts parts;
  const Layout shared = common_layout(expect_swizzled(a, parts), b);
  const Integer whole = together(parts);
  return size(shared).value() > whole.value() ? composition(shared, Tiler(whole)) : shared;
}

Integer common_vector(const Mapping& a, const Mapping& b) {
  const auto *const first = std::get_if<Layout>(&a), *const second = std::get_if<Layout>(&b);
  if (first != nullptr && second != nullptr) return max_common_vector(*first, *second);
  if (first != nullptr) return common_vector(b, a);
  Parts parts;
  const Mapping& inner = expect_swizzled(a, parts);
  if (second != nullptr) return min(common_vector(inner, b), together(parts));
  Parts others;
  const Integer count = common_vector(inner, expect_swizzled(b, others));
  return parts.outer == others.outer ? count : min(count, min(together(parts), together(others)));
}

}  // namespace

Mapping composition(const Mapping& a, const Mapping& b) {
  return named_operation(
      "composition", [&] { return composed(a, b); }, a, b);
}

Mapping right_inverse(const Mapping& mapping) {
  return named_operation(
      "right_inverse", [&] { return inverse(mapping, right_inverse); }, mapping);
}

Mapping left_inverse(const Mapping& mapping) {
  return named_operation(
      "left_inverse", [&] { return inverse(mapping, left_inverse); }, mapping);
}

Mapping upcast(const Mapping& mapping, std::int64_t count) {
  return named_operation(
      "upcast",
      [&] {
        return cast(
            mapping, [&](const auto& one) { return upcast(one, count); },
            [&](Integer offset) { return upcast_offset(offset, count); });
      },
      mapping, count);
}

Mapping downcast(const Mapping& mapping, std::int64_t count) {
  return named_operation(
      "downcast",
      [&] {
        return cast(
            mapping, [&](const auto& one) { return downcast(one, count); },
            [&](Integer offset) { return offset * count; });
      },
      mapping, count);
}

Mapping logical_product(const Mapping& block, const Mapping& tiler) {
  return named_operation(
      "logical_product", [&] { return multiplied(block, tiler); }, block, tiler);
}

Integer crd2idx(TupleView coordinate, const Mapping& mapping) {
  if (const auto* const composed = std::get_if<ComposedLayout>(&mapping)) {
    const Integer index = composed->offset() + crd2idx(coordinate, composed->inner());
    return crd2idx(IntTuple(index), composed->outer());
  }
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping))
    return crd2idx(coordinate, *swizzled);
  if (const auto* const layout = std::get_if<Layout>(&mapping)) return crd2idx(coordinate, *layout);
  if (!coordinate.is_integer())
    refuse("layout: {}: expected an index, found {}", to_text(mapping), to_text(coordinate));
  return std::get<Swizzle>(mapping)(coordinate.integer());
}

SlicedMapping slice_and_offset(TupleView coordinate, const Mapping& mapping) {
  if (const auto* const composed = std::get_if<ComposedLayout>(&mapping)) {
    const bool swizzles = std::holds_alternative<Swizzle>(composed->outer());
    if (swizzles && !all_underscores(coordinate))
      refuse("of a swizzle behind {} only (_,..) is a slice", to_text(composed->inner()));
    const SlicedMapping inner = slice_and_offset(coordinate, composed->inner());
    return {composition(composed->outer(), composed->offset() + inner.offset, inner.mapping), 0};
  }
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&mapping)) {
    const SlicedLayout sliced = slice_and_offset(coordinate, *swizzled);
    return {as_mapping(sliced.layout), sliced.offset};
  }
  const Layout& layout = expect_domain(mapping);
  return {slice(coordinate, layout), crd2idx(coordinate, layout)};
}

Layout max_common_layout(const Mapping& a, const Mapping& b) {
  return named_operation(
      "max_common_layout", [&] { return common_layout(a, b); }, a, b);
}

Integer max_common_vector(const Mapping& a, const Mapping& b) {
  return named_operation(
      "max_common_vector", [&] { return common_vector(a, b); }, a, b);
}

}  // namespace gpuforge::layout
