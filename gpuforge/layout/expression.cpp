#include "gpuforge/layout/expression.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gpuforge/base/suggest.h"
#include "gpuforge/layout/functions.h"
#include "gpuforge/layout/names.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

constexpr int kDeepest = 64;  // levels of parentheses

// A part of a layout is a layout within an expression, and a vector width a number; only the result of all
// tells the rest.
Value as_operand(Value value) {
  if (auto* const part = std::get_if<OffsetLayout>(&value.is)) return value_of(std::move(part->layout));
  if (const auto* const width = std::get_if<VectorWidth>(&value.is))
    return value_of(Integer(width->elements));
  return value;
}

std::string arguments_text(const Function& function) {
  const std::size_t least = function.least, most = function.most;
  if (least == most) return format_text("{} argument{}", least, least == 1 ? "" : "s");
  return most - least > 8 ? format_text("at least {} arguments", least)
                          : format_text("{} to {} arguments", least, most);
}

class Parser {
 public:
  Parser(std::string_view text, const Bindings& bindings) : text_(text), bindings_(bindings) {}

  Value all() {
    Value value = expression(0);
    skip_space();
    if (at_ != text_.size()) fail("the end");
    return value;
  }

 private:
  // A part; or parts with `o`, a number and `o` between them. After a swizzle a number of 0 may be left out.
  Value expression(int depth) {
    if (depth > kDeepest) fail(format_text("at most {} levels", kDeepest));
    skip_space();
    const std::size_t start = at_;
    Value first = part(depth);
    if (!accept_o()) return first;
    skip_space();
    std::size_t inner_start = at_;
    Value inner = part(depth);
    Integer offset = 0;
    const auto* const number = std::get_if<IntTuple>(&inner.is);
    if (number != nullptr && number->is_integer() && accept_o()) {
      offset = number->integer();
      skip_space();
      inner_start = at_;
      inner = expression(depth + 1);
    } else if (!std::holds_alternative<Swizzle>(first.is)) {
      fail_at(start, "a swizzle before 'o'", first);
    } else if (accept_o()) {
      fail_at(inner_start, "a number between the two 'o'", inner);
    }
    const std::optional<Mapping> before = mapping_in(first), after = mapping_in(inner);
    if (!before) fail_at(start, "a layout or a swizzle before 'o'", first);
    if (!after) fail_at(inner_start, "a layout after 'o'", inner);
    return bounded(value_of(composition(*before, offset, *after)));
  }

  Value part(int depth) {
    skip_space();
    const std::size_t shape_start = at_;
    Value shape = atom(depth);
    if (!accept(':'))
      return is_layout(shape) || std::holds_alternative<Swizzle>(shape.is) ? applied(std::move(shape), depth)
                                                                           : shape;
    if (!std::holds_alternative<IntTuple>(shape.is)) fail_at(shape_start, "numbers before ':'", shape);
    skip_space();
    const std::size_t stride_start = at_;
    const Value stride = atom(depth);
    if (!std::holds_alternative<IntTuple>(stride.is)) fail_at(stride_start, "numbers after ':'", stride);
    return applied({Layout(std::get<IntTuple>(shape.is), std::get<IntTuple>(stride.is))}, depth);
  }

  // The value at the coordinates that follow it in parentheses, if any do.
  Value applied(Value value, int depth) {
    while (accept('(')) value = apply_layout(value, list(depth + 1, ')'));
    return value;
  }

  Value atom(int depth) {
    if (depth > kDeepest) fail(format_text("at most {} levels of parentheses", kDeepest));
    if (accept('(')) return bounded(joined(list(depth + 1, ')')));
    if (accept('?')) return value_of(Integer::unknown());
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if (next == '_') {
      ++at_;
      Value value{IntTuple::underscore()};
      if (at_ < text_.size() && is_digit(text_[at_])) value = value_of(number());
      skip_braces();
      return value;
    }
    if (starts_name(next)) return named(depth);
    return value_of(number());
  }

  Value::Values list(int depth, char end) {
    Value::Values values;
    while (!accept(end)) {
      values.push_back(as_operand(expression(depth)));
      if (accept(',')) continue;
      if (!accept(end)) fail(format_text("',' or '{}'", end));
      break;
    }
    return values;
  }

  Value named(int depth) {
    const std::size_t start = at_;
    const std::string_view name = name_at(text_, at_);
    at_ += name.size();
    skip_space();
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if (const Word* const word = find_word(name); word != nullptr && (next == '<' || is_reserved(name)))
      return meant(*word, start, depth);
    if (name == "X" && in_step_) return {IntTuple::underscore()};
    const auto bound = bindings_.find(name);
    if (bound != bindings_.end()) return applied(bound->second, depth);
    if (const Function* const function = find_function(name)) return call(*function, depth);
    // With a bracket it was meant to be a function or a bound layout.
    if (next == '(' || next == '<') fail_unknown(name, start);
    return value_of(Integer::unknown());
  }

