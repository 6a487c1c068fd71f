#include "gpuforge/ops/tolerances.h"

#include <algorithm>
#include <iterator>

#include "gpuforge/base/dtype_limits.h"

namespace gpuforge::ops {
namespace {

struct Row {
  std::string_view op;
  double relative;  // beyond the rounding of the output
  double absolute;
  double norm;
  std::string_view reason;
};

// Sorted by op.
constexpr Row kTable[] = {
    {"copy_transpose", 0, 0, 0, "elements move and are not computed with"},
    {"elementwise exact", 0, 0, 0, "one of the operands, a whole number or a truth"},
    {"elementwise function", 0x1p-21, 0, 0x1p-22,
     "the device's functions are within 4 units of float, and pow, sigmoid and silu add some roundings"},
    {"elementwise gelu", 3e-5, 0, 1e-5,
     "the rounding of a / sqrt(2) counts 2 z^2 times in erfc(z), up to z of 10"},
    {"elementwise rounded", 0x1p-24, 0, 0x1p-24, "computed in float with one rounding"},
    {"elementwise silu", 0x1p-21, 0x1p-142, 0x1p-22,
     "as the functions; exp(a) has lost digits below the smallest normal number, and a of -100 multiplies "
     "them"},
    {"layer_norm", 2e-5, 0, 1e-5,
     "float sums of up to 2^18 terms, judged against x and its mean before they cancel"},
    {"matmul", 0x1p-24, 0, 0x1p-24,
     "every product and addition of a result rounds in float, judged against them"},
    {"matmul of integers", 0, 0, 0, "integers wrap"},
    {"reduce amax", 0, 0, 0, "one of the elements"},
    {"reduce prod", 0x1p-24, 0, 0x1p-24, "every factor rounds the product once"},
    {"reduce sum", 0x1p-24, 0, 0x1p-25,
     "every addition a term goes through rounds by half a unit at most, and by half of that on average"},
    {"reduce_sum", 0x1p-24, 0, 0x1p-25, "as the sum of reduce"},
    {"residual_add", 0, 0, 0, "added in float and rounded to the dtype: the reference does the same"},
    {"rms_norm", 2e-5, 0, 1e-5, "a float sum of up to 2^18 squares, one after the other in naive"},
    {"rms_norm_backward", 2e-5, 0, 1e-5, "float sums of up to 2^18 terms, judged against the terms"},
    {"softmax_online", 2e-5, 0, 1e-5,
     "exp within 2 units, or 2^-17 for results of 16 bits, and float sums of up to 2^18 terms, one after the "
     "other in naive"},
    {"softmax_online_backward", 2e-5, 0, 1e-5, "float sums of up to 2^18 terms, judged against the terms"},
};

}  // namespace

lab::Tolerance tolerance(std::string_view op, DType dtype) {
  return tolerance(op, dtype, 1);
}

lab::Tolerance tolerance(std::string_view op, DType dtype, double roundings) {
  const auto* const row =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const Row& r) { return r.op == op; });
  GPUFORGE_ASSERT(row != std::end(kTable), "the table of tolerances has no row for {}", op);
  if (row->relative == 0) return {.reason = std::string(row->reason)};
  const DTypeLimits limits = limits_of(dtype);
  return {.relative = row->relative * roundings,
          .absolute = row->absolute + limits.smallest,
          .norm = row->norm * roundings,
          .rounding = limits.rounding,
          .reason = std::string(row->reason)};
}

lab::Tolerance elementwise_tolerance(std::string_view function, DType dtype) {
  constexpr std::string_view kExact[] = {"maximum", "minimum", "where", "clamp", "neg", "abs",
                                         "sign",    "floor",   "ceil",  "round", "relu"};
  constexpr std::string_view kRounded[] = {"add", "sub", "mul", "div", "mod", "sqrt", "square", "reciprocal"};
  const auto is_in = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), function) != std::end(list);
  };
  const auto row = [&](std::string_view name, double roundings) {
    lab::Tolerance result = tolerance(name, dtype, roundings);
    result.norm = 0;  // every element is judged by itself, and a dtype that saturates has no norm to be near
    return result;
  };
  if (!is_floating(dtype) || is_in(kExact)) return row("elementwise exact", 1);
  // What is computed in double is that much nearer.
  const bool twice = dtype == DType::f64;
  const double units = twice ? 0x1p-29 : 1;
  if (is_in(kRounded)) return row("elementwise rounded", units);
  if (function == "floor_div") return row("elementwise rounded", 4 * units);
  if (function == "gelu") return row("elementwise gelu", twice ? 16 * units : 1);  // z of up to 38 there
  return row(function == "silu" ? "elementwise silu" : "elementwise function", units);
}

double sum_roundings(std::int64_t length) {
  const auto terms = static_cast<double>(length);
  return std::min(terms, 128.0) + terms / 128 + 16;
}

}  // namespace gpuforge::ops
