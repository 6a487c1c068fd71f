#include "gpuforge/ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "gpuforge/base/error.h"

namespace gpuforge::ptx {
namespace {

constexpr std::uint8_t kStart = 1;  // starts a word
constexpr std::uint8_t kPart = 2;   // continues one
constexpr std::uint8_t kSpace = 4;
constexpr std::uint8_t kDigit = 8;

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = kStart | kPart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<std::size_t>(c)] = kStart | kPart;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = kPart | kDigit;
  for (char c : {'_', '$', '%'}) classes[static_cast<unsigned char>(c)] = kStart | kPart;
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<unsigned char>(c)] = kSpace;
  return classes;
}
constexpr auto kClasses = make_classes();

bool has(char c, std::uint8_t wanted) {
  return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string_view name)
    : name_(name), at_(text.data()), end_(text.data() + text.size()), line_start_(text.data()) {}

Position Lexer::position_of(const char* at) const {
  return {line_, static_cast<std::uint32_t>(at - line_start_) + 1};
}

void Lexer::fail(const Position& at, std::string_view message) const {
  throw Error(ErrorCode::parse, format_text("{}:{}:{}: {}", name_, at.line, at.column, message));
}

void Lexer::skip_space() {
  while (at_ != end_) {
    const char c = *at_;
    if (c == '\n') {
      ++line_;
      line_start_ = ++at_;
    } else if (has(c, kSpace)) {
      ++at_;
    } else if (c == '/' && at_ + 1 != end_ && at_[1] == '/') {
      const auto* newline =
          static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
      at_ = newline == nullptr ? end_ : newline;
    } else if (c == '/' && at_ + 1 != end_ && at_[1] == '*') {
      const Position start = position_of(at_);
      at_ += 2;
      while (true) {
        if (end_ - at_ < 2) fail(start, "this comment is not closed");
        if (at_[0] == '*' && at_[1] == '/') break;
        if (*at_ == '\n') {
          ++line_;
          line_start_ = at_ + 1;
        }
        ++at_;
      }
      at_ += 2;
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  const char* before = at_;
  skip_space();
  Token token;
  token.position = position_of(at_);
  token.glued = before == at_;
  if (at_ == end_) return token;

  const char* start = at_;
  const char c = *at_;
  if (has(c, kStart)) {
    while (at_ != end_ && has(*at_, kPart)) ++at_;
    token.kind = TokenKind::word;
    token.text = {start, static_cast<std::size_t>(at_ - start)};
    return token;
  }
  if (c == '.' && at_ + 1 != end_ && (has(at_[1], kStart) || has(at_[1], kDigit)) && at_[1] != '%') {
    ++at_;
    // Words of modifiers may hold "::" (.shared::cta, .L2::cache_hint).
    while (at_ != end_ &&
           (has(*at_, kPart) || (*at_ == ':' && end_ - at_ > 2 && at_[1] == ':' && has(at_[2], kPart)))) {
      at_ += *at_ == ':' ? 2 : 1;
    }
    token.kind = TokenKind::dotted;
    token.text = {start + 1, static_cast<std::size_t>(at_ - start - 1)};
    return token;
  }
  if (has(c, kDigit)) return number(token);
  if (c == '"') {
    ++at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\n') at_ += (*at_ == '\\' && end_ - at_ > 1) ? 2 : 1;
    if (at_ >= end_ || *at_ != '"') fail(token.position, "this string is not closed");
    token.kind = TokenKind::string;
    token.text = {start + 1, static_cast<std::size_t>(at_ - start - 1)};
    ++at_;
    return token;
  }
  if (std::strchr("{}()[]<>,;:@!|+-=*~?&/^", c) != nullptr && c != '\0') {
    ++at_;
    token.kind = TokenKind::punctuation;
    token.text = {start, 1};
    return token;
  }
  fail(token.position,
       format_text("unexpected character 0x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c))));
}

Token Lexer::number(Token token) {
  const char* start = at_;
  token.kind = TokenKind::number;
  const auto finish = [&] {
    token.text = {start, static_cast<std::size_t>(at_ - start)};
    if (at_ != end_ && has(*at_, kPart)) fail(token.position, "malformed number");
    return token;
  };
  const auto digits = [&](const char* from, int base) {
    const auto [stop, error] = std::from_chars(from, end_, token.constant.bits, base);
    if (error != std::errc() || stop == from) fail(token.position, "malformed or too large number");
    at_ = stop;
  };
  const char second = end_ - at_ > 1 ? at_[1] : '\0';
  if (*at_ == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    // 0f3F800000 and 0d3FF0000000000000: the bits themselves.
    const bool single = second == 'f' || second == 'F';
    digits(at_ + 2, 16);
    if (at_ - start != (single ? 10 : 18))
      fail(token.position, "a float's bits need 8 digits (0f) or 16 (0d)");
    token.constant.kind = single ? Constant::Kind::f32 : Constant::Kind::f64;
    return finish();
  }
  if (*at_ == '0' && (second == 'x' || second == 'X')) {
    digits(at_ + 2, 16);
  } else if (*at_ == '0' && (second == 'b' || second == 'B')) {
    digits(at_ + 2, 2);
  } else {
    const char* stop = at_;
    while (stop != end_ && has(*stop, kDigit)) ++stop;
    const bool fraction = stop != end_ && *stop == '.' && end_ - stop > 1 && has(stop[1], kDigit);
    const bool exponent = stop != end_ && (*stop == 'e' || *stop == 'E');
    if (fraction || exponent ||
        (stop != end_ && *stop == '.' && !(end_ - stop > 1 && has(stop[1], kStart)))) {
      double value = 0;
      const auto [after, error] = std::from_chars(at_, end_, value);
      if (error != std::errc()) fail(token.position, "malformed number");
      token.version_like = !exponent;
      token.constant.kind = Constant::Kind::f64;
      token.constant.bits = std::bit_cast<std::uint64_t>(value);
      at_ = after;
      return finish();
    }
    digits(at_, *at_ == '0' && stop - at_ > 1 ? 8 : 10);
  }
  if (at_ != end_ && *at_ == 'U') {
    token.constant.is_unsigned = true;
    ++at_;
  }
  return finish();
}

}  // namespace gpuforge::ptx
