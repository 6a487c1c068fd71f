#include "gpuforge/jit/compile_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "gpuforge/jit/compiled.h"

namespace gpuforge::jit {
namespace {

constexpr std::size_t kMaxExcerptLines = 8;
constexpr std::size_t kMaxExcerptColumns = 150;
constexpr std::size_t kMaxStaticShared = 48 * 1024;

int to_int(std::string_view digits) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "file(3): error: text", "nvrtc: error: text". File names may hold blanks, colons and brackets, so the
// severity is looked for first and the line number just before it.
std::optional<Diagnostic> parse_head(std::string_view line) {
  struct Severity {
    std::string_view text;
    bool is_error;
  };
  constexpr Severity kSeverities[] = {{": error", true},          {": catastrophic error", true},
                                      {": internal error", true}, {": fatal error", true},
                                      {": warning", false},       {": remark", false}};
  std::size_t at = std::string_view::npos;
  Severity found{};
  for (const Severity& severity : kSeverities) {
    const std::size_t here = line.find(severity.text);
    if (here < at) {
      at = here;
      found = severity;
    }
  }
  constexpr std::string_view kOptionError = "Command-line error: ";
  if (line.starts_with(kOptionError)) {
    return Diagnostic{"nvrtc", 0, true, std::string(line.substr(kOptionError.size())), {}};
  }
  if (at == std::string_view::npos || at == 0 || line.front() == ' ') return std::nullopt;
  // Behind the severity: ": " at once, or after a number as in " #177-D: ".
  std::string_view rest = line.substr(at + found.text.size());
  const std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos || (colon > 0 && !rest.starts_with(" #"))) return std::nullopt;

