// Tensors, tiles and vectorised copies over layouts that are types (tile_layout.cuh), for NVRTC without any
// CUDA header.
//   make_tensor<16>(pointer, layout)        memory that begins at a multiple of 16 bytes, by a layout
//   local_tile(tensor, Shape<...>{}, i, j)  the tile at block coordinate (i, j); it ends with the tensor
//   slice(tensor, _, j)                     the modes with `_`, at j of the other: tiles the host divided
//   partition(tile, TV{}, thread)           what the thread has, by a layout (thread, value) -> tile
//   make_fragment_like(part)                registers for that
//   copy(from, to)                          as wide as strides and alignments allow, 16 bytes at most
// Nothing outside of a tensor is touched: values that lie outside of `from` are zeros, those outside of `to`
// are not written. Widths are chosen when the kernel is compiled: only strides known then can promise an
// alignment.
#pragma once

#include "gpuforge/kernels/moved.cuh"
#include "gpuforge/kernels/tile_layout.cuh"
#include "gpuforge/kernels/tile_partition.cuh"

namespace gpuforge {

namespace tile {

template <class T>
struct Plain {
  using Type = T;
};
template <class T>
struct Plain<const T> {
  using Type = T;
};

template <class T>
inline constexpr bool kIsConst = false;
template <class T>
inline constexpr bool kIsConst<const T> = true;

// The vector that begins at this element; a single one is moved as what it is.
template <int kCount, class T>
__device__ auto& moved(T& element) {
  if constexpr (kCount == 1) {
    return element;
  } else {
    using Type = typename Moved<kCount * sizeof(T)>::Type;
    return *reinterpret_cast<typename Choose<kIsConst<T>, const Type, Type>::Type*>(&element);
  }
}

// Elements an access can have: the first values of the layout lie side by side, and everything else keeps the
// alignment.
template <class LayoutT>
__device__ constexpr int vector_width(long long element_bytes, long long alignment, long long together) {
  constexpr auto sizes = kTable<typename LayoutT::Shapes>;
  constexpr auto strides = kTable<typename LayoutT::Strides>;
  if (alignment_of(element_bytes) != element_bytes) return 1;  // 12 bytes, say
  long long width = least(16, alignment) / element_bytes;
  bool first = true;
  for (int i = 0; i < Flat<typename LayoutT::Shapes>::kCount; ++i) {
    if (sizes.at[i] == 1) continue;
    width = least(width, first && strides.at[i] == 1 ? alignment_of(sizes.at[i])
                                                     : (first ? 1 : alignment_of(strides.at[i])));
    first = false;
  }
  if (first) return 1;  // a single value
  return static_cast<int>(width < 1 ? 1 : least(width, together));
}

// An edge in mode k of the tensor: elements are inside while their coordinate is less than `left`, which is a
// multiple of kMultiple. Coordinates is a layout from the view's coordinates to that one.
template <int k, bool kNeeded, class CoordinatesT, long long kMultiple>
struct Edge {
  int left;
  template <class... C>
  __device__ bool inside(C... coordinate) const {
    if constexpr (kNeeded)
      return static_cast<int>(CoordinatesT{}(coordinate...)) < left;
    else
      return true;
  }
  enum : int { kMode = k };
  enum : bool { kIsNeeded = kNeeded };
  enum : long long { kLeftMultiple = kMultiple };
  using Coordinates = CoordinatesT;
};

}  // namespace tile

// Memory seen through a layout. kAlign: bytes that the address of its first element is known to be a multiple
// of.
template <class T, class LayoutT, int kAlign = alignof(T), class SwizzleT = NoSwizzle, class... Edges>
struct Tensor : Edges... {
  using Element = typename tile::Plain<T>::Type;
  enum : int { kSize = static_cast<int>(LayoutT::kSize == tile::kUnknown ? -1 : LayoutT::kSize) };
  enum : int {
    kVector =
        tile::vector_width<LayoutT>(sizeof(T), kAlign, SwizzleT::kPeriod == 1 ? 16 : SwizzleT::kTogether)
  };
  // Whether a vector is inside or outside as a whole.
  enum : bool { kWhole = (true && ... && (!Edges::kIsNeeded || Edges::kLeftMultiple % kVector == 0)) };
  enum : bool { kRegisters = false };
  using Index = typename LayoutT::Index;

