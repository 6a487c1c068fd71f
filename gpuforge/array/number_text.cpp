#include "gpuforge/array/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "gpuforge/base/convert.h"

namespace gpuforge {
namespace {

constexpr int kPrecision = 8;

// "-1.25e+03" without the sign, apart.
Digits parse_scientific(std::string_view text) {
  const std::size_t e = text.find('e');
  Digits result;
  for (const char c : text.substr(0, e)) {
    if (c != '.') result.digits += c;
  }
  const std::string_view exponent = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  return result;
}

template <typename... Precision>
std::string chars(auto value, std::chars_format format, Precision... precision) {
  std::array<char, 512> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision...);
  return {buffer.data(), end.ptr};
}

// Correctly rounded, ties to even, from the exact value.
Digits rounded_digits(double magnitude, int fraction_digits) {
  return parse_scientific(chars(magnitude, std::chars_format::scientific, fraction_digits));
}

struct NarrowFormat {
  int fraction_bits;
  int lowest_exponent;
};

// The narrow formats have bounds that a double holds exactly, so their shortest digits are found by trying.
Digits shortest_narrow(double magnitude, NarrowFormat format) {
  const int exponent = std::max(std::ilogb(magnitude), format.lowest_exponent);
  const double step = std::ldexp(1.0, exponent - format.fraction_bits);
  const double steps = magnitude / step;
  const bool even = std::fmod(steps, 2.0) == 0;
  // Below a power of two values lie twice as dense.
  const bool power = steps == std::ldexp(1.0, format.fraction_bits) && exponent > format.lowest_exponent;
  const double low = magnitude - (power ? step / 4 : step / 2);
  const double high = magnitude + step / 2;
  const auto inside = [&](const Digits& digits) {
    const std::string text =
        digits.digits.substr(0, 1) + "." + digits.digits.substr(1) + "e" + std::to_string(digits.exponent);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return even ? value >= low && value <= high : value > low && value < high;
  };
  for (int fraction_digits = 0; fraction_digits < 17; ++fraction_digits) {
    const Digits nearest = rounded_digits(magnitude, fraction_digits);
    if (inside(nearest)) return nearest;
    // At a power of two the nearest may lie outside, below, while the next one up is still inside.
    Digits above = nearest;
    if (power && above.digits.back() != '9') {
      ++above.digits.back();
      if (inside(above)) return above;
    }
  }
  return rounded_digits(magnitude, 17);
}

void trim_zeros(std::string& digits, std::size_t keep) {
  while (digits.size() > keep && digits.back() == '0') digits.pop_back();
}

// The shortest digits, or those of the exact value rounded to `kPrecision` after the first one.
Digits scientific_digits(double magnitude, DType dtype) {
  if (magnitude == 0) return {"0", 0};
  Digits result = shortest_digits(magnitude, dtype);
  if (result.digits.size() > kPrecision + 1) result = rounded_digits(magnitude, kPrecision);
  trim_zeros(result.digits, 1);
  return result;
}

// "12.25" or "12.", at most `kPrecision` digits after the point.
std::string positional_text(double magnitude, DType dtype) {
  if (magnitude == 0) return "0.";
  const Digits shortest = shortest_digits(magnitude, dtype);
  const int after_point = static_cast<int>(shortest.digits.size()) - 1 - shortest.exponent;
  std::string text;
  if (after_point <= 0 || after_point > kPrecision) {
    // Digits before the point are exact: the e4m3 value 448 is not 450.
    text = chars(magnitude, std::chars_format::fixed, after_point <= 0 ? 0 : kPrecision);
  } else {
    std::string digits = shortest.digits;
    if (shortest.exponent < 0) digits.insert(0, static_cast<std::size_t>(-shortest.exponent), '0');
    const std::size_t before = static_cast<std::size_t>(std::max(shortest.exponent, 0)) + 1;
    text = digits.substr(0, before) + "." + digits.substr(before);
  }
  if (text.find('.') == std::string::npos) text += '.';
  trim_zeros(text, text.find('.') + 1);
  return text;
}

std::string exponent_text(int exponent, std::size_t digits) {
  std::string text = std::to_string(std::abs(exponent));
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return (exponent < 0 ? '-' : '+') + text;
}

// Where exponents begin: 10 to the number of decimal digits the dtype surely has, at most 8.
double exponent_limit(DType dtype) {
  if (dtype == DType::f64) return 1e8;
  return dtype == DType::f32 ? 1e6 : 1e3;
}

double quotient(double a, double b, DType dtype) {
  if (dtype == DType::f64) return a / b;
  const float narrow = static_cast<float>(a) / static_cast<float>(b);
  return dtype == DType::f16 ? Half::from(narrow).to_double() : narrow;
}

double rounded_to(DType dtype, double value) {
  std::array<std::byte, 8> element{};
  store_double(element.data(), dtype, value);
  return load_double(element.data(), dtype);
}

}  // namespace

