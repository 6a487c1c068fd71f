// Divisions, products, swizzles and partitions against their definitions, by enumeration.
#include <map>
#include <set>

#include "gpuforge/layout/partition.h"
#include "gpuforge/layout/random_layouts_for_tests.h"

namespace gpuforge::layout {
namespace {

// Two modes, each with a tile size that divides it.
struct Tiled {
  Layout layout;
  std::int64_t tile[2];
  std::int64_t rest[2];
  Tiler tiler() const { return Tiler(tuple({tile[0], tile[1]})); }
};

Tiled random_tiled() {
  Layout all = random_layout({.sizes = kPowersOfTwo, .depth = 3, .most = 256});
  const Layout flat = append(flatten(all), Layout());  // two modes or more
  Tiled out;
  const auto half = static_cast<std::size_t>(*rc::gen::inRange<int>(1, static_cast<int>(flat.rank())));
  out.layout = group_modes(group_modes(flat, half, flat.rank()), 0, half);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t whole = count_of(out.layout.mode(i));
    std::int64_t tile = *rc::gen::elementOf(kPowersOfTwo);
    while (whole % tile != 0) tile /= 2;
    out.tile[i] = tile;
    out.rest[i] = whole / tile;
  }
  return out;
}

std::int64_t at(const Layout& layout, const IntTuple& coordinate) {
  return crd2idx(coordinate, layout).value();
}

TEST(LayoutProperty, DivisionsHaveTileAndRestWhereTheySay) {
  expect_for_all("the four divisions", [] {
    const Tiled tiled = random_tiled();
    RC_LOG() << to_text(tiled.layout) << " by " << to_text(tiled.tiler());
    const Layout logical = logical_divide(tiled.layout, tiled.tiler());
    const Layout zipped = zipped_divide(tiled.layout, tiled.tiler());
    const Layout in_tiles = tiled_divide(tiled.layout, tiled.tiler());
    const Layout flat = flat_divide(tiled.layout, tiled.tiler());
    RC_ASSERT(logical.rank() == 2u && zipped.rank() == 2u && in_tiles.rank() == 3u && flat.rank() == 4u);
    for (std::int64_t t0 = 0; t0 < tiled.tile[0]; ++t0)
      for (std::int64_t t1 = 0; t1 < tiled.tile[1]; ++t1)
        for (std::int64_t r0 = 0; r0 < tiled.rest[0]; ++r0)
          for (std::int64_t r1 = 0; r1 < tiled.rest[1]; ++r1) {
            const std::int64_t expected =
                at(tiled.layout, tuple({t0 + tiled.tile[0] * r0, t1 + tiled.tile[1] * r1}));
            RC_ASSERT(at(logical, tuple({tuple({t0, r0}), tuple({t1, r1})})) == expected);
            RC_ASSERT(at(zipped, tuple({tuple({t0, t1}), tuple({r0, r1})})) == expected);
            RC_ASSERT(at(in_tiles, tuple({tuple({t0, t1}), r0, r1})) == expected);
            RC_ASSERT(at(flat, tuple({t0, t1, r0, r1})) == expected);
          }
  });
}

TEST(LayoutProperty, DivisionByALayoutPartitions) {
  expect_for_all("logical_divide(A, B) has composition(A, B), and each index once", [] {
    const Layout a = random_layout({.sizes = kPowersOfTwo, .depth = 2});
    const Layout b = random_layout_into(count_of(a));
    RC_LOG() << to_text(a) << " by " << to_text(b);
    const Layout divided = logical_divide(a, Tiler(b));
    RC_ASSERT(divided.mode(0) == composition(a, b));
    RC_ASSERT(count_of(divided) == count_of(a));
    RC_ASSERT(sorted(indices_of(divided)) == sorted(indices_of(a)));
  });
}

TEST(LayoutProperty, DivisionRoundsUp) {
  expect_for_all("a size that does not divide is covered", [] {
    const std::int64_t size = *rc::gen::inRange<std::int64_t>(1, 300),
                       tile = *rc::gen::inRange<std::int64_t>(1, 40);
    const Layout divided = logical_divide(Layout(size, 1), Tiler(Integer(tile)));
    const std::int64_t tiles = (size + tile - 1) / tile;
    RC_ASSERT(indices_of(divided) == numbers_to(tile * tiles));
  });
}

TEST(LayoutProperty, ProductsRepeatTheBlock) {
  expect_for_all("logical_product(A, B): A, and a translated A for each element of B, no index twice", [] {
    const Layout block = random_layout({.sizes = kPowersOfTwo, .depth = 2, .most = 32});
    const Layout tiler = random_layout({.sizes = kPowersOfTwo, .depth = 2, .gaps = false, .most = 16});
    Layout product = logical_product(block, Tiler(tiler));
    RC_ASSERT(product.mode(0) == block);
    RC_ASSERT(compatible(tiler.shape(), product.mode(1).shape()));
    const Indices all = indices_of(product);
    RC_ASSERT(std::set<std::int64_t>(all.begin(), all.end()).size() == all.size());
    // Repetitions lie in the tiler's order.
    const Indices order = indices_of(tiler), where = indices_of(product.mode(1));
    for (std::size_t i = 1; i < order.size(); ++i)
      RC_ASSERT((order[i - 1] < order[i]) == (where[i - 1] < where[i]));
    RC_ASSERT(zipped_product(block, Tiler(tiler)) == product);
    RC_ASSERT(indices_of(flat_product(block, Tiler(tiler))) == all);
    RC_ASSERT(indices_of(tiled_product(block, Tiler(tiler))) == all);
  });
}

TEST(LayoutProperty, BlocksLieSideBySideOrInterleaved) {
  expect_for_all("blocked_product and raked_product", [] {
    const auto two_modes = [] {
      return Layout(tuple({*rc::gen::elementOf(kPowersOfTwo), *rc::gen::inRange(1, 6)}));
    };
    Layout block = two_modes(), tiler = two_modes();
    if (*rc::gen::arbitrary<bool>()) block = Layout(block.shape(), compact_row_major(block.shape()));
    if (*rc::gen::arbitrary<bool>()) tiler = Layout(tiler.shape(), compact_row_major(tiler.shape()));
    const Layout blocked = blocked_product(block, tiler), raked = raked_product(block, tiler);
    RC_ASSERT(sorted(indices_of(blocked)) == numbers_to(count_of(block) * count_of(tiler)));
    const std::int64_t rows = count_of(block.mode(0)), columns = count_of(block.mode(1));
    const std::int64_t down = count_of(tiler.mode(0)), across = count_of(tiler.mode(1));
    for (std::int64_t i = 0; i < rows * down; ++i)
      for (std::int64_t j = 0; j < columns * across; ++j) {
        const std::int64_t inside = at(block, tuple({i % rows, j % columns}));
        const std::int64_t which = at(tiler, tuple({i / rows, j / columns}));
        RC_ASSERT(at(blocked, tuple({i, j})) == inside + count_of(block) * which);
        const std::int64_t raked_inside = at(block, tuple({i / down, j / across}));
        const std::int64_t raked_which = at(tiler, tuple({i % down, j % across}));
        RC_ASSERT(at(raked, tuple({i, j})) == raked_inside + count_of(block) * raked_which);
      }
    RC_ASSERT(tile_to_shape(block, tuple({rows * down, columns * across})) ==
              blocked_product(block, Layout(tuple({down, across}))));
  });
}

TEST(LayoutProperty, SwizzlesAreBijectionsAndTheirOwnInverse) {
  expect_for_all("swizzle", [] {
    const int bits = *rc::gen::inRange(0, 4), base = *rc::gen::inRange(0, 4);
    const int shift = (bits + *rc::gen::inRange(0, 3)) * *rc::gen::element(1, -1);
    const Swizzle swizzle(bits, base, shift);
    const std::int64_t count = std::int64_t{1} << (bits + base + std::abs(shift));
    Indices all;
    for (std::int64_t i = 0; i < count; ++i) {
      const Integer once = swizzle(i);
      RC_ASSERT(swizzle(once) == Integer(i));
      RC_ASSERT(((once.value() ^ i) & ~swizzle.target_mask()) == 0);
      all.push_back(once.value());
    }
    RC_ASSERT(sorted(all) == numbers_to(count));
  });
}

std::int64_t index_in(const Mapping& layout, std::int64_t coordinate) {
  if (const auto* const composed = std::get_if<ComposedLayout>(&layout))
    return index_in(composed->outer(), composed->offset().value() + index_in(composed->inner(), coordinate));
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&layout))
    return swizzled->swizzle(swizzled->offset + Integer(index_at(swizzled->layout, coordinate))).value();
  if (const auto* const swizzle = std::get_if<Swizzle>(&layout)) return (*swizzle)(coordinate).value();
  return index_at(std::get<Layout>(layout), coordinate);
}

