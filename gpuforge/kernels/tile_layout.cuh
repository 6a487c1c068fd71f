// Layouts as types in device code, for NVRTC without any CUDA header: the part of tile.cuh that knows no
// memory.
//   Int<4>                                    an integer known when the kernel is compiled
//   Layout<Shape<int, Int<32>>,               coordinates -> index, any depth; `int` and `long long` stand
//   for
//          Stride<Int<32>, Int<1>>>           integers that come with the launch
//   SwizzledLayout<Swizzle<3, 2, 3>, Int<0>, Layout<...>>
// A layout holds its run-time integers alone, 8 bytes each, in the order they are written (a swizzled one its
// offset first): what gpuforge/layout/device_layout.h on the host makes of a layout there. The algebra is
// done on the host, and its results come as types.
#pragma once

namespace gpuforge {

template <class... Elements>
struct Tuple {};
template <class... Integers>
using Shape = Tuple<Integers...>;
template <class... Integers>
using Stride = Tuple<Integers...>;

namespace tile {

enum : long long { kUnknown = -0x7fffffffffffffff };  // stands for run-time integers in tables

template <bool kFirst, class A, class B>
struct Choose {
  using Type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using Type = B;
};

__device__ constexpr bool fits_int(long long value) {
  return value >= -0x7fffffff && value <= 0x7fffffff;
}
__device__ constexpr long long least(long long a, long long b) {
  return a < b ? a : b;
}
// The largest power of two that divides it, at most 16; a run-time integer may be anything.
__device__ constexpr long long alignment_of(long long value) {
  if (value == kUnknown) return 1;
  long long result = 1;
  while (result < 16 && value % (2 * result) == 0) result *= 2;
  return result;
}

// What is left of an alignment after steps of `elements`.
__device__ constexpr int aligned_after(long long alignment, long long elements, long long element_bytes) {
  return static_cast<int>(
      least(alignment, alignment_of(elements == kUnknown ? element_bytes : elements * element_bytes)));
}
__device__ constexpr long long times(long long a, long long b) {
  return b == kUnknown ? a : a * b;  // divides, whatever the unknown is
}

template <int... k>
struct Indices {};
template <int kCount, int... k>
struct MakeIndices : MakeIndices<kCount - 1, kCount - 1, k...> {};
template <int... k>
struct MakeIndices<0, k...> {
  using Type = Indices<k...>;
};
template <int kCount>
using IndicesTo = typename MakeIndices<kCount>::Type;

}  // namespace tile

template <long long kValue>
struct Int {
  enum : long long { value = kValue };
  __device__ constexpr operator typename tile::Choose<tile::fits_int(kValue), int, long long>::Type() const {
    return kValue;
  }
};

// Swizzle<B,M,S>: the lowest M bits of an index stay, the B bits above them are changed by the B bits S
// further up (or, for a negative S, the other way round).
template <int kBits, int kBase, int kShift>
struct Swizzle {
  enum : long long { kTogether = 1ll << kBase };  // elements that stay side by side
  enum : long long { kPeriod = 1ll << (kBits == 0 ? 0 : kBits + kBase + (kShift < 0 ? -kShift : kShift)) };
  template <class Index>
  __device__ constexpr Index operator()(Index index) const {
    constexpr Index kMask = ((Index(1) << kBits) - 1) << (kBase + (kShift > 0 ? kShift : 0));
    if constexpr (kShift >= 0)
      return index ^ ((index & kMask) >> kShift);
    else
      return index ^ ((index & kMask) << -kShift);
  }
};
using NoSwizzle = Swizzle<0, 0, 0>;

namespace tile {

// The integers of a tuple without their hierarchy.
template <class T>
struct Flat {
  enum : int { kCount = 1 };
  enum : int { kDynamic = 1 };
  __device__ static constexpr void write(long long* to, int& at) { to[at++] = kUnknown; }
};
template <long long kValue>
struct Flat<Int<kValue>> {
  enum : int { kCount = 1 };
  enum : int { kDynamic = 0 };
  __device__ static constexpr void write(long long* to, int& at) { to[at++] = kValue; }
};
template <class... Elements>
struct Flat<Tuple<Elements...>> {
  enum : int { kCount = (0 + ... + Flat<Elements>::kCount) };
  enum : int { kDynamic = (0 + ... + Flat<Elements>::kDynamic) };
  __device__ static constexpr void write(long long* to, int& at) { (Flat<Elements>::write(to, at), ...); }
};

template <int kCount>
struct Table {
  long long at[kCount + 1] = {};  // one more, so that an empty one is a table too
};
template <class T>
__device__ constexpr Table<Flat<T>::kCount> make_table() {
  Table<Flat<T>::kCount> table;
  int at = 0;
  Flat<T>::write(table.at, at);
  return table;
}
template <class T>
inline constexpr auto kTable = make_table<T>();

// The run-time integers.
template <int kCount>
struct Values {
  long long values[kCount];
  __device__ constexpr long long value(int slot) const { return values[slot]; }
  __device__ void set(int slot, long long value) { values[slot] = value; }
};
template <>
struct Values<0> {
  __device__ constexpr long long value(int) const { return 0; }
  __device__ void set(int, long long) {}
};

// An integer of a layout, whose run-time integers begin at kSlot.
template <int kSlot, class T, class Held>
__device__ constexpr T read(T, const Held& held) {
  return static_cast<T>(held.value(kSlot));
}
template <int kSlot, long long kValue, class Held>
__device__ constexpr auto read(Int<kValue> integer, const Held&) {
  return +integer;
}

// Element k of a tuple, and how many run-time integers stand before it. An integer is its own element 0.
template <int k, class T>
struct Element {
  using Type = T;
  enum : int { kSlot = 0 };
};
template <int k, class First, class... Rest>
struct Element<k, Tuple<First, Rest...>> {
  using Next = Element<k - 1, Tuple<Rest...>>;
  using Type = typename Next::Type;
  enum : int { kSlot = Flat<First>::kDynamic + Next::kSlot };
};
template <class First, class... Rest>
struct Element<0, Tuple<First, Rest...>> {
  using Type = First;
  enum : int { kSlot = 0 };
};

template <class T>
inline constexpr int kRankOf = 1;
template <class... Elements>
inline constexpr int kRankOf<Tuple<Elements...>> = sizeof...(Elements);
template <class T>
inline constexpr bool kIsTuple = false;
template <class... Elements>
inline constexpr bool kIsTuple<Tuple<Elements...>> = true;
template <class... Elements>
__device__ constexpr bool all_integers(Tuple<Elements...>) {
  return (true && ... && !kIsTuple<Elements>);
}

template <class ShapeT>
__device__ constexpr long long static_size() {
  constexpr auto sizes = kTable<ShapeT>;
  long long result = 1;
  for (int i = 0; i < Flat<ShapeT>::kCount; ++i) {
    if (sizes.at[i] == kUnknown) return kUnknown;
    result *= sizes.at[i];
  }
  return result;
}
// One more than the largest index.
template <class ShapeT, class StrideT>
__device__ constexpr long long static_cosize() {
  constexpr auto sizes = kTable<ShapeT>;
  constexpr auto strides = kTable<StrideT>;
  long long result = 1;
  for (int i = 0; i < Flat<ShapeT>::kCount; ++i) {
    if (sizes.at[i] == 1) continue;
    if (sizes.at[i] == kUnknown || strides.at[i] == kUnknown) return kUnknown;
    result += (sizes.at[i] - 1) * (strides.at[i] < 0 ? -strides.at[i] : strides.at[i]);
  }
  return result;
}

template <class Integer>
struct Unsigned {
  using Type = typename Choose<sizeof(Integer) == 8, unsigned long long, unsigned>::Type;
  using Signed = typename Choose<sizeof(Integer) == 8, long long, int>::Type;
};

// The index of an integer coordinate: every integer of the shape takes its digit of `rest`, the last all that
// is left.
template <class Index, bool kLast, int kShapeSlot, int kStrideSlot, class C, class S, class D, class Held>
__device__ constexpr Index digits(C& rest, S shape, D stride, const Held& held) {
  using Signed = typename Unsigned<C>::Signed;
  if constexpr (kLast) {
    return Index(static_cast<Signed>(rest)) * Index(read<kStrideSlot>(stride, held));
  } else {
    const C size = static_cast<C>(read<kShapeSlot>(shape, held));
    const C digit = rest % size;
    rest /= size;
    return Index(static_cast<Signed>(digit)) * Index(read<kStrideSlot>(stride, held));
  }
}
template <class Index, bool kLast, int kShapeSlot, int kStrideSlot, class C, class Held>
__device__ constexpr Index digits(C&, Tuple<>, Tuple<>, const Held&) {
  return 0;
}
template <class Index, bool kLast, int kShapeSlot, int kStrideSlot, class C, class S, class... Shapes,
          class D, class... Strides, class Held>
__device__ constexpr Index digits(C& rest, Tuple<S, Shapes...>, Tuple<D, Strides...>, const Held& held) {
  constexpr bool kEnd = sizeof...(Shapes) == 0;
  const Index first = digits < Index, kLast && kEnd, kShapeSlot, kStrideSlot > (rest, S{}, D{}, held);
  if constexpr (kEnd)
    return first;
  else
    return first + digits<Index, kLast, kShapeSlot + Flat<S>::kDynamic, kStrideSlot + Flat<D>::kDynamic>(
                       rest, Tuple<Shapes...>{}, Tuple<Strides...>{}, held);
}

}  // namespace tile

// A coordinate of several modes: make_coord(1, make_coord(2, 3)).
template <class... Elements>
struct Coord {};
template <class First, class... Rest>
struct Coord<First, Rest...> {
  First first;
  Coord<Rest...> rest;
};
__device__ constexpr Coord<> make_coord() {
  return {};
}
template <class First, class... Rest>
__device__ constexpr Coord<First, Rest...> make_coord(First first, Rest... rest) {
  return {first, make_coord(rest...)};
}

// All of a mode, for slice().
struct Underscore {};
inline constexpr Underscore _{};

namespace tile {

template <class Index, int kShapeSlot, int kStrideSlot, class S, class D, class Held>
__device__ constexpr Index index_of(Underscore, S, D, const Held&) {
  return 0;
}
template <class Index, int kShapeSlot, int kStrideSlot, class C, class S, class D, class Held>
__device__ constexpr Index index_of(C coordinate, S shape, D stride, const Held& held) {
  if constexpr (kIsTuple<S>) {
    auto rest = static_cast<typename Unsigned<decltype(+coordinate)>::Type>(coordinate);
    return digits<Index, true, kShapeSlot, kStrideSlot>(rest, shape, stride, held);
  } else {
    return Index(static_cast<typename Unsigned<decltype(+coordinate)>::Signed>(coordinate)) *
           Index(read<kStrideSlot>(stride, held));
  }
}
template <class Index, int kShapeSlot, int kStrideSlot, class Held>
__device__ constexpr Index index_of(Coord<>, Tuple<>, Tuple<>, const Held&) {
  return 0;
}
template <class Index, int kShapeSlot, int kStrideSlot, class C, class... Cs, class S, class... Shapes,
          class D, class... Strides, class Held>
__device__ constexpr Index index_of(Coord<C, Cs...> coordinate, Tuple<S, Shapes...>, Tuple<D, Strides...>,
                                    const Held& held) {
  static_assert(sizeof...(Cs) == sizeof...(Shapes),
                "a coordinate has one element for each mode of the shape");
  return index_of<Index, kShapeSlot, kStrideSlot>(coordinate.first, S{}, D{}, held) +
         index_of<Index, kShapeSlot + Flat<S>::kDynamic, kStrideSlot + Flat<D>::kDynamic>(
             coordinate.rest, Tuple<Shapes...>{}, Tuple<Strides...>{}, held);
}

}  // namespace tile

template <class ShapeT, class StrideT>
struct Layout : tile::Values<tile::Flat<ShapeT>::kDynamic + tile::Flat<StrideT>::kDynamic> {
  static_assert(tile::Flat<ShapeT>::kCount == tile::Flat<StrideT>::kCount, "shape and stride are congruent");
  using Shapes = ShapeT;
  using Strides = StrideT;
  enum : int { kRank = tile::kRankOf<ShapeT> };
  enum : int { kShapeValues = tile::Flat<ShapeT>::kDynamic };
  // kUnknown where the launch decides.
  enum : long long { kSize = tile::static_size<ShapeT>() };
  enum : long long { kCosize = tile::static_cosize<ShapeT, StrideT>() };
  // 64 bits wherever 32 might not do.
  using Index =
      typename tile::Choose<kCosize != tile::kUnknown && tile::fits_int(kCosize), int, long long>::Type;

