// Elementwise work as a value: inputs, constants and calls of table functions, the last of which is the
// result. One call is what apply() does; fuse makes longer ones. Not installed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuforge/ops/elementwise/element_walk.h"
#include "gpuforge/ops/elementwise/elementwise.h"

namespace gpuforge::ops {

// A number as a call gets it: the bits of a float, double, int32 or int64.
struct ConstantBits {
  DType compute = DType::f32;  // f32, f64, i32 or i64
  std::uint64_t bits = 0;
};
// Rounded to `operation` first, as an element of it would be.
ConstantBits constant_bits(const Operand& number, DType operation, bool truth);

struct Source {
  enum class Kind : std::uint8_t { input, constant, step } kind = Kind::input;
  std::size_t index = 0;
};

struct Step {
  Resolution how;
  std::vector<Source> sources;  // as many as the function's arity
};

struct Program {
  std::vector<DType> inputs;
  std::vector<ConstantBits> constants;
  std::vector<Step> steps;
  DType result() const { return steps.back().how.result; }
};

// The work of the cpu device over a walk whose array 0 is the output and array i + 1 input i.
void run_on_host(const Program& program, const ElementWalk& walk);

}  // namespace gpuforge::ops
