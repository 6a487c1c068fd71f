// Numbers, sizes and times as people type and read them: 64Ki, 2^20, 1e6, 512MiB, 1.5ms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuforge {

// A whole number >= 0: 1024, 0x400, 2^10, 1e3, 1Ki (also Mi, Gi, Ti). Nothing when it is not one or is over
// 2^63-1.
std::optional<std::int64_t> parse_count(std::string_view text);

// A size in bytes: 1073741824, 512MiB, 1.5GiB, 500MB, 64K (= KiB). Nothing when it is not one.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

inline constexpr double kLongestUs = 1e12;  // eleven days: where a microsecond is still far above rounding
// 200us, 1.5ms, 2s, 500ns, 0. Nothing when it is not one, is negative or over kLongestUs.
std::optional<double> parse_duration_us(std::string_view text);

std::string show_bytes(std::uint64_t bytes);  // "1.5 GiB", "17 B"
std::string show_ms(double milliseconds);     // "0.012 ms", "1.24 s"
std::string show_us(double microseconds);     // "12 us", "1.20 ms"

// The value of `--option` as a whole number in range, or an invalid_argument saying so.
std::int64_t require_count(std::string_view who, std::string_view text, std::int64_t lowest,
                           std::int64_t highest);

}  // namespace gpuforge