  // A coordinate for each mode, or one for all.
  template <class... C>
  __device__ constexpr Index operator()(C... coordinate) const {
    if constexpr (sizeof...(C) == 1)
      return tile::index_of<Index, 0, kShapeValues>(coordinate..., ShapeT{}, StrideT{}, *this);
    else
      return tile::index_of<Index, 0, kShapeValues>(make_coord(coordinate...), ShapeT{}, StrideT{}, *this);
  }
};

namespace tile {

template <class Offset>
struct Held : Values<1> {
  __device__ constexpr Offset offset() const { return static_cast<Offset>(this->value(0)); }
};
template <long long kOffset>
struct Held<Int<kOffset>> {
  __device__ constexpr auto offset() const { return +Int<kOffset>{}; }
};

}  // namespace tile

// coordinate -> swizzle(offset + layout(coordinate))
template <class SwizzleT, class Offset, class LayoutT>
struct SwizzledLayout : tile::Held<Offset>, LayoutT {
  using Plain = LayoutT;
  using Index = typename LayoutT::Index;
  // As much memory as holds every index.
  enum : long long {
    kCosize = LayoutT::kCosize == tile::kUnknown || tile::Flat<Offset>::kDynamic != 0
                  ? tile::kUnknown
                  : (LayoutT::kCosize + tile::kTable<Offset>.at[0] + SwizzleT::kPeriod - 1) /
                        SwizzleT::kPeriod * SwizzleT::kPeriod
  };

