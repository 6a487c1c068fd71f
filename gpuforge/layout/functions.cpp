#include "gpuforge/layout/functions.h"

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

Value applied(const ComposedLayout& layout, const IntTuple& coordinate) {
  if (!has_underscore(coordinate)) return value_of(crd2idx(coordinate, Mapping(layout)));
  // The offset of its slices is a part of them.
  return value_of(slice_and_offset(coordinate, Mapping(layout)).mapping);
}

Value applied(const AnyLayout& layout, Integer offset, const IntTuple& coordinate) {
  const auto* const swizzled = std::get_if<SwizzledLayout>(&layout);
  if (!has_underscore(coordinate))
    return value_of(offset + (swizzled != nullptr ? crd2idx(coordinate, *swizzled)
                                                  : crd2idx(coordinate, std::get<Layout>(layout))));
  if (swizzled != nullptr) {
    SlicedLayout slice = slice_and_offset(coordinate, *swizzled);
    return {OffsetLayout{std::move(slice.layout), offset + slice.offset}};
  }
  const Layout& plain = std::get<Layout>(layout);
  return {OffsetLayout{slice(coordinate, plain), offset + crd2idx(coordinate, plain)}};
}

}  // namespace

std::array<FunctionGroup, 4> functions() {
  return {{{"Making and asking", making_functions()},
           {"Modes", mode_functions()},
           {"The algebra", algebra_functions()},
           {"Tiles, threads and values", partition_functions()}}};
}

const Function* find_function(std::string_view name) {
  for (const FunctionGroup& group : functions())
    for (const Function& function : group.functions)
      if (function.name == name) return &function;
  return nullptr;
}

Value apply_layout(const Value& value, Value::Values arguments) {
  if (arguments.empty()) refuse("layout: {}: expected a coordinate in (), found none", with_kind(value));
  const Value given = arguments.size() == 1 ? std::move(arguments[0]) : joined(std::move(arguments));
  const auto* const coordinate = std::get_if<IntTuple>(&given.is);
  if (coordinate == nullptr)
    refuse("layout: {}: expected a coordinate, found {}", with_kind(value), with_kind(given));
  if (const auto* const swizzle = std::get_if<Swizzle>(&value.is)) {
    if (!coordinate->is_integer())
      refuse("layout: {}: expected an index, found {}", with_kind(value), with_kind(given));
    return value_of((*swizzle)(coordinate->integer()));
  }
  if (const auto* const part = std::get_if<OffsetLayout>(&value.is))
    return applied(part->layout, part->offset, *coordinate);
  if (const auto* const layout = std::get_if<Layout>(&value.is)) return applied(*layout, 0, *coordinate);
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is))
    return applied(*swizzled, 0, *coordinate);
  if (const auto* const composed = std::get_if<ComposedLayout>(&value.is))
    return applied(*composed, *coordinate);
  refuse("layout: expected a layout before {}, found {}", to_text(given), with_kind(value));
}

}  // namespace gpuforge::layout
