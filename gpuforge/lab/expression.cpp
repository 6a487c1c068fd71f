#include "gpuforge/lab/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "gpuforge/base/error.h"
#include "gpuforge/base/suggest.h"

namespace gpuforge::lab {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kLongest = 1000;  // characters

struct FunctionShape {
  std::string_view name;
  std::size_t least;
  std::size_t most;
};
constexpr FunctionShape kFunctions[] = {{"ceil_div", 2, 2}, {"round_up", 2, 2}, {"min", 1, 8},
                                        {"max", 1, 8},      {"abs", 1, 1},      {"next_power_of_two", 1, 1},
                                        {"sqrt", 1, 1}};

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

}  // namespace

std::string to_string(const NameValue& value) {
  return std::visit([](auto number) { return format_text("{}", number); }, value);
}

struct Expression::Node {
  enum class Kind { number, name, call, negate, invert, binary };
  Kind kind = Kind::number;
  std::string text;  // the name, the function or the operator
  double number = 0;
  std::int64_t integer = 0;
  bool whole = false;
  std::vector<std::shared_ptr<const Node>> parts;
};

class Expression::Parser {
 public:
  explicit Parser(Expression& expression) : expression_(expression), text_(expression.text_) {}

  std::shared_ptr<const Node> parse() {
    auto node = binary(0, 0);
    skip_blanks();
    if (at_ < text_.size()) fail(format_text("'{}' was not expected", text_.substr(at_)));
    return node;
  }

 private:
  using Pointer = std::shared_ptr<const Node>;

  [[noreturn]] void fail(std::string_view problem) const { expression_.fail(problem); }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::string_view peek_name() {
    std::size_t end = at_;
    if (end < text_.size() && is_name_start(text_[end])) {
      while (end < text_.size() && is_name_part(text_[end])) ++end;
    }
    return text_.substr(at_, end - at_);
  }

  // The operator of that level that comes next, as the tree calls it; empty when there is none.
  std::string_view take_operator(int level) {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    struct Spelling {
      int level;
      std::string_view text;
      std::string_view meaning;
    };
    static constexpr Spelling kSpellings[] = {
        {0, "||", "or"}, {0, "or", "or"}, {1, "&&", "and"}, {1, "and", "and"}, {2, "==", "=="},
        {2, "!=", "!="}, {2, "<=", "<="}, {2, ">=", ">="},  {2, "<", "<"},     {2, ">", ">"},
        {3, "+", "+"},   {3, "-", "-"},   {4, "*", "*"},    {4, "/", "/"},     {4, "%", "%"}};
    for (const Spelling& spelling : kSpellings) {
      if (spelling.level != level || !rest.starts_with(spelling.text)) continue;
      if (is_name_start(spelling.text[0]) && peek_name() != spelling.text) continue;
      at_ += spelling.text.size();
      return spelling.meaning;
    }
    return {};
  }

  Pointer binary(int level, int depth) {
    if (level > 4) return unary(depth);
    Pointer left = binary(level + 1, depth);
    for (std::string_view op = take_operator(level); !op.empty(); op = take_operator(level)) {
      auto node = std::make_shared<Node>();
      node->kind = Node::Kind::binary;
      node->text = op;
      node->parts = {left, binary(level + 1, depth)};
      left = node;
      // a < b < c does not mean what it looks like.
      if (level == 2 && !take_operator(level).empty())
        fail("comparisons cannot be chained; join them with and");
    }
    return left;
  }

  Pointer unary(int depth) {
    if (depth > kDeepest) fail(format_text("nested deeper than {} levels", kDeepest));
    skip_blanks();
    if (at_ == text_.size()) fail("a number or a name was expected at the end");
    const char c = text_[at_];
    const bool word = peek_name() == "not";
    if (c == '-' || c == '+' || (c == '!' && text_.substr(at_, 2) != "!=") || word) {
      at_ += word ? 3 : 1;
      Pointer part = unary(depth + 1);
      if (c == '+') return part;
      auto node = std::make_shared<Node>();
      node->kind = c == '-' ? Node::Kind::negate : Node::Kind::invert;
      node->parts = {std::move(part)};
      return node;
    }
    if (c == '(') {
      ++at_;
      Pointer inside = binary(0, depth + 1);
      expect(')');
      return inside;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return literal();
    if (is_name_start(c)) return name_or_call(depth);
    fail(format_text("a number or a name was expected at '{}'", text_.substr(at_)));
  }

  void expect(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) {
      fail(format_text(
          "'{}' was expected {}", wanted,
          at_ == text_.size() ? std::string("at the end") : format_text("at '{}'", text_.substr(at_))));
    }
    ++at_;
  }