  Diagnostic diagnostic;
  diagnostic.is_error = found.is_error;
  diagnostic.text = rest.substr(colon + 2);
  std::string_view file = line.substr(0, at);
  const std::size_t open = file.rfind('(');
  if (file.ends_with(')') && open != std::string_view::npos) {
    diagnostic.line = to_int(file.substr(open + 1, file.size() - open - 2));
    if (diagnostic.line > 0) file = file.substr(0, open);
  }
  diagnostic.file = file;
  return diagnostic;
}

// What clang adds before and after a message: who included the file, and notes about it.
bool is_aside(std::string_view line) {
  return line.starts_with("In file included from ") || contains(line, "): note: ") ||
         line.starts_with("note: ");
}

// Long generated lines: only the part around the caret.
void crop(std::vector<std::string>& excerpt) {
  for (std::size_t i = 0; i + 1 < excerpt.size(); ++i) {
    const std::size_t caret = excerpt[i + 1].find('^');
    if (excerpt[i].size() <= kMaxExcerptColumns || caret == std::string::npos) continue;
    if (excerpt[i + 1].find_first_not_of(" \t^~") != std::string::npos) continue;
    const std::size_t begin = caret > kMaxExcerptColumns / 2 ? caret - kMaxExcerptColumns / 2 : 0;
    if (begin < excerpt[i].size()) excerpt[i] = excerpt[i].substr(begin, kMaxExcerptColumns);
    excerpt[i + 1] = excerpt[i + 1].substr(begin, caret - begin + 1);
  }
  for (std::string& line : excerpt) {
    if (line.size() > 2 * kMaxExcerptColumns) line.resize(2 * kMaxExcerptColumns);
  }
}

std::string place(std::string_view file, int line) {
  return line > 0 ? format_text("{}:{}", file, line) : std::string(file);
}

// NVRTC's words where a reader would not know what to do with them.
std::string plain_words(const Diagnostic& diagnostic) {
  if (contains(diagnostic.text, "is considered a host function")) {
    return "a function without __device__ or __global__ is host code, which a kernel file cannot hold: mark "
           "it "
           "__device__, or keep host code (main, <<<...>>> launches) in another file";
  }
  if (contains(diagnostic.text, "is considered a host variable")) {
    return "a variable outside functions without __device__ or __constant__ is host code, which a kernel "
           "file cannot "
           "hold: mark it __device__, __constant__ or constexpr";
  }
  const bool launches = std::any_of(diagnostic.excerpt.begin(), diagnostic.excerpt.end(),
                                    [](const std::string& line) { return contains(line, "<<<"); });
  if (launches)
    return diagnostic.text + " (<<<...>>> launches are host code, which a kernel file cannot hold)";
  return diagnostic.text;
}

std::string missing_header(const Diagnostic& diagnostic) {
  // clang: 'name' file not found
  if (diagnostic.text.ends_with("' file not found"))
    return std::string(quoted(std::string_view(diagnostic.text)));
  if (!contains(diagnostic.text, "open source file \"")) return {};
  const std::size_t begin = diagnostic.text.find('"') + 1;
  return diagnostic.text.substr(begin, diagnostic.text.find('"', begin) - begin);
}

std::string describe_first(const TranslationUnit& unit, const Diagnostic& first, bool by_clang) {
  if (const std::string header = missing_header(first); !header.empty()) {
    std::string folders;
    for (const std::string& folder : unit.searched) folders += (folders.empty() ? "" : ", ") + folder;
    const std::string_view but =
        by_clang ? "; clang is given no header of the toolkit, so use NVRTC then" : "";
    return format_text("{}: error: header \"{}\" not found: {}{} (searched: {})",
                       place(first.file, first.line), header, missing_header_advice(header), but,
                       folders.empty() ? "no folders" : folders);
  }
  std::string where = place(first.file, first.line);
  std::string text = plain_words(first);
  // NVRTC keeps instantiations in a file of its own.
  constexpr std::string_view kPragma = "#pragma nv_mangled_name ";
  // For clang we put them into one, an instantiation a line.
  if (first.file == kClangInstantiations) {
    const auto index = static_cast<std::size_t>(first.line) - 1;
    const auto& list = unit.source.instantiations;
    return format_text("{}: error: instantiation '{}': {}", unit.source.name,
                       index < list.size() ? list[index] : std::string("?"), text);
  }
  if (first.file == "__nv_name_map") {
    where = unit.source.name;
    for (const std::string& line : first.excerpt) {
      const std::size_t at = line.find(kPragma);
      if (at != std::string::npos)
        text = format_text("instantiation '{}': {}", line.substr(at + kPragma.size()), text);
    }
    return format_text("{}: error: {}", where, text);
  }
  std::string message = format_text("{}: error: {}", where, text);
  std::vector<std::string> excerpt = first.excerpt;
  for (std::string& line : excerpt) {
    if (line.starts_with("  ")) line.erase(0, 2);  // the log's own indentation
  }
  crop(excerpt);
  for (const std::string& line : excerpt) message += "\n    " + line;
  return message;
}

// ptxas refuses too much static shared memory without a word in NVRTC's log.
std::string shared_memory_refusal(std::string_view log) {
  std::string_view kernel;
  for (const std::string_view line : lines_of(log)) {
    if (contains(line, "Compiling entry function '")) kernel = quoted(line);
    const std::size_t at = line.find(" bytes smem");
    if (at == std::string_view::npos) continue;
    const std::size_t begin = line.substr(0, at).find_last_not_of("0123456789") + 1;
    const int bytes = to_int(line.substr(begin, at - begin));
    if (static_cast<std::size_t>(bytes) > kMaxStaticShared) {
      return format_text(
          "kernel '{}' declares {} bytes of static shared memory, at most {} are allowed: use dynamic "
          "shared memory (extern __shared__) for more",
          kernel, bytes, kMaxStaticShared);
    }
  }
  return {};
}

std::string source_line(const TranslationUnit& unit, int number) {
  const auto lines = lines_of(unit.source.text);
  if (number < 1 || static_cast<std::size_t>(number) > lines.size()) return {};
  std::string_view line = lines[static_cast<std::size_t>(number) - 1];
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, kMaxExcerptColumns));
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view quoted(std::string_view line) {
  const std::size_t open = line.find('\'');
  if (open == std::string_view::npos) return {};
  const std::size_t close = line.find('\'', open + 1);
  return close == std::string_view::npos ? std::string_view{} : line.substr(open + 1, close - open - 1);
}

