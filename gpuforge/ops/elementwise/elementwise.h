// out[i] = function(a[i], b[i], ..): NumPy's functions of elements, one table of them, over views of any
// shape that broadcast together, on every device and for every dtype.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "gpuforge/array/array.h"
#include "gpuforge/base/promotion.h"

namespace gpuforge::ops {

// Which dtypes a function takes, in which it computes and what it gives. "Promoted" is base/promotion.h.
enum class Rule : std::uint8_t {
  number,       // any; promoted
  signed_only,  // any but bool, as NumPy's subtraction; promoted
  not_bool,     // any; promoted, bools as i8 (NumPy's // % ** and square)
  floating,     // any; floating_for() of the promoted
  division,     // any; promoted, and f64 for integers and bools
  comparison,   // any; compared in the promoted dtype; gives bool
  question,     // any; gives bool
  logical,      // any, as truths (not 0; NaN is true); gives bool
  bits,         // integers and bool; promoted
  choice,       // a truth and two of any dtype, which are promoted
};

struct HostFunction;  // the loops of the cpu device

struct Function {
  std::string_view name;
  std::string_view alias;  // what NumPy calls it, where that differs; may be empty
  int arity = 1;
  Rule rule = Rule::number;
  std::string_view summary;
  const HostFunction* host = nullptr;
};
// The table, in the order of its documentation.
std::span<const Function> functions();
// By name or alias; invalid_argument with what is near.
const Function& find_function(std::string_view name);

// An array, or a number as Python writes it, which takes the dtype of the arrays it meets where that has its
// kind (base/promotion.h).
using Operand = std::variant<Array, bool, std::int64_t, double>;

// What is known of an operand before there is data.
struct OperandType {
  std::optional<DType> dtype;  // of an array; nothing: a number
  ScalarKind kind = ScalarKind::boolean;
  std::int64_t integer = 0;  // the number, where it is an integer
};
OperandType type_of(const Operand& operand);

// In what a function computes for such operands, and what it gives.
struct Resolution {
  const Function* function = nullptr;  // ~ of bools is a logical_not
  DType operation = DType::f32;
  DType result = DType::f32;
  std::array<bool, 3> truth{};  // operands that are asked only whether they are 0
};
// invalid_argument: another number of operands than the function's, a dtype it does not take, an integer that
// the integer dtype cannot hold (a comparison takes it, in i64), an integer to a negative power.
Resolution resolve(const Function& function, std::span<const OperandType> operands);

struct ApplyOptions {
  Array* out = nullptr;               // written instead of a new array
  std::string_view variant = "best";  // "best", "naive"
  const Config* config = nullptr;     // instead of the tuned or computed choice
};

// Operands broadcast as NumPy's do. The result is a new array without gaps, row-major, of resolve()'s dtype;
// or `out`, any view of the broadcast shape whose dtype the result can be cast to within its kind (floats to
// floats, integers to integers and floats, bools to all; converted by base/convert.h). `out` may be an
// operand itself; where it overlaps one otherwise, the result goes through a temporary. No array among the
// operands and no `out`: invalid_argument, as nothing says where.
//
// f16, bf16 and fp8 are computed in float and rounded once; f32 and f64 in themselves. Infinities and NaN go
// through as IEEE's; maximum, minimum, clamp and relu give NaN where an operand is; fp8 saturates. Integers
// wrap. Integer division by zero gives 0, as NumPy's does; floor_div and mod round down, so that the
// remainder has the divisor's sign; an integer to a negative power of an array is 1 / a^b towards zero (NumPy
// refuses). round takes halves to even. Mixed dtypes are compared after promotion: an i64 beside a float is
// compared as f64. gelu is the exact one (erf); silu and gelu of -infinity are NaN, as torch's. The same bits
// for the same input, whatever the layout.
Array apply(const Function& function, std::span<const Operand> operands, const ApplyOptions& options,
            device::Stream& stream);
Array apply(std::string_view function, std::span<const Operand> operands, const ApplyOptions& options,
            device::Stream& stream);

// Shorthands: apply("add", x, 2.0, stream).
inline Array apply(std::string_view function, const Operand& a, device::Stream& stream) {
  return apply(function, std::span(&a, 1), {}, stream);
}
inline Array apply(std::string_view function, const Operand& a, const Operand& b, device::Stream& stream) {
  const Operand operands[] = {a, b};
  return apply(function, operands, {}, stream);
}
inline Array apply(std::string_view function, const Operand& a, const Operand& b, const Operand& c,
                   device::Stream& stream) {
  const Operand operands[] = {a, b, c};
  return apply(function, operands, {}, stream);
}

}  // namespace gpuforge::ops
