// Runs handlers of the opcode table over products of bit patterns, full and masked, and compares each lane
// with a scalar reference.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuforge/sim/opcode.h"
#include "gpuforge/sim/warp.h"

namespace gpuforge::sim::float_tests {

inline Type type_named(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "none", "u8",   "s8",     "b8",     "u16",    "s16",    "b16",    "f16",     "bf16",  "u32",  "s32",
      "b32",  "f32",  "tf32",   "f16x2",  "bf16x2", "u64",    "s64",    "b64",     "f64",   "b128", "pred",
      "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "u16x2", "s16x2"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<Type>(i);
  return Type::none;
}

// How many operands the row takes, or -1 when the modifiers do not fit its syntax.
inline int operands_if_fits(std::string_view syntax, std::string_view mnemonic,
                            std::span<const std::string_view> modifiers) {
  if (!syntax.starts_with(mnemonic)) return -1;
  std::size_t at = mnemonic.size();
  std::size_t next = 0;
  const std::size_t end = syntax.find(' ');
  while (at < end) {
    const char open = syntax[at];
    const char close = open == '[' ? ']' : open == '(' ? ')' : '\0';
    if (open != '.' && close == '\0') return -1;
    const std::size_t bracket = close != '\0' ? 1 : 0;
    const std::size_t stop = close != '\0' ? syntax.find(close, at) : syntax.find_first_of(".[( ", at + 1);
    std::string_view choices = syntax.substr(at + bracket, stop - at - bracket);
    bool taken = false;
    while (!choices.empty()) {
      const std::size_t bar = choices.find('|');
      const std::string_view choice = choices.substr(1, bar == choices.npos ? bar : bar - 1);
      taken = taken || (next < modifiers.size() && choice == modifiers[next]);
      choices = bar == choices.npos ? std::string_view{} : choices.substr(bar + 1);
    }
    if (taken)
      ++next;
    else if (open != '[')
      return -1;
    at = stop + bracket;
  }
  if (next != modifiers.size()) return -1;
  int operands = 1;
  for (const char one : syntax.substr(end)) operands += one == ',' ? 1 : 0;
  return operands;
}

// Handlers of "fma.rn.f32" with so many operands, the destination counted; {} when no row takes it.
inline Handlers find(std::span<const OpcodeRow> rows, std::string_view instruction, int operands) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t dot = instruction.find('.');
    words.push_back(instruction.substr(0, dot));
    if (dot == instruction.npos) break;
    instruction.remove_prefix(dot + 1);
  }
  const std::span<const std::string_view> modifiers = std::span<const std::string_view>(words).subspan(1);
  Match match{modifiers};
  for (const std::string_view word : modifiers) {
    const Type type = type_named(word);
    if (type == Type::none) continue;
    match.other_type = match.type;
    match.type = type;
  }
  for (const OpcodeRow& one : rows)
    if (operands_if_fits(one.syntax, words[0], modifiers) == operands) return one.bind(match);
  return {};
}

// The C library's rounding mode for a scope; the references compute with volatiles inside it.
class RoundingForTests {
 public:
  explicit RoundingForTests(std::string_view mode) : saved_(std::fegetround()) {
    std::fesetround(mode.starts_with("rz")   ? FE_TOWARDZERO
                    : mode.starts_with("rm") ? FE_DOWNWARD
                    : mode.starts_with("rp") ? FE_UPWARD
                                             : FE_TONEAREST);
  }
  ~RoundingForTests() { std::fesetround(saved_); }

 private:
  int saved_;
};

// Operations of the mode in force: hidden from the compiler, which would compute them before it is set.
template <class T>
T hidden(T value) {
  volatile T copy = value;
  return copy;
}
template <class T>
T add(T a, T b) {
  return hidden(hidden(a) + hidden(b));
}
template <class T>
T sub(T a, T b) {
  return hidden(hidden(a) - hidden(b));
}
template <class T>
T mul(T a, T b) {
  return hidden(hidden(a) * hidden(b));
}
template <class T>
T div(T a, T b) {
  return hidden(hidden(a) / hidden(b));
}
template <class T>
T root(T a) {
  return hidden(std::sqrt(hidden(a)));
}
template <class T>
T fma(T a, T b, T c) {
  return hidden(std::fma(hidden(a), hidden(b), hidden(c)));
}

