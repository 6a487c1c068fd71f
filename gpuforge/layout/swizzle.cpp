#include "gpuforge/layout/swizzle.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// Indices of shared memory fit in far fewer.
constexpr int kMostBits = 62;

std::int64_t bit(int position) {
  return std::int64_t{1} << position;
}

std::int64_t shifted_right(std::int64_t value, int count) {
  return count >= 0 ? value >> count : value << -count;
}

int log2_of(std::int64_t count) {
  if (count < 1 || !std::has_single_bit(static_cast<std::uint64_t>(count)))
    refuse("a swizzle is cast by powers of two, not by {}", count);
  return std::countr_zero(static_cast<std::uint64_t>(count));
}

// An index taken apart where the swizzle's bits lie: below, lower bits, between, upper bits, above.
struct Bits {
  std::int64_t size[5];
  std::int64_t stride[5];
  explicit Bits(const Swizzle& swizzle) {
    const int gap = std::abs(swizzle.shift()) - swizzle.bits();
    const int width[5] = {swizzle.base(), swizzle.bits(), gap, swizzle.bits(), 0};
    int at = 0;
    for (int i = 0; i < 5; ++i) {
      size[i] = bit(width[i]);
      stride[i] = width[i] == 0 ? 0 : bit(at);
      at += width[i];
    }
    whole = bit(at);
  }
  std::int64_t whole;
  Layout keeping(bool swizzled, std::int64_t above) const {
    FlatModes modes;
    for (int i = 0; i < 5; ++i) {
      const bool of_swizzle = i == 1 || i == 3;
      modes.push_back({size[i], i == 4 ? above : of_swizzle == swizzled ? stride[i] : 0});
    }
    return layout_of(modes);
  }
};

// An index of which some bits may be unknown.
struct PartlyKnown {
  std::int64_t set = 0;
  std::int64_t unknown = 0;

  static PartlyKnown of(Integer integer) {
    return integer.known() ? PartlyKnown{integer.value(), 0} : PartlyKnown{0, -1};
  }
  friend PartlyKnown operator^(PartlyKnown a, PartlyKnown b) {
    const std::int64_t unknown = a.unknown | b.unknown;
    return {(a.set ^ b.set) & ~unknown, unknown};
  }
  Integer integer() const { return unknown == 0 ? Integer(set) : Integer::unknown(); }
};

// The bits that layout and coordinate set; the layout must not carry from one mode into another.
PartlyKnown bits_of(TupleView shape, TupleView stride, TupleView coordinate) {
  if (shape.is_tuple()) {
    if (!coordinate.is_tuple() || coordinate.rank() != shape.rank())
      refuse("the coordinate {} is not congruent with {}", to_text(coordinate), to_text(shape));
    PartlyKnown all;
    for (std::size_t i = 0; i < shape.rank(); ++i) all = all ^ bits_of(shape[i], stride[i], coordinate[i]);
    return all;
  }
  const Integer extent = shape.integer() * stride.integer();
  if (coordinate.is_tuple() || !extent.known() ||
      (!extent.is(0) && !std::has_single_bit(static_cast<std::uint64_t>(extent.value()))))
    refuse("{}:{} is no power of two", to_text(shape), to_text(stride));
  const Integer mask = (shape.integer() - 1) * stride.integer();
  if (!mask.known()) refuse("{}:{} is no power of two", to_text(shape), to_text(stride));
  const Integer value = coordinate.integer() * stride.integer();
  return value.known() ? PartlyKnown{value.value() & mask.value(), 0} : PartlyKnown{0, mask.value()};
}

