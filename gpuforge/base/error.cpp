#include "gpuforge/base/error.h"

#include <utility>

namespace gpuforge {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::compile:
      return "compile";
    case ErrorCode::parse:
      return "parse";
    case ErrorCode::io:
      return "io";
    case ErrorCode::cuda:
      return "cuda";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string message, std::string detail, std::source_location where)
    : state_(std::make_shared<const State>(State{code, std::move(message), std::move(detail), where})) {}

namespace internal {

void throw_check(std::string message, std::source_location where) {
  throw Error(ErrorCode::invalid_argument, std::move(message), {}, where);
}

void throw_assert(std::string_view condition, std::string message, std::source_location where) {
  throw Error(ErrorCode::internal,
              format_text("{} (internal: expected {}, at {}:{})", message, condition, where.file_name(),
                          where.line()),
              {}, where);
}

}  // namespace internal

}  // namespace gpuforge
