// PTX text to tokens, one at a time, without copying. Comments and white space vanish; positions stay.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpuforge/ptx/tree.h"

namespace gpuforge::ptx {

enum class TokenKind : std::uint8_t {
  end,
  word,         // identifier or register: saxpy, %r1, $L__BB0_2, _Z1fv
  dotted,       // .version, .global, .shared::cta, .L2::128B: text without the first dot
  number,       // 12, 0x1F, 017, 0b11, 1.5, 0f3F800000, 0d..., with U suffix; constant holds it
  string,       // text without the quotes
  punctuation,  // one character
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  Constant constant;
  bool version_like = false;  // a plain decimal with one dot, as in .version 8.5
  bool glued = false;         // no white space before it: %tid.x
  Position position;

  bool is(char c) const { return kind == TokenKind::punctuation && text[0] == c; }
};

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view name);
  // A character no token starts with, an unclosed string or comment, a malformed number: parse Error with
  // position.
  Token next();
  [[noreturn]] void fail(const Position& at, std::string_view message) const;

 private:
  void skip_space();
  Token number(Token token);
  Position position_of(const char* at) const;

  std::string_view name_;
  const char* at_;
  const char* end_;
  const char* line_start_;
  std::uint32_t line_ = 1;
};

}  // namespace gpuforge::ptx
