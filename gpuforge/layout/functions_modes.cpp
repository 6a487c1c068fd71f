// The modes of a layout: chosen, grouped, added, and made fewer.
#include "gpuforge/layout/functions.h"
#include "gpuforge/layout/operation.h"
#include "gpuforge/layout/tuple_functions.h"

namespace gpuforge::layout {
namespace {

using Change = Layout (*)(const Layout&);

Value changed(const Arguments& a, Change change) {
  return a.behind_swizzle(0, change);
}

Value by_profile(const Arguments& a, Change whole, Layout (*by)(const Layout&, TupleView)) {
  return a.behind_swizzle(
      0, [&](const Layout& layout) { return a.size() == 2 ? by(layout, a.shape(1)) : whole(layout); });
}

// CuTe changes the modes of layouts, and the elements of tuples: numbers alone are no layout here. Of layouts
// behind a swizzle it changes the modes in take, group and append, and has them as one element otherwise.
bool has_modes(const Value& value) {
  return is_layout(value) && (!is_swizzled(value) || domain(*mapping_in(value)) != nullptr);
}

// A range to the last (-1): in CuTe all have one but layouts in take.
std::size_t end_in_tuple(const Arguments& a) {
  if (a.get_if<Swizzle>(0) != nullptr) a.unexpected(0, "a layout or a tuple");
  return a.end(2, elements(a[0]).size());
}

Value taken(const Arguments& a) {
  if (!a.is_layout(0)) return take(a[0], a.count(1), end_in_tuple(a));
  return a.behind_swizzle(0, [&](const Layout& layout) { return take(layout, a.count(1), a.count(2)); });
}

Value grouped(const Arguments& a) {
  if (!a.is_layout(0)) return group(a[0], a.count(1), end_in_tuple(a));
  return a.behind_swizzle(
      0, [&](const Layout& layout) { return group_modes(layout, a.count(1), a.end(2, layout.rank())); });
}

// Billions of modes would take all memory.
constexpr std::size_t kHighestRank = 256;

std::size_t rank_in(const Arguments& a) {
  if (a.count(1) > kHighestRank) a.unexpected(1, format_text("a rank of at most {}", kHighestRank));
  return a.count(1);
}

// append and prepend: (A[, B]) or (A, rank[, B]). A layout and a number are the layout and a rank.
Value extended(const Arguments& a, Side side) {
  const auto one = side == Side::front ? static_cast<Layout (*)(const Layout&, const Layout&)>(prepend)
                                       : static_cast<Layout (*)(const Layout&, const Layout&)>(append);
  const auto many = [&](const Layout& layout, const Layout& mode) {
    return side == Side::front ? prepend(layout, rank_in(a), mode) : append(layout, rank_in(a), mode);
  };
  const auto* const layout = a.get_if<Layout>(0);
  const auto* const mode = a.get_if<Layout>(a.size() - 1);
  if (a.size() == 1) return {one(a.plain_layout(0), Layout())};
  if (a.size() == 2) {
    if (layout != nullptr && mode != nullptr) return {one(*layout, *mode)};
    const auto* const number = a.get_if<IntTuple>(1);
    if (layout != nullptr && number != nullptr && number->is_integer()) return {many(*layout, Layout())};
    return extended(a[0], side, a[1]);
  }
  if (layout != nullptr && mode != nullptr) return {many(*layout, *mode)};
  if (side == Side::front || !is_swizzled(a[0])) return extended(a[0], side, rank_in(a), a[2]);
  if (mode == nullptr && rank_in(a) == 1) return a[0];  // one element, whatever it has of modes
  return a.behind_swizzle(0, [&](const Layout& plain) { return many(plain, a.plain_layout(2)); });
}

Value replaced(const Arguments& a) {
  const auto *const layout = a.get_if<Layout>(0), *const mode = a.get_if<Layout>(2);
  if (layout != nullptr && mode != nullptr) return {replace(*layout, a.count(1), *mode)};
  return replace(a[0], a.count(1), a[2]);
}

Value selected(const Arguments& a) {
  std::vector<std::size_t> modes;
  for (std::size_t i = 1; i < a.size(); ++i) modes.push_back(a.count(i));
  if (const auto* const layout = a.get_if<Layout>(0)) return {select(*layout, modes)};
  if (a.get_if<Swizzle>(0) != nullptr) a.unexpected(0, "a layout or a tuple");
  if (!is_swizzled(a[0])) return select(a[0], modes);
  Value::Values chosen;
  for (const std::size_t mode : modes)
    chosen.push_back(a.behind_swizzle(0, [&](const Layout& layout) { return layout.mode(mode); }));
  return joined(std::move(chosen));
}

Value zipped(const Arguments& a) {
  if (a.size() == 2) {
    const auto *const first = a.get_if<Layout>(0), *const second = a.get_if<Layout>(1);
    return first != nullptr && second != nullptr ? Value{zip(*first, *second)} : zip(a[0], a[1]);
  }
  return has_modes(a[0]) ? changed(a, zip) : zip(a[0]);
}

Value flattened(const Arguments& a) {
  return has_modes(a[0]) ? changed(a, flatten) : flatten(a[0]);
}

Value unflattened(const Arguments& a) {
  if (const auto* const tuple = a.get_if<IntTuple>(0)) return {unflatten(*tuple, a.shape(1))};
  if (a.is_layout(0)) return {unflatten(a.plain_layout(0), a.shape(1))};
  return unflatten(a[0], a.shape(1));
}

constexpr Function kModes[] = {
    {"get", "A, mode, ..", "a mode, and a mode of that, ..", 2, kAnyNumber,
     [](const Arguments& a) -> Value { return a.mode_from(1); }},
    {"flatten", "A", "without hierarchy", 1, 1, flattened},
    {"unflatten", "A, profile", "with the hierarchy of the profile", 2, 2, unflattened},
    {"coalesce", "A[, profile]", "the same function in as few modes as possible", 1, 2,
     [](const Arguments& a) -> Value { return by_profile(a, coalesce, coalesce); }},
    {"filter_zeros", "A", "modes of stride 0 get size 1", 1, 1,
     [](const Arguments& a) -> Value { return is_swizzled(a[0]) ? a[0] : Value{filter_zeros(a.layout(0))}; }},
    {"filter", "A[, profile]", "without modes of stride 0 or size 1", 1, 2,
     [](const Arguments& a) -> Value {
       if (a.size() == 1) return {filter(a.layout(0))};
       return a.behind_swizzle(0, [&](const Layout& layout) { return filter(layout, a.shape(1)); });
     }},
    {"group_modes", "A, begin, end", "these modes as one; end -1: to the last", 3, 3, grouped},
    {"group", "A, begin, end", "group_modes", 3, 3, grouped},
    {"append", "A[, rank][, B]", "B (or 1:0) as a further mode, or as often as it takes to have that rank", 1,
     3, [](const Arguments& a) -> Value { return extended(a, Side::back); }},
    {"prepend", "A[, rank][, B]", "the same in front", 1, 3,
     [](const Arguments& a) -> Value { return extended(a, Side::front); }},
    {"replace", "A, mode, B", "B in the place of that mode", 3, 3, replaced},
    {"take", "A, begin, end", "these modes alone", 3, 3, taken},
    {"select", "A, mode, ..", "these modes in this order", 2, kAnyNumber, selected},
    {"zip", "A[, B]", "modes of modes transposed", 1, 2, zipped},
};

}  // namespace

std::span<const Function> mode_functions() {
  return kModes;
}

}  // namespace gpuforge::layout
