// out[r] = x[r, 0] op x[r, 1] op ... over one axis of views of any strides, op being Sum, Max, Min or
// Product; mean scales the sum. Reads every element once, sizeof(T) bytes and one operation each,
// and writes one element a row. Computed in float. No thread takes more than kPiece values one after the
// other before it folds them into its total, so that the error of a long sum grows with its length over
// kPiece.
#include "gpuforge/kernels/rows.cuh"

namespace gpuforge {

constexpr int kPiece = 128;

// A product as mantissa * 2^exponent with 1 <= |mantissa| < 2 (or zero, an infinity, NaN): it does not
// overflow or vanish on the way to a result that is neither.
struct Scaled {
  float mantissa;
  int exponent;
};

// An exponent that more than a million factors would be needed to come back from stays where it is.
__device__ inline int within_range(int exponent) {
  constexpr int kFar = 1 << 29;
  return exponent > kFar ? kFar : exponent < -kFar ? -kFar : exponent;
}

__device__ inline Scaled scaled(float value, int exponent) {
  unsigned bits = narrow::bits_of(value);
  int code = static_cast<int>(bits >> 23 & 0xffu);
  if (code == 0) {  // zero or subnormal
    value *= 0x1p32f;
    exponent -= 32;
    bits = narrow::bits_of(value);
    code = static_cast<int>(bits >> 23 & 0xffu);
    if (code == 0) return {value, 0};
  }
  if (code == 255) return {value, 0};
  return {narrow::float_of((bits & 0x807fffffu) | 0x3f800000u), within_range(exponent + code - 127)};
}

__device__ inline float power_of_two(int exponent) {  // -126 to 127
  return narrow::float_of(static_cast<unsigned>(exponent + 127) << 23);
}

// Rounded once.
__device__ inline float float_of(Scaled value) {
  if (value.exponent > 127) return value.mantissa * 0x1p127f * 2.0f;
  if (value.exponent < -151) return value.mantissa * 0x1p-126f * 0x1p-126f;
  if (value.exponent >= -126) return value.mantissa * power_of_two(value.exponent);
  return value.mantissa * 0x1p-100f * power_of_two(value.exponent + 100);
}
__device__ inline float float_of(float value) {
  return value;
}

__device__ inline Scaled shuffle_xor(Scaled value, int distance) {
  return {__shfl_xor_sync(0xffffffffu, value.mantissa, distance),
          __shfl_xor_sync(0xffffffffu, value.exponent, distance)};
}

struct ScaledProduct {
  __device__ static Scaled identity() { return {1.0f, 0}; }
  __device__ Scaled operator()(Scaled a, Scaled b) const {
    return scaled(a.mantissa * b.mantissa, a.exponent + b.exponent);
  }
  __device__ Scaled operator()(Scaled a, float b) const { return (*this)(a, scaled(b, 0)); }
};

template <typename Op>
struct Accumulated {
  using Value = float;
};
template <>
struct Accumulated<ScaledProduct> {
  using Value = Scaled;
};

// What a thread has of a row: a value for each element of a vector, so that additions do not wait for each
// other.
template <typename Op, int kLanes>
struct Lanes {
  float values[kLanes];
  __device__ Lanes() {
#pragma unroll
    for (int k = 0; k < kLanes; ++k) values[k] = Op::identity();
  }
  template <int kCount>
  __device__ void operator()(long long, float (&loaded)[kCount]) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) values[k] = Op{}(values[k], loaded[k]);
  }
  __device__ float total() const {
    float result = values[0];
#pragma unroll
    for (int k = 1; k < kLanes; ++k) result = Op{}(result, values[k]);
    return result;
  }
};
// Mantissas of a vector are multiplied (less than 2^8 for 8 of them) and brought into range together.
template <int kLanes>
struct Lanes<ScaledProduct, kLanes> {
  Scaled value = ScaledProduct::identity();
  template <int kCount>
  __device__ void operator()(long long, float (&loaded)[kCount]) {
    Scaled product = value;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Scaled factor = scaled(loaded[k], 0);
      product.mantissa *= factor.mantissa;
      product.exponent += factor.exponent;
    }
    value = scaled(product.mantissa, product.exponent);
  }
  __device__ Scaled total() const {
    return value;
  }
};

