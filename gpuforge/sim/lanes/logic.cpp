// Logic and shifts: and or xor not cnot shl shr shf lop3 prmt; and or xor not of predicates.
#include "gpuforge/sim/lanes/bit_field.h"
#include "gpuforge/sim/lanes/integer_types.h"
#include "gpuforge/sim/lanes/lane_vector.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

struct And {
  template <class T>
  static T apply(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <class T>
  static T apply(T a) {
    return a == 0 ? T{1} : T{0};
  }
};

// Shift amounts are 32 bits, whatever is shifted.
template <class T>
struct Shl {
  using Result = RowOf<T>;
  using A = RowOf<T>;
  using B = std::uint32_t;
  static Result apply(A a, B amount) { return to_row<T>(static_cast<T>(shifted_left(a, amount))); }
};
template <class T>
struct Shr {
  using Result = RowOf<T>;
  using A = RowOf<T>;
  using B = std::uint32_t;
  static Result apply(A a, B amount) { return to_row<T>(shifted_right(from_row<T>(a), amount)); }
};

struct OnWords {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
  using C = std::uint32_t;
};
template <bool kLeft, bool kWrap>
struct FunnelShift : OnWords {
  static Result apply(A low, B high, C amount) {
    const std::uint32_t n = kWrap ? amount & 31 : (amount < 32 ? amount : 32);
    if constexpr (kLeft)
      return shifted_left(high, n) | shifted_right(low, 32 - n);
    else
      return shifted_left(high, 32 - n) | shifted_right(low, n);
  }
};

// Which byte of b:a (7 to 4, 3 to 0) byte i of the result is, for the modes of prmt that name one.
enum class PermuteMode { f4e, b4e, rc8, ecl, ecr, rc16 };
template <PermuteMode kMode>
constexpr std::uint32_t source_byte(std::uint32_t control, std::uint32_t i) {
  control &= 3;
  switch (kMode) {
    case PermuteMode::f4e:
      return control + i;
    case PermuteMode::b4e:
      return (control - i) & 7;
    case PermuteMode::rc8:
      return control;
    case PermuteMode::ecl:
      return control > i ? control : i;
    case PermuteMode::ecr:
      return control < i ? control : i;
    case PermuteMode::rc16:
      return (control & 1) * 2 + (i & 1);
  }
}
inline std::uint32_t byte_of(std::uint32_t a, std::uint32_t b, std::uint32_t index) {
  return ((index & 4) != 0 ? b : a) >> ((index & 3) * 8) & 0xff;
}
template <PermuteMode kMode>
struct PermuteFixed : OnWords {
  static Result apply(A a, B b, C control) {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 4; ++i) result |= byte_of(a, b, source_byte<kMode>(control, i)) << (i * 8);
    return result;
  }
};

// Any four bytes of b:a: the control's nibbles, spread to bytes, say which, and bit 3 to take its sign only.
template <bool kMasked>
const Op* permute(Warp& warp, const Op* op) {
  using Words = VectorOf<std::uint32_t>;
  auto* d = row<std::uint32_t>(warp, op->operand[0]);
  const auto* a = row<std::uint32_t>(warp, op->operand[1]);
  const auto* b = row<std::uint32_t>(warp, op->operand[2]);
  const auto* c = row<std::uint32_t>(warp, op->operand[3]);
  static constexpr std::uint32_t kFirstByte[] = {0, 0x04040404, 0x08080808, 0x0c0c0c0c,
                                                 0, 0x04040404, 0x08080808, 0x0c0c0c0c};
  const Words first_byte = load_vector(kFirstByte, 0);
#pragma GCC unroll 4
  for (int lane = 0; lane < kLanes; lane += kVectorLanes<std::uint32_t>) {
    Words control = load_vector(c, lane) & 0xffffu;
    control = (control | control << 8) & 0x00ff00ffu;
    control = (control | control << 4) & 0x0f0f0f0fu;
    const Words index = (control & 0x03030303u) | first_byte;
    const Words of_b = (control & 0x04040404u) << 5;
    const Words bytes = picked_bytes(load_vector(a, lane), index | of_b) |
                        picked_bytes(load_vector(b, lane), index | (of_b ^ 0x80808080u));
    const Words negative = (bytes >> 7 & 0x01010101u) * 0xffu;
    const Words sign_only = (control >> 3 & 0x01010101u) * 0xffu;
    Words value = (bytes & ~sign_only) | (negative & sign_only);
    if constexpr (kMasked) {
      const Words active = same_bits<std::uint32_t>(load_vector(warp.lane_mask, lane));
      value = (value & active) | (load_vector<std::uint32_t>(d, lane) & ~active);
    }
    std::memcpy(d + lane, &value, sizeof value);
  }
  return op + 1;
}

