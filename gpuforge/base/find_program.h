// Programs by name, as a shell finds them.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuforge {

// The folders of a PATH, in order. Relative ones and empty ones are left out: what runs must not depend on
// where one stands.
std::vector<std::filesystem::path> search_folders(std::string_view search_path);

bool is_program(const std::filesystem::path& path);  // a file that may be executed

std::optional<std::filesystem::path> find_program(std::string_view name, std::string_view search_path);

}  // namespace gpuforge
