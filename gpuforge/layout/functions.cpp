// The functions of the language, by name.
#include <limits>
#include <numeric>

#include "gpuforge/layout/arguments.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

using Arguments = std::span<const Value>;

Value number(Integer integer) {
  return {IntTuple(integer)};
}
Value number(std::size_t count) {
  return {IntTuple(static_cast<std::int64_t>(count))};
}

// Operations that a swizzle does not take part in: done on the layout behind it.
template <class Change>
Value behind_swizzle(const Value& value, const Change& change) {
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is))
    return value_of(composition(swizzled->swizzle, swizzled->offset, change(swizzled->layout)));
  return {change(as_layout(value))};
}

const Layout& layout_behind(const Value& value) {
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is)) return swizzled->layout;
  return as_plain_layout(value);
}

// The shape of a layout, or numbers as they are.
IntTuple shape_of(const Value& value) {
  return is_layout(value) ? layout_behind(value).shape() : as_tuple(value);
}

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

Value make_layout_of(Arguments arguments) {
  if (arguments.size() == 2 && !is_layout(arguments[0]))
    return {Layout(as_tuple(arguments[0]), as_tuple(arguments[1]))};
  if (arguments.size() == 1 && !is_layout(arguments[0])) return {Layout(as_tuple(arguments[0]))};
  std::vector<Layout> modes;
  for (const Value& one : arguments) modes.push_back(as_plain_layout(one));
  return {make_layout(modes)};
}

Value compose(Arguments arguments) {
  const Value &a = arguments[0], &b = arguments[1];
  if (arguments.size() == 3) {
    const auto* const swizzle = std::get_if<Swizzle>(&a.is);
    if (swizzle == nullptr)
      refuse("layout: composition of three starts with a swizzle, found {}", to_text(a));
    return value_of(composition(*swizzle, as_tuple(b).integer(), as_layout(arguments[2])));
  }
  if (const auto* const swizzle = std::get_if<Swizzle>(&a.is)) {
    if (const auto* const other = std::get_if<Swizzle>(&b.is)) return {composition(*swizzle, *other)};
    return value_of(composition(*swizzle, 0, as_plain_layout(b)));
  }
  if (const auto* const swizzle = std::get_if<Swizzle>(&b.is))
    return value_of(composition(as_plain_layout(a), *swizzle));
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&b.is))
    return value_of(composition(as_plain_layout(a), *swizzled));
  return behind_swizzle(a, [&](const Layout& layout) { return composition(layout, as_tiler(b)); });
}

Value index_at(Arguments arguments) {
  const IntTuple& coordinate = as_tuple(arguments[0]);
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&arguments[1].is))
    return number(crd2idx(coordinate, *swizzled));
  if (const auto* const layout = std::get_if<Layout>(&arguments[1].is))
    return number(crd2idx(coordinate, *layout));
  if (arguments.size() == 3)
    return number(crd2idx(coordinate, as_tuple(arguments[1]), as_tuple(arguments[2])));
  return number(crd2idx(coordinate, as_tuple(arguments[1])));
}

Value sliced(Arguments arguments) {
  const IntTuple& coordinate = as_tuple(arguments[0]);
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&arguments[1].is))
    return value_of(slice(coordinate, *swizzled));
  if (const auto* const layout = std::get_if<Layout>(&arguments[1].is)) return {slice(coordinate, *layout)};
  return {slice(coordinate, as_tuple(arguments[1]))};
}

Value diced(Arguments arguments) {
  const IntTuple& coordinate = as_tuple(arguments[0]);
  if (is_layout(arguments[1]))
    return behind_swizzle(arguments[1], [&](const Layout& layout) { return dice(coordinate, layout); });
  return {dice(coordinate, as_tuple(arguments[1]))};
}

// append and prepend: (layout[, mode]) or (layout, rank[, mode])
template <class One, class Many>
Value extended(Arguments arguments, const One& one, const Many& many) {
  return behind_swizzle(arguments[0], [&](const Layout& layout) {
    if (arguments.size() == 1) return one(layout, Layout());
    if (is_layout(arguments[1])) return one(layout, as_plain_layout(arguments[1]));
    return many(layout, as_count(arguments[1]), arguments.size() == 3 ? as_layout(arguments[2]) : Layout());
  });
}

std::size_t mode_end(const Value& value, const Layout& layout) {
  return as_number(value) == -1 ? layout.rank() : as_count(value);
}

template <class Plain, class Swizzled>
Value inverted(const Value& value, const Plain& plain, const Swizzled& swizzled) {
  if (const auto* const layout = std::get_if<SwizzledLayout>(&value.is)) return value_of(swizzled(*layout));
  return {plain(as_layout(value))};
}