// How the swizzle changes indices whose swizzled bits are those of `offset` where the layout does not set
// them.
Layout linear_part(const Swizzle& swizzle, PartlyKnown offset) {
  const Bits bits(swizzle);
  const std::int64_t target = swizzle.target_mask() & -swizzle.target_mask();
  const std::int64_t source = swizzle.source_mask() & -swizzle.source_mask();
  FlatModes modes;
  modes.push_back({bits.size[0], 1});
  const auto add_bits = [&](bool of_target) {
    for (int i = 0; i < swizzle.bits(); ++i) {
      const std::int64_t partner = (of_target ? source : target) << i;
      const bool unset = (offset.set & partner) == 0;
      const std::int64_t step = of_target ? (unset ? target : -target) : source + (unset ? target : -target);
      const bool known = (offset.unknown & partner) == 0;
      modes.push_back({2, known ? Integer(step * bit(i)) : Integer::unknown()});
    }
  };
  add_bits(target < source);
  modes.push_back({bits.size[2], bit(swizzle.base() + swizzle.bits())});
  add_bits(target > source);
  modes.push_back({1, bit(swizzle.base() + swizzle.bits() + std::abs(swizzle.shift()))});
  return layout_of(modes);
}

Integer value_at(const Layout& layout, Integer index) {
  return crd2idx(IntTuple(index), layout);
}

// All bits that the layout sets, of layouts whose modes set different ones.
Integer active_bits(const Layout& layout) {
  return value_at(layout, size(layout) - 1);
}

std::int64_t known(Integer integer) {
  if (!integer.known()) refuse("a swizzle needs known sizes and strides");
  return integer.value();
}

}  // namespace

Swizzle::Swizzle(int bits, int base, int shift) : bits_(bits), base_(base), shift_(shift) {
  if (bits < 0 || base < 0 || std::abs(shift) < bits || bits + base + std::abs(shift) > kMostBits)
    refuse(
        "layout: Swizzle<{},{},{}>: bits and base are 0 or more, the shift is at least as far as there are "
        "bits, and all "
        "fit in {}",
        bits, base, shift, kMostBits);
}

std::int64_t Swizzle::source_mask() const {
  return (bit(bits_) - 1) << (base_ + std::max(0, shift_));
}

std::int64_t Swizzle::target_mask() const {
  return (bit(bits_) - 1) << (base_ - std::min(0, shift_));
}

Integer Swizzle::operator()(Integer index) const {
  if (!index.known()) return bits_ == 0 ? index : Integer::unknown();
  return index.value() ^ shifted_right(index.value() & source_mask(), shift_);
}

Swizzle make_swizzle(std::int64_t source_mask, std::int64_t target_mask) {
  const auto source = static_cast<std::uint32_t>(source_mask),
             target = static_cast<std::uint32_t>(target_mask);
  const int lowest_source = std::countr_zero(source), lowest_target = std::countr_zero(target);
  if (std::popcount(source) == std::popcount(target) && source_mask == source && target_mask == target) {
    const Swizzle swizzle(std::popcount(source), std::min(lowest_source, lowest_target) % 32,
                          lowest_source - lowest_target);
    if (swizzle.source_mask() == source_mask && swizzle.target_mask() == target_mask) return swizzle;
  }
  refuse("no swizzle changes the bits {:#x} by the bits {:#x}", target_mask, source_mask);
}

std::string to_text(const Swizzle& swizzle) {
  return format_text("Sw<{},{},{}>", swizzle.bits(), swizzle.base(), swizzle.shift());
}

std::string to_text(const SwizzledLayout& layout) {
  return format_text("{} o {} o {}", to_text(layout.swizzle), to_text(IntTuple(layout.offset)),
                     to_text(layout.layout));
}

std::string to_text(const AnyLayout& layout) {
  return std::visit([](const auto& one) { return to_text(one); }, layout);
}

Swizzle composition(const Swizzle& a, const Swizzle& b) {
  if (a.shift() != b.shift())
    refuse("layout: composition({}, {}): only swizzles of the same shift are one swizzle", to_text(a),
           to_text(b));
  return make_swizzle(a.source_mask() ^ b.source_mask(), a.target_mask() ^ b.target_mask());
}

AnyLayout composition(const Swizzle& swizzle, Integer offset, const Layout& layout) {
  if (swizzle.bits() == 0 && offset.is(0)) return layout;
  return SwizzledLayout{swizzle, offset, layout};
}

AnyLayout composition(const Layout& layout, const Swizzle& swizzle) {
  try {
    const Integer source = value_at(layout, swizzle.source_mask()),
                  target = value_at(layout, swizzle.target_mask());
    return composition(make_swizzle(known(source), known(target)), 0, layout);
  } catch (const Error& error) {
    throw_named(error, "composition", {to_text(layout), to_text(swizzle)});
  }
}

