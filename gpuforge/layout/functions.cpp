#include "gpuforge/layout/functions.h"

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

Value applied(const Mapping& layout, Integer offset, const IntTuple& coordinate) {
  if (!has_underscore(coordinate)) return value_of(offset + crd2idx(coordinate, layout));
  SlicedMapping part = slice_and_offset(coordinate, layout);
  return value_of(OffsetLayout{std::move(part.mapping), offset + part.offset});
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
  if (const std::optional<Mapping> layout = mapping_in(value)) return applied(*layout, 0, *coordinate);
  refuse("layout: expected a layout before {}, found {}", to_text(given), with_kind(value));
}

}  // namespace gpuforge::layout
