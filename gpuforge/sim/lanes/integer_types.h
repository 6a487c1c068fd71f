// The integer types of PTX as C++ types: how a value of one lies in its row, how a function of such values
// becomes what elementwise.h lifts, and the step from an instruction's type to a template's argument.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpuforge/sim/lanes/elementwise.h"
#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

// The element of a row that holds a T.
template <class T>
using RowOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
inline constexpr int kBits = static_cast<int>(sizeof(T)) * 8;

template <class T>
T from_row(RowOf<T> value) {
  return static_cast<T>(value);
}
template <class T>
RowOf<T> to_row(T value) {
  return static_cast<RowOf<T>>(static_cast<std::make_unsigned_t<T>>(value));
}
// A value as unsigned bits wide enough that no promotion to int can overflow.
template <class T>
RowOf<T> bits_of(T value) {
  return static_cast<RowOf<T>>(value);
}

// Twice the width, same signedness.
template <class T>
struct Wider;
template <>
struct Wider<std::uint16_t> : std::type_identity<std::uint32_t> {};
template <>
struct Wider<std::int16_t> : std::type_identity<std::int32_t> {};
template <>
struct Wider<std::uint32_t> : std::type_identity<std::uint64_t> {};
template <>
struct Wider<std::int32_t> : std::type_identity<std::int64_t> {};
template <>
struct Wider<std::uint64_t> : std::type_identity<UInt128> {};
template <>
struct Wider<std::int64_t> : std::type_identity<Int128> {};
template <class T>
using WiderOf = typename Wider<T>::type;

// Shifts whose amount may be anything: past the width, nothing of the value is left.
template <class T>
T shifted_left(T value, std::uint32_t amount) {
  static_assert(std::is_unsigned_v<T> && sizeof(T) >= 4);
  return amount < kBits<T> ? static_cast<T>(value << (amount & (kBits<T> - 1))) : T{0};
}
template <class T>
T shifted_right(T value, std::uint32_t amount) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(value >> (amount < kBits<T> ? amount : kBits<T> - 1));
  } else {
    return amount < kBits<T> ? static_cast<T>(value >> (amount & (kBits<T> - 1))) : T{0};
  }
}

// Operation::apply(T...) -> T over rows of T.
template <class Operation, class T>
struct OnValues {
  using Result = RowOf<T>;
  using A = RowOf<T>;
  using B = RowOf<T>;
  using C = RowOf<T>;
  template <class... Row>
  static Result apply(Row... values) {
    return to_row<T>(Operation::template apply<T>(from_row<T>(values)...));
  }
};

// The same for each of the T packed into 32 bits.
template <class Operation, class T>
struct OnPacked {
  using Result = std::uint32_t;
  using A = std::uint32_t;
  using B = std::uint32_t;
  using C = std::uint32_t;
  template <class... Row>
  static Result apply(Row... values) {
    std::uint32_t result = 0;
    for (int shift = 0; shift < 32; shift += kBits<T>)
      result |= to_row<T>(Operation::template apply<T>(static_cast<T>(values >> shift)...)) << shift;
    return result;
  }
};

// choose.template operator()<T>() for the C++ type of an integer or bit type; {} for any other.
template <class Choose>
Handlers for_integer(Type type, Choose choose) {
  switch (type) {
    case Type::u16:
    case Type::b16:
      return choose.template operator()<std::uint16_t>();
    case Type::s16:
      return choose.template operator()<std::int16_t>();
    case Type::u32:
    case Type::b32:
      return choose.template operator()<std::uint32_t>();
    case Type::s32:
      return choose.template operator()<std::int32_t>();
    case Type::u64:
    case Type::b64:
      return choose.template operator()<std::uint64_t>();
    case Type::s64:
      return choose.template operator()<std::int64_t>();
    default:
      return {};
  }
}

// For operations that give the same bits for signed and unsigned values.
template <class Choose>
Handlers for_width(Type type, Choose choose) {
  switch (bits(type)) {
    case 16:
      return choose.template operator()<std::uint16_t>();
    case 32:
      return choose.template operator()<std::uint32_t>();
    case 64:
      return choose.template operator()<std::uint64_t>();
    default:
      return {};
  }
}

}  // namespace gpuforge::sim