Digits shortest_digits(double magnitude, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return parse_scientific(chars(magnitude, std::chars_format::scientific));
    case DType::f32:
      return parse_scientific(chars(static_cast<float>(magnitude), std::chars_format::scientific));
    case DType::f16:
      return shortest_narrow(magnitude, {10, -14});
    case DType::bf16:
      return shortest_narrow(magnitude, {7, -126});
    case DType::f8e4m3:
      return shortest_narrow(magnitude, {3, -6});
    case DType::f8e5m2:
      return shortest_narrow(magnitude, {2, -14});
    default:
      break;
  }
  throw Error(ErrorCode::internal, "array: shortest digits were asked of an integer dtype");
}

NumberText::NumberText(std::span<const std::byte> elements, DType dtype, bool scalar)
    : elements_(elements), dtype_(dtype), scalar_(scalar) {
  if (is_floating(dtype_)) plan_floats();
  if (is_integer(dtype_)) plan_integers();
}

void NumberText::plan_integers() {
  for (std::size_t i = 0; i < count(); ++i) {
    const std::int64_t value = load_int64(elements_.data() + i * element_bytes(dtype_), dtype_);
    width_ = std::max(width_, std::to_string(value).size());
  }
}

void NumberText::plan_floats() {
  double largest = 0;
  double smallest = 0;
  bool other_than_finite = false;
  bool negative_infinity = false;
  std::vector<double> finite;
  for (std::size_t i = 0; i < count(); ++i) {
    const double value = load_double(elements_.data() + i * element_bytes(dtype_), dtype_);
    if (!std::isfinite(value)) {
      other_than_finite = true;
      negative_infinity = negative_infinity || (std::isinf(value) && value < 0);
      continue;
    }
    finite.push_back(value);
    const double magnitude = std::abs(value);
    if (magnitude == 0) continue;
    largest = std::max(largest, magnitude);
    smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
  }
  exponents_ = largest > 0 && (largest >= exponent_limit(dtype_) || smallest < rounded_to(dtype_, 0.0001) ||
                               quotient(largest, smallest, dtype_) > 1000);
  for (const double value : finite) {
    const std::size_t sign = std::signbit(value) ? 1 : 0;
    if (exponents_) {
      const Digits digits = scientific_digits(std::abs(value), dtype_);
      left_ = std::max(left_, sign + 1);
      fraction_digits_ = std::max(fraction_digits_, digits.digits.size() - 1);
      exponent_digits_ = std::max(exponent_digits_, exponent_text(digits.exponent, 2).size() - 1);
    } else {
      const std::string text = positional_text(std::abs(value), dtype_);
      const std::size_t point = text.find('.');
      left_ = std::max(left_, sign + point);
      right_ = std::max(right_, text.size() - point - 1);
    }
  }
  if (exponents_) right_ = fraction_digits_ + exponent_digits_ + 2;
  if (other_than_finite) {
    const std::size_t longest = negative_infinity ? 4 : 3;
    if (left_ + right_ + 1 < longest) left_ = longest - right_ - 1;
  }
}

std::string NumberText::float_text(double value) const {
  std::string text;
  if (!std::isfinite(value)) {
    text = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    text.insert(0, left_ + right_ + 1 - text.size(), ' ');
    return text;
  }
  const double magnitude = std::abs(value);
  std::size_t point = 1;
  if (exponents_) {
    Digits digits = magnitude == 0 ? Digits{"0", 0} : shortest_digits(magnitude, dtype_);
    // Longer than its shortest form a value shows its exact digits.
    if (magnitude != 0 && digits.digits.size() != fraction_digits_ + 1) {
      digits = rounded_digits(magnitude, static_cast<int>(fraction_digits_));
    }
    digits.digits.resize(fraction_digits_ + 1, '0');
    text = digits.digits.substr(0, 1) + "." + digits.digits.substr(1) + "e" +
           exponent_text(digits.exponent, exponent_digits_);
  } else {
    text = positional_text(magnitude, dtype_);
    point = text.find('.');
    text.resize(point + 1 + right_, ' ');
  }
  if (std::signbit(value)) {
    text.insert(0, 1, '-');
    ++point;
  }
  if (point < left_) text.insert(0, left_ - point, ' ');
  return text;
}

std::string NumberText::operator()(std::size_t at) const {
  const std::byte* const element = elements_.data() + at * element_bytes(dtype_);
  if (is_floating(dtype_)) return float_text(load_double(element, dtype_));
  if (dtype_ == DType::boolean) {
    if (load_int64(element, dtype_) == 0) return "False";
    return scalar_ ? "True" : " True";
  }
  std::string text = std::to_string(load_int64(element, dtype_));
  return std::string(width_ - text.size(), ' ') + text;
}

}  // namespace gpuforge
