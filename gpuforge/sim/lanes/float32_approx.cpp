#include "gpuforge/sim/lanes/float32_approx.h"

#include <cmath>

#include "gpuforge/sim/lanes/approx_math.h"
#include "gpuforge/sim/lanes/elementwise.h"
#include "gpuforge/sim/lanes/float_bits.h"

namespace gpuforge::sim {
namespace {

struct Row32 {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
};

template <bool Ftz>
struct DivApprox : Row32 {
  static Result apply(A a, B b) {
    // a times 1/b, and 1/b is 0 above 2^126.
    constexpr std::uint32_t kLargestDivisor = 0x7e800000u;
    const std::uint32_t flushed = flush32<Ftz>(b);
    const std::uint32_t magnitude = flushed & ~kSign32;
    const bool lost = magnitude > kLargestDivisor && magnitude < kInfinity32;
    // x / infinity is the zero wanted, and NaN for an infinite x.
    const std::uint32_t divisor = lost ? (flushed & kSign32) | kInfinity32 : flushed;
    return output32<Ftz, false>(input32<Ftz>(a) / std::bit_cast<float>(divisor));
  }
};

template <bool Ftz>
struct RsqrtApprox : Row32 {
  static Result apply(A a) {
    // Small operands are scaled up, where the errors below are floats.
    const float operand = input32<Ftz>(a);
    const bool small = operand < 0x1p-60f;
    const float x = operand * (small ? 0x1p48f : 1.0f);
    const float root = std::sqrt(x);
    const float y = 1.0f / root;
    // One step that takes away the errors of both roundings; NaN where y is 0 or infinite.
    const float root_error = std::fma(-root, root, x);
    const float y_error = std::fma(-root, y, 1.0f);
    const float better = std::fma(y, y_error - (0.5f * root_error * y) * y, y);
    return output32<Ftz, false>((better == better ? better : y) * (small ? 0x1p24f : 1.0f));
  }
};

template <bool Ftz>
struct Lg2Approx : Row32 {
  static Result apply(A a) {
    const std::uint32_t flushed = flush32<Ftz>(a);
    const auto log = static_cast<float>(log2_core(static_cast<double>(std::bit_cast<float>(flushed))));
    std::uint32_t result = output32<Ftz, false>(log);
    result = flushed == kInfinity32 ? kInfinity32 : result;
    result = flushed > kInfinity32 ? kNaN32 : result;  // every negative number too
    return (flushed & ~kSign32) == 0 ? kSign32 | kInfinity32 : result;
  }
};

template <bool Ftz>
struct Ex2Approx : Row32 {
  // A subnormal operand gives 1 with or without .ftz.
  static Result apply(A a) {
    return flush32<Ftz>(std::bit_cast<std::uint32_t>(exp2_approx(std::bit_cast<float>(a))));
  }
};
struct TanhApprox : Row32 {
  static Result apply(A a) { return std::bit_cast<std::uint32_t>(tanh_approx(std::bit_cast<float>(a))); }
};

template <int Quarters, bool Ftz>
struct SineApprox {
  static std::uint32_t apply(std::uint32_t a) {
    const float x = input32<Ftz>(a);
    const auto value =
        static_cast<float>(sine_core(static_cast<double>(x), static_cast<std::uint64_t>(Quarters)));
    const std::uint32_t result = output32<Ftz, false>(value);
    if constexpr (Quarters == 1) return result;
    // Keeps -0, which the reduction loses.
    return std::bit_cast<std::uint32_t>(x) == kSign32 ? kSign32 : result;
  }
  static std::uint32_t far(std::uint32_t a) {
    const auto x = static_cast<double>(std::bit_cast<float>(a));
    return output32<Ftz, false>(static_cast<float>(Quarters == 1 ? std::cos(x) : std::sin(x)));
  }
};

// Arguments beyond the reach of the reduction are rare: they go through the library one by one.
template <class F, bool Masked>
const Op* periodic(Warp& warp, const Op* op) {
  auto* d = row<std::uint32_t>(warp, op->operand[0]);
  const auto* a = row<std::uint32_t>(warp, op->operand[1]);
  constexpr std::uint32_t kFar = 0x49800000u;  // 2^20
  static_assert(kLargestReduced == 0x1p20);
  alignas(64) std::uint32_t value[kLanes];
  std::uint32_t largest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t magnitude = a[lane] & ~kSign32;
    largest = magnitude > largest ? magnitude : largest;
    value[lane] = F::apply(a[lane]);
  }
  if (largest > kFar) [[unlikely]] {
    for (int lane = 0; lane < kLanes; ++lane)
      if ((a[lane] & ~kSign32) > kFar) value[lane] = F::far(a[lane]);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if constexpr (Masked)
      d[lane] = warp.lane_mask[lane] != 0 ? value[lane] : d[lane];
    else
      d[lane] = value[lane];
  }
  return op + 1;
}
template <class F>
Handlers periodic() {
  return {periodic<F, false>, periodic<F, true>};
}

}  // namespace

Handlers bind_div_approx(const Match& match) {
  return match.has("ftz") ? binary<DivApprox<true>>() : binary<DivApprox<false>>();
}
Handlers bind_rsqrt_approx(const Match& match) {
  return match.has("ftz") ? unary<RsqrtApprox<true>>() : unary<RsqrtApprox<false>>();
}
Handlers bind_sin_approx(const Match& match) {
  return match.has("ftz") ? periodic<SineApprox<0, true>>() : periodic<SineApprox<0, false>>();
}
Handlers bind_cos_approx(const Match& match) {
  return match.has("ftz") ? periodic<SineApprox<1, true>>() : periodic<SineApprox<1, false>>();
}
Handlers bind_lg2_approx(const Match& match) {
  return match.has("ftz") ? unary<Lg2Approx<true>>() : unary<Lg2Approx<false>>();
}
Handlers bind_ex2_approx(const Match& match) {
  return match.has("ftz") ? unary<Ex2Approx<true>>() : unary<Ex2Approx<false>>();
}
Handlers bind_tanh_approx(const Match&) {
  return unary<TanhApprox>();
}

}  // namespace gpuforge::sim
