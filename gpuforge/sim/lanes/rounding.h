// Directed rounding: handlers compiled once for round-to-nearest code run under another rounding mode of the
// host.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

#include "gpuforge/sim/lanes/elementwise.h"

namespace gpuforge::sim {

enum class Rounding : std::uint8_t { nearest, zero, down, up };

// The .rn .rz .rm .rp of an instruction; nearest when it has none.
inline Rounding rounding_of(const Match& match) {
  if (match.has("rz")) return Rounding::zero;
  if (match.has("rm")) return Rounding::down;
  if (match.has("rp")) return Rounding::up;
  return Rounding::nearest;
}

// Sets the host's rounding mode for a scope. On x86 only the vector unit's: all arithmetic here is done
// there, and fesetround would spend most of its time on the old one.
class RoundingScope {
 public:
#if defined(__SSE2__)
  explicit RoundingScope(Rounding mode) : saved_(_mm_getcsr()) {
    constexpr unsigned kBits[] = {_MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_DOWN, _MM_ROUND_UP};
    constexpr unsigned kField = _MM_ROUND_MASK;
    _mm_setcsr((saved_ & ~kField) | kBits[static_cast<int>(mode)]);
  }
  ~RoundingScope() {
    _mm_setcsr(saved_);
  }
#else
  explicit RoundingScope(Rounding mode) : saved_(std::fegetround()) {
    constexpr int kBits[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kBits[static_cast<int>(mode)]);
  }
  ~RoundingScope() {
    std::fesetround(saved_);
  }
#endif
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
#if defined(__SSE2__)
  unsigned saved_;
#else
  int saved_;
#endif
};

template <Handler Inner, Rounding Mode>
const Op* in_mode(Warp& warp, const Op* op) {
  // The compiler must not see which function this is: it would inline it and move its arithmetic out of the
  // scope.
  Handler inner = Inner;
  asm volatile("" : "+r"(inner) : : "memory");
  const RoundingScope scope(Mode);
  return inner(warp, op);
}

template <Handler Full, Handler Masked>
Handlers in_mode(Rounding mode) {
  switch (mode) {
    case Rounding::nearest:
      return {Full, Masked};
    case Rounding::zero:
      return {in_mode<Full, Rounding::zero>, in_mode<Masked, Rounding::zero>};
    case Rounding::down:
      return {in_mode<Full, Rounding::down>, in_mode<Masked, Rounding::down>};
    case Rounding::up:
      return {in_mode<Full, Rounding::up>, in_mode<Masked, Rounding::up>};
  }
  return {};
}

template <class F>
Handlers unary(Rounding mode) {
  return in_mode<unary_full<F>, unary_masked<F>>(mode);
}
template <class F>
Handlers binary(Rounding mode) {
  return in_mode<binary_full<F>, binary_masked<F>>(mode);
}
template <class F>
Handlers ternary(Rounding mode) {
  return in_mode<ternary_full<F>, ternary_masked<F>>(mode);
}

}  // namespace gpuforge::sim
