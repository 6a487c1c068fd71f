#include "cli/element_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/format.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

struct WholeNumber {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

// Signs, decimal, 0x, and the short forms of parse_count.
std::optional<WholeNumber> parse_whole(std::string_view text) {
  WholeNumber number;
  if (text.starts_with('-') || text.starts_with('+')) {
    number.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hex ? text.substr(2) : text;
  if (digits.empty()) return std::nullopt;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number.magnitude, hex ? 16 : 10);
  if (error == std::errc() && end == last) return number;
  const auto count = parse_count(text);
  if (!count) return std::nullopt;
  number.magnitude = static_cast<std::uint64_t>(*count);
  return number;
}

std::optional<double> parse_real(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hex ? text.substr(2) : text;
  double value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] =
      std::from_chars(digits.data(), last, value, hex ? std::chars_format::hex : std::chars_format::general);
  if (end != last || digits.empty()) {
    const auto count = parse_count(text);  // 2^20, 64Ki
    if (!count) return std::nullopt;
    value = static_cast<double>(*count);
  } else if (error == std::errc::result_out_of_range) {
    // Too small is zero, which is what rounding gives; too large is told by the exponent's sign.
    const std::size_t exponent = digits.find_first_of(hex ? "pP" : "eE");
    const bool tiny = exponent != std::string_view::npos && digits.substr(exponent + 1).starts_with('-');
    value = tiny ? 0 : std::numeric_limits<double>::max();
    if (!tiny) return std::nullopt;
  }
  return negative ? -value : value;
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::numeric_limits<float>::max();
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 3.3895313892515355e38;
    case DType::f8e4m3:
      return 448;
    case DType::f8e5m2:
      return 57344;
    default:
      return std::numeric_limits<double>::max();
  }
}

std::optional<std::string> store_real(std::string_view text, DType dtype, void* to) {
  const auto value = parse_real(text);
  if (!value) return format_text("'{}' is not a number of {}", text, name(dtype));
  if (std::isfinite(*value) && std::abs(*value) > largest_finite(dtype)) {
    return format_text("'{}' does not fit {}, whose largest number is {}", text, name(dtype),
                       largest_finite(dtype));
  }
  if (std::isinf(*value) && dtype == DType::f8e4m3) return std::string("f8e4m3 has no infinity");
  store_double(to, dtype, *value);
  // Narrowing saturates an fp8 infinity; one that is asked for is the bit pattern.
  if (std::isinf(*value) && dtype == DType::f8e5m2)
    *static_cast<std::uint8_t*>(to) = *value < 0 ? 0xfc : 0x7c;
  return std::nullopt;
}

std::optional<std::string> store_whole(std::string_view text, DType dtype, void* to) {
  const auto number = parse_whole(text);
  if (!number) return format_text("'{}' is not a whole number", text);
  const bool is_signed = dtype != DType::u8;
  const std::size_t bits = element_bytes(dtype) * 8;
  const std::uint64_t highest = (std::uint64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
  const std::uint64_t limit = number->negative ? (is_signed ? highest + 1 : 0) : highest;
  if (number->magnitude > limit) {
    const std::string lowest = is_signed ? format_text("-{}", highest + 1) : std::string("0");
    return format_text("'{}' does not fit {} ({} to {})", text, name(dtype), lowest, highest);
  }
  const std::uint64_t bits_of = number->negative ? std::uint64_t{0} - number->magnitude : number->magnitude;
  store_int64(to, dtype, static_cast<std::int64_t>(bits_of));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> parse_element(std::string_view text, DType dtype, void* to) {
  if (is_floating(dtype)) return store_real(text, dtype, to);
  if (is_integer(dtype)) return store_whole(text, dtype, to);
  const bool yes = text == "true" || text == "True" || text == "1";
  if (!yes && text != "false" && text != "False" && text != "0") {
    return format_text("'{}' is neither true nor false", text);
  }
  store_int64(to, dtype, yes ? 1 : 0);
  return std::nullopt;
}

std::optional<std::string> parse_unsigned(std::string_view text, std::size_t bytes, void* to) {
  const auto number = parse_whole(text);
  if (!number) return format_text("'{}' is not a whole number", text);
  const std::uint64_t highest = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (bytes * 8)) - 1;
  if (number->magnitude > highest || (number->negative && number->magnitude != 0)) {
    return format_text("'{}' does not fit u{} (0 to {})", text, bytes * 8, highest);
  }
  std::memcpy(to, &number->magnitude, bytes);  // little-endian, as the GPU is
  return std::nullopt;
}

}  // namespace gpuforge::cli
