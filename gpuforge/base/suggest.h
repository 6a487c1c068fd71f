// "Did you mean": the nearest of the known names, when one is near enough to be a slip of the fingers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge {

// Insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b);

std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> known);

// "; did you mean 'X'?" or nothing, to be put at the end of a message.
std::string did_you_mean(std::string_view typed, std::span<const std::string> known);

}  // namespace gpuforge
