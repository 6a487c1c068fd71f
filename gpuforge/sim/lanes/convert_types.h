// The types of cvt as C++ types, chosen from an instruction's modifiers, and handlers that also take narrow
// integers in registers wider than they are.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "gpuforge/sim/lanes/half_bits.h"
#include "gpuforge/sim/lanes/rounding.h"

namespace gpuforge::sim {

// Value is what C++ computes with: the narrow ones in 32 bits.
template <class Exact>
struct IntegerKind {
  using Row = std::conditional_t<sizeof(Exact) == 8, std::uint64_t, std::uint32_t>;
  using Value = std::conditional_t<sizeof(Exact) == 8, Exact,
                                   std::conditional_t<std::is_signed_v<Exact>, std::int32_t, std::uint32_t>>;
  static constexpr bool kSigned = std::is_signed_v<Exact>;
  static constexpr int kBits = 8 * static_cast<int>(sizeof(Exact));
  static constexpr Value kLowest = std::numeric_limits<Exact>::min();
  static constexpr Value kHighest = std::numeric_limits<Exact>::max();
  static Value value(Row bits) { return static_cast<Value>(static_cast<Exact>(bits)); }
  static Row bits(Value value) { return static_cast<Row>(static_cast<std::make_unsigned_t<Exact>>(value)); }
};

struct Float32Kind {
  static float widen(std::uint32_t bits) { return std::bit_cast<float>(bits); }
};
struct Float64Kind {
  static double widen(std::uint64_t bits) { return std::bit_cast<double>(bits); }
};
template <class Kind>
using FloatRow = std::conditional_t<std::is_same_v<Kind, Float64Kind>, std::uint64_t, std::uint32_t>;

// The integer next to a value in the given direction. Made from nearbyint alone, which becomes vector code
// where floor and its kin do not; the host must be in its usual mode.
template <Rounding Mode, class Float>
Float to_integral(Float value) {
  using Bits = std::conditional_t<sizeof(Float) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits kTop = Bits{1} << (8 * sizeof(Float) - 1);
  const Float nearest = std::nearbyint(value);
  if constexpr (Mode == Rounding::nearest) return nearest;
  const Bits sign = std::bit_cast<Bits>(value) & kTop;
  const bool downwards = Mode == Rounding::down || (Mode == Rounding::zero && sign == 0);
  const bool too_high = downwards && nearest > value;
  const bool too_low = !downwards && nearest < value;
  const Float step = static_cast<Float>(static_cast<int>(too_low) - static_cast<int>(too_high));
  // Adding 0 or cancelling to it may lose the sign, which is always the operand's.
  return std::bit_cast<Float>((std::bit_cast<Bits>(nearest + step) & ~kTop) | sign);
}

// choose(IntegerKind<...>{}) for an integer type, {} for another.
template <class Choose>
Handlers for_integer(Type type, Choose choose) {
  switch (type) {
    case Type::u8:
      return choose(IntegerKind<std::uint8_t>{});
    case Type::s8:
      return choose(IntegerKind<std::int8_t>{});
    case Type::u16:
      return choose(IntegerKind<std::uint16_t>{});
    case Type::s16:
      return choose(IntegerKind<std::int16_t>{});
    case Type::u32:
      return choose(IntegerKind<std::uint32_t>{});
    case Type::s32:
      return choose(IntegerKind<std::int32_t>{});
    case Type::u64:
      return choose(IntegerKind<std::uint64_t>{});
    case Type::s64:
      return choose(IntegerKind<std::int64_t>{});
    default:
      return {};
  }
}
template <class Choose>
Handlers for_float(Type type, Choose choose) {
  switch (type) {
    case Type::f16:
      return choose(HalfBits{});
    case Type::bf16:
      return choose(BFloat16Bits{});
    case Type::f32:
      return choose(Float32Kind{});
    case Type::f64:
      return choose(Float64Kind{});
    default:
      return {};
  }
}
template <Rounding Mode>
using RoundingConstant = std::integral_constant<Rounding, Mode>;
template <class Choose>
Handlers for_rounding(Rounding mode, Choose choose) {
  switch (mode) {
    case Rounding::nearest:
      return choose(RoundingConstant<Rounding::nearest>{});
    case Rounding::zero:
      return choose(RoundingConstant<Rounding::zero>{});
    case Rounding::down:
      return choose(RoundingConstant<Rounding::down>{});
    case Rounding::up:
      return choose(RoundingConstant<Rounding::up>{});
  }
  return {};
}

// Lanes of `values` to a register wider than its integer type: extended by the type's sign to the register's
// width, and by zeros to the row's.
template <class Kind, bool Masked>
void store_extended(Warp& warp, const Op* op, const std::uint32_t* values) {
  auto* wide = row<std::uint64_t>(warp, op->operand[0]);
  auto* plain = row<std::uint32_t>(warp, op->operand[0]);
  const std::uint32_t register_mask = op->register_bytes >= 4 ? ~0u : (1u << (8 * op->register_bytes)) - 1;
  if (op->register_bytes == 8) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<std::uint64_t>(static_cast<std::int64_t>(Kind::value(values[lane])));
      wide[lane] = !Masked || warp.lane_mask[lane] != 0 ? value : wide[lane];
    }
  } else {
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<std::uint32_t>(Kind::value(values[lane])) & register_mask;
      plain[lane] = !Masked || warp.lane_mask[lane] != 0 ? value : plain[lane];
    }
  }
}