  Pointer literal() {
    auto node = std::make_shared<Node>();
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
    const auto whole = std::from_chars(hex ? begin + 2 : begin, end, node->integer, hex ? 16 : 10);
    const char* stop = whole.ptr;
    node->whole = whole.ec == std::errc();
    node->number = static_cast<double>(node->integer);
    if (!hex) {
      const auto real = std::from_chars(begin, end, node->number);
      if (real.ec != std::errc()) fail(format_text("'{}' is no number", text_.substr(at_)));
      if (real.ptr != stop) node->whole = false;
      stop = real.ptr;
      if (!node->whole && std::abs(node->number) < 0x1p62 && std::trunc(node->number) == node->number) {
        node->whole = true;  // 1e6
        node->integer = static_cast<std::int64_t>(node->number);
      }
    }
    if ((hex && !node->whole) || (stop != end && is_name_part(*stop)))
      fail(format_text("'{}' is no number", text_.substr(at_)));
    at_ = static_cast<std::size_t>(stop - text_.data());
    return node;
  }

  Pointer name_or_call(int depth) {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::name;
    node->text = peek_name();
    at_ += node->text.size();
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != '(') return remember(node);
    ++at_;
    if (node->text == "sizeof") {
      skip_blanks();
      node->text = format_text("sizeof({})", peek_name());
      at_ += peek_name().size();
      expect(')');
      return remember(node);
    }
    node->kind = Node::Kind::call;
    const auto* const function =
        std::find_if(std::begin(kFunctions), std::end(kFunctions),
                     [&](const FunctionShape& known) { return known.name == node->text; });
    if (function == std::end(kFunctions)) {
      std::vector<std::string> known = {"sizeof"};
      for (const FunctionShape& shape : kFunctions) known.emplace_back(shape.name);
      fail(format_text("there is no function '{}'{}", node->text, did_you_mean(node->text, known)));
    }
    skip_blanks();
    while (at_ < text_.size() && text_[at_] != ')') {
      node->parts.push_back(binary(0, depth + 1));
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        skip_blanks();
        if (at_ < text_.size() && text_[at_] == ')') fail("a number or a name was expected after ','");
      } else {
        break;
      }
    }
    expect(')');
    if (node->parts.size() < function->least || node->parts.size() > function->most) {
      fail(format_text("{} takes {}, and {} were given", function->name,
                       function->least == function->most
                           ? format_text("{} argument{}", function->least, function->least == 1 ? "" : "s")
                           : format_text("{} to {} arguments", function->least, function->most),
                       node->parts.size()));
    }
    return node;
  }

  Pointer remember(const std::shared_ptr<Node>& node) {
    std::vector<std::string>& names = expression_.names_;
    if (std::find(names.begin(), names.end(), node->text) == names.end()) names.push_back(node->text);
    return node;
  }

  Expression& expression_;
  std::string_view text_;
  std::size_t at_ = 0;
};

template <typename Number>
class Expression::Evaluator {
 public:
  Evaluator(const Expression& expression, const NameValues& values)
      : expression_(expression), values_(values) {}

