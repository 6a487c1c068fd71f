#include "gpuforge/sched/amount.h"

#include <array>
#include <charconv>
#include <cmath>

#include "gpuforge/base/format.h"

namespace gpuforge::sched {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Longer names first: "GiB" ends with "B" as well.
constexpr std::array<Unit, 9> kByteUnits = {{{"KiB", 1024.0},
                                             {"MiB", 1048576.0},
                                             {"GiB", 1073741824.0},
                                             {"TiB", 1099511627776.0},
                                             {"KB", 1e3},
                                             {"MB", 1e6},
                                             {"GB", 1e9},
                                             {"TB", 1e12},
                                             {"B", 1.0}}};
constexpr std::array<Unit, 4> kTimeUnits = {{{"ns", 1e-3}, {"us", 1.0}, {"ms", 1e3}, {"s", 1e6}}};

std::optional<double> plain_number(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty() || text.front() == '-' || text.front() == '+') return std::nullopt;
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

template <std::size_t N>
std::optional<double> with_unit(std::string_view text, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto value = plain_number(text.substr(0, text.size() - unit.name.size()));
    if (!value) return std::nullopt;
    return *value * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::optional<double> bytes = with_unit(text, kByteUnits);
  if (!bytes) bytes = plain_number(text);
  if (!bytes || !(*bytes < 9.2e18)) return std::nullopt;
  return static_cast<std::uint64_t>(std::floor(*bytes));
}

std::optional<double> parse_duration_us(std::string_view text) {
  if (text == "0") return 0.0;
  const std::optional<double> us = with_unit(text, kTimeUnits);
  if (!us || !(*us <= kLongestUs)) return std::nullopt;
  return us;
}

std::string show_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return format_text("{} B", bytes);
  constexpr std::array<std::string_view, 5> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return format_text("{:.1f} {}", value, kNames[unit]);
}

std::string show_us(double microseconds) {
  const double size = std::abs(microseconds);
  if (size < 999.5) return format_text("{:.0f} us", microseconds);
  if (size < 999500) return format_text("{:.2f} ms", microseconds / 1e3);
  return format_text("{:.2f} s", microseconds / 1e6);
}

}  // namespace gpuforge::sched
