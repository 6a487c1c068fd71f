#include "gpuforge/jit/cache_entry.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/json.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr std::size_t kKeyDigits = 32;
constexpr std::size_t kMaxStem = 48;
constexpr std::string_view kMetaName = "meta.json";
constexpr std::string_view kSourceName = "kernel.cu";
constexpr std::string_view kPtxName = "kernel.ptx";
constexpr std::string_view kCubinName = "kernel.cubin";
constexpr std::string_view kLogName = "log.txt";

// meta.json begins with the hash of all that follows these two pieces, so that a changed digit in it shows.
constexpr std::string_view kCheckOpens = "{\n  \"check\": \"";
constexpr std::string_view kCheckCloses = "\",\n";

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.';
}

std::size_t to_size(const Json& value) {
  const std::int64_t number = value.as_integer();
  if (number < 0) throw Error(ErrorCode::parse, "cache: a size below zero");
  return static_cast<std::size_t>(number);
}

Json to_json(const Parameter& parameter) {
  Json json = Json::object();
  json.set("bytes", parameter.bytes);
  json.set("ptx_type", parameter.ptx_type);
  json.set("declared_type", parameter.declared_type);
  json.set("name", parameter.name);
  return json;
}

Parameter parameter_from(const Json& json) {
  return {.bytes = to_size(json.at("bytes")),
          .ptx_type = json.at("ptx_type").as_string(),
          .declared_type = json.at("declared_type").as_string(),
          .name = json.at("name").as_string()};
}

Json to_json(const Entry& entry) {
  Json json = Json::object();
  json.set("name", entry.name);
  json.set("expression", entry.expression);
  json.set("registers", entry.registers);
  json.set("stack_bytes", entry.stack_bytes);
  json.set("spill_store_bytes", entry.spill_store_bytes);
  json.set("spill_load_bytes", entry.spill_load_bytes);
  json.set("static_shared_bytes", entry.static_shared_bytes);
  Json parameters = Json::array();
  for (const Parameter& parameter : entry.parameters) parameters.push_back(to_json(parameter));
  json.set("parameters", std::move(parameters));
  return json;
}

Entry entry_from(const Json& json) {
  Entry entry;
  entry.name = json.at("name").as_string();
  entry.expression = json.at("expression").as_string();
  entry.registers = static_cast<int>(json.at("registers").as_integer());
  entry.stack_bytes = to_size(json.at("stack_bytes"));
  entry.spill_store_bytes = to_size(json.at("spill_store_bytes"));
  entry.spill_load_bytes = to_size(json.at("spill_load_bytes"));
  entry.static_shared_bytes = to_size(json.at("static_shared_bytes"));
  for (const Json& parameter : json.at("parameters").as_array())
    entry.parameters.push_back(parameter_from(parameter));
  return entry;
}

struct Part {
  std::string_view name;
  std::string_view text;
};

std::vector<Part> parts_of(const Compiled& compiled, std::string_view source_text) {
  std::vector<Part> parts = {{kSourceName, source_text}, {kPtxName, compiled.ptx}, {kLogName, compiled.log}};
  if (!compiled.cubin.empty()) parts.push_back({kCubinName, compiled.cubin});
  return parts;
}

std::string meta_text(const std::string& key, const Compiled& compiled, const std::vector<Part>& parts) {
  Json meta = Json::object();
  meta.set("format", kFormat);
  meta.set("key", key);
  meta.set("source", compiled.source_name);
  meta.set("arch", compiled.arch.name());
  meta.set("compiler", compiled.compiler_version);
  meta.set("compile_ms", compiled.compile_ms);
  Json files = Json::object();
  for (const Part& part : parts) {
    Json facts = Json::object();
    facts.set("bytes", part.text.size());
    facts.set("xxh3", hash_text(part.text).hex());
    files.set(part.name, std::move(facts));
  }
  meta.set("files", std::move(files));
  Json entries = Json::array();
  for (const Entry& entry : compiled.entries) entries.push_back(to_json(entry));
  meta.set("entries", std::move(entries));
  const std::string rest = meta.dump(2).substr(2) + "\n";  // without its "{\n", which kCheckOpens brings
  return std::string(kCheckOpens) + hash_text(rest).hex() + std::string(kCheckCloses) + rest;
}

// The parsed meta.json, or a parse Error when a byte of it is not as written.
Json checked_meta(std::string_view text) {
  const std::size_t rest_at = kCheckOpens.size() + kKeyDigits + kCheckCloses.size();
  const bool whole = text.size() > rest_at && text.starts_with(kCheckOpens) &&
                     text.substr(kCheckOpens.size() + kKeyDigits).starts_with(kCheckCloses) &&
                     text.substr(kCheckOpens.size(), kKeyDigits) == hash_text(text.substr(rest_at)).hex();
  if (!whole) throw Error(ErrorCode::parse, "meta.json is damaged");
  return Json::parse(text, kMetaName);
}

