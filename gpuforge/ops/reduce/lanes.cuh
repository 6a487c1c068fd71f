// What a thread of reduce.cu has of a row while it goes along it: sums, largest and smallest values as
// floats, products with exponents of their own.
#pragma once

#include "gpuforge/kernels/group_reduce.cuh"

namespace gpuforge {

constexpr int kPiece = 128;

__device__ inline long long least(long long a, long long b) {
  return a < b ? a : b;
}
__device__ inline int least(int a, int b) {
  return a < b ? a : b;
}

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
  template <typename T>
  __device__ void add(const Packed<T, kLanes>& loaded) {
    float each[kLanes];
    loaded.to_floats(each);
    (*this)(0, each);
  }
  __device__ float total() const {
    float left[kLanes];
#pragma unroll
    for (int k = 0; k < kLanes; ++k) left[k] = values[k];
#pragma unroll
    for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma unroll
      for (int k = 0; k < half; ++k) left[k] = Op{}(left[k], left[k + half]);
    }
    return left[0];
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
  template <typename T>
  __device__ void add(const Packed<T, kLanes>& loaded) {
    float each[kLanes];
    loaded.to_floats(each);
    (*this)(0, each);
  }
  __device__ Scaled total() const {
    return value;
  }
};

// What a thread has of kColumns rows that lie side by side.
template <typename Op, int kColumns>
struct Columns {
  using Value = typename Accumulated<Op>::Value;
  Value values[kColumns];
  __device__ Columns() {
#pragma unroll
    for (int k = 0; k < kColumns; ++k) values[k] = Op::identity();
  }
  template <typename T>
  __device__ void add(const Packed<T, kColumns>& loaded) {
    float each[kColumns];
    loaded.to_floats(each);
#pragma unroll
    for (int k = 0; k < kColumns; ++k) values[k] = Op{}(values[k], each[k]);
  }
  // Those of them that are there.
  template <typename T>
  __device__ void add_some(const T* from, int begin, int end) {
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      if (k >= begin && k < end) values[k] = Op{}(values[k], static_cast<float>(from[k]));
    }
  }
  __device__ void join(const Value (&others)[kColumns]) {
#pragma unroll
    for (int k = 0; k < kColumns; ++k) values[k] = Op{}(values[k], others[k]);
  }
  __device__ void join(const Columns& other) {
    join(other.values);
  }
  __device__ void put(Value (&to)[kColumns]) const {
#pragma unroll
    for (int k = 0; k < kColumns; ++k) to[k] = values[k];
  }
};

// The part of the axis that the blocks of one blockIdx.y have.
struct Slice {
  long long begin;
  long long end;
};
__device__ inline Slice slice_of(long long length, long long per_slice) {
  const long long begin = least(length, blockIdx.y * per_slice);
  return {begin, least(length, begin + per_slice)};
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

}  // namespace gpuforge
