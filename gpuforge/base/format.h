// Text from a pattern with {} fields, without a formatting library in our headers: arguments are erased to
// a handful of kinds here, and one .cpp file does the work.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace gpuforge {

class FormatArg {
 public:
  using Value = std::variant<bool, char, std::int64_t, std::uint64_t, double, std::string_view, const void*>;

  FormatArg(bool value) : value_(value) {}
  FormatArg(char value) : value_(value) {}
  FormatArg(std::signed_integral auto value) : value_(static_cast<std::int64_t>(value)) {}
  FormatArg(std::unsigned_integral auto value) : value_(static_cast<std::uint64_t>(value)) {}
  FormatArg(std::floating_point auto value) : value_(static_cast<double>(value)) {}
  FormatArg(const char* value) : value_(std::string_view(value != nullptr ? value : "(null)")) {}
  FormatArg(std::string_view value) : value_(value) {}
  FormatArg(const std::string& value) : value_(std::string_view(value)) {}
  FormatArg(const void* value) : value_(value) {}

  const Value& value() const { return value_; }

 private:
  Value value_;
};

// A malformed pattern is returned as it is, with a note: building a message never throws for its own sake.
std::string format_erased(std::string_view pattern, std::span<const FormatArg> args);

template <typename... Args>
std::string format_text(std::string_view pattern, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return format_erased(pattern, {});
  } else {
    const FormatArg erased[] = {FormatArg(args)...};
    return format_erased(pattern, erased);
  }
}

}  // namespace gpuforge
