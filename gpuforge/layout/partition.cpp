#include "gpuforge/layout/partition.h"

#include <bit>
#include <numeric>

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// `count` times `_`, which is one `_` for 1.
void add_underscores(std::size_t count, TupleBuilder& builder) {
  const IntTuple underscore = IntTuple::underscore();
  if (count == 1) return builder.add(underscore.view());
  builder.open();
  for (std::size_t i = 0; i < count; ++i) builder.add(underscore.view());
  builder.close();
}

// The coordinate, as far as it goes, and `_` for the modes after it.
void add_extended(TupleView coordinate, std::size_t rank, TupleBuilder& builder) {
  if (!coordinate.is_tuple()) return builder.add(coordinate);
  if (coordinate.rank() > rank) refuse("the coordinate {} has more than {} modes", to_text(coordinate), rank);
  builder.open();
  for (const TupleView element : coordinate) builder.add(element);
  for (std::size_t i = coordinate.rank(); i < rank; ++i) builder.add(IntTuple::underscore().view());
  builder.close();
}

// Divides and keeps the tile (inner) or the rest, at a coordinate of the other.
OffsetLayout partitioned(const Mapping& layout, const Tiler& tiler, TupleView coordinate, bool inner) {
  const Mapping divided =
      with_domain(layout, [&](const Layout& plain) { return zipped_divide(plain, tiler); });
  const TupleView halves = expect_domain(divided).shape();
  const std::size_t ranks[] = {halves[0].rank(), halves[1].rank()};
  TupleBuilder builder;
  builder.open();
  if (inner) {
    add_underscores(ranks[0], builder);
    add_extended(coordinate, ranks[1], builder);
  } else {
    add_extended(coordinate, ranks[0], builder);
    add_underscores(ranks[1], builder);
  }
  builder.close();
  SlicedMapping part = slice_and_offset(builder.take(), divided);
  return {std::move(part.mapping), part.offset};
}

}  // namespace

ThreadValueLayout make_layout_tv(const Layout& threads, const Layout& values) {
  return named_operation(
      "make_layout_tv",
      [&] {
        const Layout tile = raked_product(threads, values);
        const Layout by_number(tuple({size(threads), size(values)}));
        return ThreadValueLayout{product_each(tile.shape()), composition(right_inverse(tile), by_number)};
      },
      threads, values);
}

OffsetLayout local_tile(const Mapping& layout, const Tiler& tiler, TupleView coordinate) {
  return named_operation(
      "local_tile", [&] { return partitioned(layout, tiler, coordinate, true); }, layout, tiler, coordinate);
}

OffsetLayout local_partition(const Mapping& layout, const Layout& threads, Integer index) {
  return named_operation(
      "local_partition",
      [&] {
        const IntTuple at = idx2crd(IntTuple(index), threads.shape(), threads.stride());
        TupleBuilder flat;
        if (threads.shape().is_tuple()) {
          flat.open();
          for (std::size_t i = 0; i < at.rank(); ++i) flat.add(crd2idx(at[i], threads.shape()[i]));
          flat.close();
        } else {
          flat.add(at.view());
        }
        return partitioned(layout, Tiler(product_each(threads.shape()).view()), flat.take(), false);
      },
      layout, threads);
}

Mapping partition_tv(const Mapping& layout, const ThreadValueLayout& by) {
  return named_operation(
      "partition_tv",
      [&] {
        return with_domain(layout, [&](const Layout& plain) {
          return composition(zipped_divide(plain, Tiler(by.tiler.view())),
                             Tiler(Tiler::Modes{by.tv, Tiler::Whole{}}));
        });
      },
      layout, by.tiler.view(), by.tv);
}

namespace {

// A width in elements, halved until it fits what is asked of it.
class Width {
 public:
  explicit Width(VectorWidth& result) : result_(result) {}

  void limit(std::int64_t most, const std::string& why) {
    std::int64_t& elements = result_.elements;
    const std::int64_t before = elements;
    while (elements > 1 && (elements > most || most % elements != 0)) elements /= 2;
    if (elements < before)
      result_.why.push_back(format_text("{}: at most {} element{}", why, elements, elements == 1 ? "" : "s"));
  }
  void limit_step(Integer stride, std::string_view whose) {
    if (stride.is(0)) return;
    if (!stride.known()) return limit(1, format_text("{} is ?, which may be odd", whose));
    limit(std::abs(stride.value()), format_text("{} is {}", whose, stride.value()));
  }

 private:
  VectorWidth& result_;
};

}  // namespace

VectorWidth vector_width(const Mapping& layout, const ThreadValueLayout& by, std::int64_t element_bits,
                         std::int64_t alignment, std::int64_t widest_bytes) {
  return named_operation(
      "vector_width",
      [&] {
        if (element_bits < 1 || alignment < 1 || widest_bytes < 1)
          refuse("widths and alignment are at least 1");
        if (!std::has_single_bit(static_cast<std::uint64_t>(element_bits)))
          refuse("elements have 1, 2, 4, .. bits, not {}", element_bits);
        const Mapping parts = partition_tv(layout, by);
        if (std::holds_alternative<ComposedLayout>(parts))
          refuse("vectors are found in a layout that has at most a swizzle before it");
        const Layout& plain = expect_domain(parts);
        const Layout threads = plain.mode(0).mode(0), rest = plain.mode(1);
        const FlatModes values = flat_modes(coalesce(plain.mode(0).mode(1)));
        VectorWidth result;
        result.elements = static_cast<std::int64_t>(std::bit_floor(
            static_cast<std::uint64_t>(std::max<std::int64_t>(1, widest_bytes * 8 / element_bits))));
        result.why.push_back(format_text("an access has at most {} bytes: {} elements of {} bits",
                                         widest_bytes, result.elements, element_bits));
        Width width(result);
        const bool side_by_side = values[0].stride.is(1) && values[0].shape.known();
        width.limit(side_by_side ? values[0].shape.value() : 1,
                    side_by_side
                        ? format_text("{} values of a thread lie side by side", values[0].shape.value())
                        : "a thread's first values do not lie side by side");
        width.limit(alignment * 8 / element_bits,
                    format_text("the memory begins at a multiple of {} bytes", alignment));
        for (std::size_t i = side_by_side ? 1 : 0; i < values.size(); ++i)
          width.limit_step(values[i].stride, "the stride of a mode of values");
        for (const FlatMode& mode : flat_modes(coalesce(threads)))
          if (!mode.shape.is(1)) width.limit_step(mode.stride, "the stride of a mode of threads");
        for (const FlatMode& mode : flat_modes(rest))
          if (!mode.shape.is(1)) width.limit_step(mode.stride, "the stride of a mode of tiles");
        if (const auto* const swizzled = std::get_if<SwizzledLayout>(&parts); swizzled != nullptr) {
          width.limit_step(swizzled->offset, "the offset before the swizzle");
          const std::int64_t together = std::int64_t{1} << swizzled->swizzle.base();
          if (swizzled->swizzle.bits() > 0)
            width.limit(together,
                        format_text("{} keeps {} elements together", to_text(swizzled->swizzle), together));
        }
        result.bytes = result.elements * element_bits / 8;
        if (result.why.size() == 1) result.why.push_back("values, threads, tiles and the alignment allow it");
        return result;
      },
      layout, by.tiler.view(), by.tv);
}

}  // namespace gpuforge::layout
