// Several calls of element functions as one kernel: an expression is built of arguments, numbers and calls of
// the table, and a Fused runs it over arrays in one pass. What Python's gf.fuse(fn) makes by calling fn with
// expressions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gpuforge/ops/elementwise/elementwise.h"

namespace gpuforge::ops {

// A value: copies share what they are made of, and a part that is used twice is computed once.
class Expression {
 public:
  static Expression argument(std::size_t index);
  Expression(bool number);
  Expression(std::int64_t number);
  Expression(double number);

  std::string text() const;  // "mul(x0, add(x1, 0.5))"

  struct Node;
  const Node& node() const { return *node_; }

 private:
  friend Expression call(const Function& function, std::span<const Expression> operands);
  explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};
// invalid_argument: another number of operands than the function's, or over 500 calls inside of each other.
Expression call(const Function& function, std::span<const Expression> operands);
Expression call(std::string_view function, std::span<const Expression> operands);

class Fused {
 public:
  // Of so many arguments. invalid_argument: an expression that calls nothing, or names an argument there is
  // not; over 16 arguments.
  Fused(Expression result, std::size_t arguments);

  std::size_t arguments() const { return arguments_; }
  const Expression& expression() const { return result_; }
  // As apply() does it call by call: broadcasting, dtypes, out=, aliasing and errors are the same, and so are
  // the results, but that floats narrower than f32 are not rounded between calls and a product may round
  // together with the sum it goes into (fma). Kernels are found by their text, which has the expression's own
  // numbers in it and not those given here.
  Array operator()(std::span<const Operand> arguments, const ApplyOptions& options,
                   device::Stream& stream) const;

  // The kernel's body for arguments of these types, to read.
  std::string source(std::span<const OperandType> arguments) const;

 private:
  Expression result_;
  std::size_t arguments_;
};

}  // namespace gpuforge::ops
