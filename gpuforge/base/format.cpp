#include "gpuforge/base/format.h"

#include <fmt/args.h>
#include <fmt/format.h>

namespace gpuforge {

std::string format_erased(std::string_view pattern, std::span<const FormatArg> args) {
  try {
    fmt::dynamic_format_arg_store<fmt::format_context> store;
    for (const FormatArg& arg : args) {
      std::visit([&store](const auto& value) { store.push_back(value); }, arg.value());
    }
    return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
  } catch (const fmt::format_error& error) {
    // Messages are built on the way to reporting something else: that report matters more than this slip.
    return std::string(pattern) + " [bad format pattern: " + error.what() + "]";
  }
}

}  // namespace gpuforge
