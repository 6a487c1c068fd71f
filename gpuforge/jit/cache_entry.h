// One entry of the disk cache as a folder: its name, its files, and how it is told whole from broken. Not
// installed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gpuforge/base/hash.h"
#include "gpuforge/jit/compiled.h"

namespace gpuforge::jit {

// "saxpy-<32 hex digits>" for "examples/saxpy.cu".
std::string entry_name(const Hash128& key, std::string_view source_name);
struct EntryName {
  std::string stem;
  std::string key;
};
// Nothing when `name` is not one entry_name makes: a file of someone else's.
std::optional<EntryName> parse_entry_name(std::string_view name);

// Writes every file into `folder`, which exists and is empty. Errors of write_file.
void write_entry(const std::filesystem::path& folder, const std::string& key, const Compiled& compiled,
                 std::string_view source_text);

struct EntryContent {
  std::optional<Compiled> compiled;  // nothing: `problem` says why
  std::string problem;
  bool broken = false;  // its content is wrong; otherwise it could not be read this time
};
// Reads and checks every file against the sizes and hashes of meta.json.
EntryContent read_entry(const std::filesystem::path& folder, std::string_view key);

// Bytes of the files in the folder, for the size limit.
std::uintmax_t entry_bytes(const std::filesystem::path& folder);
// The arch meta.json states, unchecked; empty when it cannot be read.
std::string entry_arch(const std::filesystem::path& folder);

}  // namespace gpuforge::jit
