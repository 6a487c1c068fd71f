// Composition, complement, inverses, divides, products and casts.
#include <numeric>

#include "gpuforge/layout/divide.h"
#include "gpuforge/layout/functions.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

Value compose(const Arguments& a) {
  if (a.size() == 3) return value_of(composition(a.mapping(0), a.integer(1), a.mapping(2)));
  const bool swizzles = is_swizzled(a[1]) || a.get_if<Swizzle>(1) != nullptr;
  if (a.get_if<Swizzle>(0) != nullptr && !swizzles)
    return value_of(composition(a.mapping(0), 0, a.plain_layout(1)));
  if (swizzles || (is_swizzled(a[0]) && a.is_layout(1)))
    return value_of(composition(a.mapping(0), a.mapping(1)));
  return a.behind_swizzle(
      0, [&](const Layout& layout) { return composition(layout, a.tiler(1, layout, composition)); });
}

Value complement_of(const Arguments& a) {
  const Layout layout = is_swizzled(a[0]) ? expect_domain(a.mapping(0)) : a.layout(0);
  return {a.size() == 2 ? complement(layout, a.shape(1)) : complement(layout)};
}

// A layout alone, or whatever else sends coordinates to indices.
Value inverted(const Arguments& a, Layout (*plain)(const Layout&), Mapping (*general)(const Mapping&)) {
  if (is_swizzled(a[0]) || a.get_if<Swizzle>(0) != nullptr) return value_of(general(a.mapping(0)));
  return {plain(a.layout(0))};
}

Value by_tiler(const Arguments& a, Layout (*change)(const Layout&, const Tiler&)) {
  return a.behind_swizzle(0, [&](const Layout& layout) { return change(layout, a.tiler(1)); });
}

Value by_layout(const Arguments& a, Layout (*change)(const Layout&, const Layout&)) {
  return a.behind_swizzle(0, [&](const Layout& layout) { return change(layout, a.layout(1)); });
}

// By a swizzled layout a product has its two halves whatever its name; the name says how they are arranged.
Value product_of(const Arguments& a, Layout (*plain)(const Layout&, const Tiler&), Arrangement arrangement) {
  if (!is_swizzled(a[1]))
    return a.behind_swizzle(
        0, [&](const Layout& layout) { return plain(layout, a.tiler(1, layout, logical_product)); });
  return value_of(with_domain(logical_product(a.mapping(0), a.mapping(1)), [&](const Layout& product) {
    return arranged(product.mode(0), product.mode(1), arrangement);
  }));
}

Value tiled_to_shape(const Arguments& a) {
  return a.behind_swizzle(0, [&](const Layout& layout) {
    return a.size() == 3 ? tile_to_shape(layout, a.shape(1), a.tuple(2)) : tile_to_shape(layout, a.shape(1));
  });
}

template <class Cast>
Value cast(const Arguments& a, std::int64_t count, const Cast& change) {
  if (is_swizzled(a[0]) || a.get_if<Swizzle>(0) != nullptr) return value_of(change(a.mapping(0), count));
  return {change(a.layout(0), count)};
}

constexpr auto kUpcast = [](const auto& what, std::int64_t count) { return upcast(what, count); };
constexpr auto kDowncast = [](const auto& what, std::int64_t count) { return downcast(what, count); };

Value recast_of(const Arguments& a) {
  const std::int64_t old_bits = a.number(1), new_bits = a.number(2);
  if (a.get_if<Layout>(0) != nullptr || a.get_if<IntTuple>(0) != nullptr)
    return {recast(a.layout(0), old_bits, new_bits)};
  if (old_bits < 1) a.unexpected(1, "1 bit or more");
  if (new_bits < 1) a.unexpected(2, "1 bit or more");
  const std::int64_t shared = std::gcd(old_bits, new_bits), up = new_bits / shared, down = old_bits / shared;
  if (down == 1) return up == 1 ? a[0] : cast(a, up, kUpcast);
  if (up == 1) return cast(a, down, kDowncast);
  const Value raised[] = {cast(a, up, kUpcast), a[1], a[2]};
  return cast(Arguments(a.function(), raised), down, kDowncast);
}