  template <class... C>
  __device__ constexpr Index operator()(C... coordinate) const {
    return SwizzleT{}(static_cast<Index>(this->offset() + LayoutT::operator()(coordinate...)));
  }
};

namespace tile {

template <int kSlot, class T, class Held>
__device__ constexpr long long product(T integer, const Held& held) {
  return read<kSlot>(integer, held);
}
template <int kSlot, class Held>
__device__ constexpr long long product(Tuple<>, const Held&) {
  return 1;
}
template <int kSlot, class First, class... Rest, class Held>
__device__ constexpr long long product(Tuple<First, Rest...>, const Held& held) {
  return product<kSlot>(First{}, held) * product<kSlot + Flat<First>::kDynamic>(Tuple<Rest...>{}, held);
}

}  // namespace tile

// How many coordinates there are, in all and of mode k.
template <class ShapeT, class StrideT>
__device__ constexpr long long size(const Layout<ShapeT, StrideT>& layout) {
  return tile::product<0>(ShapeT{}, layout);
}
template <int k, class ShapeT, class StrideT>
__device__ constexpr int extent(const Layout<ShapeT, StrideT>& layout) {
  static_assert(k < Layout<ShapeT, StrideT>::kRank, "there is no such mode");
  using Mode = tile::Element<k, ShapeT>;
  return static_cast<int>(tile::product<Mode::kSlot>(typename Mode::Type{}, layout));
}

}  // namespace gpuforge
