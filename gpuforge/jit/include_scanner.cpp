#include "gpuforge/jit/include_scanner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace gpuforge::jit {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r';
}
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Characters that end a run of plain code.
constexpr std::array<bool, 256> kStops = [] {
  std::array<bool, 256> stops{};
  for (const char c : {'\n', '"', '\'', '/', '\\'}) stops[static_cast<unsigned char>(c)] = true;
  return stops;
}();

// Reads characters with line continuations removed; `at_` always stands on one that counts, or on the end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { move_to(0); }

  std::vector<IncludeDirective> run() {
    while (!at_end()) {
      skip_blanks();
      if (peek() == '#') {
        advance();
        read_directive();
      } else if (peek() == '%' && peek_next() == ':') {
        advance();
        advance();
        read_directive();
      }
      skip_line();
    }
    return std::move(found_);
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char at_or_newline(std::size_t at) const { return at < text_.size() ? text_[at] : '\n'; }
  char peek() const { return at_or_newline(at_); }
  char peek_next() const { return at_or_newline(past_continuations(at_ + 1)); }
  void advance() {
    if (!at_end()) move_to(at_ + 1);
  }
  void move_to(std::size_t at) { at_ = past_continuations(at); }
  std::size_t past_continuations(std::size_t at) const {
    while (at_or_newline(at) == '\\') {
      if (at_or_newline(at + 1) == '\n') {
        at += 2;
      } else if (at_or_newline(at + 1) == '\r' && at_or_newline(at + 2) == '\n') {
        at += 3;
      } else {
        break;
      }
    }
    return std::min(at, text_.size());
  }

  // White space and comments that stay on, or begin on, this line.
  void skip_blanks() {
    while (!at_end()) {
      if (is_space(peek())) {
        advance();
      } else if (peek() == '/' && peek_next() == '*') {
        skip_block_comment();
      } else if (peek() == '/' && peek_next() == '/') {
        skip_line_comment();
      } else {
        return;
      }
    }
  }

  void skip_block_comment() {
    advance();
    advance();
    while (!at_end()) {
      if (peek() == '*' && peek_next() == '/') {
        advance();
        advance();
        return;
      }
      move_to(find_or_end('*', at_ + 1));
    }
  }

  void skip_line_comment() {
    while (!at_end() && peek() != '\n') {
      std::size_t line_end = find_or_end('\n', at_);
      std::size_t last = line_end;
      if (last > at_ && text_[last - 1] == '\r') --last;
      if (last > at_ && text_[last - 1] == '\\') ++line_end;  // continued: the next line is comment too
      at_ = std::min(line_end, text_.size());
    }
  }

  std::size_t find_or_end(char wanted, std::size_t from) const {
    return std::min(text_.find(wanted, from), text_.size());
  }

  // The rest of the line and its newline; a literal or comment that runs over several lines belongs to it.
  void skip_line() {
    while (!at_end()) {
      const char c = text_[at_];
      if (!kStops[static_cast<unsigned char>(c)]) {
        ++at_;
      } else if (c == '\n') {
        advance();
        return;
      } else if (c == '/' && peek_next() == '*') {
        skip_block_comment();
      } else if (c == '/' && peek_next() == '/') {
        skip_line_comment();
      } else if (c == '"') {
        is_one_of(word_before(), {"R", "LR", "uR", "UR", "u8R"}) ? skip_raw_string() : skip_quoted('"');
      } else if (c == '\'' && is_one_of(word_before(), {"", "L", "u", "U", "u8"})) {
        skip_quoted('\'');
      } else if (past_continuations(at_) != at_) {
        move_to(at_);
      } else {
        advance();  // a separator as in 1'000, a division, a stray backslash
      }
    }
  }

  // The letters and digits that touch a quote: a literal's prefix, or a number.
  std::string_view word_before() const {
    std::size_t begin = at_;
    while (begin > 0 && at_ - begin < 4 && is_word(text_[begin - 1])) --begin;
    return text_.substr(begin, at_ - begin);
  }
  static bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  // An unfinished literal ends with its line, as in "#error don't" or text switched off by #if 0.
  void skip_quoted(char quote) {
    advance();
    while (!at_end() && peek() != '\n') {
      const char c = peek();
      advance();
      if (c == quote) return;
      if (c == '\\' && peek() != '\n') advance();
    }
  }

  // Continuations do not count inside a raw string, so this works on the bytes.
  void skip_raw_string() {
    constexpr std::size_t kMaxDelimiter = 16;
    const std::size_t open = text_.find_first_of("()\\ \t\v\f\r\n\"", at_ + 1);
    if (open == std::string_view::npos || text_[open] != '(' || open - at_ - 1 > kMaxDelimiter) {
      skip_quoted('"');
      return;
    }
    const std::string closing = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t end = text_.find(closing, open);
    move_to(end == std::string_view::npos ? text_.size() : end + closing.size());
  }

  std::string read_word() {
    std::string word;
    while (!at_end() && is_word(peek())) {
      word += peek();
      advance();
    }
    return word;
  }

  // After the '#'. Leaves what follows the header name to skip_line.
  void read_directive() {
    skip_blanks();
    const std::string word = read_word();
    if (word != "include" && word != "include_next") return;
    skip_blanks();
    IncludeDirective directive;
    directive.next = word == "include_next";
    if (peek() == '"' || peek() == '<') {
      const char close = peek() == '"' ? '"' : '>';
      directive.form = close == '"' ? IncludeDirective::Form::quotes : IncludeDirective::Form::angles;
      advance();
      while (!at_end() && peek() != close && peek() != '\n') {
        directive.name += peek();
        advance();
      }
      if (peek() != close || at_end() || directive.name.empty())
        return;  // not a header name: the compiler will say so
      advance();
    } else {
      directive.form = IncludeDirective::Form::computed;
      directive.name = read_word();
      if (directive.name.empty()) return;
    }
    found_.push_back(std::move(directive));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<IncludeDirective> found_;
};

}  // namespace

std::vector<IncludeDirective> scan_includes(std::string_view text) {
  return Scanner(text).run();
}

}  // namespace gpuforge::jit
