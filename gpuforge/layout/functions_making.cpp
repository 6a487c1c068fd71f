// Layouts made, asked about, and applied to coordinates.
#include <cstdlib>

#include "gpuforge/layout/functions.h"
#include "gpuforge/layout/operation.h"
#include "gpuforge/layout/tuple_functions.h"

namespace gpuforge::layout {
namespace {

Value make_layout_of(const Arguments& a) {
  if (const auto* const swizzle = a.get_if<Swizzle>(0); swizzle != nullptr && a.size() == 1) {
    const int bits = swizzle->bits() + swizzle->base() + std::abs(swizzle->shift());
    return value_of(composition(*swizzle, 0, Layout(IntTuple(bits))));
  }
  const bool of_numbers = !a.is_layout(0);
  if (a.size() == 2 && of_numbers) return {Layout(a.tuple(0), a.tuple(1))};
  if (a.size() == 1 && of_numbers) return {a.layout(0)};
  std::vector<Layout> modes;
  for (std::size_t i = 0; i < a.size(); ++i) modes.push_back(a.plain_layout(i));
  return {make_layout(modes)};
}

Value tuple_of(const Arguments& a) {
  Value::Values values;
  for (std::size_t i = 0; i < a.size(); ++i) values.push_back(a[i]);
  return joined(std::move(values));
}

Value compact(const Arguments& a, IntTuple (*strides)(TupleView, Integer)) {
  return {strides(a.tuple(0), a.size() == 2 ? a.integer(1) : Integer(1))};
}

// A mode of the first argument as an argument of its own.
template <class Ask>
Value of_mode(const Arguments& a, const Ask& ask) {
  const Value mode[] = {a.mode_from(1)};
  return ask(Arguments(a.function(), mode));
}

// Of what takes any index: that of a number.
IntTuple hierarchy(const Arguments& a, std::size_t index) {
  const std::optional<Mapping> mapping = mapping_in(a[index]);
  return mapping && domain(*mapping) == nullptr ? IntTuple(1) : a.shape(index);
}

Layout layout_behind(const Arguments& a) {
  return is_swizzled(a[0]) ? expect_domain(a.mapping(0)) : a.plain_layout(0);
}

Value index_at(const Arguments& a) {
  const IntTuple& coordinate = a.tuple(0);
  if (a.size() == 3) return value_of(crd2idx(coordinate, a.tuple(1), a.tuple(2)));
  if (a.is_layout(1)) return value_of(crd2idx(coordinate, a.mapping(1)));
  return value_of(crd2idx(coordinate, a.shape(1)));
}

Value coordinate_at(const Arguments& a) {
  const IntTuple& index = a.tuple(0);
  if (a.size() == 3) return {idx2crd(index, a.tuple(1), a.tuple(2))};
  if (a.is_layout(1)) return {idx2crd(index, a.plain_layout(1).shape(), a.plain_layout(1).stride())};
  return {idx2crd(index, a.shape(1))};
}

Value sliced(const Arguments& a) {
  const IntTuple& coordinate = a.tuple(0);
  if (const auto* const swizzled = a.get_if<SwizzledLayout>(1)) return value_of(slice(coordinate, *swizzled));
  if (const auto* const layout = a.get_if<Layout>(1)) return {slice(coordinate, *layout)};
  if (a.is_layout(1))
    return named_operation(
        "slice", [&] { return value_of(slice_and_offset(coordinate, a.mapping(1)).mapping); },
        coordinate.view(), a.mapping(1));
  return {slice(coordinate, a.shape(1))};
}

Value diced(const Arguments& a) {
  const IntTuple& coordinate = a.tuple(0);
  if (a.is_layout(1)) return {dice(coordinate, a.plain_layout(1))};
  return {dice(coordinate, a.shape(1))};
}

constexpr Function kMaking[] = {
    {"make_layout", "shape[, stride]",
     "a layout, compact without a stride; or (A, B, ..): layouts as the modes of one", 1, kAnyNumber,
     make_layout_of},
    {"make_ordered_layout", "shape, order", "compact, strides in the order of the numbers", 2, 2,
     [](const Arguments& a) -> Value { return {make_ordered_layout(a.tuple(0), a.tuple(1))}; }},
    {"make_layout_like", "A", "compact, strides in the order of those of A", 1, 1,
     [](const Arguments& a) -> Value { return {make_layout_like(a.layout(0))}; }},
    {"compact_col_major", "shape[, first]", "strides, the first mode fastest", 1, 2,
     [](const Arguments& a) -> Value { return compact(a, compact_col_major); }},
    {"compact_row_major", "shape[, first]", "strides, the last mode fastest", 1, 2,
     [](const Arguments& a) -> Value { return compact(a, compact_row_major); }},
    {"make_shape", "a, b, ..", "the tuple (a,b,..)", 0, kAnyNumber, tuple_of},
    {"make_stride", "a, b, ..", "the tuple (a,b,..)", 0, kAnyNumber, tuple_of},
    {"make_coord", "a, b, ..", "the tuple (a,b,..)", 0, kAnyNumber, tuple_of},
    {"make_tile", "a, b, ..", "the tuple (a,b,..), a tiler", 0, kAnyNumber, tuple_of},
    {"shape", "A[, mode, ..]", "the shape of A, or of a mode of it", 1, kAnyNumber,
     [](const Arguments& a) -> Value {
       return of_mode(a, [](const Arguments& mode) -> Value { return shape(mode[0]); });
     }},
    {"stride", "A[, mode, ..]", "the strides of A, or of a mode of it", 1, kAnyNumber,
     [](const Arguments& a) -> Value {
       return of_mode(a, [](const Arguments& mode) -> Value { return {mode.plain_layout(0).stride()}; });
     }},
    {"size", "A[, mode, ..]", "how many coordinates A has, or a mode of it", 1, kAnyNumber,
     [](const Arguments& a) -> Value {
       return of_mode(a, [](const Arguments& mode) { return value_of(product(mode.shape(0))); });
     }},
    {"cosize", "A[, mode, ..]", "one more than the largest index", 1, kAnyNumber,
     [](const Arguments& a) -> Value {
       return of_mode(a, [](const Arguments& mode) { return value_of(cosize(layout_behind(mode))); });
     }},
    {"rank", "A[, mode, ..]", "how many modes A has, or a mode of it", 1, kAnyNumber,
     [](const Arguments& a) -> Value {
       return of_mode(a, [](const Arguments& mode) { return value_of(rank(mode[0])); });
     }},
    {"depth", "A[, mode, ..]", "levels of parentheses", 1, kAnyNumber,
     [](const Arguments& a) -> Value {
       return of_mode(a, [](const Arguments& mode) { return value_of(depth(mode[0])); });
     }},
    {"congruent", "A, B", "whether the hierarchies are the same", 2, 2,
     [](const Arguments& a) -> Value { return {congruent(hierarchy(a, 0), hierarchy(a, 1))}; }},
    {"weakly_congruent", "A, B", "whether the hierarchy of B refines that of A", 2, 2,
     [](const Arguments& a) -> Value { return {weakly_congruent(a.shape(0), a.shape(1))}; }},
    {"compatible", "A, B", "whether coordinates of A are coordinates of B", 2, 2,
     [](const Arguments& a) -> Value { return {compatible(a.shape(0), a.shape(1))}; }},
    {"crd2idx", "coordinate, A", "the index of a coordinate; also (coordinate, shape[, stride])", 2, 3,
     index_at},
    {"idx2crd", "index, A", "the coordinate of an index; also (index, shape[, stride])", 2, 3, coordinate_at},
    {"crd2crd", "coordinate, from, to", "the same coordinate in another shape of that size", 3, 3,
     [](const Arguments& a) -> Value { return {crd2crd(a.tuple(0), a.shape(1), a.shape(2))}; }},
    {"slice", "coordinate, A", "the modes where the coordinate has _", 2, 2, sliced},
    {"dice", "coordinate, A", "the modes where the coordinate has a number", 2, 2, diced},
};

}  // namespace

std::span<const Function> making_functions() {
  return kMaking;
}

}  // namespace gpuforge::layout