// op.immediate is the table: bit (a bit * 4 + b bit * 2 + c bit) is the result. Chosen by c, then b, then a.
template <bool kMasked>
void lop3_rows(const Warp& warp, const Op* op, std::uint32_t* d, const std::uint32_t* a,
               const std::uint32_t* b, const std::uint32_t* c) {
  std::uint32_t without_c[4];
  std::uint32_t flip[4];
  for (int i = 0; i < 4; ++i) {
    without_c[i] = 0u - (static_cast<std::uint32_t>(op->immediate >> (2 * i)) & 1u);
    flip[i] = without_c[i] ^ (0u - (static_cast<std::uint32_t>(op->immediate >> (2 * i + 1)) & 1u));
  }
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t x = a[lane], y = b[lane], z = c[lane];
    const std::uint32_t f0 = without_c[0] ^ (flip[0] & z), f1 = without_c[1] ^ (flip[1] & z);
    const std::uint32_t f2 = without_c[2] ^ (flip[2] & z), f3 = without_c[3] ^ (flip[3] & z);
    const std::uint32_t g0 = f0 ^ ((f0 ^ f1) & y), g1 = f2 ^ ((f2 ^ f3) & y);
    const std::uint32_t value = g0 ^ ((g0 ^ g1) & x);
    d[lane] = !kMasked || warp.lane_mask[lane] != 0 ? value : d[lane];
  }
}
template <bool kMasked>
const Op* lop3(Warp& warp, const Op* op) {
  lop3_rows<kMasked>(warp, op, row<std::uint32_t>(warp, op->operand[0]),
                     row<std::uint32_t>(warp, op->operand[1]), row<std::uint32_t>(warp, op->operand[2]),
                     row<std::uint32_t>(warp, op->operand[3]));
  return op + 1;
}
// Slots d, p, a, b, c, q: p = (d != 0) and/or q.
template <bool kMasked, bool kAnd>
const Op* lop3_predicate(Warp& warp, const Op* op) {
  auto* d = row<std::uint32_t>(warp, op->operand[0]);
  lop3_rows<kMasked>(warp, op, d, row<std::uint32_t>(warp, op->operand[2]),
                     row<std::uint32_t>(warp, op->operand[3]), row<std::uint32_t>(warp, op->operand[4]));
  alignas(64) std::int32_t flags[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) flags[lane] = d[lane] != 0 ? -1 : 0;
  const Mask nonzero = mask_of(flags);
  const Mask q = predicate(warp, op->operand[5]);
  write_predicate(warp, op->operand[1], kAnd ? nonzero & q : nonzero | q);
  return op + 1;
}

