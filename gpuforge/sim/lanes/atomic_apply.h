// What an atomic does to one value, and its loop over the lanes. Lanes go in order, 0 first.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "gpuforge/base/half.h"
#include "gpuforge/sim/lanes/cells.h"
#include "gpuforge/sim/thread_memory.h"

namespace gpuforge::sim::atomics {

// An operation gives the new value from the old one. `flush`: global memory, where add.f32 flushes
// subnormals.
struct And {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old & b;
  }
};
struct Or {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old | b;
  }
};
struct Xor {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old ^ b;
  }
};
struct Exchange {
  template <class T>
  static T apply(T, T b, T, bool) {
    return b;
  }
};
struct CompareAndSwap {
  template <class T>
  static T apply(T old, T b, T c, bool) {
    return old == b ? c : old;
  }
};
struct Increment {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old >= b ? T{0} : old + 1;
  }
};
struct Decrement {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old == 0 || old > b ? b : old - 1;
  }
};
struct Add {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old + b;
  }
};
struct Min {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return b < old ? b : old;
  }
};
struct Max {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old < b ? b : old;
  }
};
template <class Operation>
struct Signed {
  template <class T>
  static T apply(T old, T b, T c, bool flush) {
    using S = std::make_signed_t<T>;
    return static_cast<T>(
        Operation::template apply<S>(static_cast<S>(old), static_cast<S>(b), static_cast<S>(c), flush));
  }
};

inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
struct AddFloat {
  static std::uint32_t apply(std::uint32_t old, std::uint32_t b, std::uint32_t, bool flush) {
    float x = std::bit_cast<float>(old);
    float y = std::bit_cast<float>(b);
    if (flush) {
      x = flushed(x);
      y = flushed(y);
    }
    const float sum = flush ? flushed(x + y) : x + y;
    return std::isnan(sum) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(sum);
  }
};
struct AddDouble {
  static std::uint64_t apply(std::uint64_t old, std::uint64_t b, std::uint64_t, bool global) {
    // NaNs as an H200 adds them: in global memory the value's, else the memory's, as they are; in shared
    // memory the memory's first, made quiet.
    constexpr std::uint64_t kQuiet = std::uint64_t{1} << 51;
    const double x = std::bit_cast<double>(old), y = std::bit_cast<double>(b), sum = x + y;
    if (std::isnan(x) && (!global || !std::isnan(y))) return global ? old : old | kQuiet;
    if (std::isnan(y)) return global ? b : b | kQuiet;
    return std::isnan(sum) ? 0xfff8000000000000u : std::bit_cast<std::uint64_t>(sum);
  }
};

enum class HalfOperation { add, min, max };
// Sums are rounded twice, first to double: harmless, as double has more than twice the digits.
template <class H, HalfOperation kOperation>
std::uint16_t half_result(std::uint16_t old, std::uint16_t b) {
  const double x = H{old}.to_double();
  const double y = H{b}.to_double();
  if constexpr (kOperation == HalfOperation::add) return H::from(x + y).bits;
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y) ? std::uint16_t{0x7fff} : std::isnan(x) ? b : old;
  const bool old_is_less = x < y || (x == y && std::signbit(x));
  return (kOperation == HalfOperation::min) == old_is_less ? old : b;
}
template <class H, HalfOperation kOperation>
struct OnHalf {
  static std::uint16_t apply(std::uint16_t old, std::uint16_t b, std::uint16_t, bool) {
    return half_result<H, kOperation>(old, b);
  }
};
template <class H, HalfOperation kOperation>
struct OnHalfPair {
  static std::uint32_t apply(std::uint32_t old, std::uint32_t b, std::uint32_t, bool) {
    const auto low =
        half_result<H, kOperation>(static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b));
    const auto high = half_result<H, kOperation>(static_cast<std::uint16_t>(old >> 16),
                                                 static_cast<std::uint16_t>(b >> 16));
    return low | static_cast<std::uint32_t>(high) << 16;
  }
};

template <class T>
T read_row(const Warp& warp, std::uint32_t offset, int lane) {
  if constexpr (sizeof(T) == 8)
    return row<std::uint64_t>(warp, offset)[lane];
  else
    return static_cast<T>(row<std::uint32_t>(warp, offset)[lane]);
}
template <class T>
void write_row(const Warp& warp, std::uint32_t offset, int lane, T value) {
  if constexpr (sizeof(T) == 8)
    row<std::uint64_t>(warp, offset)[lane] = value;
  else
    row<std::uint32_t>(warp, offset)[lane] = value;
}

// Changes one value and gives the old one. No other host thread has the memory: thread_memory.h.
template <class Operation, class T>
T change(std::byte* at, T b, T c, bool flush) {
  T old;
  std::memcpy(&old, at, sizeof old);
  const T made = Operation::apply(old, b, c, flush);
  std::memcpy(at, &made, sizeof made);
  return old;
}

