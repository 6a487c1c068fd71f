// Syntax strings of opcode rows put together from pieces that several rows share.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace gpuforge::sim {

template <const std::string_view&... kParts>
struct Joined {
  static constexpr auto kText = [] {
    std::array<char, (kParts.size() + ...)> text{};
    std::size_t at = 0;
    const auto append = [&](std::string_view part) {
      for (const char c : part) text[at++] = c;
    };
    (append(kParts), ...);
    return text;
  }();
  static constexpr std::string_view kView{kText.data(), kText.size()};
};
template <const std::string_view&... kParts>
inline constexpr std::string_view kJoined = Joined<kParts...>::kView;

}  // namespace gpuforge::sim