std::int64_t count_in(const Mapping& layout) {
  return count_of(expect_domain(layout));
}

AnyLayout random_swizzled(const Layout& layout) {
  const int bits = *rc::gen::inRange(1, 4);
  const Swizzle swizzle(bits, *rc::gen::inRange(0, 4),
                        (bits + *rc::gen::inRange(0, 2)) * *rc::gen::element(1, 1, -1));
  return composition(swizzle, 0, layout);
}

TEST(LayoutProperty, SwizzledLayoutsAreSlicedRight) {
  expect_for_all("offset + slice(c) == swizzle(layout(coordinate with c))", [] {
    const Layout plain =
        append(random_layout({.sizes = kPowersOfTwo, .depth = 1, .gaps = false, .most = 256}), Layout());
    const AnyLayout any = random_swizzled(plain);
    const auto& swizzled = std::get<SwizzledLayout>(any);
    const auto fixed = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(plain.rank())));
    for (std::int64_t where = 0; where < count_of(plain.mode(fixed)); ++where) {
      TupleBuilder builder;
      builder.open();
      for (std::size_t i = 0; i < plain.rank(); ++i)
        if (i == fixed)
          builder.add(Integer(where));
        else
          builder.add(IntTuple::underscore().view());
      builder.close();
      const IntTuple coordinate = builder.take();
      const SlicedLayout part = slice_and_offset(coordinate, swizzled);
      const Layout kept = slice(coordinate, plain);
      const std::int64_t start = at(plain, coordinate);
      for (std::int64_t i = 0; i < count_of(kept); ++i)
        RC_ASSERT(part.offset.value() + index_in(as_mapping(part.layout), i) ==
                  swizzled.swizzle(start + index_at(kept, i)).value());
    }
  });
}

