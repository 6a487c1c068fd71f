#include <algorithm>
#include <charconv>

#include "gpuforge/base/error.h"
#include "gpuforge/ptx/parser_state.h"

namespace gpuforge::ptx {
namespace {

constexpr int kMaxDepth = 64;  // nesting of operands, initialisers and expressions

}  // namespace

std::optional<Space> space_of(std::string_view word) {
  if (word == "reg") return Space::reg;
  if (word == "param") return Space::param;
  if (word == "local") return Space::local;
  if (word == "shared") return Space::shared;
  if (word == "global") return Space::global;
  if (word == "const") return Space::constant;
  if (word == "tex") return Space::tex;
  return std::nullopt;
}

std::optional<Linkage> linkage_of(std::string_view word) {
  if (word == "visible") return Linkage::visible;
  if (word == "extern") return Linkage::external;
  if (word == "weak") return Linkage::weak;
  if (word == "common") return Linkage::common;
  return std::nullopt;
}

void ParserState::fail(std::string_view message) const {
  switch (current_.kind) {
    case TokenKind::end:
      fail_at(current_.position, format_text("{}, found the end of the text", message));
    case TokenKind::dotted:
      fail_at(current_.position, format_text("{}, found '.{}'", message, current_.text.substr(0, 80)));
    default:
      fail_at(current_.position, format_text("{}, found '{}'", message, current_.text.substr(0, 80)));
  }
}

void ParserState::expect(char punctuation) {
  if (!current_.is(punctuation)) fail(format_text("expected '{}'", punctuation));
  advance();
}

void ParserState::expect_word(std::string_view word) {
  if (current_.kind != TokenKind::word || current_.text != word) fail(format_text("expected '{}'", word));
  advance();
}

int ParserState::small_integer(std::string_view digits) const {
  int value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || stop != digits.data() + digits.size()) fail("expected a small number");
  return value;
}

std::int64_t ParserState::integer() {
  const bool negative = current_.is('-');
  if (negative) advance();
  if (current_.kind != TokenKind::number || current_.constant.kind != Constant::Kind::integer)
    fail("expected a number");
  const std::uint64_t bits = current_.constant.bits;
  advance();
  return static_cast<std::int64_t>(negative ? 0 - bits : bits);
}

// The operator that starts here, of one or two characters; empty when there is none.
std::string_view ParserState::operator_here() const {
  if (current_.kind == TokenKind::word && current_.text == "%") return current_.text;
  if (current_.kind != TokenKind::punctuation ||
      std::string_view("|^&<>+-*/=!").find(current_.text[0]) == std::string_view::npos)
    return {};
  const Token next = peek();
  if (next.kind == TokenKind::punctuation && next.glued) {
    const std::string_view pair(current_.text.data(), 2);
    for (const std::string_view two : {"||", "&&", "==", "!=", "<=", ">=", "<<", ">>"})
      if (pair == two) return pair;
  }
  return std::string_view("|^&<>+-*/").find(current_.text[0]) != std::string_view::npos ? current_.text
                                                                                        : std::string_view();
}

ParserState::Integer ParserState::apply(std::string_view op, const Integer& left,
                                        const Integer& right) const {
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const auto a = static_cast<std::int64_t>(left.bits), b = static_cast<std::int64_t>(right.bits);
  const bool less = is_unsigned ? left.bits < right.bits : a < b;
  const auto truth = [](bool value) { return Integer{value ? 1u : 0u, false}; };
  if (op == "||") return truth(left.bits != 0 || right.bits != 0);
  if (op == "&&") return truth(left.bits != 0 && right.bits != 0);
  if (op == "==") return truth(left.bits == right.bits);
  if (op == "!=") return truth(left.bits != right.bits);
  if (op == "<") return truth(less);
  if (op == ">=") return truth(!less);
  if (op == ">") return truth(!less && left.bits != right.bits);
  if (op == "<=") return truth(less || left.bits == right.bits);
  if (op == "|") return {left.bits | right.bits, is_unsigned};
  if (op == "^") return {left.bits ^ right.bits, is_unsigned};
  if (op == "&") return {left.bits & right.bits, is_unsigned};
  if (op == "+") return {left.bits + right.bits, is_unsigned};
  if (op == "-") return {left.bits - right.bits, is_unsigned};
  if (op == "*") return {left.bits * right.bits, is_unsigned};
  if (op == "<<") return {right.bits < 64 ? left.bits << right.bits : 0, left.is_unsigned};
  if (op == ">>") {  // the sign of the left side alone decides
    const std::uint64_t distance = right.bits < 64 ? right.bits : 63;
    if (!left.is_unsigned) return {static_cast<std::uint64_t>(a >> distance), false};
    return {right.bits < 64 ? left.bits >> right.bits : 0, true};
  }
  if (right.bits == 0) fail("division by zero");
  if (op == "/") {
    if (is_unsigned) return {left.bits / right.bits, true};
    return {b == -1 ? 0 - left.bits : static_cast<std::uint64_t>(a / b), false};
  }
  if (is_unsigned) return {left.bits % right.bits, true};
  return {b == -1 ? 0 : static_cast<std::uint64_t>(a % b), false};
}