__device__ inline long long least(long long a, long long b) {
  return a < b ? a : b;
}

// The part of the axis that the blocks of one blockIdx.y have.
struct Slice {
  long long begin;
  long long end;
};
__device__ inline Slice slice_of(long long length, long long per_split) {
  const long long begin = least(length, blockIdx.y * per_split);
  return {begin, least(length, begin + per_split)};
}

// Of a row: the result when no other block has a part of it, else a part.
template <typename T, typename Value>
__device__ inline void write_result(T* out, Value* parts, long long row, long long at, Value value,
                                    float scale) {
  if (gridDim.y == 1) {
    out[at] = T(float_of(value) * scale);
  } else {
    parts[row * gridDim.y + blockIdx.y] = value;
  }
}

// kGroup neighbouring threads a row. kVector: elements a load has where rows are of neighbours, 0 where they
// are not.
template <typename T, typename Op, int kBlock, int kGroup, int kVector, int kFlight>
__global__ void __launch_bounds__(kBlock)
    reduce_rows(T* out, typename Accumulated<Op>::Value* parts, const T* x,
                const __grid_constant__ Rows<2> rows, long long per_split, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kLanes = kVector == 0 ? 1 : kVector;
  constexpr int kRows = kBlock / kGroup;
  constexpr long long kStep = static_cast<long long>(kPiece) * kGroup * kLanes;
  __shared__ Value slots[kBlock / kWarp];
  const int member = static_cast<int>(threadIdx.x) % kGroup;
  const Slice slice = slice_of(rows.length, per_split);
  for (long long first = static_cast<long long>(blockIdx.x) * kRows; first < rows.count;
       first += static_cast<long long>(gridDim.x) * kRows) {
    const long long row = first + threadIdx.x / kGroup;
    const RowOffsets<2> at = row_offsets(rows, least(row, rows.count - 1));
    Value total = Op::identity();
    if (row < rows.count) {
      for (long long begin = slice.begin; begin < slice.end; begin += kStep) {
        const long long count = least(kStep, slice.end - begin);
        Lanes<Op, kLanes> piece;
        if constexpr (kVector == 0) {
          const long long stride = rows.axis_strides[0];
          visit_strided<kFlight>(x + at.at[0] + begin * stride, stride, count, member, kGroup, piece);
        } else {
          visit_row<kVector, kFlight>(x + at.at[0] + begin, count, member, kGroup, piece);
        }
        total = Op{}(total, piece.total());
      }
    }
    total = group_reduce<kGroup>(total, Op{}, slots);
    if (row < rows.count && member == 0) write_result(out, parts, row, at.at[1], total, scale);
  }
}