Integer crd2idx(TupleView coordinate, const SwizzledLayout& layout) {
  return layout.swizzle(layout.offset + crd2idx(coordinate, layout.layout));
}

SlicedLayout slice_and_offset(TupleView coordinate, const SwizzledLayout& layout) {
  const Swizzle& swizzle = layout.swizzle;
  if (all_underscores(coordinate))
    return {SwizzledLayout{swizzle, layout.offset, slice(coordinate, layout.layout)}, 0};
  const Bits bits(swizzle);
  const Layout aside = bits.keeping(false, bits.whole), within = bits.keeping(true, 0);
  const Layout sliced = slice(coordinate, layout.layout), diced = dice(coordinate, layout.layout);
  const IntTuple at = dice(coordinate, coordinate);
  const Layout diced_within = composition(within, diced);
  const IntTuple at_within = idx2crd(at, diced_within.shape());
  const PartlyKnown swizzled_offset =
      PartlyKnown::of(layout.offset) ^ bits_of(diced_within.shape(), diced_within.stride(), at_within);
  const Integer offset_aside = crd2idx(at, composition(aside, diced));
  const Layout sliced_within = composition(within, sliced);
  // Where it is not known which bits the slice sets, it is taken not to mix them, as in CuTe.
  const Integer active = active_bits(sliced_within);
  if (active.known() && (active.value() & ~swizzle(active).value()) != 0)
    return {composition(swizzle, swizzled_offset.integer(), sliced), offset_aside};
  return {composition(linear_part(swizzle, swizzled_offset), sliced),
          swizzle(swizzled_offset.integer()) + offset_aside};
}

AnyLayout slice(TupleView coordinate, const SwizzledLayout& layout) {
  return named_operation(
      "slice", [&] { return slice_and_offset(coordinate, layout).layout; }, coordinate, layout);
}

AnyLayout logical_product(const Layout& block, const SwizzledLayout& tiler) {
  return named_operation(
      "logical_product",
      [&]() -> AnyLayout {
        if (!tiler.offset.is(0)) refuse("the tiler's offset must be 0");
        const Layout plain = logical_product(block, Tiler(tiler.layout));
        const Layout within = composition(Bits(tiler.swizzle).keeping(true, 0), tiler.layout);
        const std::int64_t active = known(active_bits(within));
        const auto moved = [&](std::int64_t mask) {
          const Integer index = value_at(tiler.layout, active & mask);
          return known(crd2idx(tuple({0, index}), plain));
        };
        return composition(
            make_swizzle(moved(tiler.swizzle.source_mask()), moved(tiler.swizzle.target_mask())), 0, plain);
      },
      block, tiler);
}

Swizzle upcast(const Swizzle& swizzle, std::int64_t count) {
  const int base = swizzle.base() - log2_of(count);
  return base >= 0 ? Swizzle(swizzle.bits(), base, swizzle.shift())
                   : Swizzle(std::max(swizzle.bits() + base, 0), 0, swizzle.shift());
}

Swizzle downcast(const Swizzle& swizzle, std::int64_t count) {
  return {swizzle.bits(), swizzle.base() + log2_of(count), swizzle.shift()};
}

Integer upcast_offset(Integer offset, std::int64_t count) {
  if (!offset.known()) refuse("the offset is not known");
  if (!(offset % count).is(0)) refuse("the offset is no multiple of {}", count);
  return offset / count;
}

AnyLayout upcast(const SwizzledLayout& layout, std::int64_t count) {
  return named_operation(
      "upcast",
      [&]() -> AnyLayout {
        return SwizzledLayout{upcast(layout.swizzle, count), upcast_offset(layout.offset, count),
                              upcast(layout.layout, count)};
      },
      layout, count);
}

AnyLayout downcast(const SwizzledLayout& layout, std::int64_t count) {
  return named_operation(
      "downcast",
      [&]() -> AnyLayout {
        if (!layout.offset.known()) refuse("the offset is not known");
        return SwizzledLayout{downcast(layout.swizzle, count), layout.offset * count,
                              downcast(layout.layout, count)};
      },
      layout, count);
}

}  // namespace gpuforge::layout
