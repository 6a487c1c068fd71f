// What the parser's parts share: the current token, expectations, expressions and operands. Not a public
// header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/ptx/lexer.h"
#include "gpuforge/ptx/tree.h"

namespace gpuforge::ptx {

// Owned by a Module through one pointer, so that all views stay valid.
struct ModuleText {
  std::string name;
  std::string text;
};

std::optional<Space> space_of(std::string_view word);
std::optional<Linkage> linkage_of(std::string_view word);

class ParserState {
 public:
  ParserState(std::string_view text, std::string_view name) : lexer_(text, name) { advance(); }

 protected:
  void advance() { current_ = lexer_.next(); }
  Token peek() const {
    Lexer ahead = lexer_;
    return ahead.next();
  }
  bool current_is_dotted(std::string_view word) const {
    return current_.kind == TokenKind::dotted && current_.text == word;
  }
  void expect(char punctuation);
  void expect_word(std::string_view word);
  [[noreturn]] void fail(std::string_view message) const;
  [[noreturn]] void fail_at(const Position& at, std::string_view message) const { lexer_.fail(at, message); }

  int small_integer(std::string_view digits) const;
  std::int64_t integer();             // a plain number, with a sign
  std::int64_t integer_expression();  // C's operators over integers
  Constant constant();                // an immediate: a float with a sign, or an integer expression
  Operand operand(int depth);
  Initializer initializer(int depth);
  void skip_attribute(std::vector<std::string_view>* words);

  Lexer lexer_;
  Token current_;

 private:
  bool starts_constant() const;
  struct Integer {
    std::uint64_t bits = 0;
    bool is_unsigned = false;
  };
  std::string_view operator_here() const;
  Integer apply(std::string_view op, const Integer& left, const Integer& right) const;
  Integer choice(int depth);  // a ? b : c, the lowest level
  Integer binary(std::size_t level, int depth);
  Integer unary(int depth);
  std::vector<Operand> operands_until(char close, int depth);
  std::int64_t signed_offset();
  Operand address(int depth);
  SymbolValue symbol_value();
};

}  // namespace gpuforge::ptx
