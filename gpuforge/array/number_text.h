// Elements as text, by NumPy's rules: one width for all of them, as few digits as tell each value apart in
// its own dtype but no more than 8 after the point, exponents when the values are large, small or far apart.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "gpuforge/base/dtype.h"

namespace gpuforge {

class NumberText {
 public:
  // `elements` are the values to be shown; they must stay. A `scalar` is not padded for company.
  NumberText(std::span<const std::byte> elements, DType dtype, bool scalar);

  std::size_t count() const { return elements_.size() / element_bytes(dtype_); }
  std::string operator()(std::size_t at) const;

 private:
  void plan_floats();
  void plan_integers();
  std::string float_text(double value) const;

  std::span<const std::byte> elements_;
  DType dtype_;
  bool scalar_;
  std::size_t width_ = 0;  // integers
  bool exponents_ = false;
  std::size_t left_ = 0;             // characters before the point
  std::size_t right_ = 0;            // after it, the exponent included
  std::size_t fraction_digits_ = 0;  // with exponents: the same for all
  std::size_t exponent_digits_ = 0;
};

// The fewest significant digits that no other value of the dtype is nearer to: digits[0].digits[1..] *
// 10^exponent. `magnitude` is finite, positive and a value of the dtype.
struct Digits {
  std::string digits;
  int exponent = 0;
};
Digits shortest_digits(double magnitude, DType dtype);

}  // namespace gpuforge
