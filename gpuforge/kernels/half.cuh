// The narrow floating-point types in device code, for NVRTC without any CUDA header:
//   half_t (f16), bfloat16_t (bf16), float8_e4m3_t (f8e4m3), float8_e5m2_t (f8e5m2).
// They store and convert, nothing else: compute in float. The rules are those of gpuforge/base/half.h:
//   half_t(x)   x is float, double, any integer or another narrow type; rounds once, to nearest even.
//               f16 and bf16 overflow to infinity; fp8 saturates to its largest finite value, infinities
//               included; NaN stays NaN (fp8: always 0x7f).
//   float(h), double(h)   exact.
// f16 has a direct instruction for every source. bf16 and fp8 have one for float alone, so doubles and
// integers go through a float rounded to odd: its last bit says "inexact", and 24 bits are enough for the
// second rounding to give what a single one would. The fp8 instructions begin with sm_89; older chips run the
// same rounding in integers.
#pragma once

namespace gpuforge {

struct half_t;
struct bfloat16_t;
struct float8_e4m3_t;
struct float8_e5m2_t;

namespace narrow {

// What a conversion starts from: float, double, or an integer of 32 or 64 bits. Smaller integers promote to
// int.
__device__ inline float widen(float value) {
  return value;
}
__device__ inline double widen(double value) {
  return value;
}
__device__ inline int widen(int value) {
  return value;
}
__device__ inline unsigned widen(unsigned value) {
  return value;
}
__device__ inline long long widen(long value) {
  return value;
}
__device__ inline unsigned long long widen(unsigned long value) {
  return value;
}
__device__ inline long long widen(long long value) {
  return value;
}
__device__ inline unsigned long long widen(unsigned long long value) {
  return value;
}
__device__ float widen(half_t value);
__device__ float widen(bfloat16_t value);
__device__ float widen(float8_e4m3_t value);
__device__ float widen(float8_e5m2_t value);

__device__ inline unsigned bits_of(float value) {
  unsigned bits;
  asm("mov.b32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

__device__ inline float float_of(unsigned bits) {
  float value;
  asm("mov.b32 %0, %1;" : "=f"(value) : "r"(bits));
  return value;
}

// Towards zero, and the last bit set when that lost something. Written in PTX so that no compiler flag
// flushes subnormals on the way.
__device__ inline float with_sticky_bit(float truncated, bool inexact) {
  return inexact ? float_of(bits_of(truncated) | 1u) : truncated;
}

__device__ inline float round_to_odd(float value) {
  return value;
}

__device__ inline float round_to_odd(double value) {
  float truncated;
  double back;
  asm("cvt.rz.f32.f64 %0, %1;" : "=f"(truncated) : "d"(value));
  asm("cvt.f64.f32 %0, %1;" : "=d"(back) : "f"(truncated));
  return with_sticky_bit(truncated, back != value);
}

__device__ inline float round_to_odd(int value) {
  float truncated;
  int back;
  asm("cvt.rz.f32.s32 %0, %1;" : "=f"(truncated) : "r"(value));
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(back) : "f"(truncated));
  return with_sticky_bit(truncated, back != value);
}

__device__ inline float round_to_odd(unsigned value) {
  float truncated;
  unsigned back;
  asm("cvt.rz.f32.u32 %0, %1;" : "=f"(truncated) : "r"(value));
  asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(back) : "f"(truncated));
  return with_sticky_bit(truncated, back != value);
}

__device__ inline float round_to_odd(long long value) {
  float truncated;
  long long back;
  asm("cvt.rz.f32.s64 %0, %1;" : "=f"(truncated) : "l"(value));
  asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(back) : "f"(truncated));
  return with_sticky_bit(truncated, back != value);
}

__device__ inline float round_to_odd(unsigned long long value) {
  float truncated;
  unsigned long long back;
  asm("cvt.rz.f32.u64 %0, %1;" : "=f"(truncated) : "l"(value));
  asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(back) : "f"(truncated));
  return with_sticky_bit(truncated, back != value);
}

__device__ inline unsigned short f16_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// Not cvt.rn.f16.f64, which keeps the sign and payload of a NaN where the others give 0x7fff.
__device__ inline unsigned short f16_bits(double value) {
  return f16_bits(round_to_odd(value));
}

__device__ inline unsigned short f16_bits(int value) {
  unsigned short bits;
  asm("cvt.rn.f16.s32 %0, %1;" : "=h"(bits) : "r"(value));
  return bits;
}

__device__ inline unsigned short f16_bits(unsigned value) {
  unsigned short bits;
  asm("cvt.rn.f16.u32 %0, %1;" : "=h"(bits) : "r"(value));
  return bits;
}

__device__ inline unsigned short f16_bits(long long value) {
  unsigned short bits;
  asm("cvt.rn.f16.s64 %0, %1;" : "=h"(bits) : "l"(value));
  return bits;
}