  T* data;
  Index offset;  // inside the swizzle; 0 without one
  LayoutT layout;

  // The element at a coordinate for each mode, or at one for all.
  template <class... C>
  __device__ T& operator()(C... coordinate) const {
    return data[SwizzleT{}(static_cast<Index>(offset + layout(coordinate...)))];
  }
  __device__ T& operator[](int value) const { return (*this)(value); }
  template <class... C>
  __device__ bool inside(C... coordinate) const {
    return (true && ... && static_cast<const Edges&>(*this).inside(coordinate...));
  }
};

// Values in registers, in the order of the value coordinate.
template <class T, int kCount>
struct alignas(sizeof(T) * tile::alignment_of(kCount)) Fragment {
  using Element = T;
  enum : int { kSize = kCount };
  enum : int { kVector = 1 };
  enum : bool { kWhole = true };
  enum : bool { kRegisters = true };

  T values[kCount];

  __device__ T& operator[](int value) { return values[value]; }
  __device__ const T& operator[](int value) const { return values[value]; }
  __device__ bool inside(int) const { return true; }
};

namespace tile {

template <class T, int kAlign>
__device__ constexpr int promised() {
  static_assert(kAlign == 0 || ((kAlign & (kAlign - 1)) == 0 && kAlign % alignof(T) == 0),
                "an alignment is a power of two, and not less than an element's");
  return kAlign == 0 ? alignof(T) : kAlign;
}

}  // namespace tile

// The caller promises the alignment. Without one it is that of an element.
template <int kAlign = 0, class T, class ShapeT, class StrideT>
__device__ auto make_tensor(T* data, const Layout<ShapeT, StrideT>& layout) {
  Tensor<T, Layout<ShapeT, StrideT>, tile::promised<T, kAlign>()> result;
  result.data = data;
  result.offset = 0;
  result.layout = layout;
  return result;
}
template <int kAlign = 0, class T, class SwizzleT, class Offset, class LayoutT>
__device__ auto make_tensor(T* data, const SwizzledLayout<SwizzleT, Offset, LayoutT>& layout) {
  constexpr int kStart =
      tile::aligned_after(tile::promised<T, kAlign>(), tile::kTable<Offset>.at[0], sizeof(T));
  Tensor<T, LayoutT, kStart, SwizzleT> result;
  result.data = data;
  result.offset = layout.offset();
  result.layout = layout;
  return result;
}

template <int k, class T, class LayoutT, int kAlign, class SwizzleT, class... Edges>
__device__ constexpr int extent(const Tensor<T, LayoutT, kAlign, SwizzleT, Edges...>& tensor) {
  return extent<k>(tensor.layout);
}

template <class T, class LayoutT, int kAlign, class SwizzleT, class... Edges>
__device__ auto make_fragment_like(const Tensor<T, LayoutT, kAlign, SwizzleT, Edges...>&) {
  static_assert(LayoutT::kSize != tile::kUnknown,
                "how many registers there are is known when the kernel is compiled");
  return Fragment<typename tile::Plain<T>::Type, static_cast<int>(LayoutT::kSize)>{};
}

namespace tile {

// The same memory, `by` further on, through another layout.
template <int kAlign, class... Edges, class T, class Old, int kOldAlign, class SwizzleT, class... OldEdges,
          class New>
__device__ auto view(const Tensor<T, Old, kOldAlign, SwizzleT, OldEdges...>& tensor, typename Old::Index by,
                     const New& layout) {
  Tensor<T, New, kAlign, SwizzleT, Edges...> result;
  constexpr bool kPlain = SwizzleT::kPeriod == 1;
  result.data = kPlain ? tensor.data + by : tensor.data;
  result.offset = static_cast<typename New::Index>(kPlain ? 0 : tensor.offset + by);
  result.layout = layout;
  return result;
}

// Which way mode k of a tile runs.
template <class Sizes, int k, class Modes>
struct Unit;
template <class Sizes, int k, int... j>
struct Unit<Sizes, k, Indices<j...>> {
  using Coordinates = Layout<Sizes, Tuple<Int<(j == k ? 1 : 0)>...>>;
};

// The edge in mode k of tiles with kSize coordinates there. None is needed where they fill the tensor.
template <int k, class Sizes, class Shapes>
using EdgeOfTile =
    Edge<k, kTable<Shapes>.at[k] == kUnknown || kTable<Shapes>.at[k] % kTable<Sizes>.at[k] != 0,
         typename Unit<Sizes, k, IndicesTo<kRankOf<Sizes>>>::Coordinates,
         least(alignment_of(kTable<Shapes>.at[k]), alignment_of(kTable<Sizes>.at[k]))>;

template <class Sizes, class Strides>
__device__ constexpr int alignment_of_tiles(long long alignment, long long element_bytes) {
  constexpr auto sizes = kTable<Sizes>;
  constexpr auto strides = kTable<Strides>;
  for (int k = 0; k < kRankOf<Sizes>; ++k)
    alignment = aligned_after(alignment, times(sizes.at[k], strides.at[k]), element_bytes);
  return static_cast<int>(alignment);
}

template <class Sizes, class T, class LayoutT, int kAlign, class SwizzleT, int... k, class... C>
__device__ auto tile_at(const Tensor<T, LayoutT, kAlign, SwizzleT>& tensor, Indices<k...>, C... at) {
  using Shapes = typename LayoutT::Shapes;
  using Strides = typename LayoutT::Strides;
  static_assert(sizeof...(k) == LayoutT::kRank && sizeof...(C) == LayoutT::kRank,
                "a tile has a size and a coordinate for each mode of the tensor");
  static_assert(Flat<Shapes>::kCount == LayoutT::kRank,
                "tiles are cut from modes that are integers: divide other layouts on the host");
  static_assert(Flat<Sizes>::kDynamic == 0, "the shape of a tile is known when the kernel is compiled");
  Layout<Sizes, Tuple<typename Element<k, Strides>::Type...>> layout;
  for (int i = 0; i < Flat<Strides>::kDynamic; ++i)
    layout.set(i, tensor.layout.value(LayoutT::kShapeValues + i));
  constexpr int kAfter = alignment_of_tiles<Sizes, Strides>(kAlign, sizeof(T));
  const int origin[] = {static_cast<int>(at) * static_cast<int>(Element<k, Sizes>::Type::value)...};
  auto result = view<kAfter, EdgeOfTile<k, Sizes, Shapes>...>(tensor, tensor.layout(origin[k]...), layout);
  ((static_cast<EdgeOfTile<k, Sizes, Shapes>&>(result).left = extent<k>(tensor) - origin[k]), ...);
  return result;
}

}  // namespace tile

template <class T, class LayoutT, int kAlign, class SwizzleT, class Sizes, class... C>
__device__ auto local_tile(const Tensor<T, LayoutT, kAlign, SwizzleT>& tensor, Sizes, C... at) {
  return tile::tile_at<Sizes>(tensor, tile::IndicesTo<tile::kRankOf<Sizes>>{}, at...);
}

// How many tiles cover mode k.
template <int k, class T, class LayoutT, int kAlign, class SwizzleT, class Sizes>
__device__ constexpr int tile_count(const Tensor<T, LayoutT, kAlign, SwizzleT>& tensor, Sizes) {
  constexpr int kSize = static_cast<int>(tile::kTable<Sizes>.at[k]);
  return extent<k>(tensor) / kSize + (extent<k>(tensor) % kSize != 0);
}

namespace tile {

// The modes whose coordinate is `_`.
template <class Done, class Modes, class... C>
struct Kept;
template <class... Done>
struct Kept<Tuple<Done...>, Tuple<>> {
  using Type = Tuple<Done...>;
};
template <class Done>
struct Kept<Tuple<Done>, Tuple<>> {
  using Type = Done;  // the only one has no parentheses around it
};
template <class Done, class First, class... Rest, class C, class... Cs>
struct Kept<Done, Tuple<First, Rest...>, C, Cs...> : Kept<Done, Tuple<Rest...>, Cs...> {};
template <class... Done, class First, class... Rest, class... Cs>
struct Kept<Tuple<Done...>, Tuple<First, Rest...>, Underscore, Cs...>
    : Kept<Tuple<Done..., First>, Tuple<Rest...>, Cs...> {};

template <class C>
inline constexpr bool kKeeps = false;
template <>
inline constexpr bool kKeeps<Underscore> = true;

// Copies the run-time integers of one mode.
template <bool kKeep, int kFirst, class Mode, class From, class To>
__device__ void keep_values(const From& from, To& to, int& slot) {
  if constexpr (kKeep)
    for (int i = 0; i < Flat<Mode>::kDynamic; ++i) to.set(slot++, from.value(kFirst + i));
}
// What a coordinate of these strides leaves of an alignment.
template <class Strides>
__device__ constexpr int alignment_of_strides(long long alignment, long long element_bytes, bool keep) {
  constexpr auto strides = kTable<Strides>;
  for (int i = 0; !keep && i < Flat<Strides>::kCount; ++i)
    alignment = aligned_after(alignment, strides.at[i], element_bytes);
  return static_cast<int>(alignment);
}

template <int kCount>
__device__ constexpr int least_of(const int (&all)[kCount]) {
  int result = all[0];
  for (int i = 1; i < kCount; ++i) result = all[i] < result ? all[i] : result;
  return result;
}

template <class T, class LayoutT, int kAlign, class SwizzleT, int... k, class... C>
__device__ auto slice_of(const Tensor<T, LayoutT, kAlign, SwizzleT>& tensor, Indices<k...>, C... at) {
  using Shapes = typename LayoutT::Shapes;
  using Strides = typename LayoutT::Strides;
  static_assert(sizeof...(C) == LayoutT::kRank, "a slice has `_` or a coordinate for each mode");
  Layout<typename Kept<Tuple<>, Shapes, C...>::Type, typename Kept<Tuple<>, Strides, C...>::Type> layout;
  int slot = 0;
  (keep_values<kKeeps<C>, Element<k, Shapes>::kSlot, typename Element<k, Shapes>::Type>(tensor.layout, layout,
                                                                                        slot),
   ...);
  (keep_values<kKeeps<C>, LayoutT::kShapeValues + Element<k, Strides>::kSlot,
               typename Element<k, Strides>::Type>(tensor.layout, layout, slot),
   ...);
  constexpr int kAfter =
      least_of({alignment_of_strides<typename Element<k, Strides>::Type>(kAlign, sizeof(T), kKeeps<C>)...});
  return view<kAfter>(tensor, tensor.layout(at...), layout);
}

}  // namespace tile

template <class T, class LayoutT, int kAlign, class SwizzleT, class... C>
__device__ auto slice(const Tensor<T, LayoutT, kAlign, SwizzleT>& tensor, C... at) {
  return tile::slice_of(tensor, tile::IndicesTo<LayoutT::kRank>{}, at...);
}

namespace tile {

template <class TV, class Sizes, class EdgeT>
using EdgeOfPart =
    Edge<EdgeT::kMode, EdgeT::kIsNeeded, ValueLayoutOf<TV, Sizes, typename EdgeT::Coordinates::Strides>,
         alignment_of_threads<TV, Sizes, typename EdgeT::Coordinates::Strides>(EdgeT::kLeftMultiple, 1)>;

template <class TV, class T, class LayoutT, int kAlign, class SwizzleT, class... Edges, int... k>
__device__ auto part_of(const Tensor<T, LayoutT, kAlign, SwizzleT, Edges...>& tensor, unsigned thread,
                        Indices<k...>) {
  using Sizes = typename LayoutT::Shapes;
  using Strides = typename LayoutT::Strides;
  static_assert(Flat<Sizes>::kCount == LayoutT::kRank && Flat<Sizes>::kDynamic == 0,
                "what is partitioned is a tile: its modes are integers known when the kernel is compiled");
  static_assert(TV::kRank == 2 && TV::kCosize != kUnknown,
                "a TV layout has modes (thread, value), all of it known");
  static_assert(fits<TV, Sizes>(),
                "this TV layout does not fit the tile: some thread's values would leave it");
  int at[sizeof...(k)] = {};
  thread_coordinate<TV, Sizes>(thread, at, IndicesTo<kModesOf<TV, 0> * LayoutT::kRank>{});
  ValueLayoutOf<TV, Sizes, Strides> layout;
  set_strides<TV, Sizes>(layout, tensor.layout, IndicesTo<kModesOf<TV, 1> * LayoutT::kRank>{});
  auto result =
      view<alignment_of_threads<TV, Sizes, Strides>(kAlign, sizeof(T)), EdgeOfPart<TV, Sizes, Edges>...>(
          tensor, tensor.layout(at[k]...), layout);
  ((static_cast<EdgeOfPart<TV, Sizes, Edges>&>(result).left =
        static_cast<const Edges&>(tensor).left - typename Edges::Coordinates{}(at[k]...)),
   ...);
  return result;
}

}  // namespace tile

// The values of one thread. The block has as many threads as the TV layout.
template <class T, class LayoutT, int kAlign, class SwizzleT, class... Edges, class TV>
__device__ auto partition(const Tensor<T, LayoutT, kAlign, SwizzleT, Edges...>& tensor, TV, unsigned thread) {
  return tile::part_of<TV>(tensor, thread, tile::IndicesTo<LayoutT::kRank>{});
}

namespace tile {

template <class T>
struct Referred {
  using Type = T;
};
template <class T>
struct Referred<T&> {
  using Type = T;
};

template <int kWidth, class From, class T>
__device__ void load(const From& from, int value, T* to, T fill) {
  if (from.inside(value + kWidth - 1)) {
    moved<kWidth>(*to) = moved<kWidth>(from[value]);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) to[i] = !From::kWhole && from.inside(value + i) ? from[value + i] : fill;
  }
}

template <int kWidth, class To, class T>
__device__ void store(To& to, int value, const T* from) {
  if (to.inside(value + kWidth - 1)) {
    moved<kWidth>(to[value]) = moved<kWidth>(*from);
  } else if constexpr (!To::kWhole) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      if (to.inside(value + i)) to[value + i] = from[i];
  }
}

}  // namespace tile

// Zeros, or `fill`, for what lies outside of `from`; nothing is written outside of `to`.
template <class From, class To>
__device__ void copy(const From& from, To&& to, typename From::Element fill = {}) {
  using Destination = typename tile::Plain<typename tile::Referred<To>::Type>::Type;
  using T = typename From::Element;
  // Registers take the width of the memory.
  constexpr int kFrom = From::kRegisters ? Destination::kVector : From::kVector;
  constexpr int kTo = Destination::kRegisters ? From::kVector : Destination::kVector;
  constexpr int kChunk = kFrom > kTo ? kFrom : kTo;
  static_assert(From::kSize > 0 && From::kSize == Destination::kSize,
                "both sides have the same known number of values");
#pragma unroll
  for (int value = 0; value < From::kSize; value += kChunk) {
    Fragment<T, kChunk> chunk;
#pragma unroll
    for (int i = 0; i < kChunk; i += kFrom) tile::load<kFrom>(from, value + i, &chunk[i], fill);
#pragma unroll
    for (int i = 0; i < kChunk; i += kTo) tile::store<kTo>(to, value + i, &chunk[i]);
  }
}

}  // namespace gpuforge
