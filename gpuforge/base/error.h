// The one exception type of the library and the two macros that raise it.
#pragma once

#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "gpuforge/base/format.h"

namespace gpuforge {

// What a caller can act on. `unavailable` is the environment's lack (no driver, no NVRTC, disk full when
// writing); `io` is a file that was named and could not be read.
enum class ErrorCode {
  invalid_argument,
  out_of_memory,
  unsupported,
  unavailable,
  compile,
  parse,
  io,
  cuda,
  internal,
};

std::string_view name(ErrorCode code);

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message, std::string detail = {},
        std::source_location where = std::source_location::current());

  // Copies only: a moved-from Error would have no state to answer from.
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;

  ErrorCode code() const noexcept { return state_->code; }
  // "room: what was expected, what was found".
  const char* what() const noexcept override { return state_->message.c_str(); }
  const std::string& message() const noexcept { return state_->message; }
  // Long text for those who ask: a compiler's log, a line of PTX. May be empty.
  const std::string& detail() const noexcept { return state_->detail; }
  const std::source_location& where() const noexcept { return state_->where; }

 private:
  struct State {
    ErrorCode code;
    std::string message;
    std::string detail;
    std::source_location where;
  };
  std::shared_ptr<const State> state_;  // shared, because exceptions are copied and a copy must not throw
};

namespace internal {
[[noreturn]] void throw_check(std::string message, std::source_location where);
[[noreturn]] void throw_assert(std::string_view condition, std::string message, std::source_location where);
}  // namespace internal

}  // namespace gpuforge

// The caller's mistake: an invalid_argument Error whose message starts with the op or room.
#define GPUFORGE_CHECK(condition, ...)                                        \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::gpuforge::internal::throw_check(::gpuforge::format_text(__VA_ARGS__), \
                                        ::std::source_location::current());   \
  } while (false)

// Our mistake: an internal Error. Always on; keep the condition cheap.
#define GPUFORGE_ASSERT(condition, ...)                                                    \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::gpuforge::internal::throw_assert(#condition, ::gpuforge::format_text(__VA_ARGS__), \
                                         ::std::source_location::current());               \
  } while (false)