Value shared_layout(const Arguments& a) {
  return {max_common_layout(a.mapping(0), a.mapping(1))};
}

Value shared_vector(const Arguments& a) {
  return value_of(max_common_vector(a.mapping(0), a.mapping(1)));
}

constexpr Function kAlgebra[] = {
    {"composition", "A, B", "c -> A(B(c)), where B may be a tiler; also (swizzle, offset, A)", 2, 3, compose},
    {"complement", "A[, shape]", "the indices A leaves out, up to its cosize or the shape", 1, 2,
     complement_of},
    {"right_inverse", "A", "A(result(i)) == i", 1, 1,
     [](const Arguments& a) -> Value { return inverted(a, right_inverse, right_inverse); }},
    {"left_inverse", "A", "result(A(i)) == i", 1, 1,
     [](const Arguments& a) -> Value { return inverted(a, left_inverse, left_inverse); }},
    {"nullspace", "A", "the coordinates that A sends to 0", 1, 1,
     [](const Arguments& a) -> Value { return {is_swizzled(a[0]) ? Layout() : nullspace(a.layout(0))}; }},
    {"max_common_layout", "A, B", "where both are the identity, as far as it goes", 2, 2, shared_layout},
    {"max_common_vector", "A, B", "how many elements lie side by side in both", 2, 2, shared_vector},
    {"logical_divide", "A, tiler", "((tile,rest),..) by mode", 2, 2,
     [](const Arguments& a) -> Value { return by_tiler(a, logical_divide); }},
    {"zipped_divide", "A, tiler", "((tile,..),(rest,..))", 2, 2,
     [](const Arguments& a) -> Value { return by_tiler(a, zipped_divide); }},
    {"tiled_divide", "A, tiler", "((tile,..),rest,..)", 2, 2,
     [](const Arguments& a) -> Value { return by_tiler(a, tiled_divide); }},
    {"flat_divide", "A, tiler", "(tile,..,rest,..)", 2, 2,
     [](const Arguments& a) -> Value { return by_tiler(a, flat_divide); }},
    {"logical_product", "A, tiler", "(block,repetitions)", 2, 2,
     [](const Arguments& a) -> Value { return product_of(a, logical_product, Arrangement::zipped); }},
    {"zipped_product", "A, tiler", "((block,..),(repetitions,..))", 2, 2,
     [](const Arguments& a) -> Value { return product_of(a, zipped_product, Arrangement::zipped); }},
    {"tiled_product", "A, tiler", "((block,..),repetition,..)", 2, 2,
     [](const Arguments& a) -> Value { return product_of(a, tiled_product, Arrangement::tiled); }},
    {"flat_product", "A, tiler", "(block,..,repetition,..)", 2, 2,
     [](const Arguments& a) -> Value { return product_of(a, flat_product, Arrangement::flat); }},
    {"blocked_product", "A, B", "blocks of A beside each other as B says", 2, 2,
     [](const Arguments& a) -> Value { return by_layout(a, blocked_product); }},
    {"raked_product", "A, B", "blocks of A interleaved as B says", 2, 2,
     [](const Arguments& a) -> Value { return by_layout(a, raked_product); }},
    {"tile_to_shape", "A, shape[, order]", "A repeated to that shape", 2, 3, tiled_to_shape},
    {"upcast", "A, n", "of elements n times as wide", 2, 2,
     [](const Arguments& a) -> Value { return cast(a, a.number(1), kUpcast); }},
    {"downcast", "A, n", "of elements n times as narrow", 2, 2,
     [](const Arguments& a) -> Value { return cast(a, a.number(1), kDowncast); }},
    {"recast", "A, old bits, new bits", "of elements of another width", 3, 3, recast_of},
    {"recast_layout", "A, old bits, new bits", "recast", 3, 3, recast_of},
};

}  // namespace

std::span<const Function> algebra_functions() {
  return kAlgebra;
}

}  // namespace gpuforge::layout