struct ExactWidth {};  // a destination or source whose register has the type's own width

// F::apply from Source's row to Destination's; each an IntegerKind when the register may be wider.
template <class F, class Destination, class Source, bool Masked>
const Op* convert(Warp& warp, const Op* op) {
  constexpr bool kSourceMayWiden = !std::is_same_v<Source, ExactWidth> && sizeof(typename F::A) == 4;
  constexpr bool kMayWiden = !std::is_same_v<Destination, ExactWidth> && sizeof(typename F::Result) == 4;
  auto* d = row<typename F::Result>(warp, op->operand[0]);
  const auto* a = row<typename F::A>(warp, op->operand[1]);
  [[maybe_unused]] alignas(64) std::uint32_t low[kLanes];
  if constexpr (kSourceMayWiden) {
    if (op->source_bytes == 8) {
      const auto* wide = row<std::uint64_t>(warp, op->operand[1]);
      for (int lane = 0; lane < kLanes; ++lane) low[lane] = static_cast<std::uint32_t>(wide[lane]);
      a = low;
    }
  }
  if constexpr (kMayWiden) {
    if (8 * op->register_bytes != Destination::kBits && (Destination::kSigned || op->register_bytes == 8)) {
      alignas(64) std::uint32_t values[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) values[lane] = F::apply(a[lane]);
      store_extended<Destination, Masked>(warp, op, values);
      return op + 1;
    }
  }
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto value = F::apply(a[lane]);
    if constexpr (Masked) {
      // With bits: ?: would make the conversion conditional, and the loop scalar.
      const auto keep = static_cast<typename F::Result>(static_cast<std::int64_t>(~warp.lane_mask[lane]));
      d[lane] = (value & ~keep) | (d[lane] & keep);
    } else {
      d[lane] = value;
    }
  }
  return op + 1;
}
template <class F, class Destination, class Source>
Handlers convert(Rounding mode = Rounding::nearest) {
  return in_mode<convert<F, Destination, Source, false>, convert<F, Destination, Source, true>>(mode);
}

// The parts of the table; each refuses what is not its own.
Handlers bind_integer_to_integer(const Match& match);
Handlers bind_float_to_integer(const Match& match);
Handlers bind_integer_to_float(const Match& match);
Handlers bind_float_to_float(const Match& match);
Handlers bind_narrowing(const Match& match);  // f32 to f16 or bf16 with .relu or .satfinite
Handlers bind_tensor_float(const Match& match);
Handlers bind_packed_half(const Match& match);
Handlers bind_to_narrow_pair(const Match& match);    // fp8, fp6 and fp4 in twos
Handlers bind_from_narrow_pair(const Match& match);  // to f16x2
Handlers bind_to_exponents(const Match& match);      // ue8m0x2
Handlers bind_from_exponents(const Match& match);    // ue8m0x2 to bf16x2
Handlers bind_pack(const Match& match);              // cvt.pack

}  // namespace gpuforge::sim
