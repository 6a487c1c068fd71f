#include "gpuforge/layout/integer.h"

#include <string>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {
namespace {

[[noreturn]] void overflow(Integer a, char operation, Integer b) {
  throw Error(ErrorCode::invalid_argument,
              format_text("{} {} {} does not fit in 63 bits", a.value(), operation, b.value()));
}

[[noreturn]] void by_zero(Integer a, char operation) {
  throw Error(ErrorCode::invalid_argument,
              format_text("{} {} 0 is not defined", a.known() ? std::to_string(a.value()) : "?", operation));
}

Integer checked(bool overflowed, std::int64_t result, Integer a, char operation, Integer b) {
  const Integer integer(result);
  if (overflowed || !integer.known()) [[unlikely]]
    overflow(a, operation, b);
  return integer;
}

bool both_known(Integer a, Integer b) {
  return a.known() && b.known();
}

}  // namespace

Integer operator+(Integer a, Integer b) {
  if (!both_known(a, b)) return Integer::unknown();
  std::int64_t result;
  const bool overflowed = __builtin_add_overflow(a.value(), b.value(), &result);
  return checked(overflowed, result, a, '+', b);
}

Integer operator-(Integer a, Integer b) {
  if (!both_known(a, b)) return Integer::unknown();
  std::int64_t result;
  const bool overflowed = __builtin_sub_overflow(a.value(), b.value(), &result);
  return checked(overflowed, result, a, '-', b);
}

Integer operator*(Integer a, Integer b) {
  if (a.is(0) || b.is(0)) return 0;
  if (!both_known(a, b)) return Integer::unknown();
  std::int64_t result;
  const bool overflowed = __builtin_mul_overflow(a.value(), b.value(), &result);
  return checked(overflowed, result, a, '*', b);
}

Integer operator/(Integer a, Integer b) {
  if (b.is(0)) by_zero(a, '/');
  if (!both_known(a, b)) return a.is(0) ? Integer(0) : Integer::unknown();
  return a.value() / b.value();
}

Integer operator%(Integer a, Integer b) {
  if (b.is(0)) by_zero(a, '%');
  if (!both_known(a, b)) return a.is(0) || b.is(1) || b.is(-1) ? Integer(0) : Integer::unknown();
  return a.value() % b.value();
}

Integer ceil_div(Integer a, Integer b) {
  return (a + b - 1) / b;
}

Integer min(Integer a, Integer b) {
  if (!both_known(a, b)) return Integer::unknown();
  return a.value() < b.value() ? a : b;
}

Integer abs(Integer a) {
  return a.known() && a.value() < 0 ? Integer(0) - a : a;
}

Integer signum(Integer a) {
  if (!a.known()) return a;
  return a.value() < 0 ? -1 : a.value() > 0 ? 1 : 0;
}

}  // namespace gpuforge::layout