std::vector<Diagnostic> parse_diagnostics(std::string_view log) {
  std::vector<Diagnostic> found;
  bool inside = false;
  for (const std::string_view line : lines_of(log)) {
    if (line.starts_with("ptxas")) {
      inside = false;
    } else if (auto head = parse_head(line)) {
      found.push_back(std::move(*head));
      inside = true;
    } else if (line.empty() || is_aside(line)) {
      inside = false;
    } else if (inside && found.back().excerpt.size() < kMaxExcerptLines) {
      found.back().excerpt.emplace_back(line);
    }
  }
  return found;
}

bool is_ptxas_advice(std::string_view line) {
  if (!line.starts_with("ptxas")) return false;
  if (line.starts_with("ptxas warning") || contains(line, "; warning")) return true;
  const std::size_t at = line.find("(C75");
  return at != std::string_view::npos && at + 4 < line.size() &&
         std::isdigit(static_cast<unsigned char>(line[at + 4]));
}

std::string without_resource_remarks(std::string_view log) {
  std::string kept;
  for (const std::string_view line : lines_of(log)) {
    const bool remark =
        contains(line, " bytes stack frame, ") || contains(line, "Compiling entry function '") ||
        contains(line, "Function properties for ") || contains(line, " bytes gmem") ||
        contains(line, ": Compile time = ") || (contains(line, ": Used ") && contains(line, " registers"));
    if (remark && (line.starts_with("ptxas") || line.starts_with(' '))) continue;
    if (line.empty() && (kept.empty() || kept.ends_with("\n\n"))) continue;
    kept.append(line).push_back('\n');
  }
  while (kept.ends_with('\n')) kept.pop_back();
  return kept;
}

PtxasError first_ptxas_error(std::string_view log) {
  PtxasError fatal;
  for (const std::string_view line : lines_of(log)) {
    if (!line.starts_with("ptxas")) continue;
    const std::size_t colon = line.find(" : ");
    if (colon == std::string_view::npos) continue;
    const std::string_view head = line.substr(0, colon);
    const std::string_view text = line.substr(colon + 3);
    if (contains(head, "error")) {
      const std::size_t at = head.find("line ");
      return {at == std::string_view::npos ? 0 : to_int(head.substr(at + 5)), std::string(text)};
    }
    if (contains(head, "fatal") && fatal.text.empty()) fatal.text = text;
  }
  return fatal;
}

int source_line_of_ptx_line(std::string_view ptx, int ptx_line) {
  int result = 0;
  int number = 0;
  for (std::string_view line : lines_of(ptx)) {
    if (++number > ptx_line) break;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with('}')) result = 0;
    if (!line.starts_with(".loc")) continue;
    line.remove_prefix(4);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    // File 1 is the source itself; places in headers are not ours to show.
    const std::size_t blank = line.find_first_of(" \t");
    const bool in_source = blank != std::string_view::npos && line.substr(0, blank) == "1";
    result = in_source ? to_int(line.substr(blank + 1)) : 0;
  }
  return result;
}

Error compile_failure(const TranslationUnit& unit, const Arch& arch, std::string_view compiler,
                      std::string_view log, int ptx_source_line) {
  const auto fail = [&](std::string message) {
    return Error(ErrorCode::compile, std::move(message), std::string(log));
  };
  auto diagnostics = parse_diagnostics(log);
  std::erase_if(diagnostics, [](const Diagnostic& diagnostic) { return !diagnostic.is_error; });
  if (!diagnostics.empty()) {
    std::string message = describe_first(unit, diagnostics.front(), compiler.starts_with("clang"));
    const std::size_t more = diagnostics.size() - 1;
    if (more > 0) message += format_text("\n(and {} more error{})", more, more == 1 ? "" : "s");
    return fail(std::move(message));
  }
  if (const PtxasError error = first_ptxas_error(log); !error.text.empty()) {
    std::string message = format_text("{}: error: {} (ptxas, for {})",
                                      place(unit.source.name, ptx_source_line), error.text, arch.name());
    const std::string line = source_line(unit, ptx_source_line);
    return fail(line.empty() ? message : message + "\n    " + line);
  }
  if (const std::string refusal = shared_memory_refusal(log); !refusal.empty()) {
    return fail(format_text("{}: error: {} (ptxas, for {})", unit.source.name, refusal, arch.name()));
  }
  return fail(format_text("{}: {} failed to compile it for {} and does not say why; its log is the detail",
                          unit.source.name, compiler, arch.name()));
}

}  // namespace gpuforge::jit
