// Errors of the algebra say which operation met them and with which operands. Not installed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "gpuforge/base/error.h"
#include "gpuforge/layout/layout.h"

namespace gpuforge::layout {

// Why an operation cannot be done; named_operation() adds the rest.
template <class... Args>
[[noreturn]] void refuse(std::string_view pattern, const Args&... args) {
  throw Error(ErrorCode::invalid_argument, format_text(pattern, args...));
}

// `_` is for coordinates to slice with and for tilers; it is no number.
inline void expect_numbers(TupleView tuple) {
  if (has_underscore(tuple)) refuse("layout: numbers are expected, found {}", to_text(tuple));
}

[[noreturn]] void throw_named(const Error& error, std::string_view operation,
                              std::initializer_list<std::string> operands);

template <class Operand>
std::string operand_text(const Operand& operand) {
  if constexpr (std::is_same_v<Operand, std::int64_t>)
    return std::to_string(operand);
  else
    return to_text(operand);
}

template <class Run, class... Operands>
auto named_operation(std::string_view operation, const Run& run, const Operands&... operands) {
  try {
    return run();
  } catch (const Error& error) {
    throw_named(error, operation, {operand_text(operands)...});
  }
}

}  // namespace gpuforge::layout
