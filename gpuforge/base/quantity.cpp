#include "gpuforge/base/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

constexpr std::int64_t kLargest = 9223372036854775807;

// All of `text` as an unsigned number below 2^63, in the given base.
std::optional<std::int64_t> whole(std::string_view text, int base = 10) {
  std::int64_t value = 0;
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> multiplied(std::optional<std::int64_t> a, std::int64_t b) {
  if (!a || (b != 0 && *a > kLargest / b)) return std::nullopt;
  return *a * b;
}

// The largest doubles below 2^63; a fraction is not a whole number.
std::optional<std::int64_t> as_whole(std::optional<double> value) {
  if (!value || *value != std::floor(*value) || *value >= 9223372036854775808.0) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array kByteUnits = {Unit{"KiB", 1024.0},
                                   Unit{"MiB", 1048576.0},
                                   Unit{"GiB", 1073741824.0},
                                   Unit{"TiB", 1099511627776.0},
                                   Unit{"kB", 1e3},
                                   Unit{"KB", 1e3},
                                   Unit{"MB", 1e6},
                                   Unit{"GB", 1e9},
                                   Unit{"TB", 1e12},
                                   Unit{"K", 1024.0},
                                   Unit{"M", 1048576.0},
                                   Unit{"G", 1073741824.0},
                                   Unit{"T", 1099511627776.0},
                                   Unit{"B", 1.0}};
constexpr std::array kTimeUnits = {Unit{"ns", 1e-3}, Unit{"us", 1.0}, Unit{"ms", 1e3}, Unit{"s", 1e6}};

// The units in the order of their tables: "ms" ends with "s" as well.
std::optional<double> with_unit(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    std::string_view number = text.substr(0, text.size() - unit.name.size());
    while (number.ends_with(' ')) number.remove_suffix(1);
    const auto value = decimal(number);
    return value ? std::optional(*value * unit.factor) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_count(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return whole(text.substr(2), 16);
  if (const std::size_t caret = text.find('^'); caret != std::string_view::npos) {
    const auto base = whole(text.substr(0, caret));
    const auto exponent = whole(text.substr(caret + 1));
    if (!base || !exponent || *exponent > 63) return std::nullopt;
    std::optional<std::int64_t> power = 1;
    for (std::int64_t i = 0; i < *exponent && power; ++i) power = multiplied(power, *base);
    return power;
  }
  constexpr std::array<std::string_view, 4> kBinary = {"Ki", "Mi", "Gi", "Ti"};
  std::int64_t factor = 1;
  for (std::string_view unit : kBinary) {
    factor *= 1024;
    if (text.ends_with(unit)) return multiplied(whole(text.substr(0, text.size() - unit.size())), factor);
  }
  if (text.find_first_of("eE") != std::string_view::npos) return as_whole(decimal(text));
  return whole(text);
}

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  if (const auto plain = parse_count(text)) return static_cast<std::uint64_t>(*plain);
  const auto value = with_unit(text, kByteUnits);
  const auto bytes = value ? as_whole(std::floor(*value)) : std::nullopt;
  return bytes ? std::optional(static_cast<std::uint64_t>(*bytes)) : std::nullopt;
}

std::optional<double> parse_duration_us(std::string_view text) {
  if (text == "0") return 0.0;
  const std::optional<double> us = with_unit(text, kTimeUnits);
  return us && *us <= kLongestUs ? us : std::nullopt;
}

std::string show_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return format_text("{} B", bytes);
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return format_text("{:.1f} {}", value, kUnits[unit]);
}

std::string show_ms(double milliseconds) {
  if (milliseconds >= 1000) return format_text("{:.2f} s", milliseconds / 1000);
  if (milliseconds >= 10) return format_text("{:.1f} ms", milliseconds);
  return format_text("{:.3f} ms", milliseconds);
}

std::string show_us(double microseconds) {
  const double size = std::abs(microseconds);
  if (size < 999.5) return format_text("{:.0f} us", microseconds);
  if (size < 999500) return format_text("{:.2f} ms", microseconds / 1e3);
  return format_text("{:.2f} s", microseconds / 1e6);
}

std::int64_t require_count(std::string_view who, std::string_view text, std::int64_t lowest,
                           std::int64_t highest) {
  const auto value = parse_count(text);
  GPUFORGE_CHECK(value && *value >= lowest && *value <= highest,
                 "{} is a whole number from {} to {}, but '{}' was given", who, lowest, highest, text);
  return *value;
}

}  // namespace gpuforge