// Both signs of: zero, subnormals, the ends of the normal range, numbers around 1, halves and integers,
// infinity, quiet and signalling NaNs.
inline std::vector<std::uint32_t> edges32() {
  std::vector<std::uint32_t> values;
  for (const std::uint32_t one :
       {0u,          1u,          0x3fffffu,   0x7fffffu,   0x800000u,   0x800001u,   0x00ffffffu,
        0x1f800000u, 0x33800000u, 0x34000000u, 0x3effffffu, 0x3f000000u, 0x3f7fffffu, 0x3f800000u,
        0x3f800001u, 0x3fc00000u, 0x40200000u, 0x40490fdbu, 0x437f8000u, 0x4b000001u, 0x4b7fffffu,
        0x5f000000u, 0x7e800001u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0x7f800001u, 0x7fffffffu}) {
    values.push_back(one);
    values.push_back(one | 0x80000000u);
  }
  return values;
}
inline std::vector<std::uint64_t> edges64() {
  std::vector<std::uint64_t> values;
  for (const std::uint64_t one : {std::uint64_t{0},
                                  std::uint64_t{1},
                                  std::uint64_t{0x000fffffffffffff},
                                  std::uint64_t{0x0010000000000000},
                                  std::uint64_t{0x1ff0000000000001},
                                  std::uint64_t{0x3ca0000000000000},
                                  std::uint64_t{0x3fe0000000000000},
                                  std::uint64_t{0x3fefffffffffffff},
                                  std::uint64_t{0x3ff0000000000000},
                                  std::uint64_t{0x3ff0000000000001},
                                  std::uint64_t{0x3ff8000000000000},
                                  std::uint64_t{0x4004000000000000},
                                  std::uint64_t{0x400921fb54442d18},
                                  std::uint64_t{0x4330000000000001},
                                  std::uint64_t{0x47efffffe0000000},
                                  std::uint64_t{0x47effffff0000000},
                                  std::uint64_t{0x3690000000000001},
                                  std::uint64_t{0x380fffffffffffff},
                                  std::uint64_t{0x7fefffffffffffff},
                                  std::uint64_t{0x7ff0000000000000},
                                  std::uint64_t{0x7ff8000000000000},
                                  std::uint64_t{0x7ff0000000000001},
                                  std::uint64_t{0x7fffffffffffffff}}) {
    values.push_back(one);
    values.push_back(one | (std::uint64_t{1} << 63));
  }
  return values;
}
// The edges and `count` patterns spread over all others, the same in every run.
template <class Bits>
std::vector<Bits> with_random(std::vector<Bits> values, int count, Bits mask = static_cast<Bits>(~Bits{0})) {
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<Bits>((state >> 7) ^ (state >> 31)) & mask);
  }
  return values;
}

// The widths of registers where they are not the types' own.
struct Widths {
  std::uint8_t destination_bytes = 4;
  std::uint8_t source_bytes = 4;
};

// A frame of five rows: operand i stands in row i.
class Lanes {
 public:
  explicit Lanes(Widths widths) {
    for (std::uint32_t i = 0; i < kRows; ++i) op_.operand[i] = i * kRowBytes;
    op_.register_bytes = widths.destination_bytes;
    op_.source_bytes = widths.source_bytes;
  }
  template <class T>
  T* operand(std::size_t index) {
    warp_.rows = storage_.data();
    return row<T>(warp_, op_.operand[index]);
  }
  // With the first source's row as the destination.
  void run_in_place(const Handlers& handlers) {
    warp_.rows = storage_.data();
    const std::uint32_t destination = std::exchange(op_.operand[0], op_.operand[1]);
    warp_.active = kAllLanes;
    handlers.full(warp_, &op_);
    op_.operand[0] = destination;
  }
  // Must change nothing but the destination.
  void run(const Handlers& handlers, Mask active) {
    warp_.rows = storage_.data();
    warp_.active = active;
    set_lane_mask(warp_);
    const std::array before = storage_;
    const Handler handler = active == kAllLanes ? handlers.full : handlers.masked;
    ASSERT_EQ(handler(warp_, &op_), &op_ + 1);
    constexpr std::size_t kSources = (kRows - 1) * kRowBytes;
    ASSERT_EQ(std::memcmp(storage_.data() + kRowBytes, before.data() + kRowBytes, kSources), 0);
  }