// One of the entry's files, or a parse Error when it differs from what meta.json says of it.
std::string checked_part(const fs::path& folder, std::string_view name, const Json& files) {
  const Json& facts = files.at(name);
  const std::size_t bytes = to_size(facts.at("bytes"));
  const fs::path path = folder / name;
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) {
    throw Error(ErrorCode::parse, format_text("{} is missing", name));
  }
  if (const std::uintmax_t found = fs::file_size(path, failed); failed || found != bytes) {
    throw Error(ErrorCode::parse,
                format_text("{} has {} bytes, expected {}", name, failed ? 0 : found, bytes));
  }
  std::string text = read_file(path);
  if (text.size() != bytes || hash_text(text).hex() != facts.at("xxh3").as_string()) {
    throw Error(ErrorCode::parse, format_text("{} is damaged", name));
  }
  return text;
}

Compiled read_checked(const fs::path& folder, std::string_view key, std::string_view meta) {
  const Json json = checked_meta(meta);
  if (json.at("format").as_integer() != kFormat)
    throw Error(ErrorCode::parse, "meta.json is of another format");
  if (json.at("key").as_string() != key) throw Error(ErrorCode::parse, "meta.json is of another key");
  Compiled compiled;
  compiled.arch = Arch::parse(json.at("arch").as_string());
  compiled.source_name = json.at("source").as_string();
  compiled.key = key;
  compiled.compiler_version = json.at("compiler").as_string();
  compiled.compile_ms = json.at("compile_ms").as_double();
  compiled.from_cache = true;
  for (const Json& entry : json.at("entries").as_array()) compiled.entries.push_back(entry_from(entry));
  const Json& files = json.at("files");
  checked_part(folder, kSourceName, files);
  compiled.ptx = checked_part(folder, kPtxName, files);
  compiled.log = checked_part(folder, kLogName, files);
  if (files.find(kCubinName) != nullptr) compiled.cubin = checked_part(folder, kCubinName, files);
  return compiled;
}

}  // namespace

std::string entry_name(const Hash128& key, std::string_view source_name) {
  std::string stem = fs::path(source_name).stem().string().substr(0, kMaxStem);
  std::replace_if(
      stem.begin(), stem.end(), [](char c) { return !is_plain(c); }, '_');
  if (stem.empty()) stem = "kernel";
  if (stem.front() == '.' || stem.front() == '-') stem.front() = '_';  // hidden names are for our own work
  return stem + "-" + key.hex();
}

std::optional<EntryName> parse_entry_name(std::string_view name) {
  if (name.size() < kKeyDigits + 2 || name.size() > kKeyDigits + 1 + kMaxStem) return std::nullopt;
  const std::string_view stem = name.substr(0, name.size() - kKeyDigits - 1);
  const std::string_view key = name.substr(stem.size() + 1);
  const bool ours = name[stem.size()] == '-' && stem.front() != '.' && stem.front() != '-' &&
                    std::all_of(stem.begin(), stem.end(), is_plain) &&
                    std::all_of(key.begin(), key.end(), is_hex);
  if (!ours) return std::nullopt;
  return EntryName{std::string(stem), std::string(key)};
}

void write_entry(const fs::path& folder, const std::string& key, const Compiled& compiled,
                 std::string_view source_text) {
  const std::vector<Part> parts = parts_of(compiled, source_text);
  for (const Part& part : parts) write_file(folder / part.name, part.text);
  write_file(folder / kMetaName, meta_text(key, compiled, parts));
}

EntryContent read_entry(const fs::path& folder, std::string_view key) {
  EntryContent content;
  try {
    std::error_code failed;
    const fs::file_status status = fs::status(folder / kMetaName, failed);
    if (status.type() == fs::file_type::none) {  // not even that could be asked: no permission, say
      content.problem = failed.message();
      return content;
    }
    if (!fs::is_regular_file(status)) throw Error(ErrorCode::parse, "meta.json is missing");
    content.compiled = read_checked(folder, key, read_file(folder / kMetaName));
  } catch (const Error& error) {
    content.problem = error.message();
    // A file that is there and cannot be read (permission, too many open files) may be good tomorrow.
    content.broken = error.code() != ErrorCode::io && error.code() != ErrorCode::out_of_memory;
  }
  return content;
}

std::uintmax_t entry_bytes(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code failed;
  for (fs::directory_iterator file(folder, failed), end; !failed && file != end; file.increment(failed)) {
    std::error_code ignored;
    const std::uintmax_t size = file->file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

std::string entry_arch(const fs::path& folder) {
  try {
    return Json::parse(read_file(folder / kMetaName)).at("arch").as_string();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace gpuforge::jit