template <class Operation>
Handlers bind_bits(const Match& match) {
  return for_width(match.type, []<class T>() { return binary<OnValues<Operation, RowOf<T>>>(); });
}
template <class Operation>
Handlers bind_not(const Match& match) {
  return for_width(match.type, []<class T>() { return unary<OnValues<Operation, T>>(); });
}
template <template <class> class Shift>
Handlers bind_shift(const Match& match) {
  return for_integer(match.type, []<class T>() { return binary<Shift<T>>(); });
}
template <class Operation>
const Op* predicate_logic(Warp& warp, const Op* op) {
  write_predicate(warp, op->operand[0],
                  Operation::apply(predicate(warp, op->operand[1]), predicate(warp, op->operand[2])));
  return op + 1;
}
const Op* predicate_not(Warp& warp, const Op* op) {
  write_predicate(warp, op->operand[0], ~predicate(warp, op->operand[1]));
  return op + 1;
}
template <class Operation>
Handlers bind_predicates(const Match&) {
  return {predicate_logic<Operation>, predicate_logic<Operation>};
}
template <bool kLeft>
Handlers bind_funnel(const Match& match) {
  return match.has("wrap") ? ternary<FunnelShift<kLeft, true>>() : ternary<FunnelShift<kLeft, false>>();
}
Handlers bind_permute(const Match& match) {
  if (match.has("f4e")) return ternary<PermuteFixed<PermuteMode::f4e>>();
  if (match.has("b4e")) return ternary<PermuteFixed<PermuteMode::b4e>>();
  if (match.has("rc8")) return ternary<PermuteFixed<PermuteMode::rc8>>();
  if (match.has("ecl")) return ternary<PermuteFixed<PermuteMode::ecl>>();
  if (match.has("ecr")) return ternary<PermuteFixed<PermuteMode::ecr>>();
  if (match.has("rc16")) return ternary<PermuteFixed<PermuteMode::rc16>>();
  return {permute<false>, permute<true>};
}
constexpr OpcodeRow kRows[] = {
    {"and(.b16|.b32|.b64) d:t, a:t, b:t", OpClass::logic, bind_bits<And>},
    {"and.pred p, a:pred, b:pred", OpClass::logic, bind_predicates<And>},
    {"or(.b16|.b32|.b64) d:t, a:t, b:t", OpClass::logic, bind_bits<Or>},
    {"or.pred p, a:pred, b:pred", OpClass::logic, bind_predicates<Or>},
    {"xor(.b16|.b32|.b64) d:t, a:t, b:t", OpClass::logic, bind_bits<Xor>},
    {"xor.pred p, a:pred, b:pred", OpClass::logic, bind_predicates<Xor>},
    {"not(.b16|.b32|.b64) d:t, a:t", OpClass::logic, bind_not<Not>},
    {"not.pred p, a:pred", OpClass::logic,
     [](const Match&) {
       return Handlers{predicate_not, predicate_not};
     }},
    {"cnot(.b16|.b32|.b64) d:t, a:t", OpClass::logic, bind_not<Cnot>},
    {"shl(.b16|.b32|.b64) d:t, a:t, b:u32", OpClass::logic, bind_shift<Shl>},
    {"shr(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64) d:t, a:t, b:u32", OpClass::logic, bind_shift<Shr>},
    {"shf.l(.clamp|.wrap).b32 d:t, a:t, b:t, c:u32", OpClass::logic, bind_funnel<true>},
    {"shf.r(.clamp|.wrap).b32 d:t, a:t, b:t, c:u32", OpClass::logic, bind_funnel<false>},
    {"lop3.b32 d:t, a:t, b:t, c:t, n", OpClass::logic,
     [](const Match&) {
       return Handlers{lop3<false>, lop3<true>};
     }},
    {"lop3.and.b32 d|p:t, a:t, b:t, c:t, n, e:pred", OpClass::logic,
     [](const Match&) {
       return Handlers{lop3_predicate<false, true>, lop3_predicate<true, true>};
     }},
    {"lop3.or.b32 d|p:t, a:t, b:t, c:t, n, e:pred", OpClass::logic,
     [](const Match&) {
       return Handlers{lop3_predicate<false, false>, lop3_predicate<true, false>};
     }},
    {"prmt.b32[.f4e|.b4e|.rc8|.ecl|.ecr|.rc16] d:t, a:t, b:t, c:u32", OpClass::logic, bind_permute},
    {"popc(.b32|.b64) d:u32, a:t", OpClass::integer, bind_popc},
    {"clz(.b32|.b64) d:u32, a:t", OpClass::integer, bind_clz},
    {"bfind[.shiftamt](.u32|.s32|.u64|.s64) d:u32, a:t", OpClass::integer, bind_bfind},
    {"brev(.b32|.b64) d:t, a:t", OpClass::integer, bind_brev},
    {"bfe(.u32|.s32|.u64|.s64) d:t, a:t, b:u32, c:u32", OpClass::integer, bind_bfe},
    {"bfi(.b32|.b64) d:t, a:t, b:t, c:u32, e:u32", OpClass::integer, bind_bfi},
    {"bmsk(.clamp|.wrap).b32 d:t, a:u32, b:u32", OpClass::integer, bind_bmsk},
    {"szext(.clamp|.wrap)(.u32|.s32) d:t, a:t, b:u32", OpClass::integer, bind_szext},
    {"fns.b32 d:t, a:t, b:u32, c:u32", OpClass::integer, bind_fns},
};

}  // namespace

std::span<const OpcodeRow> logic_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