// Neighbouring threads take neighbouring rows, kVector of them each, where those are neighbours in memory;
// kGroup threads below each other share the axis.
template <typename T, typename Op, int kBlock, int kGroup, int kVector, int kFlight>
__global__ void __launch_bounds__(kBlock)
    reduce_columns(T* out, typename Accumulated<Op>::Value* parts, const T* x,
                   const __grid_constant__ Rows<2> rows, long long per_split, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kAcross = kBlock / kGroup;
  __shared__ Value halves[kGroup == 1 ? 1 : kBlock / 2][kVector];
  const int member = static_cast<int>(threadIdx.x) / kAcross;
  const Slice slice = slice_of(rows.length, per_split);
  const long long stride = rows.axis_strides[0];
  const long long out_column = rows.rank > 0 ? rows.strides[1][rows.rank - 1] : 0;
  constexpr long long kRows = static_cast<long long>(kAcross) * kVector;
  for (long long first = blockIdx.x * kRows; first < rows.count; first += gridDim.x * kRows) {
    const long long row = first + threadIdx.x % kAcross * kVector;
    const RowOffsets<2> at_row = row_offsets(rows, least(row, rows.count - 1));
    Value totals[kVector];
#pragma unroll
    for (int k = 0; k < kVector; ++k) totals[k] = Op::identity();
    if (row < rows.count) {
      const T* const column = x + at_row.at[0];
      for (long long at = slice.begin + member; at < slice.end;) {
        Value piece[kVector];
#pragma unroll
        for (int k = 0; k < kVector; ++k) piece[k] = Op::identity();
        for (int done = 0; done < kPiece && at < slice.end; done += kFlight, at += kFlight * kGroup) {
          Packed<T, kVector> loaded[kFlight];
#pragma unroll
          for (int f = 0; f < kFlight; ++f) {
            if (at + f * kGroup < slice.end)
              loaded[f] = Packed<T, kVector>::load(column + (at + f * kGroup) * stride);
          }
#pragma unroll
          for (int f = 0; f < kFlight; ++f) {
            if (at + f * kGroup < slice.end) {
              float values[kVector];
              loaded[f].to_floats(values);
#pragma unroll
              for (int k = 0; k < kVector; ++k) piece[k] = Op{}(piece[k], values[k]);
            }
          }
        }
#pragma unroll
        for (int k = 0; k < kVector; ++k) totals[k] = Op{}(totals[k], piece[k]);
      }
    }
    // The upper half of the threads hands its totals to the lower, again and again.
#pragma unroll
    for (int half = kGroup / 2; half > 0; half /= 2) {
      if (member >= half && member < 2 * half) {
#pragma unroll
        for (int k = 0; k < kVector; ++k) halves[threadIdx.x - half * kAcross][k] = totals[k];
      }
      __syncthreads();
      if (member < half) {
#pragma unroll
        for (int k = 0; k < kVector; ++k) totals[k] = Op{}(totals[k], halves[threadIdx.x][k]);
      }
      __syncthreads();
    }
    if (member == 0 && row < rows.count) {
#pragma unroll
      for (int k = 0; k < kVector; ++k)
        write_result(out, parts, row + k, at_row.at[1] + k * out_column, totals[k], scale);
    }
  }
}

// The second stage, when rows were split over blocks: a warp a row puts the parts together.
template <typename T, typename Op, int kBlock>
__global__ void __launch_bounds__(kBlock)
    reduce_parts(T* out, const typename Accumulated<Op>::Value* parts, int splits,
                 const __grid_constant__ Rows<2> rows, float scale) {
  using Value = typename Accumulated<Op>::Value;
  constexpr int kRows = kBlock / kWarp;
  for (long long first = static_cast<long long>(blockIdx.x) * kRows; first < rows.count;
       first += static_cast<long long>(gridDim.x) * kRows) {
    const long long row = first + threadIdx.x / kWarp;
    Value total = Op::identity();
    if (row < rows.count) {
      for (int s = threadIdx.x % kWarp; s < splits; s += kWarp) total = Op{}(total, parts[row * splits + s]);
    }
    total = warp_reduce<kWarp>(total, Op{});
    if (row < rows.count && threadIdx.x % kWarp == 0)
      out[row_offsets(rows, row).at[1]] = T(float_of(total) * scale);
  }
}

// A thread a row, an element after the other.
template <typename T, typename Op>
__global__ void __launch_bounds__(256)
    reduce_naive(T* out, const T* x, const __grid_constant__ Rows<2> rows, float scale) {
  using Value = typename Accumulated<Op>::Value;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < rows.count;
       row += step) {
    const RowOffsets<2> at = row_offsets(rows, row);
    Value total = Op::identity();
    for (long long begin = 0; begin < rows.length; begin += kPiece) {
      Value piece = Op::identity();
      for (long long i = begin; i < least(begin + kPiece, rows.length); ++i)
        piece = Op{}(piece, static_cast<float>(x[at.at[0] + i * rows.axis_strides[0]]));
      total = Op{}(total, piece);
    }
    out[at.at[1]] = T(float_of(total) * scale);
  }
}

}  // namespace gpuforge