// Precedence climbing over C's levels; 64-bit values that wrap, unsigned when one side is.
ParserState::Integer ParserState::binary(std::size_t level, int depth) {
  static constexpr std::string_view kLevels[] = {"||",    "&&",        "|",     "^",   "&",
                                                 "== !=", "< <= > >=", "<< >>", "+ -", "* / %"};
  if (level == std::size(kLevels)) return unary(depth);
  Integer left = binary(level + 1, depth);
  while (true) {
    const std::string_view op = operator_here();
    if (op.empty()) return left;
    const std::string_view words = kLevels[level];
    bool here = false;
    for (std::size_t at = 0; at < words.size();) {
      const std::size_t end = std::min(words.find(' ', at), words.size());
      here = here || words.substr(at, end - at) == op;
      at = end + 1;
    }
    if (!here) return left;
    advance();
    if (op.size() == 2) advance();
    left = apply(op, left, binary(level + 1, depth));
  }
}

ParserState::Integer ParserState::unary(int depth) {
  if (depth > kMaxDepth) fail("this expression nests too deep");
  const auto then = [&] {
    advance();
    return unary(depth + 1);
  };
  if (current_.is('-')) {
    const Integer value = then();
    return {0 - value.bits, value.is_unsigned};
  }
  if (current_.is('~')) {
    const Integer value = then();
    return {~value.bits, value.is_unsigned};
  }
  if (current_.is('!')) return {then().bits == 0 ? 1u : 0u, false};
  if (current_.is('+')) return then();
  if (current_.is('(')) {
    advance();
    if (current_.kind == TokenKind::dotted && (current_.text == "s64" || current_.text == "u64")) {
      const bool is_unsigned = current_.text == "u64";
      advance();
      expect(')');
      return {unary(depth + 1).bits, is_unsigned};
    }
    const Integer value = choice(depth + 1);
    expect(')');
    return value;
  }
  if (current_.kind == TokenKind::word && current_.text == "WARP_SZ") {
    advance();
    return {32, false};
  }
  if (current_.kind != TokenKind::number || current_.constant.kind != Constant::Kind::integer)
    fail("expected a number");
  // A literal that needs all 64 bits is unsigned, with or without its U.
  const Integer value{current_.constant.bits,
                      current_.constant.is_unsigned || (current_.constant.bits >> 63) != 0};
  advance();
  return value;
}

ParserState::Integer ParserState::choice(int depth) {
  const Integer condition = binary(0, depth);
  if (!current_.is('?')) return condition;
  if (depth > kMaxDepth) fail("this expression nests too deep");
  advance();
  const Integer yes = choice(depth + 1);
  expect(':');
  const Integer no = choice(depth + 1);
  return condition.bits != 0 ? yes : no;
}

std::int64_t ParserState::integer_expression() {
  return static_cast<std::int64_t>(choice(0).bits);
}

bool ParserState::starts_constant() const {
  return current_.kind == TokenKind::number || current_.is('-') || current_.is('~') || current_.is('!') ||
         current_.is('(') || (current_.kind == TokenKind::word && current_.text == "WARP_SZ");
}

Constant ParserState::constant() {
  const bool negative = current_.is('-');
  const Token first = negative ? peek() : current_;
  if (first.kind == TokenKind::number && first.constant.kind != Constant::Kind::integer) {
    if (negative) advance();
    Constant value = current_.constant;
    if (negative)
      value.bits ^= value.kind == Constant::Kind::f32 ? std::uint64_t{1} << 31 : std::uint64_t{1} << 63;
    advance();
    return value;
  }
  const bool is_unsigned = first.constant.is_unsigned;
  return {Constant::Kind::integer, is_unsigned, static_cast<std::uint64_t>(integer_expression())};
}