__device__ inline unsigned short f16_bits(unsigned long long value) {
  unsigned short bits;
  asm("cvt.rn.f16.u64 %0, %1;" : "=h"(bits) : "l"(value));
  return bits;
}

__device__ inline float f16_value(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ inline unsigned short bf16_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

__device__ inline float bf16_value(unsigned short bits) {
  return float_of(static_cast<unsigned>(bits) << 16);
}

// fp8 in integers. kMantissa bits of fraction, kBias, the code of the largest finite value and that value.
template <int kMantissa, int kBias, unsigned kLargestCode>
__device__ inline unsigned char fp8_bits_in_software(float value, float largest) {
  const unsigned bits = bits_of(value);
  const unsigned sign = (bits >> 24) & 0x80u;
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  if (magnitude >= bits_of(largest)) return static_cast<unsigned char>(sign | kLargestCode);
  constexpr unsigned kSmallestNormal = static_cast<unsigned>(128 - kBias) << 23;
  unsigned code;
  if (magnitude >= kSmallestNormal) {
    constexpr int kDropped = 23 - kMantissa;
    const unsigned half_minus_one_or_half = (1u << (kDropped - 1)) - 1u + ((magnitude >> kDropped) & 1u);
    code = ((magnitude + half_minus_one_or_half) >> kDropped) -
           (static_cast<unsigned>(127 - kBias) << kMantissa);
  } else {
    // Subnormal: count steps of the smallest value. 2^k rounds up into the first normal, whose code follows
    // on.
    const float steps = float_of(magnitude) * float_of(static_cast<unsigned>(126 + kBias + kMantissa) << 23);
    asm("cvt.rni.u32.f32 %0, %1;" : "=r"(code) : "f"(steps));
  }
  return static_cast<unsigned char>(sign | code);
}

__device__ inline unsigned char f8e4m3_bits(float value) {
#if __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<unsigned char>(pair & 0xffu);
#else
  return fp8_bits_in_software<3, 7, 0x7eu>(value, 448.0f);
#endif
}

__device__ inline unsigned char f8e5m2_bits(float value) {
#if __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<unsigned char>(pair & 0xffu);
#else
  return fp8_bits_in_software<2, 15, 0x7bu>(value, 57344.0f);
#endif
}

// The code's exponent and fraction as an f16 are off by 2^8 (the biases differ), subnormals included.
__device__ inline float f8e4m3_value(unsigned char bits) {
  const unsigned magnitude = bits & 0x7fu;
  const unsigned sign = bits & 0x80u;
  if (magnitude == 0x7fu) return float_of(0x7fffffffu);
  return f16_value(static_cast<unsigned short>((sign << 8) | (magnitude << 7))) * 256.0f;
}

// e5m2 is the upper byte of an f16.
__device__ inline float f8e5m2_value(unsigned char bits) {
  return f16_value(static_cast<unsigned short>(static_cast<unsigned>(bits) << 8));
}

}  // namespace narrow

struct half_t {
  unsigned short bits;

  half_t() = default;
  template <typename T>
  __device__ explicit half_t(T value) : bits(narrow::f16_bits(narrow::widen(value))) {}
  __device__ explicit operator float() const { return narrow::f16_value(bits); }
  __device__ explicit operator double() const { return narrow::f16_value(bits); }
};

struct bfloat16_t {
  unsigned short bits;

  bfloat16_t() = default;
  template <typename T>
  __device__ explicit bfloat16_t(T value)
      : bits(narrow::bf16_bits(narrow::round_to_odd(narrow::widen(value)))) {}
  __device__ explicit operator float() const { return narrow::bf16_value(bits); }
  __device__ explicit operator double() const { return narrow::bf16_value(bits); }
};

struct float8_e4m3_t {
  unsigned char bits;

  float8_e4m3_t() = default;
  template <typename T>
  __device__ explicit float8_e4m3_t(T value)
      : bits(narrow::f8e4m3_bits(narrow::round_to_odd(narrow::widen(value)))) {}
  __device__ explicit operator float() const { return narrow::f8e4m3_value(bits); }
  __device__ explicit operator double() const { return narrow::f8e4m3_value(bits); }
};

struct float8_e5m2_t {
  unsigned char bits;

  float8_e5m2_t() = default;
  template <typename T>
  __device__ explicit float8_e5m2_t(T value)
      : bits(narrow::f8e5m2_bits(narrow::round_to_odd(narrow::widen(value)))) {}
  __device__ explicit operator float() const { return narrow::f8e5m2_value(bits); }
  __device__ explicit operator double() const { return narrow::f8e5m2_value(bits); }
};

namespace narrow {
__device__ inline float widen(half_t value) {
  return static_cast<float>(value);
}
__device__ inline float widen(bfloat16_t value) {
  return static_cast<float>(value);
}
__device__ inline float widen(float8_e4m3_t value) {
  return static_cast<float>(value);
}
__device__ inline float widen(float8_e5m2_t value) {
  return static_cast<float>(value);
}
}  // namespace narrow

}  // namespace gpuforge
