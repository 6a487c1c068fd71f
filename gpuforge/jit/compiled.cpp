#include "gpuforge/jit/compiled.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "gpuforge/base/error.h"
#include "gpuforge/jit/compile_log.h"
#include "gpuforge/jit/kernel_names.h"

namespace gpuforge::jit {
namespace {

// The number before `unit`, as in "400 bytes smem"; 0 when the line does not have it.
std::size_t number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  std::size_t value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

Entry* find_loaded(std::vector<Entry>& entries, std::string_view name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

// Names compare without blanks: "tile<float,3>" is "tile<float, 3>".
std::string without_blanks(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
               [](char c) { return c != ' ' && c != '\t'; });
  return kept;
}

}  // namespace

const Entry& Compiled::entry(std::string_view name) const {
  const auto only = [&](auto matches) -> const Entry* {
    const Entry* found = nullptr;
    for (const Entry& candidate : entries) {
      if (!matches(candidate)) continue;
      if (found != nullptr) return nullptr;
      found = &candidate;
    }
    return found;
  };
  for (const Entry& candidate : entries) {
    if (candidate.name == name) return candidate;
  }
  const std::string wanted = without_blanks(name);
  if (const Entry* e = only([&](const Entry& c) { return without_blanks(c.expression) == wanted; }))
    return *e;
  if (const Entry* e = only([&](const Entry& c) { return unqualified(c.expression) == name; })) return *e;

  GPUFORGE_CHECK(!entries.empty(), "{}: there is no kernel '{}': the file has no __global__ function",
                 source_name, name);
  std::string list;
  for (const Entry& candidate : entries) {
    list +=
        (list.empty() ? "" : ", ") + (candidate.expression.empty() ? candidate.name : candidate.expression);
  }
  const bool ambiguous = std::any_of(entries.begin(), entries.end(), [&](const Entry& c) {
    return unqualified(c.expression) == name || without_blanks(c.expression) == wanted;
  });
  GPUFORGE_CHECK(!ambiguous, "{}: '{}' means several kernels; name one of: {}", source_name, name, list);
  throw Error(ErrorCode::invalid_argument,
              format_text("{}: there is no kernel '{}'; there is: {}", source_name, name, list));
}

void add_resources(std::vector<Entry>& entries, std::string_view log) {
  Entry* compiling = nullptr;   // whose registers the next "Used" line tells
  Entry* properties = nullptr;  // whose stack the next line tells; a device function's is nobody's
  for (const std::string_view line : lines_of(log)) {
    if (line.find("Compiling entry function '") != std::string_view::npos) {
      compiling = find_loaded(entries, quoted(line));
    } else if (const auto at = line.find("Function properties for "); at != std::string_view::npos) {
      properties = find_loaded(entries, line.substr(at + 24));
    } else if (line.find(" bytes stack frame") != std::string_view::npos) {
      if (properties == nullptr) continue;
      properties->stack_bytes = number_before(line, " bytes stack frame");
      properties->spill_store_bytes = number_before(line, " bytes spill stores");
      properties->spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (compiling != nullptr && line.find(": Used ") != std::string_view::npos) {
      compiling->registers = static_cast<int>(number_before(line, " registers"));
      compiling->static_shared_bytes = number_before(line, " bytes smem");
      compiling->stack_bytes =
          std::max(compiling->stack_bytes, number_before(line, " bytes cumulative stack"));
    }
  }
}

std::vector<std::string> performance_warnings(const Compiled& compiled) {
  std::vector<std::string> warnings;
  for (const Entry& entry : compiled.entries) {
    if (entry.spill_store_bytes == 0 && entry.spill_load_bytes == 0) continue;
    warnings.push_back(format_text("{} for {}: registers spill to local memory ({} bytes stored, {} loaded)",
                                   entry.expression, compiled.arch.name(), entry.spill_store_bytes,
                                   entry.spill_load_bytes));
  }
  for (const std::string_view line : lines_of(compiled.log)) {
    if (is_ptxas_advice(line)) warnings.emplace_back(line);
  }
  return warnings;
}

}  // namespace gpuforge::jit