// A compact layout of `rank` modes, whose order is random.
Layout random_flat(std::size_t rank, std::int64_t most) {
  TupleBuilder shape, order;
  shape.open();
  order.open();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = std::min(*rc::gen::elementOf(kPowersOfTwo), most);
    most /= size;
    shape.add(Integer(size));
    order.add(Integer(*rc::gen::inRange<std::int64_t>(0, 10) * 3 + static_cast<std::int64_t>(i)));
  }
  shape.close();
  order.close();
  return make_ordered_layout(shape.take(), order.take());
}

TEST(LayoutProperty, TvLayoutsCoverTheTileOnce) {
  expect_for_all("make_layout_tv", [] {
    const Layout threads = random_flat(3, 32), values = random_flat(3, 16);
    const ThreadValueLayout by = make_layout_tv(threads, values);
    RC_ASSERT(count_of(by.tv.mode(0)) == count_of(threads));
    RC_ASSERT(count_of(by.tv.mode(1)) == count_of(values));
    RC_ASSERT(product(by.tiler) == Integer(count_of(threads) * count_of(values)));
    RC_ASSERT(sorted(indices_of(by.tv)) == numbers_to(count_of(by.tv)));
  });
}

TEST(LayoutProperty, TilesAndPartitionsCoverTheLayoutOnce) {
  expect_for_all("local_tile and local_partition", [] {
    const Tiled tiled = random_tiled();
    Indices from_tiles, from_threads;
    for (std::int64_t r0 = 0; r0 < tiled.rest[0]; ++r0)
      for (std::int64_t r1 = 0; r1 < tiled.rest[1]; ++r1) {
        const OffsetLayout tile = local_tile(tiled.layout, tiled.tiler(), tuple({r0, r1}));
        for (const std::int64_t index : indices_of(std::get<Layout>(tile.layout)))
          from_tiles.push_back(tile.offset.value() + index);
      }
    RC_ASSERT(sorted(from_tiles) == sorted(indices_of(tiled.layout)));
    const Layout threads(tuple({tiled.tile[0], tiled.tile[1]}));
    for (std::int64_t thread = 0; thread < count_of(threads); ++thread) {
      const OffsetLayout part = local_partition(tiled.layout, threads, thread);
      for (const std::int64_t index : indices_of(std::get<Layout>(part.layout)))
        from_threads.push_back(part.offset.value() + index);
    }
    RC_ASSERT(sorted(from_threads) == sorted(indices_of(tiled.layout)));
  });
}

// What the parts say together, in any order.
template <class Part>
Indices gathered(std::int64_t count, const Part& part_at) {
  Indices all;
  for (std::int64_t i = 0; i < count; ++i) {
    const OffsetLayout part = part_at(i);
    for (std::int64_t j = 0; j < count_in(part.layout); ++j)
      all.push_back(part.offset.value() + index_in(part.layout, j));
  }
  return sorted(all);
}

