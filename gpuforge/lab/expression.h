// Expressions in the heads of kernel files: ceil_div(N, BLOCK), 4 * (N + 1), N % 4 == 0 and M > 0. Numbers,
// names, + - * / %, comparisons, and or not, and functions: ceil_div, round_up, min, max, abs,
// next_power_of_two, sqrt, sizeof(NAME).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuforge::lab {

// What names stand for. sizeof(T) is looked up under that very text.
using NameValue = std::variant<std::int64_t, double>;
using NameValues = std::map<std::string, NameValue, std::less<>>;
std::string to_string(const NameValue& value);

class Expression {
 public:
  // `where` is "file:line", which starts every message. parse Error.
  static Expression parse(std::string_view text, std::string_view where);

  const std::string& text() const { return text_; }
  const std::string& where() const { return where_; }
  // Each once, in the order they appear.
  const std::vector<std::string>& names() const { return names_; }
  // parse Error with the nearest when a name is none of `known`.
  void allow_names(std::span<const std::string> known) const;

  // Whole numbers: / drops the fraction, and what does not fit 64 bits, is divided by zero or is no whole
  // number is an invalid_argument.
  std::int64_t integer(const NameValues& values) const;
  double number(const NameValues& values) const;  // in doubles: 1 / 4 is 0.25
  // Of a condition; in doubles when one of its names is no whole number.
  bool holds(const NameValues& values) const;

 private:
  struct Node;
  class Parser;
  template <typename Number>
  class Evaluator;
  Expression() = default;
  [[noreturn]] void fail(std::string_view problem) const;
  std::string text_;
  std::string where_;
  std::vector<std::string> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace gpuforge::lab
