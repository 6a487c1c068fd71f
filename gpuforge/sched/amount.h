// Sizes and times as workload files write them and reports show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuforge::sched {

inline constexpr double kLongestUs = 1e12;  // eleven days: where a microsecond is still far above rounding

// 512MiB, 1.5GiB, 64KiB, 4096, 80GB. Nothing when it is not one, is negative, or is 2^63 or more.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
// 200us, 1.5ms, 2s, 0. Nothing when it is not one, is negative or over kLongestUs.
std::optional<double> parse_duration_us(std::string_view text);

std::string show_bytes(std::uint64_t bytes);  // "1.5 GiB"
std::string show_us(double microseconds);     // "1.20 ms"

}  // namespace gpuforge::sched