TEST(LayoutProperty, TilesOfSwizzledAndComposedLayoutsCoverThemOnce) {
  expect_for_all("local_tile, local_partition and partition_tv of swizzles and layouts in a row", [] {
    const Layout plain = make_ordered_layout(tuple({8, 8}), tuple({*rc::gen::element(0, 2), 1}));
    Mapping layout = as_mapping(random_swizzled(plain));
    if (*rc::gen::arbitrary<bool>())
      layout = composition(random_layout_into(256), *rc::gen::inRange(0, 5), layout);
    if (*rc::gen::arbitrary<bool>()) layout = composition(Layout(1024), *rc::gen::inRange(0, 5), layout);
    const std::int64_t rows = *rc::gen::element(1, 2, 4, 8), columns = *rc::gen::element(1, 2, 4, 8);
    RC_LOG() << to_text(layout) << " by " << rows << " x " << columns;
    Indices all;
    for (std::int64_t i = 0; i < 64; ++i) all.push_back(index_in(layout, i));
    const IntTuple tile = tuple({rows, columns});
    const std::int64_t across = 8 / rows;
    RC_ASSERT(gathered(64 / rows / columns, [&](std::int64_t i) {
                return local_tile(layout, Tiler(tile.view()), tuple({i % across, i / across}));
              }) == sorted(all));
    RC_ASSERT(gathered(rows * columns, [&](std::int64_t i) {
                return local_partition(layout, Layout(tile), i);
              }) == sorted(all));
    const ThreadValueLayout by = make_layout_tv(Layout(tile), Layout(tuple({1, 1})));
    RC_ASSERT(gathered(1, [&](std::int64_t) {
                return OffsetLayout{partition_tv(layout, by), 0};
              }) == sorted(all));
  });
}

// Whether every thread's values, `width` at a time, are side by side at a multiple of `width`.
bool vectors_fit(const Mapping& parts, std::int64_t threads, std::int64_t values, std::int64_t rest,
                 std::int64_t width) {
  if (values % width != 0) return false;
  for (std::int64_t other = 0; other < rest; ++other)
    for (std::int64_t thread = 0; thread < threads; ++thread)
      for (std::int64_t value = 0; value < values; ++value) {
        const std::int64_t coordinate = thread + threads * (value + values * other);
        const std::int64_t first = index_in(parts, coordinate - threads * (value % width));
        if (first % width != 0 || index_in(parts, coordinate) != first + value % width) return false;
      }
  return true;
}

TEST(LayoutProperty, VectorsAreContiguousAndAligned) {
  expect_for_all("vector_width", [] {
    const Layout threads = random_flat(2, 16), values = random_flat(2, 16);
    const ThreadValueLayout by = make_layout_tv(threads, values);
    const std::int64_t rows = by.tiler[0].integer().value() * *rc::gen::element(1, 2);
    const std::int64_t columns = by.tiler[1].integer().value() * *rc::gen::element(1, 3);
    const std::int64_t pitch = columns + *rc::gen::element(0, 0, 1, 2, 4);
    const bool row_major = *rc::gen::arbitrary<bool>();
    const Layout memory(tuple({rows, columns}),
                        row_major ? tuple({pitch, 1}) : tuple({1, rows + pitch - columns}));
    Mapping layout = memory;
    if (*rc::gen::inRange(0, 3) == 0)
      layout = composition(Swizzle(2, *rc::gen::inRange(0, 4), 3), *rc::gen::element(0, 0, 2, 8), layout);
    const std::int64_t bits = *rc::gen::element(8, 16, 32), alignment = *rc::gen::element(1, 2, 4, 16);
    RC_LOG() << to_text(layout) << " by " << to_text(by.tiler.view()) << " " << to_text(by.tv) << ", " << bits
             << " bits, aligned to " << alignment;
    const VectorWidth width = vector_width(layout, by, bits, alignment);
    const Mapping parts = partition_tv(layout, by);
    const bool swizzled = std::holds_alternative<SwizzledLayout>(parts);
    const Layout& plain = swizzled ? std::get<SwizzledLayout>(parts).layout : std::get<Layout>(parts);
    const std::int64_t thread_count = count_of(threads), value_count = count_of(values);
    const std::int64_t rest = count_of(plain) / thread_count / value_count;
    RC_ASSERT(width.bytes <= 16 && width.elements * bits == width.bytes * 8);
    RC_ASSERT(width.elements == 1 || width.bytes <= alignment);
    RC_ASSERT(vectors_fit(parts, thread_count, value_count, rest, width.elements));
    RC_ASSERT(!width.why.empty());
    // And no wider one would do; behind a swizzle that is left open.
    const std::int64_t twice = 2 * width.elements;
    if (!swizzled && twice * bits <= 128 && twice * bits <= 8 * alignment)
      RC_ASSERT(!vectors_fit(parts, thread_count, value_count, rest, twice));
  });
}

}  // namespace
}  // namespace gpuforge::layout
