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

Integer operator+(Integer a, Integer b);
Integer operator-(Integer a, Integer b);
Integer operator*(Integer a, Integer b);
Integer operator/(Integer a, Integer b);
Integer operator%(Integer a, Integer b);
Integer ceil_div(Integer a, Integer b);
Integer min(Integer a, Integer b);
Integer abs(Integer a);
Integer signum(Integer a);

}  // namespace gpuforge::layout
