// Who has what of a tile: part of tile.cuh. A TV layout sends (thread, value) to an index of the tile, which
// counts its elements with the first mode running fastest; make_layout_tv on the host makes one.
#pragma once

#include "gpuforge/kernels/tile_layout.cuh"

namespace gpuforge {
namespace tile {

// The digits of a thread's or a value's number: digit p steps by step[p] in mode p % kRank of the tile.
template <int kDigits, int kRank>
struct Digits {
  bool fits = true;
  long long count[kDigits + 1] = {};
  long long step[kDigits + 1] = {};
  long long reach[kRank + 1] = {};  // the farthest coordinate in each mode
};

// Each mode count:stride of threads or values runs through the tile's modes in their order, one digit in
// each.
template <class Shapes, class Strides, class Sizes>
__device__ constexpr auto make_digits() {
  constexpr int kRank = kRankOf<Sizes>;
  constexpr auto counts = kTable<Shapes>;
  constexpr auto strides = kTable<Strides>;
  constexpr auto sizes = kTable<Sizes>;
  Digits<Flat<Shapes>::kCount * kRank, kRank> result;
  for (int i = 0; i < Flat<Shapes>::kCount; ++i) {
    long long rest = counts.at[i];
    long long stride = strides.at[i];
    for (int k = 0; k < kRank; ++k) {
      const bool last = k + 1 == kRank;
      const long long size = sizes.at[k];
      long long count = 1;
      long long step = 0;
      if (strides.at[i] == 0) {
        if (k == 0) count = rest;
      } else if (rest > 1 && (stride < size || last)) {
        step = stride;
        count = rest;
        if ((rest - 1) * stride >= size && !last) {  // goes on in the next mode
          count = size / stride;
          if (size % stride != 0 || rest % count != 0) result.fits = false;
        }
        rest /= count;
        stride = 1;
      } else if (rest > 1) {
        if (stride % size != 0) result.fits = false;
        stride /= size;
      }
      result.count[i * kRank + k] = count;
      result.step[i * kRank + k] = step;
      result.reach[k] += (count - 1) * step;
    }
  }
  return result;
}

template <class TV, int kPart, class Sizes>
inline constexpr auto kDigits = make_digits<typename Element<kPart, typename TV::Shapes>::Type,
                                            typename Element<kPart, typename TV::Strides>::Type, Sizes>();

template <class TV, class Sizes>
__device__ constexpr bool fits() {
  constexpr auto threads = kDigits<TV, 0, Sizes>;
  constexpr auto values = kDigits<TV, 1, Sizes>;
  constexpr auto sizes = kTable<Sizes>;
  for (int k = 0; k < kRankOf<Sizes>; ++k)
    if (threads.reach[k] + values.reach[k] >= sizes.at[k]) return false;
  return threads.fits && values.fits;
}

template <class TV, int kPart>
inline constexpr int kModesOf = Flat<typename Element<kPart, typename TV::Shapes>::Type>::kCount;

// Digit p of the thread's number, which is taken out of `rest`, as a step in its mode.
template <class TV, class Sizes, int p, bool kLast>
__device__ int thread_step(unsigned& rest) {
  constexpr unsigned kCount = static_cast<unsigned>(kDigits<TV, 0, Sizes>.count[p]);
  constexpr int kStep = static_cast<int>(kDigits<TV, 0, Sizes>.step[p]);
  if constexpr (kCount == 1) {
    return 0;
  } else {
    const unsigned digit = kLast ? rest : rest % kCount;
    rest /= kCount;
    return static_cast<int>(digit) * kStep;
  }
}
template <class TV, class Sizes>
__device__ constexpr int last_digit(int digits) {
  constexpr auto threads = kDigits<TV, 0, Sizes>;
  int last = 0;
  for (int p = 0; p < digits; ++p)
    if (threads.count[p] > 1) last = p;
  return last;
}
template <class TV, class Sizes, int... p>
__device__ void thread_coordinate(unsigned thread, int* at, Indices<p...>) {
  constexpr int kLast = last_digit<TV, Sizes>(sizeof...(p));
  ((at[p % kRankOf<Sizes>] += thread_step<TV, Sizes, p, p == kLast>(thread)), ...);
}

// Stride of a digit: that of its mode, as often as the digit steps.
template <class StrideT, long long kStep>
struct Scaled {
  using Type = long long;
};
template <long long kStride, long long kStep>
struct Scaled<Int<kStride>, kStep> {
  using Type = Int<kStride * kStep>;
};
template <class StrideT>
struct Scaled<StrideT, 0> {
  using Type = Int<0>;
};
template <long long kStride>
struct Scaled<Int<kStride>, 0> {
  using Type = Int<0>;
};

// The layout of a thread's values over a tile with these strides.
template <class TV, class Sizes, class Strides, class Digit>
struct ValueLayout;
template <class TV, class Sizes, class Strides, int... p>
struct ValueLayout<TV, Sizes, Strides, Indices<p...>> {
  enum : int { kRank = kRankOf<Sizes> };
  using Type = Layout<Tuple<Int<kDigits<TV, 1, Sizes>.count[p]>...>,
                      Tuple<typename Scaled<typename Element<p % kRank, Strides>::Type,
                                            kDigits<TV, 1, Sizes>.step[p]>::Type...>>;
};
template <class TV, class Sizes, class Strides>
using ValueLayoutOf =
    typename ValueLayout<TV, Sizes, Strides, IndicesTo<kModesOf<TV, 1> * kRankOf<Sizes>>>::Type;

// Its run-time strides.
template <class TV, class Sizes, int p, class Values, class Tile>
__device__ void set_stride(Values& values, const Tile& tile) {
  using Mode = Element<p % kRankOf<Sizes>, typename Tile::Strides>;
  using Digit = Element<p, typename Values::Strides>;
  constexpr long long kStep = kDigits<TV, 1, Sizes>.step[p];
  if constexpr (Flat<typename Digit::Type>::kDynamic == 1)
    values.set(Digit::kSlot, kStep * read<Tile::kShapeValues + Mode::kSlot>(typename Mode::Type{}, tile));
}
template <class TV, class Sizes, class Values, class Tile, int... p>
__device__ void set_strides(Values& values, const Tile& tile, Indices<p...>) {
  (set_stride<TV, Sizes, p>(values, tile), ...);
}

// What threads keep of an alignment in bytes, or of a multiple (element_bytes 1) in the mode with stride 1.
template <class TV, class Sizes, class Strides>
__device__ constexpr int alignment_of_threads(long long alignment, long long element_bytes) {
  constexpr auto threads = kDigits<TV, 0, Sizes>;
  constexpr auto strides = kTable<Strides>;
  constexpr int kRank = kRankOf<Sizes>;
  for (int p = 0; p < kModesOf<TV, 0> * kRank; ++p) {
    if (threads.count[p] == 1) continue;
    alignment = aligned_after(alignment, times(threads.step[p], strides.at[p % kRank]), element_bytes);
  }
  return static_cast<int>(alignment);
}

}  // namespace tile
}  // namespace gpuforge