template <class Cast, class CastSwizzled, class CastSwizzle>
Value cast(const Value& value, std::int64_t count, const Cast& plain, const CastSwizzled& swizzled,
           const CastSwizzle& swizzle) {
  if (const auto* const one = std::get_if<Swizzle>(&value.is)) return {swizzle(*one, count)};
  if (const auto* const layout = std::get_if<SwizzledLayout>(&value.is))
    return value_of(swizzled(*layout, count));
  return {plain(as_layout(value), count)};
}

Value upcast_of(const Value& value, std::int64_t count) {
  return cast(
      value, count, [](const Layout& l, std::int64_t n) { return upcast(l, n); },
      [](const SwizzledLayout& l, std::int64_t n) { return upcast(l, n); },
      [](const Swizzle& s, std::int64_t n) { return upcast(s, n); });
}
Value downcast_of(const Value& value, std::int64_t count) {
  return cast(
      value, count, [](const Layout& l, std::int64_t n) { return downcast(l, n); },
      [](const SwizzledLayout& l, std::int64_t n) { return downcast(l, n); },
      [](const Swizzle& s, std::int64_t n) { return downcast(s, n); });
}

Value recast_of(Arguments arguments) {
  const std::int64_t old_bits = as_number(arguments[1]), new_bits = as_number(arguments[2]);
  if (is_layout(arguments[0]) && !is_swizzled(arguments[0]))
    return {recast(as_layout(arguments[0]), old_bits, new_bits)};
  if (old_bits < 1 || new_bits < 1) refuse("layout: recast: widths are 1 bit or more");
  const std::int64_t shared = std::gcd(old_bits, new_bits), up = new_bits / shared, down = old_bits / shared;
  const Value raised = up == 1 ? arguments[0] : upcast_of(arguments[0], up);
  return down == 1 ? raised : downcast_of(raised, down);
}

Value shared_layout(Arguments arguments) {
  if (const auto* const a = std::get_if<SwizzledLayout>(&arguments[0].is))
    return {max_common_layout(*a, as_layout(arguments[1]))};
  if (const auto* const b = std::get_if<SwizzledLayout>(&arguments[1].is))
    return {max_common_layout(*b, as_layout(arguments[0]))};
  return {max_common_layout(as_layout(arguments[0]), as_layout(arguments[1]))};
}

Value shared_vector(Arguments arguments) {
  const auto *const a = std::get_if<SwizzledLayout>(&arguments[0].is), *const b = std::get_if<SwizzledLayout>(
                                                                           &arguments[1].is);
  if (a != nullptr && b != nullptr) return number(max_common_vector(*a, *b));
  if (a != nullptr) return number(max_common_vector(*a, as_layout(arguments[1])));
  if (b != nullptr) return number(max_common_vector(*b, as_layout(arguments[0])));
  return number(max_common_vector(as_layout(arguments[0]), as_layout(arguments[1])));
}

Value mode_at(Arguments arguments) {
  Value value = arguments[0];
  for (const Value& index : arguments.subspan(1)) {
    const std::size_t mode = as_count(index);
    if (is_layout(value)) {
      value = behind_swizzle(value, [&](const Layout& layout) { return layout.mode(mode); });
    } else if (const auto* const values = std::get_if<Value::Values>(&value.is)) {
      if (mode >= values->size()) refuse("layout: {} has no mode {}", to_text(value), mode);
      value = Value((*values)[mode]);
    } else {
      value = {IntTuple(as_tuple(value)[mode])};
    }
  }
  return value;
}

// The parts of a tiler or coordinate that the projection does not leave out (`_`).
Value projected(const Value& projection, const Value& value) {
  const IntTuple& chosen = as_tuple(projection);
  if (const auto* const tuple = std::get_if<IntTuple>(&value.is)) return {dice(chosen, *tuple)};
  if (const auto* const layout = std::get_if<Layout>(&value.is)) return {dice(chosen, *layout)};
  const auto* const values = std::get_if<Value::Values>(&value.is);
  if (values == nullptr || values->size() != chosen.rank())
    refuse("layout: the projection {} does not fit {}", to_text(projection), to_text(value));
  Value::Values kept;
  for (std::size_t i = 0; i < values->size(); ++i)
    if (!chosen[i].is_underscore()) kept.push_back((*values)[i]);
  return {std::move(kept)};
}

