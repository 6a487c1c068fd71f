// An integer of a layout: known, or not yet (`?`). Arithmetic keeps what does not depend on the unknown part,
// by the rules that CuTe has for its compile-time and run-time integers. Overflow and division by zero are
// Errors.
#pragma once

#include <cstdint>
#include <limits>

namespace gpuforge::layout {

class Integer {
 public:
  constexpr Integer(std::int64_t value = 0) : value_(value) {}
  static constexpr Integer unknown() { return Integer(kUnknown); }

  constexpr bool known() const { return value_ != kUnknown; }
  constexpr bool is(std::int64_t value) const { return value_ == value; }
  constexpr std::int64_t value() const { return value_; }  // of a known one

  // The same number, or both unknown.
  friend constexpr bool operator==(Integer, Integer) = default;

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
  std::int64_t value_;
};

// The Errors of the operators below.
[[noreturn]] void throw_overflow(Integer a, char operation, Integer b);
[[noreturn]] void throw_by_zero(Integer a, char operation);

// In the header because the algebra does little else.
inline Integer operator+(Integer a, Integer b) {
  if (!a.known() || !b.known()) return Integer::unknown();
  std::int64_t sum;
  if (__builtin_add_overflow(a.value(), b.value(), &sum) || !Integer(sum).known()) [[unlikely]]
    throw_overflow(a, '+', b);
  return sum;
}

inline Integer operator-(Integer a, Integer b) {
  if (!a.known() || !b.known()) return Integer::unknown();
  std::int64_t difference;
  if (__builtin_sub_overflow(a.value(), b.value(), &difference) || !Integer(difference).known()) [[unlikely]]
    throw_overflow(a, '-', b);
  return difference;
}

inline Integer operator*(Integer a, Integer b) {
  if (a.is(0) || b.is(0)) return 0;
  if (!a.known() || !b.known()) return Integer::unknown();
  std::int64_t product;
  if (__builtin_mul_overflow(a.value(), b.value(), &product) || !Integer(product).known()) [[unlikely]]
    throw_overflow(a, '*', b);
  return product;
}

inline Integer operator/(Integer a, Integer b) {
  if (b.is(0)) [[unlikely]]
    throw_by_zero(a, '/');
  if (!a.known() || !b.known()) return a.is(0) ? Integer(0) : Integer::unknown();
  return a.value() / b.value();
}

inline Integer operator%(Integer a, Integer b) {
  if (b.is(0)) [[unlikely]]
    throw_by_zero(a, '%');
  if (!a.known() || !b.known()) return a.is(0) || b.is(1) || b.is(-1) ? Integer(0) : Integer::unknown();
  return a.value() % b.value();
}

inline Integer ceil_div(Integer a, Integer b) {
  return (a + b - 1) / b;
}

inline Integer min(Integer a, Integer b) {
  if (!a.known() || !b.known()) return Integer::unknown();
  return a.value() < b.value() ? a : b;
}

inline Integer abs(Integer a) {
  return a.known() && a.value() < 0 ? Integer(0) - a : a;
}

inline Integer signum(Integer a) {
  if (!a.known()) return a;
  return a.value() < 0 ? -1 : a.value() > 0 ? 1 : 0;
}

}  // namespace gpuforge::layout