 private:
  static constexpr std::uint32_t kRows = 5;
  static constexpr std::uint32_t kRowBytes = 256;
  alignas(64) std::array<std::byte, kRows * kRowBytes> storage_{};
  Warp warp_;
  Op op_;
};

// Calls expected(a, b, c) for every combination and compares with what full and masked handlers leave.
template <class D, class A, class B, class C, class Expected>
void check_product(const Handlers& handlers, std::string_view what, const std::vector<A>& as,
                   const std::vector<B>& bs, const std::vector<C>& cs, Expected expected,
                   Widths widths = {}) {
  ASSERT_NE(handlers.full, nullptr) << what;
  ASSERT_NE(handlers.masked, nullptr) << what;
  const std::size_t total = as.size() * bs.size() * cs.size();
  Lanes lanes(widths);
  constexpr auto kPoison = static_cast<D>(0xdeadbeefcafef00du);
  int failures = 0;
  for (std::size_t base = 0; base < total; base += kLanes) {
    for (const Mask active : {kAllLanes, Mask{0x5a5a3c01u}}) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t i = (base + lane) % total;
        lanes.operand<D>(0)[lane] = kPoison;
        lanes.operand<A>(1)[lane] = as[i % as.size()];
        lanes.operand<B>(2)[lane] = bs[i / as.size() % bs.size()];
        lanes.operand<C>(3)[lane] = cs[i / as.size() / bs.size()];
      }
      lanes.run(handlers, active);
      if (sizeof(D) == sizeof(A) && active == kAllLanes) {
        Lanes copy = lanes;
        copy.run_in_place(handlers);
        ASSERT_EQ(std::memcmp(copy.operand<A>(1), lanes.operand<D>(0), kLanes * sizeof(D)), 0)
            << what << " in place";
      }
      for (std::size_t lane = 0; lane < kLanes && failures < 5; ++lane) {
        const A a = lanes.operand<A>(1)[lane];
        const B b = lanes.operand<B>(2)[lane];
        const C c = lanes.operand<C>(3)[lane];
        const D want = ((active >> lane) & 1) != 0 ? static_cast<D>(expected(a, b, c)) : kPoison;
        const D got = lanes.operand<D>(0)[lane];
        if (got == want) continue;
        ++failures;
        ADD_FAILURE() << what << std::hex << "(0x" << a << ", 0x" << b << ", 0x" << c << ") gave 0x" << got
                      << ", not 0x" << want << (active == kAllLanes ? "" : " (masked)");
      }
    }
  }
}
template <class D, class A, class B, class Expected>
void check_product(const Handlers& handlers, std::string_view what, const std::vector<A>& as,
                   const std::vector<B>& bs, Expected expected) {
  check_product<D>(handlers, what, as, bs, std::vector<std::uint32_t>{0},
                   [&](A a, B b, std::uint32_t) { return expected(a, b); });
}
template <class D, class A, class Expected>
void check_values(const Handlers& handlers, std::string_view what, const std::vector<A>& as,
                  Expected expected, Widths widths = {}) {
  const std::vector<std::uint32_t> none{0};
  check_product<D>(
      handlers, what, as, none, none, [&](A a, std::uint32_t, std::uint32_t) { return expected(a); }, widths);
}

}  // namespace gpuforge::sim::float_tests