Value tile_at(Arguments arguments) {
  const bool all = arguments.size() == 3;
  const Value tiler = all ? arguments[1] : projected(arguments[3], arguments[1]);
  const Value coordinate = all ? arguments[2] : projected(arguments[3], arguments[2]);
  return {local_tile(as_any_layout(arguments[0]), as_tiler(tiler), as_tuple(coordinate))};
}

Value partition_at(Arguments arguments) {
  const Value threads =
      arguments.size() == 3 ? arguments[1] : projected(arguments[3], Value{as_layout(arguments[1])});
  return {local_partition(as_any_layout(arguments[0]), as_layout(threads), as_tuple(arguments[2]).integer())};
}

constexpr Function kFunctions[] = {
    {"make_layout", "shape[, stride] or A, B, ..",
     "a layout, compact without a stride; or layouts as the modes of one", 1, kAny,
     [](Arguments a) -> Value { return make_layout_of(a); }},
    {"make_ordered_layout", "shape, order", "compact, strides in the order of the numbers", 2, 2,
     [](Arguments a) -> Value { return {make_ordered_layout(as_tuple(a[0]), as_tuple(a[1]))}; }},
    {"make_layout_like", "A", "compact, strides in the order of those of A", 1, 1,
     [](Arguments a) -> Value { return {make_layout_like(as_layout(a[0]))}; }},
    {"compact_col_major", "shape[, first]", "strides, the first mode fastest", 1, 2,
     [](Arguments a) -> Value {
       return {compact_col_major(as_tuple(a[0]), a.size() == 2 ? as_tuple(a[1]).integer() : Integer(1))};
     }},
    {"compact_row_major", "shape[, first]", "strides, the last mode fastest", 1, 2,
     [](Arguments a) -> Value {
       return {compact_row_major(as_tuple(a[0]), a.size() == 2 ? as_tuple(a[1]).integer() : Integer(1))};
     }},
    {"shape", "A", "", 1, 1, [](Arguments a) -> Value { return {shape_of(a[0])}; }},
    {"stride", "A", "", 1, 1, [](Arguments a) -> Value { return {as_plain_layout(a[0]).stride()}; }},
    {"size", "A", "coordinates", 1, 1, [](Arguments a) -> Value { return number(product(shape_of(a[0]))); }},
    {"cosize", "A", "one more than the largest index", 1, 1,
     [](Arguments a) -> Value { return number(cosize(layout_behind(a[0]))); }},
    {"rank", "A", "modes", 1, 1, [](Arguments a) -> Value { return number(shape_of(a[0]).rank()); }},
    {"depth", "A", "levels of parentheses", 1, 1,
     [](Arguments a) -> Value { return number(depth(shape_of(a[0]))); }},
    {"congruent", "A, B", "whether the hierarchies are the same", 2, 2,
     [](Arguments a) -> Value { return {congruent(shape_of(a[0]), shape_of(a[1]))}; }},
    {"weakly_congruent", "A, B", "whether the hierarchy of B refines that of A", 2, 2,
     [](Arguments a) -> Value { return {weakly_congruent(shape_of(a[0]), shape_of(a[1]))}; }},
    {"compatible", "A, B", "whether coordinates of A are coordinates of B", 2, 2,
     [](Arguments a) -> Value { return {compatible(shape_of(a[0]), shape_of(a[1]))}; }},
    {"crd2idx", "coordinate, A or shape[, stride]", "the index of a coordinate", 2, 3,
     [](Arguments a) -> Value { return index_at(a); }},
    {"idx2crd", "index, shape[, stride]", "the coordinate of an index", 2, 3,
     [](Arguments a) -> Value {
       if (a.size() == 3) return {idx2crd(as_tuple(a[0]), as_tuple(a[1]), as_tuple(a[2]))};
       if (is_layout(a[1]))
         return {idx2crd(as_tuple(a[0]), as_plain_layout(a[1]).shape(), as_plain_layout(a[1]).stride())};
       return {idx2crd(as_tuple(a[0]), as_tuple(a[1]))};
     }},
    {"crd2crd", "coordinate, from, to", "the same coordinate in another shape of that size", 3, 3,
     [](Arguments a) -> Value { return {crd2crd(as_tuple(a[0]), shape_of(a[1]), shape_of(a[2]))}; }},
    {"slice", "coordinate, A", "the modes where the coordinate has _", 2, 2,
     [](Arguments a) -> Value { return sliced(a); }},
    {"dice", "coordinate, A", "the modes where the coordinate has a number", 2, 2,
     [](Arguments a) -> Value { return diced(a); }},
    {"get", "A, mode, ..", "a mode, and a mode of that, ..", 2, kAny,
     [](Arguments a) -> Value { return mode_at(a); }},
    {"flatten", "A", "without hierarchy", 1, 1,
     [](Arguments a) -> Value {
       if (!is_layout(a[0])) return {flatten(as_tuple(a[0]))};
       return behind_swizzle(a[0], [&](const Layout& l) { return flatten(l); });
     }},
    {"unflatten", "A, profile", "with that hierarchy", 2, 2,
     [](Arguments a) -> Value {
       if (!is_layout(a[0])) return {unflatten(as_tuple(a[0]), shape_of(a[1]))};
       return behind_swizzle(a[0], [&](const Layout& l) { return unflatten(l, shape_of(a[1])); });
     }},
    {"coalesce", "A[, profile]", "the same function in as few modes as possible", 1, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(
           a[0], [&](const Layout& l) { return a.size() == 2 ? coalesce(l, shape_of(a[1])) : coalesce(l); });
     }},
    {"filter_zeros", "A", "modes of stride 0 get size 1", 1, 1,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return filter_zeros(l); });
     }},
    {"filter", "A[, profile]", "without modes of stride 0 or size 1", 1, 2,
     [](Arguments a) -> Value {
       const Layout layout = as_layout(a[0]);
       return {a.size() == 2 ? filter(layout, shape_of(a[1])) : filter(layout)};
     }},
    {"group_modes", "A, begin, end", "these modes as one; end -1: to the last", 3, 3,
     [](Arguments a) -> Value {
       return behind_swizzle(
           a[0], [&](const Layout& l) { return group_modes(l, as_count(a[1]), mode_end(a[2], l)); });
     }},
    {"group", "A, begin, end", "group_modes", 3, 3,
     [](Arguments a) -> Value {
       return behind_swizzle(
           a[0], [&](const Layout& l) { return group_modes(l, as_count(a[1]), mode_end(a[2], l)); });
     }},
    {"append", "A[, B] or A, rank[, B]", "B (or 1:0) as a further mode, or as many as give that rank", 1, 3,
     [](Arguments a) -> Value {
       return extended(
           a, [](const Layout& l, const Layout& mode) { return append(l, mode); },
           [](const Layout& l, std::size_t rank, const Layout& mode) { return append(l, rank, mode); });
     }},
    {"prepend", "A[, B] or A, rank[, B]", "the same in front", 1, 3,
     [](Arguments a) -> Value {
       return extended(
           a, [](const Layout& l, const Layout& mode) { return prepend(l, mode); },
           [](const Layout& l, std::size_t rank, const Layout& mode) { return prepend(l, rank, mode); });
     }},
    {"replace", "A, mode, B", "", 3, 3,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0],
                             [&](const Layout& l) { return replace(l, as_count(a[1]), as_layout(a[2])); });
     }},
    {"take", "A, begin, end", "these modes alone", 3, 3,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0],
                             [&](const Layout& l) { return take(l, as_count(a[1]), mode_end(a[2], l)); });
     }},
    {"select", "A, mode, ..", "these modes in this order", 2, kAny,
     [](Arguments a) -> Value {
       std::vector<std::size_t> modes;
       for (const Value& index : a.subspan(1)) modes.push_back(as_count(index));
       return behind_swizzle(a[0], [&](const Layout& l) { return select(l, modes); });
     }},
    {"zip", "A[, B]", "modes of modes transposed", 1, 2,
     [](Arguments a) -> Value {
       if (a.size() == 2) return {zip(as_layout(a[0]), as_layout(a[1]))};
       return behind_swizzle(a[0], [&](const Layout& l) { return zip(l); });
     }},
    {"composition", "A, B or swizzle, offset, A", "c -> A(B(c))", 2, 3,
     [](Arguments a) -> Value { return compose(a); }},
    {"complement", "A[, shape]", "the indices A leaves out, up to its cosize or the shape", 1, 2,
     [](Arguments a) -> Value {
       return {a.size() == 2 ? complement(layout_behind(a[0]), shape_of(a[1]))
                             : complement(layout_behind(a[0]))};
     }},
    {"right_inverse", "A", "A(result(i)) == i", 1, 1,
     [](Arguments a) -> Value {
       return inverted(
           a[0], [](const Layout& l) { return right_inverse(l); },
           [](const SwizzledLayout& l) { return right_inverse(l); });
     }},
    {"left_inverse", "A", "result(A(i)) == i", 1, 1,
     [](Arguments a) -> Value {
       return inverted(
           a[0], [](const Layout& l) { return left_inverse(l); },
           [](const SwizzledLayout& l) { return left_inverse(l); });
     }},
    {"nullspace", "A", "the coordinates that A sends to 0", 1, 1,
     [](Arguments a) -> Value { return {nullspace(as_layout(a[0]))}; }},
    {"max_common_layout", "A, B", "where both are the identity, as far as it goes", 2, 2,
     [](Arguments a) -> Value { return shared_layout(a); }},
    {"max_common_vector", "A, B", "how many elements lie side by side in both", 2, 2,
     [](Arguments a) -> Value { return shared_vector(a); }},
    {"logical_divide", "A, tiler", "((tile,rest),..) by mode", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return logical_divide(l, as_tiler(a[1])); });
     }},
    {"zipped_divide", "A, tiler", "((tile,..),(rest,..))", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return zipped_divide(l, as_tiler(a[1])); });
     }},
    {"tiled_divide", "A, tiler", "((tile,..),rest,..)", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return tiled_divide(l, as_tiler(a[1])); });
     }},
    {"flat_divide", "A, tiler", "(tile,..,rest,..)", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return flat_divide(l, as_tiler(a[1])); });
     }},
    {"logical_product", "A, tiler", "(block,repetitions)", 2, 2,
     [](Arguments a) -> Value {
       if (const auto* const tiler = std::get_if<SwizzledLayout>(&a[1].is))
         return value_of(logical_product(as_plain_layout(a[0]), *tiler));
       return behind_swizzle(a[0], [&](const Layout& l) { return logical_product(l, as_tiler(a[1])); });
     }},
    {"zipped_product", "A, tiler", "((block,..),(repetitions,..))", 2, 2,
     [](Arguments a) -> Value {
       if (const auto* const tiler = std::get_if<SwizzledLayout>(&a[1].is))
         return value_of(logical_product(as_plain_layout(a[0]), *tiler));
       return behind_swizzle(a[0], [&](const Layout& l) { return zipped_product(l, as_tiler(a[1])); });
     }},
    {"tiled_product", "A, tiler", "((block,..),repetition,..)", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return tiled_product(l, as_tiler(a[1])); });
     }},
    {"flat_product", "A, tiler", "(block,..,repetition,..)", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return flat_product(l, as_tiler(a[1])); });
     }},
    {"blocked_product", "A, B", "blocks of A beside each other as B says", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return blocked_product(l, as_layout(a[1])); });
     }},
    {"raked_product", "A, B", "blocks of A interleaved as B says", 2, 2,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) { return raked_product(l, as_layout(a[1])); });
     }},
    {"tile_to_shape", "A, shape[, order]", "A repeated to that shape", 2, 3,
     [](Arguments a) -> Value {
       return behind_swizzle(a[0], [&](const Layout& l) {
         return a.size() == 3 ? tile_to_shape(l, shape_of(a[1]), as_tuple(a[2]))
                              : tile_to_shape(l, shape_of(a[1]));
       });
     }},
    {"make_layout_tv", "threads, values", "(tiler, layout of (thread,value))", 2, 2,
     [](Arguments a) -> Value {
       const ThreadValueLayout by = make_layout_tv(as_layout(a[0]), as_layout(a[1]));
       return {Value::Values{{by.tiler}, {by.tv}}};
     }},
    {"local_tile", "A, tiler, coordinate[, projection]", "the tile at that coordinate", 3, 4, tile_at},
    {"local_partition", "A, threads, index[, projection]",
     "what that thread has when threads take elements in turns", 3, 4, partition_at},
    {"partition_tv", "A, tiler, tv", "((thread,value),rest)", 3, 3,
     [](Arguments a) -> Value {
       return value_of(partition_tv(as_any_layout(a[0]), {as_tuple(a[1]), as_layout(a[2])}));
     }},
    {"vector_width", "A, tiler, tv, bits, alignment",
     "elements a thread can access at once, in memory so aligned", 5, 5,
     [](Arguments a) -> Value {
       return number(Integer(vector_width(as_any_layout(a[0]), {as_tuple(a[1]), as_layout(a[2])},
                                          as_number(a[3]), as_number(a[4]))
                                 .elements));
     }},
    {"upcast", "A, n", "of elements n times as wide", 2, 2,
     [](Arguments a) -> Value { return upcast_of(a[0], as_number(a[1])); }},
    {"downcast", "A, n", "of elements n times as narrow", 2, 2,
     [](Arguments a) -> Value { return downcast_of(a[0], as_number(a[1])); }},
    {"recast", "A, old bits, new bits", "of elements of another width", 3, 3,
     [](Arguments a) -> Value { return recast_of(a); }},
};

}  // namespace

std::span<const Function> functions() {
  return kFunctions;
}

}  // namespace gpuforge::layout
