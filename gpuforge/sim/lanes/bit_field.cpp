// Bit counts and bit fields: popc clz bfind brev bfe bfi bmsk szext fns.
#include "gpuforge/sim/lanes/bit_field.h"

#include <bit>

#include "gpuforge/sim/lanes/integer_types.h"

namespace gpuforge::sim {
namespace {

struct OnWords {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
  using C = std::uint32_t;
};
template <class T>
struct Popc {
  using Result = std::uint32_t;
  using A = T;
  // Sums of neighbouring fields: unlike the machine's instruction, this becomes vectors.
  static Result apply(A value) {
    constexpr T ones = static_cast<T>(~T{0});
    value -= value >> 1 & ones / 3;
    value = (value & ones / 5) + (value >> 2 & ones / 5);
    value = (value + (value >> 4)) & ones / 17;
    value += value >> 8;
    value += value >> 16;
    if constexpr (sizeof(T) == 8) value += value >> 32;
    return static_cast<Result>(value & 0x7f);
  }
};
template <class T>
struct Clz {
  using Result = std::uint32_t;
  using A = T;
  static Result apply(A value) { return static_cast<Result>(std::countl_zero(value)); }
};
template <class T, bool kShiftAmount>
struct Bfind {
  using Result = std::uint32_t;
  using A = RowOf<T>;
  static Result apply(A value) {
    if constexpr (std::is_signed_v<T>) value ^= static_cast<A>(from_row<T>(value) >> (kBits<T> - 1));
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(value));
    if (value == 0) return 0xffffffffu;
    return kShiftAmount ? zeros : kBits<T> - 1 - zeros;
  }
};
template <class T>
struct Brev {
  using Result = T;
  using A = T;
  static Result apply(A value) {
    constexpr T ones = static_cast<T>(~T{0});
    const auto swap = [&value](int distance, T low) {
      value = static_cast<T>((value >> distance & low) | (value & low) << distance);
    };
    swap(1, ones / 3);
    swap(2, ones / 5);
    swap(4, ones / 17);
    return sizeof(T) == 8 ? static_cast<T>(__builtin_bswap64(value))
                          : static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  }
};
template <class T>
T low_bits(std::uint32_t count) {
  return static_cast<T>(shifted_left(T{1}, count) - 1);
}
// The manual takes the low 8 bits of positions and lengths; for 64-bit fields the GPU takes all.
template <class T>
constexpr std::uint32_t field_number(std::uint32_t number) {
  return sizeof(T) == 8 ? number : number & 0xff;
}
template <class T>
struct Bfe {
  using Result = RowOf<T>;
  using A = RowOf<T>;
  using B = std::uint32_t;
  using C = std::uint32_t;
  static Result apply(A a, B position, C length) {
    position = field_number<T>(position);
    length = field_number<T>(length);
    const Result field = static_cast<Result>(shifted_right(from_row<T>(a), position));
    if constexpr (std::is_unsigned_v<T>) {
      return field & low_bits<Result>(length);
    } else {
      const std::uint32_t unused = length < kBits<T> ? kBits<T> - length : 0;
      const T extended = shifted_right(static_cast<T>(shifted_left(field, unused)), unused);
      return length == 0 ? Result{0} : static_cast<Result>(extended);
    }
  }
};
// bfi f, a, b, c, d: four sources.
template <class T, bool kMasked>
const Op* bfi(Warp& warp, const Op* op) {
  auto* f = row<T>(warp, op->operand[0]);
  const auto* a = row<T>(warp, op->operand[1]);
  const auto* b = row<T>(warp, op->operand[2]);
  const auto* c = row<std::uint32_t>(warp, op->operand[3]);
  const auto* d = row<std::uint32_t>(warp, op->operand[4]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t position = field_number<T>(c[lane]);
    const T field = shifted_left(low_bits<T>(field_number<T>(d[lane])), position);
    const T value = (b[lane] & ~field) | (shifted_left(a[lane], position) & field);
    f[lane] = !kMasked || warp.lane_mask[lane] != 0 ? value : f[lane];
  }
  return op + 1;
}
template <bool kWrap>
struct BitMask : OnWords {
  static Result apply(A position, B width) {
    if constexpr (kWrap) {
      position &= 31;
      width &= 31;
    }
    return shifted_left(low_bits<std::uint32_t>(width), position);
  }
};
template <class T, bool kWrap>
struct Szext : OnWords {
  static Result apply(A a, B count) {
    if constexpr (kWrap) count &= 31;
    const std::uint32_t unused = count < 32 ? 32 - count : 0;
    const T value = shifted_right(static_cast<T>(shifted_left(a, unused)), unused);
    return count == 0 ? 0 : static_cast<Result>(value);
  }
};
// The offset-th set bit from `base` on, up or down.
struct FindNth : OnWords {
  static Result apply(A mask, B base, C offset) {
    const auto signed_offset = static_cast<std::int32_t>(offset);
    std::uint32_t left = signed_offset < 0 ? 0u - offset : offset;
    if (left == 0) left = 1;
    const std::uint32_t step = signed_offset == 0 ? 32u : (signed_offset > 0 ? 1u : ~0u);
    for (std::uint32_t position = base; position < 32; position += step)
      if ((mask >> position & 1) != 0 && --left == 0) return position;
    return 0xffffffffu;
  }
};

// F over u32 or u64.
template <template <class> class F>
Handlers bind_unary_words(const Match& match) {
  return bits(match.type) == 64 ? unary<F<std::uint64_t>>() : unary<F<std::uint32_t>>();
}
}  // namespace

Handlers bind_popc(const Match& match) {
  return bind_unary_words<Popc>(match);
}
Handlers bind_clz(const Match& match) {
  return bind_unary_words<Clz>(match);
}
Handlers bind_brev(const Match& match) {
  return bind_unary_words<Brev>(match);
}
Handlers bind_bfind(const Match& match) {
  return for_integer(match.type, [&]<class T>() {
    return match.has("shiftamt") ? unary<Bfind<T, true>>() : unary<Bfind<T, false>>();
  });
}
Handlers bind_bfe(const Match& match) {
  return for_integer(match.type, []<class T>() -> Handlers {
    if constexpr (sizeof(T) == 2)
      return {};
    else
      return ternary<Bfe<T>>();
  });
}
Handlers bind_bfi(const Match& match) {
  if (match.type == Type::b64) return {bfi<std::uint64_t, false>, bfi<std::uint64_t, true>};
  return {bfi<std::uint32_t, false>, bfi<std::uint32_t, true>};
}
Handlers bind_bmsk(const Match& match) {
  return match.has("wrap") ? binary<BitMask<true>>() : binary<BitMask<false>>();
}
Handlers bind_szext(const Match& match) {
  if (match.type == Type::s32)
    return match.has("wrap") ? binary<Szext<std::int32_t, true>>() : binary<Szext<std::int32_t, false>>();
  return match.has("wrap") ? binary<Szext<std::uint32_t, true>>() : binary<Szext<std::uint32_t, false>>();
}
Handlers bind_fns(const Match&) {
  return ternary<FindNth>();
}

}  // namespace gpuforge::sim
