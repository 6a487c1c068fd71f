#include "gpuforge/layout/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "gpuforge/layout/arguments.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

constexpr int kDeepest = 64;  // levels of parentheses

// A tuple of values: numbers alone are one IntTuple.
Value joined(Value::Values values) {
  const bool numbers = std::all_of(values.begin(), values.end(),
                                   [](const Value& one) { return std::holds_alternative<IntTuple>(one.is); });
  if (!numbers) return {std::move(values)};
  TupleBuilder builder;
  builder.open();
  for (const Value& one : values) builder.add(std::get<IntTuple>(one.is));
  builder.close();
  return {builder.take()};
}

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
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
  // layout, or swizzle o offset o layout
  Value expression(int depth) {
    Value first = part(depth);
    if (!accept_o()) return first;
    const auto* const swizzle = std::get_if<Swizzle>(&first.is);
    if (swizzle == nullptr) fail("a swizzle before 'o'");
    Value second = part(depth);
    if (!accept_o()) {
      return value_of(composition(*swizzle, 0, as_layout(second)));
    }
    const IntTuple offset = as_tuple(second);
    if (!offset.is_integer()) fail("a number between the two 'o'");
    return value_of(composition(*swizzle, offset.integer(), as_layout(part(depth))));
  }

  Value part(int depth) {
    Value shape = atom(depth);
    if (!accept(':')) return shape;
    const IntTuple stride = as_tuple(atom(depth));
    return {Layout(as_tuple(shape), stride)};
  }

  Value atom(int depth) {
    if (depth > kDeepest) fail(format_text("at most {} levels of parentheses", kDeepest));
    if (accept('(')) return joined(list(depth + 1));
    if (accept('?')) return {IntTuple(Integer::unknown())};
    skip_space();
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if (next == '_') {
      ++at_;
      if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
        return {IntTuple(number())};
      return {IntTuple::underscore()};
    }
    if (starts_name(next)) return named(depth);
    return {IntTuple(number())};
  }

  // Within an expression a part of a layout is a layout; only the result of all tells where it begins.
  Value::Values list(int depth) {
    Value::Values values;
    while (!accept(')')) {
      values.push_back(expression(depth));
      if (auto* const part = std::get_if<OffsetLayout>(&values.back().is))
        values.back() = value_of(part->layout);
      if (accept(',')) continue;
      if (!accept(')')) fail("',' or ')'");
      break;
    }
    return values;
  }

  Value named(int depth) {
    const std::size_t start = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if ((name == "Sw" || name == "S" || name == "Swizzle") && accept('<')) return {swizzle()};
    const auto bound = bindings_.find(name);
    if (accept('(')) {
      const Value::Values arguments = list(depth + 1);
      if (bound != bindings_.end()) return applied(bound->second, arguments);
      return call(name, arguments, start);
    }
    if (bound != bindings_.end()) return bound->second;
    return {IntTuple(Integer::unknown())};
  }

  // A(3), A(1,2), A(_,2): the index of a coordinate, or a slice.
  static Value applied(const Value& value, Value::Values arguments) {
    if (arguments.empty()) refuse("layout: a coordinate is expected");
    const Value coordinate = arguments.size() == 1 ? arguments[0] : joined(std::move(arguments));
    const Value both[] = {coordinate, value};
    const std::string_view wanted = has_underscore(as_tuple(coordinate)) ? "slice" : "crd2idx";
    for (const Function& function : functions())
      if (function.name == wanted) return function.call(std::span<const Value>(both, 2));
    GPUFORGE_ASSERT(false, "layout: the language has no {}", wanted);
    return {};
  }

  Value call(std::string_view name, const Value::Values& arguments, std::size_t start) {
    const Function* known = nullptr;
    for (const Function& function : functions()) {
      if (function.name != name) continue;
      known = &function;
      if (arguments.size() >= function.least && arguments.size() <= function.most)
        return function.call(arguments);
    }
    at_ = start;
    if (known == nullptr) fail(format_text("a function ({} is none)", name));
    throw Error(ErrorCode::invalid_argument,
                format_text("layout: {}({}) has {} to {} arguments, found {}", name, known->parameters,
                            known->least, known->most, arguments.size()));
  }

  Swizzle swizzle() {
    const Integer bits = number();
    if (!accept(',')) fail("','");
    const Integer base = number();
    const Integer shift = accept(',') ? number() : bits;
    if (!accept('>')) fail("'>'");
    for (const Integer one : {bits, base, shift})
      if (one.value() < -64 || one.value() > 64) fail("numbers of at most 64 in a swizzle");
    return {static_cast<int>(bits.value()), static_cast<int>(base.value()), static_cast<int>(shift.value())};
  }

  Integer number() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem == std::errc::result_out_of_range || (problem == std::errc() && !Integer(value).known()))
      fail("a number of at most 63 bits");
    if (problem != std::errc()) fail("a number, a name, '?', '_' or '('");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  bool accept(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool accept_o() {
    skip_space();
    const bool here = at_ < text_.size() && text_[at_] == 'o' &&
                      (at_ + 1 == text_.size() || !continues_name(text_[at_ + 1]));
    if (here) ++at_;
    return here;
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  [[noreturn]] void fail(std::string_view expected) {
    const std::string found = at_ < text_.size() ? format_text("'{}'", text_[at_]) : "the end";
    throw Error(ErrorCode::parse,
                format_text("layout: column {}: expected {}, found {}", at_ + 1, expected, found));
  }

  std::string_view text_;
  const Bindings& bindings_;
  std::size_t at_ = 0;
};

}  // namespace

Value evaluate(std::string_view text, const Bindings& bindings) {
  return Parser(text, bindings).all();
}

}  // namespace gpuforge::layout