// The value that changes nothing, for operations whose order nobody can tell.
template <class Operation, class T>
constexpr std::optional<T> identity() {
  const auto is = []<class... Operations>() { return (std::is_same_v<Operation, Operations> || ...); };
  if (is.template operator()<Add, Or, Xor, Max>()) return T{0};
  if (is.template operator()<And, Min>()) return static_cast<T>(~T{0});
  if (is.template operator()<Signed<Max>>()) return static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  if (is.template operator()<Signed<Min>>()) return static_cast<T>(static_cast<T>(~T{0}) >> 1);
  return std::nullopt;
}
template <class Operation, class T>
void combine(std::byte* memory, const std::byte* value) {
  T b;
  std::memcpy(&b, value, sizeof b);
  change<Operation, T>(memory, b, T{}, true);
}
template <class Operation, class T>
inline constexpr Reduction kReduction{sizeof(T), identity<Operation, T>().value_or(T{}),
                                      combine<Operation, T>};

inline std::byte* lane_bytes(const Warp& warp, const Target& target, int lane, std::uint32_t bytes) {
  if (target.pattern == Pattern::other) return host_bytes_to_write(target.host[lane]);
  const std::uint64_t skipped = target.pattern == Pattern::uniform
                                    ? 0
                                    : static_cast<std::uint64_t>(lane - first_lane(warp.active)) * bytes;
  return host_bytes_to_write(target.first + skipped);
}

inline bool in_shared(const Warp& warp, const Op* op, const std::byte* at) {
  if (op->space == Space::shared) return true;
  if (op->space != Space::generic) return false;
  const Block& block = *warp.block;
  return at >= block.shared && at < block.shared + block.launch->shared_bytes;
}

// What run_atomic needs to know of an instruction.
struct AtomicForm {
  void (*apply)(Warp& warp, const Op* op, const Target& target) = nullptr;
  std::uint32_t bytes = 4;
  std::uint32_t elements = 1;
  std::uint32_t first_data = 0;  // slot of the first value; its results are before it
  std::uint32_t values = 1;      // slots of data
  bool finds_unwritten = true;
  const Reduction* reduction = nullptr;  // nullptr: it is none
};

template <class Operation, class T, unsigned kElements, bool kReturns>
struct Atomic {
  static constexpr unsigned kFirst = kReturns ? kElements : 0;
  static constexpr bool kSwaps = std::is_same_v<Operation, CompareAndSwap>;
  static void apply(Warp& warp, const Op* op, const Target& target) {
    for (Mask left = warp.active; left != 0; left &= left - 1) {
      const int lane = first_lane(left);
      std::byte* at = lane_bytes(warp, target, lane, sizeof(T) * kElements);
      const bool flush = !in_shared(warp, op, at);
      // All values are read before a result is written: one may stand in the other's register.
      T values[kElements], c{};
      for (unsigned element = 0; element < kElements; ++element)
        values[element] = read_row<T>(warp, op->operand[kFirst + element], lane);
      if constexpr (kSwaps) c = read_row<T>(warp, op->operand[kFirst + 1], lane);
      for (unsigned element = 0; element < kElements; ++element) {
        const T old = change<Operation, T>(at + element * sizeof(T), values[element], c, flush);
        if constexpr (kReturns) write_row<T>(warp, op->operand[element], lane, old);
      }
    }
  }
  static constexpr bool kReduces = !kReturns && kElements == 1 && identity<Operation, T>().has_value();
  static constexpr AtomicForm kForm{apply,
                                    sizeof(T) * kElements,
                                    kElements,
                                    kFirst,
                                    kSwaps ? 2 : kElements,
                                    !std::is_same_v<Operation, Exchange>,
                                    kReduces ? &kReduction<Operation, T> : nullptr};
};

template <bool kSwaps>
struct AtomicWide {
  static void apply(Warp& warp, const Op* op, const Target& target) {
    const auto read = [&](unsigned slot, int lane) {
      const std::uint64_t* low = row<std::uint64_t>(warp, op->operand[slot]);
      return Wide{low[lane], low[kLanes + lane]};
    };
    for (Mask left = warp.active; left != 0; left &= left - 1) {
      const int lane = first_lane(left);
      std::byte* at = lane_bytes(warp, target, lane, sizeof(Wide));
      Wide old;
      std::memcpy(&old, at, sizeof old);
      const Wide b = read(1, lane);
      const Wide made = !kSwaps ? b : old.low == b.low && old.high == b.high ? read(2, lane) : old;
      std::memcpy(at, &made, sizeof made);
      std::uint64_t* d = row<std::uint64_t>(warp, op->operand[0]);
      d[lane] = old.low;
      d[kLanes + lane] = old.high;
    }
  }
  static constexpr AtomicForm kForm{apply, sizeof(Wide), 1, 1, kSwaps ? 2 : 1, kSwaps};
};

}  // namespace gpuforge::sim::atomics
