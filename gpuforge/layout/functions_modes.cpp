// The modes of a layout: chosen, grouped, added, and made fewer.
#include "gpuforge/layout/functions.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

using Change = Layout (*)(const Layout&);

Value changed(const Arguments& a, Change change) {
  return a.behind_swizzle(0, change);
}

// As in CuTe, a swizzle that takes any index has one mode, of which there is nothing to change.
Value changed_if_modes(const Arguments& a, Change change) {
  return is_swizzled(a[0]) && domain(a.mapping(0)) == nullptr ? a[0] : changed(a, change);
}

Value by_profile(const Arguments& a, Change whole, Layout (*by)(const Layout&, TupleView)) {
  return a.behind_swizzle(
      0, [&](const Layout& layout) { return a.size() == 2 ? by(layout, a.shape(1)) : whole(layout); });
}

Value of_range(const Arguments& a, Layout (*change)(const Layout&, std::size_t, std::size_t)) {
  return a.behind_swizzle(
      0, [&](const Layout& layout) { return change(layout, a.count(1), a.end(2, layout.rank())); });
}

// Billions of modes would take all memory.
constexpr std::size_t kHighestRank = 256;

std::size_t rank_in(const Arguments& a) {
  if (a.count(1) > kHighestRank) a.unexpected(1, format_text("a rank of at most {}", kHighestRank));
  return a.count(1);
}

// append and prepend: (A[, mode]) or (A, rank[, mode])
Value extended(const Arguments& a, Layout (*one)(const Layout&, const Layout&),
               Layout (*many)(const Layout&, std::size_t, const Layout&)) {
  const Layout layout = a.layout(0);
  if (a.size() == 1) return {one(layout, Layout())};
  if (a.size() == 2 && a.is_layout(1)) return {one(layout, a.plain_layout(1))};
  return {many(layout, rank_in(a), a.size() == 3 ? a.layout(2) : Layout())};
}

// CuTe gives a swizzled layout more modes in this way alone; in others it makes a tuple of the two.
Value appended(const Arguments& a) {
  if (!is_swizzled(a[0])) return extended(a, append, append);
  if (a.size() < 3) a.unexpected(0, "a layout without a swizzle where there is no rank");
  return a.behind_swizzle(0, [&](const Layout& layout) { return append(layout, rank_in(a), a.layout(2)); });
}

Value selected(const Arguments& a) {
  std::vector<std::size_t> modes;
  for (std::size_t i = 1; i < a.size(); ++i) modes.push_back(a.count(i));
  return {select(a.layout(0), modes)};
}

Value group(const Arguments& a) {
  return of_range(a, group_modes);
}

constexpr Function kModes[] = {
    {"get", "A, mode, ..", "a mode, and a mode of that, ..", 2, kAnyNumber,
     [](const Arguments& a) -> Value { return a.mode_from(1); }},
    {"flatten", "A", "without hierarchy", 1, 1,
     [](const Arguments& a) -> Value {
       if (!a.is_layout(0)) return {flatten(a.tuple(0))};
       return changed_if_modes(a, flatten);
     }},
    {"unflatten", "A, profile", "with the hierarchy of the profile", 2, 2,
     [](const Arguments& a) -> Value {
       if (!a.is_layout(0)) return {unflatten(a.tuple(0), a.shape(1))};
       return {unflatten(a.plain_layout(0), a.shape(1))};
     }},
    {"coalesce", "A[, profile]", "the same function in as few modes as possible", 1, 2,
     [](const Arguments& a) -> Value { return by_profile(a, coalesce, coalesce); }},
    {"filter_zeros", "A", "modes of stride 0 get size 1", 1, 1,
     [](const Arguments& a) -> Value { return is_swizzled(a[0]) ? a[0] : Value{filter_zeros(a.layout(0))}; }},
    {"filter", "A[, profile]", "without modes of stride 0 or size 1", 1, 2,
     [](const Arguments& a) -> Value {
       if (a.size() == 1) return {filter(a.layout(0))};
       return a.behind_swizzle(0, [&](const Layout& layout) { return filter(layout, a.shape(1)); });
     }},
    {"group_modes", "A, begin, end", "these modes as one; end -1: to the last", 3, 3, group},
    {"group", "A, begin, end", "group_modes", 3, 3, group},
    {"append", "A[, rank][, B]", "B (or 1:0) as a further mode, or as often as it takes to have that rank", 1,
     3, [](const Arguments& a) -> Value { return appended(a); }},
    {"prepend", "A[, rank][, B]", "the same in front", 1, 3,
     [](const Arguments& a) -> Value { return extended(a, prepend, prepend); }},
    {"replace", "A, mode, B", "B in the place of that mode", 3, 3,
     [](const Arguments& a) -> Value { return {replace(a.layout(0), a.count(1), a.layout(2))}; }},
    {"take", "A, begin, end", "these modes alone; end -1: to the last", 3, 3,
     [](const Arguments& a) -> Value { return of_range(a, take); }},
    {"select", "A, mode, ..", "these modes in this order", 2, kAnyNumber, selected},
    {"zip", "A[, B]", "modes of modes transposed", 1, 2,
     [](const Arguments& a) -> Value {
       if (a.size() == 2) return {zip(a.layout(0), a.layout(1))};
       return changed_if_modes(a, zip);
     }},
};

}  // namespace

std::span<const Function> mode_functions() {
  return kModes;
}

}  // namespace gpuforge::layout
