// The functions of the elementwise table (functions.cpp) in device code, under the same names: fn::add::of(a,
// b). T is float, double, int or long long; integers wrap. Truths come and go as int, 0 or 1. What each does
// with NaN, zero and negative numbers is NumPy's, and said in elementwise.h.
#pragma once

namespace gpuforge::fn {

template <typename T>
constexpr bool kIsWhole = false;
template <>
constexpr bool kIsWhole<int> = true;
template <>
constexpr bool kIsWhole<long long> = true;

__device__ inline unsigned bits_of(int value) {
  return static_cast<unsigned>(value);
}
__device__ inline unsigned long long bits_of(long long value) {
  return static_cast<unsigned long long>(value);
}

template <typename T>
struct Quotient {
  T quotient;
  T remainder;
};

// Rounded down, so that the remainder has the divisor's sign. By zero: 0 and 0 for integers, what the float
// division gives and NaN for floats.
template <typename T>
__device__ inline Quotient<T> divide_down(T a, T b) {
  if constexpr (kIsWhole<T>) {
    if (b == 0) return {0, 0};
    if (b == -1) return {static_cast<T>(0 - bits_of(a)), 0};  // the lowest number would overflow
    const T quotient = a / b;
    const T remainder = a - quotient * b;
    const bool down = remainder != 0 && (remainder < 0) != (b < 0);
    return {static_cast<T>(quotient - down), static_cast<T>(down ? remainder + b : remainder)};
  } else {
    T remainder = ::fmod(a, b);
    if (b == 0) return {a / b, remainder};
    T quotient = (a - remainder) / b;
    if (remainder != 0) {
      if ((b < 0) != (remainder < 0)) {
        remainder += b;
        quotient -= 1;
      }
    } else {
      remainder = ::copysign(T(0), b);
    }
    if (quotient == 0) return {::copysign(T(0), a / b), remainder};
    const T whole = ::floor(quotient);
    return {quotient - whole > T(0.5) ? whole + 1 : whole, remainder};
  }
}

struct add {
  template <typename T>
  __device__ static T of(T a, T b) {
    if constexpr (kIsWhole<T>) {
      return static_cast<T>(bits_of(a) + bits_of(b));
    } else {
      return a + b;
    }
  }
};
struct sub {
  template <typename T>
  __device__ static T of(T a, T b) {
    if constexpr (kIsWhole<T>) {
      return static_cast<T>(bits_of(a) - bits_of(b));
    } else {
      return a - b;
    }
  }
};
struct mul {
  template <typename T>
  __device__ static T of(T a, T b) {
    if constexpr (kIsWhole<T>) {
      return static_cast<T>(bits_of(a) * bits_of(b));
    } else {
      return a * b;
    }
  }
};
struct div {
  template <typename T>
  __device__ static T of(T a, T b) {
    return a / b;
  }
};
struct floor_div {
  template <typename T>
  __device__ static T of(T a, T b) {
    return divide_down(a, b).quotient;
  }
};
struct mod {
  template <typename T>
  __device__ static T of(T a, T b) {
    return divide_down(a, b).remainder;
  }
};
struct pow {
  template <typename T>
  __device__ static T of(T a, T b) {
    if constexpr (kIsWhole<T>) {
      // 1 / a^-b towards zero.
      if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
      auto result = bits_of(T(1)), square = bits_of(a);
      for (auto rest = bits_of(b); rest != 0; rest >>= 1) {
        if ((rest & 1) != 0) result *= square;
        square *= square;
      }
      return static_cast<T>(result);
    } else {
      return ::pow(a, b);
    }
  }
};
struct maximum {
  template <typename T>
  __device__ static T of(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct minimum {
  template <typename T>
  __device__ static T of(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

struct eq {
  template <typename T>
  __device__ static int of(T a, T b) {
    return a == b;
  }
};
struct ne {
  template <typename T>
  __device__ static int of(T a, T b) {
    return a != b;
  }
};
struct lt {
  template <typename T>
  __device__ static int of(T a, T b) {
    return a < b;
  }
};
struct le {
  template <typename T>
  __device__ static int of(T a, T b) {
    return a <= b;
  }
};
struct gt {
  template <typename T>
  __device__ static int of(T a, T b) {
    return a > b;
  }
};
struct ge {
  template <typename T>
  __device__ static int of(T a, T b) {
    return a >= b;
  }
};

struct logical_and {
  __device__ static int of(int a, int b) { return a & b; }
};
struct logical_or {
  __device__ static int of(int a, int b) { return a | b; }
};
struct logical_xor {
  __device__ static int of(int a, int b) { return a ^ b; }
};
struct logical_not {
  __device__ static int of(int a) { return a ^ 1; }
};
struct bitwise_and {
  template <typename T>
  __device__ static T of(T a, T b) {
    return a & b;
  }
};
struct bitwise_or {
  template <typename T>
  __device__ static T of(T a, T b) {
    return a | b;
  }
};
struct bitwise_xor {
  template <typename T>
  __device__ static T of(T a, T b) {
    return a ^ b;
  }
};
struct bitwise_not {
  template <typename T>
  __device__ static T of(T a) {
    return ~a;
  }
};

struct where {
  template <typename T>
  __device__ static T of(int condition, T a, T b) {
    return condition != 0 ? a : b;
  }
};
struct clamp {
  template <typename T>
  __device__ static T of(T a, T low, T high) {
    return minimum::of(maximum::of(a, low), high);
  }
};

struct neg {
  template <typename T>
  __device__ static T of(T a) {
    if constexpr (kIsWhole<T>) {
      return static_cast<T>(0 - bits_of(a));
    } else {
      return -a;
    }
  }
};
struct abs {
  template <typename T>
  __device__ static T of(T a) {
    if constexpr (kIsWhole<T>) {
      return a < 0 ? neg::of(a) : a;
    } else {
      return ::fabs(a);
    }
  }
};
struct sign {
  template <typename T>
  __device__ static T of(T a) {
    return a > 0 ? T(1) : a < 0 ? T(-1) : a != a ? a : T(0);
  }
};
struct square {
  template <typename T>
  __device__ static T of(T a) {
    return mul::of(a, a);
  }
};
struct floor {
  template <typename T>
  __device__ static T of(T a) {
    if constexpr (kIsWhole<T>) {
      return a;
    } else {
      return ::floor(a);
    }
  }
};
struct ceil {
  template <typename T>
  __device__ static T of(T a) {
    if constexpr (kIsWhole<T>) {
      return a;
    } else {
      return ::ceil(a);
    }
  }
};
struct round {
  template <typename T>
  __device__ static T of(T a) {
    if constexpr (kIsWhole<T>) {
      return a;
    } else {
      return ::rint(a);
    }
  }
};
struct relu {
  template <typename T>
  __device__ static T of(T a) {
    return maximum::of(a, T(0));
  }
};
struct isnan {
  template <typename T>
  __device__ static int of(T a) {
    return a != a;
  }
};
// a - a is NaN for infinities alone, beside NaN itself.
struct isinf {
  template <typename T>
  __device__ static int of(T a) {
    if constexpr (kIsWhole<T>) {
      return 0;
    } else {
      return a == a && a - a != 0;
    }
  }
};
struct isfinite {
  template <typename T>
  __device__ static int of(T a) {
    if constexpr (kIsWhole<T>) {
      return 1;
    } else {
      return a - a == 0;
    }
  }
};

struct exp {
  template <typename T>
  __device__ static T of(T a) {
    return ::exp(a);
  }
};
struct exp2 {
  template <typename T>
  __device__ static T of(T a) {
    return ::exp2(a);
  }
};
struct expm1 {
  template <typename T>
  __device__ static T of(T a) {
    return ::expm1(a);
  }
};
struct log {
  template <typename T>
  __device__ static T of(T a) {
    return ::log(a);
  }
};
struct log2 {
  template <typename T>
  __device__ static T of(T a) {
    return ::log2(a);
  }
};
struct log1p {
  template <typename T>
  __device__ static T of(T a) {
    return ::log1p(a);
  }
};
struct sqrt {
  template <typename T>
  __device__ static T of(T a) {
    return ::sqrt(a);
  }
};
struct rsqrt {
  template <typename T>
  __device__ static T of(T a) {
    return ::rsqrt(a);
  }
};
struct reciprocal {
  template <typename T>
  __device__ static T of(T a) {
    return T(1) / a;
  }
};
struct sin {
  template <typename T>
  __device__ static T of(T a) {
    return ::sin(a);
  }
};
struct cos {
  template <typename T>
  __device__ static T of(T a) {
    return ::cos(a);
  }
};
struct tanh {
  template <typename T>
  __device__ static T of(T a) {
    return ::tanh(a);
  }
};
struct erf {
  template <typename T>
  __device__ static T of(T a) {
    return ::erf(a);
  }
};
// Both halves from a number below one, so that neither overflows nor cancels.
struct sigmoid {
  template <typename T>
  __device__ static T of(T a) {
    const T small = ::exp(-::fabs(a));
    return (a < 0 ? small : T(1)) / (T(1) + small);
  }
};
struct silu {
  template <typename T>
  __device__ static T of(T a) {
    return a * sigmoid::of(a);
  }
};
// erfc keeps its digits where 1 + erf would lose them.
struct gelu {
  template <typename T>
  __device__ static T of(T a) {
    return T(0.5) * a * ::erfc(a * T(-0.70710678118654752440));
  }
};

}  // namespace gpuforge::fn