  // Words of CuTe's C++, and truth values as they are printed.
  Value meant(const Word& word, std::size_t start, int depth) {
    if (word.meaning == Word::Meaning::compose) {
      at_ = start;
      fail("a number, a name, '?', '_' or '('");
    }
    if (word.meaning == Word::Meaning::truth) return {word.name == "true"};
    if (word.meaning == Word::Meaning::underscore) return {IntTuple::underscore()};
    if (!accept('<')) fail(format_text("'<' after {}", word.name));
    const bool around = std::exchange(in_step_, word.name == "Step");
    Value value;
    switch (word.meaning) {
      case Word::Meaning::swizzle:
        value = {swizzle()};
        break;
      case Word::Meaning::integer:
        value = value_of(number());
        expect('>');
        break;
      case Word::Meaning::layout:
        value = called(*find_function("make_layout"), list(depth + 1, '>'));
        break;
      default:
        value = bounded(joined(list(depth + 1, '>')));
    }
    in_step_ = around;
    skip_braces();
    return value;
  }

  // name(a, b), or name<x, y>(a, b), which is name(a, x, y, b).
  Value call(const Function& function, int depth) {
    Value::Values templated;
    if (accept('<')) templated = list(depth + 1, '>');
    if (!accept('(')) fail(format_text("'(' after the function {}", function.name));
    Value::Values arguments = list(depth + 1, ')');
    if (!templated.empty()) {
      if (arguments.empty()) arguments_mismatch(function, 0);
      arguments.insert(arguments.begin() + 1, templated.begin(), templated.end());
    }
    return applied(called(function, arguments), depth);
  }

  static Value called(const Function& function, const Value::Values& arguments) {
    if (arguments.size() < function.least || arguments.size() > function.most)
      arguments_mismatch(function, arguments.size());
    return bounded(function.call(Arguments(function, arguments)));
  }

  [[noreturn]] static void arguments_mismatch(const Function& function, std::size_t found) {
    refuse("layout: {}({}) takes {}, found {}", function.name, function.parameters, arguments_text(function),
           found);
  }

  Swizzle swizzle() {
    const auto small = [this] {
      skip_space();
      const std::size_t start = at_;
      accept('_');
      const Integer found = number();
      if (found.value() < -64 || found.value() > 64)
        fail_at(start, "at most 64 in a swizzle", value_of(found));
      return static_cast<int>(found.value());
    };
    const int bits = small();
    expect(',');
    const int base = small();
    const int shift = accept(',') ? small() : bits;
    expect('>');
    return {bits, base, shift};
  }

  Integer number() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem == std::errc::result_out_of_range || (problem == std::errc() && !Integer(value).known()))
      throw Error(
          ErrorCode::parse,
          format_text("layout: column {}: expected a number of at most 63 bits, found {}", at_ + 1,
                      text_.substr(at_, static_cast<std::size_t>(end - text_.data()) - at_).substr(0, 64)));
    if (problem != std::errc()) fail("a number, a name, '?', '_' or '('");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  // CuTe's C++ makes a value of a type by `{}`.
  void skip_braces() {
    if (accept('{')) expect('}');
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(format_text("'{}'", wanted));
  }
  bool accept(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool accept_o() {
    skip_space();
    if (at_ == text_.size() || text_[at_] != 'o' || name_at(text_, at_) != "o") return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw Error(ErrorCode::parse, format_text("layout: column {}: expected {}, found {}", at_ + 1, expected,
                                              shown_at(text_, at_)));
  }
  [[noreturn]] static void fail_at(std::size_t at, std::string_view expected, const Value& found) {
    throw Error(ErrorCode::parse,
                format_text("layout: column {}: expected {}, found {}", at + 1, expected, with_kind(found)));
  }
  [[noreturn]] void fail_unknown(std::string_view name, std::size_t start) const {
    std::vector<std::string> known;
    for (const FunctionGroup& group : functions())
      for (const Function& function : group.functions) known.emplace_back(function.name);
    for (const auto& [bound, value] : bindings_) known.push_back(bound);
    throw Error(ErrorCode::parse,
                format_text("layout: column {}: '{}' is neither a function nor a name with a value{}",
                            start + 1, name.substr(0, 64), did_you_mean(name, known)));
  }

  std::string_view text_;
  const Bindings& bindings_;
  std::size_t at_ = 0;
  bool in_step_ = false;  // where X is `_`
};

}  // namespace

Value evaluate(std::string_view text, const Bindings& bindings) {
  return Parser(text, bindings).all();
}

Statement execute(std::string_view text, Bindings& bindings) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {{}, evaluate(text, bindings)};
  std::string name(check_name(text.substr(0, equals)));
  // Blanks keep the columns of messages those of the whole line.
  std::string expression(text);
  std::fill_n(expression.begin(), equals + 1, ' ');
  Value value = evaluate(expression, bindings);
  bindings.insert_or_assign(name, value);
  return {std::move(name), std::move(value)};
}

}  // namespace gpuforge::layout
