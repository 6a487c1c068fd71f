// Finds the kernels and their parameters in PTX text. Only what stands outside bodies is read; the rest of
// PTX is room ptx's business.
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>

#include "gpuforge/base/error.h"
#include "gpuforge/jit/compiled.h"
#include "gpuforge/jit/kernel_names.h"

namespace gpuforge::jit {
namespace {

// No launch can pass more; a larger number is damage or malice.
constexpr std::uint64_t kMaxParameterBytes = std::uint64_t{1} << 20;

bool starts_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continues_word(char c) {
  return starts_word(c) && c != '.';
}

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view name) : text_(text), name_(name) { advance(); }

  std::string_view token() const { return token_; }  // empty at the end
  bool at_end() const { return token_.empty(); }
  std::string_view take() {
    const std::string_view taken = token_;
    advance();
    return taken;
  }
  bool take_if(std::string_view wanted) {
    if (token_ != wanted) return false;
    advance();
    return true;
  }
  void expect(std::string_view wanted) {
    if (!take_if(wanted)) fail(format_text("expected '{}'", wanted));
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::parse,
                format_text("{}:{}: {}, found {}", name_, line_, what,
                            at_end() ? std::string("the end of the text") : format_text("'{}'", token_)));
  }

 private:
  void advance() {
    skip_blanks();
    const std::size_t begin = at_;
    if (at_ == text_.size()) {
      token_ = {};
      return;
    }
    if (text_[at_] == '"') {
      ++at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
      if (at_ < text_.size()) ++at_;
    } else if (starts_word(text_[at_])) {
      ++at_;
      while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
    } else {
      ++at_;
    }
    token_ = text_.substr(begin, at_ - begin);
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        const std::size_t stop = end == std::string_view::npos ? text_.size() : end + 2;
        for (; at_ < stop; ++at_) line_ += text_[at_] == '\n';
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::string_view token_;
};

std::optional<std::uint64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  if (text.ends_with("U")) text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Bytes of a fundamental type; opaque references travel as 64-bit handles.
std::optional<std::uint64_t> type_bytes(std::string_view type) {
  if (type == "texref" || type == "samplerref" || type == "surfref") return 8;
  if (type == "f16x2" || type == "bf16x2") return 4;
  if (type.starts_with("bf")) type.remove_prefix(1);
  if (type.size() < 2 || (type[0] != 'u' && type[0] != 's' && type[0] != 'b' && type[0] != 'f'))
    return std::nullopt;
  const auto bits = parse_number(type.substr(1));
  if (!bits || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64 && *bits != 128)) return std::nullopt;
  return *bits / 8;
}

// .param [.align n] .type [.ptr [.space] [.align n]] name ['[' n ']']
Parameter parse_parameter(Scanner& scanner, std::string_view entry_name, std::size_t index) {
  scanner.expect(".param");
  std::string_view type;
  std::uint64_t lanes = 1;
  while (scanner.token().starts_with('.')) {
    const std::string_view word = scanner.take().substr(1);
    if (word == "align") {
      if (!parse_number(scanner.token())) scanner.fail("expected a number after .align");
      scanner.take();
    } else if (word == "v2" || word == "v4") {
      lanes = word == "v2" ? 2 : 4;
    } else if (type_bytes(word)) {
      type = word;
    } else if (word != "ptr" && word != "global" && word != "const" && word != "local" && word != "shared") {
      scanner.fail(format_text("'.{}' is no parameter type of PTX", word));
    }
  }
  if (type.empty()) scanner.fail("expected a parameter's type");
  if (scanner.at_end() || !continues_word(scanner.token().front()))
    scanner.fail("expected a parameter's name");

  Parameter parameter;
  const std::string_view name = scanner.take();
  // NVRTC's own names tell nothing; a hand-written file's do.
  if (name != format_text("{}_param_{}", entry_name, index)) parameter.name = name;
  parameter.ptx_type = type;
  std::uint64_t count = lanes;
  if (scanner.take_if("[")) {
    const auto extent = parse_number(scanner.token());
    if (!extent || *extent > kMaxParameterBytes) scanner.fail("expected an array's size");
    scanner.take();
    scanner.expect("]");
    count *= *extent;
    parameter.ptx_type += format_text("[{}]", *extent);
  }
  const std::uint64_t bytes = *type_bytes(type) * count;
  if (bytes > kMaxParameterBytes) scanner.fail("a parameter larger than any launch can pass");
  parameter.bytes = static_cast<std::size_t>(bytes);
  return parameter;
}

Entry parse_entry(Scanner& scanner) {
  if (scanner.at_end() || !continues_word(scanner.token().front())) scanner.fail("expected an entry's name");
  Entry entry;
  entry.name = scanner.take();
  const auto demangled = demangle(entry.name);
  entry.expression = demangled ? demangled->expression : entry.name;
  if (scanner.take_if("(") && !scanner.take_if(")")) {
    do {
      entry.parameters.push_back(parse_parameter(scanner, entry.name, entry.parameters.size()));
    } while (scanner.take_if(","));
    scanner.expect(")");
  }
  return entry;
}

void skip_body(Scanner& scanner) {
  std::size_t depth = 1;  // the brace is taken already
  while (depth > 0) {
    if (scanner.at_end()) scanner.fail("expected '}'");
    const std::string_view token = scanner.take();
    if (token == "{") ++depth;
    if (token == "}") --depth;
  }
}

}  // namespace

std::vector<Entry> entries_from_ptx(std::string_view ptx, std::string_view name) {
  Scanner scanner(ptx, name);
  if (scanner.token() != ".version") {
    throw Error(ErrorCode::parse, format_text("{}: not PTX, which begins with .version", name));
  }
  std::vector<Entry> entries;
  while (!scanner.at_end()) {
    const std::string_view token = scanner.take();
    if (token == "{") {
      skip_body(scanner);
    } else if (token == "}") {
      scanner.fail("a '}' without its '{' before this");
    } else if (token == ".entry") {
      Entry entry = parse_entry(scanner);
      // A declaration and its definition are one entry.
      bool known = false;
      for (const Entry& other : entries) known = known || other.name == entry.name;
      if (!known) entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace gpuforge::jit