std::int64_t ParserState::signed_offset() {
  const bool negative = current_.is('-');
  advance();
  const std::uint64_t magnitude = unary(0).bits;
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::vector<Operand> ParserState::operands_until(char close, int depth) {
  std::vector<Operand> parts;
  advance();
  while (!current_.is(close)) {
    if (!parts.empty()) expect(',');
    parts.push_back(operand(depth + 1));
  }
  advance();
  return parts;
}

Operand ParserState::address(int depth) {
  advance();
  Address address;
  if (starts_constant() && !(current_.kind == TokenKind::word)) {
    address.offset = integer_expression();
  } else {
    if (current_.kind != TokenKind::word) fail("expected an address");
    address.base = current_.text;
    advance();
    if (current_.is('+') || current_.is('-')) address.offset = signed_offset();
  }
  if (current_.is(']')) {
    advance();
    return {address};
  }
  AddressList list;
  list.parts.push_back({address});
  while (current_.is(',')) {
    advance();
    list.parts.push_back(operand(depth + 1));
  }
  expect(']');
  return {std::move(list)};
}

Operand ParserState::operand(int depth) {
  if (depth > kMaxDepth) fail("operands nest too deep");
  if (current_.is('{')) {
    std::vector<Operand> parts = operands_until('}', depth);
    // Triton writes {%r1} for a vector of one, which is the register.
    if (parts.size() == 1) return std::move(parts.front());
    return {Vector{std::move(parts)}};
  }
  if (current_.is('[')) return address(depth);
  if (current_.is('!') && peek().kind == TokenKind::word) {
    advance();
    const Not negated{current_.text};
    advance();
    return {negated};
  }
  // A call's lists begin with a name, '_' or ')'; an expression in parentheses with a number.
  if (current_.is('(')) {
    const Token inner = peek();
    if (inner.kind == TokenKind::word || inner.is(')')) return {List{operands_until(')', depth)}};
    if (depth == 0 && !inner.is('(')) {
      Lexer ahead = lexer_;  // (1, %r2) is a list, (1<<4) an expression: look for a comma before the close
      int open = 0;
      for (Token token = ahead.next(); token.kind != TokenKind::end && !token.is(';'); token = ahead.next()) {
        if (token.is('(')) ++open;
        if (token.is(')') && open-- == 0) break;
        if (token.is(',') && open == 0) return {List{operands_until(')', depth)}};
      }
    }
    return {constant()};
  }
  if (starts_constant()) return {constant()};
  if (current_.kind != TokenKind::word) fail("expected an operand");
  const Token first = current_;
  advance();
  if (current_.kind == TokenKind::dotted && current_.glued) {  // %tid.x, %v.y
    const auto length =
        static_cast<std::size_t>(current_.text.data() + current_.text.size() - first.text.data());
    const Name name{std::string_view(first.text.data(), length)};
    advance();
    return {name};
  }
  if (current_.is('|')) {
    advance();
    if (current_.kind != TokenKind::word) fail("expected a name after '|'");
    const Pair pair{first.text, current_.text};
    advance();
    return {pair};
  }
  if (current_.is('+') || current_.is('-')) return {NamePlus{first.text, signed_offset()}};
  return {Name{first.text}};
}

SymbolValue ParserState::symbol_value() {
  SymbolValue value;
  if (current_.kind == TokenKind::number) {  // 0xff00(symbol)
    value.mask = current_.constant.bits;
    advance();
    expect('(');
    if (current_.kind != TokenKind::word) fail("expected a symbol");
  }
  const bool masked = value.mask != 0;
  if (current_.text == "generic") {
    advance();
    value.generic = true;
    expect('(');
  }
  if (current_.kind != TokenKind::word) fail("expected a symbol");
  value.symbol = current_.text;
  advance();
  if (current_.is('+') || current_.is('-')) value.offset = signed_offset();
  if (value.generic) expect(')');
  if (current_.is('+') || current_.is('-')) value.offset += signed_offset();
  if (masked) expect(')');
  return value;
}

Initializer ParserState::initializer(int depth) {
  if (depth > kMaxDepth) fail("this initialiser nests too deep");
  if (current_.is('{')) {
    std::vector<Initializer> parts;
    advance();
    while (!current_.is('}')) {
      if (!parts.empty()) expect(',');
      if (current_.is('}')) break;
      parts.push_back(initializer(depth + 1));
    }
    advance();
    return {std::move(parts)};
  }
  if (current_.kind == TokenKind::word && current_.text != "WARP_SZ") return {symbol_value()};
  if (current_.kind == TokenKind::number && current_.constant.kind == Constant::Kind::integer &&
      peek().is('('))
    return {symbol_value()};
  return {constant()};
}

void ParserState::skip_attribute(std::vector<std::string_view>* words) {
  advance();
  expect('(');
  int open = 1;
  while (open > 0) {
    if (current_.kind == TokenKind::end) fail("expected ')'");
    if (current_.is('(')) ++open;
    if (current_.is(')')) --open;
    if (words != nullptr && current_.kind != TokenKind::punctuation) words->push_back(current_.text);
    advance();
  }
}

}  // namespace gpuforge::ptx