  Number value(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::number:
        if constexpr (kWhole) {
          if (!node.whole) fail(format_text("a whole number was expected; found {}", node.number));
          return node.integer;
        } else {
          return node.number;
        }
      case Node::Kind::name:
        return named(node.text);
      case Node::Kind::call:
        return call(node);
      case Node::Kind::negate:
        return apply("-", Number{0}, value(*node.parts[0]));
      case Node::Kind::invert:
        return value(*node.parts[0]) == 0;
      case Node::Kind::binary: {
        const Number left = value(*node.parts[0]);
        if (node.text == "or" && left != 0) return 1;
        if (node.text == "and" && left == 0) return 0;
        return apply(node.text, left, value(*node.parts[1]));
      }
    }
    throw Error(ErrorCode::internal, "expression: not a kind of node");
  }

 private:
  static constexpr bool kWhole = std::is_same_v<Number, std::int64_t>;

  [[noreturn]] void fail(std::string_view problem) const {
    std::string text = format_text("{}: '{}'", expression_.where_, expression_.text_);
    std::string given;
    for (const std::string& name : expression_.names_) {
      const auto found = values_.find(name);
      if (found != values_.end())
        given += format_text("{}{} = {}", given.empty() ? "" : ", ", name, to_string(found->second));
    }
    if (!given.empty()) text += format_text(" with {}", given);
    throw Error(ErrorCode::invalid_argument, format_text("{}: {}", text, problem));
  }

  Number named(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(format_text("{} has no value here", name));
    if constexpr (kWhole) {
      if (const auto* const whole = std::get_if<std::int64_t>(&found->second)) return *whole;
      fail(format_text("{} is no whole number", name));
    } else {
      return std::visit([](auto number) { return static_cast<double>(number); }, found->second);
    }
  }

  Number apply(std::string_view op, Number a, Number b) const {
    if (op == "or" || op == "and") return b != 0;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    if (op == ">=") return a >= b;
    if (op == "/" || op == "%") return divide(op, a, b);
    if constexpr (kWhole) {
      std::int64_t result = 0;
      const bool overflow = op == "+"   ? __builtin_add_overflow(a, b, &result)
                            : op == "-" ? __builtin_sub_overflow(a, b, &result)
                                        : __builtin_mul_overflow(a, b, &result);
      if (overflow) fail("the result does not fit 64 bits");
      return result;
    } else {
      return op == "+" ? a + b : op == "-" ? a - b : a * b;
    }
  }

  Number divide(std::string_view op, Number a, Number b) const {
    if (b == 0) fail("division by zero");
    if constexpr (kWhole) {
      if (b == -1) return op == "%" ? 0 : apply("-", 0, a);
      return op == "%" ? a % b : a / b;
    } else {
      return op == "%" ? std::fmod(a, b) : a / b;
    }
  }

  Number ceil_div(Number a, Number b) const {
    if (b == 0) fail("division by zero");
    if constexpr (kWhole) {
      if (a < 0 || b < 0) fail("ceil_div and round_up take numbers from 0");
      return a / b + (a % b != 0);
    } else {
      return std::ceil(a / b);
    }
  }

  Number call(const Node& node) const {
    std::vector<Number> given;
    for (const auto& part : node.parts) given.push_back(value(*part));
    if (node.text == "ceil_div") return ceil_div(given[0], given[1]);
    if (node.text == "round_up") return apply("*", ceil_div(given[0], given[1]), given[1]);
    if (node.text == "min") return *std::min_element(given.begin(), given.end());
    if (node.text == "max") return *std::max_element(given.begin(), given.end());
    if (node.text == "abs") return given[0] < 0 ? apply("-", Number{0}, given[0]) : given[0];
    if (node.text == "next_power_of_two") {
      if (!(given[0] <= static_cast<Number>(std::int64_t{1} << 62))) fail("the result does not fit 64 bits");
      Number power = 1;
      while (power < given[0]) power *= 2;
      return power;
    }
    if constexpr (kWhole) fail("sqrt is for numbers with a fraction");
    return static_cast<Number>(std::sqrt(static_cast<double>(given[0])));
  }

  const Expression& expression_;
  const NameValues& values_;
};

Expression Expression::parse(std::string_view text, std::string_view where) {
  Expression expression;
  expression.text_ = text.substr(0, kLongest);
  expression.where_ = where;
  if (text.size() > kLongest) expression.fail(format_text("more than {} characters", kLongest));
  expression.root_ = Parser(expression).parse();
  return expression;
}

void Expression::fail(std::string_view problem) const {
  throw Error(ErrorCode::parse, format_text("{}: in '{}': {}", where_, text_, problem));
}

void Expression::allow_names(std::span<const std::string> known) const {
  for (const std::string& name : names_) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& other : known) list += (list.empty() ? "" : ", ") + other;
    const std::string near = did_you_mean(name, known);
    fail(format_text("there is no '{}'{}", name,
                     !near.empty()  ? near
                     : list.empty() ? std::string("; no names are declared")
                                    : format_text("; there are {}", list)));
  }
}

std::int64_t Expression::integer(const NameValues& values) const {
  return Evaluator<std::int64_t>(*this, values).value(*root_);
}

double Expression::number(const NameValues& values) const {
  return Evaluator<double>(*this, values).value(*root_);
}

bool Expression::holds(const NameValues& values) const {
  const bool whole = std::all_of(names_.begin(), names_.end(), [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() || std::holds_alternative<std::int64_t>(found->second);
  });
  return whole ? integer(values) != 0 : number(values) != 0;
}

}  // namespace gpuforge::lab
