#include "gpuforge/ops/elementwise/elementwise_reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "gpuforge/ops/wrapped.h"

namespace gpuforge::ops {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double floored_quotient(double a, double b) {
  if (b == 0) return a / b;
  if (std::isinf(b) && std::isfinite(a)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
  if (!std::isfinite(a) || std::isnan(b)) return kNan;
  const double rest = std::fmod(a, b);
  const double below = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
  return std::nearbyint((a - rest) / b) - below;
}

double floored_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

using Formula = std::function<double(const double*)>;
const std::map<std::string_view, Formula>& formulas() {
  static const auto& table = *new std::map<std::string_view, Formula>{
      {"add", [](const double* x) { return x[0] + x[1]; }},
      {"sub", [](const double* x) { return x[0] - x[1]; }},
      {"mul", [](const double* x) { return x[0] * x[1]; }},
      {"div", [](const double* x) { return x[0] / x[1]; }},
      {"floor_div", [](const double* x) { return floored_quotient(x[0], x[1]); }},
      {"mod", [](const double* x) { return floored_remainder(x[0], x[1]); }},
      {"pow", [](const double* x) { return std::pow(x[0], x[1]); }},
      {"maximum",
       [](const double* x) { return std::isnan(x[0]) || std::isnan(x[1]) ? kNan : std::max(x[0], x[1]); }},
      {"minimum",
       [](const double* x) { return std::isnan(x[0]) || std::isnan(x[1]) ? kNan : std::min(x[0], x[1]); }},
      {"eq", [](const double* x) { return x[0] == x[1] ? 1 : 0; }},
      {"ne", [](const double* x) { return x[0] != x[1] ? 1 : 0; }},
      {"lt", [](const double* x) { return x[0] < x[1] ? 1 : 0; }},
      {"le", [](const double* x) { return x[0] <= x[1] ? 1 : 0; }},
      {"gt", [](const double* x) { return x[0] > x[1] ? 1 : 0; }},
      {"ge", [](const double* x) { return x[0] >= x[1] ? 1 : 0; }},
      {"logical_and", [](const double* x) { return x[0] != 0 && x[1] != 0 ? 1 : 0; }},
      {"logical_or", [](const double* x) { return x[0] != 0 || x[1] != 0 ? 1 : 0; }},
      {"logical_xor", [](const double* x) { return (x[0] != 0) != (x[1] != 0) ? 1 : 0; }},
      {"logical_not", [](const double* x) { return x[0] == 0 ? 1 : 0; }},
      {"where", [](const double* x) { return x[0] != 0 ? x[1] : x[2]; }},
      {"clamp",
       [](const double* x) {
         if (std::isnan(x[0]) || std::isnan(x[1]) || std::isnan(x[2])) return kNan;
         return std::min(std::max(x[0], x[1]), x[2]);
       }},
      {"neg", [](const double* x) { return -x[0]; }},
      {"abs", [](const double* x) { return std::abs(x[0]); }},
      {"sign", [](const double* x) { return std::isnan(x[0]) ? kNan
                                            : x[0] > 0       ? 1
                                            : x[0] < 0       ? -1
                                                             : 0; }},
      {"square", [](const double* x) { return x[0] * x[0]; }},
      {"floor", [](const double* x) { return std::floor(x[0]); }},
      {"ceil", [](const double* x) { return std::ceil(x[0]); }},
      {"round", [](const double* x) { return std::nearbyint(x[0]); }},
      {"relu", [](const double* x) { return x[0] <= 0 ? 0 : x[0]; }},
      {"isnan", [](const double* x) { return std::isnan(x[0]) ? 1 : 0; }},
      {"isinf", [](const double* x) { return std::isinf(x[0]) ? 1 : 0; }},
      {"isfinite", [](const double* x) { return std::isfinite(x[0]) ? 1 : 0; }},
      {"exp", [](const double* x) { return std::exp(x[0]); }},
      {"exp2", [](const double* x) { return std::exp2(x[0]); }},
      {"expm1", [](const double* x) { return std::expm1(x[0]); }},
      {"log", [](const double* x) { return std::log(x[0]); }},
      {"log2", [](const double* x) { return std::log2(x[0]); }},
      {"log1p", [](const double* x) { return std::log1p(x[0]); }},
      {"sqrt", [](const double* x) { return std::sqrt(x[0]); }},
      {"rsqrt", [](const double* x) { return 1 / std::sqrt(x[0]); }},
      {"reciprocal", [](const double* x) { return 1 / x[0]; }},
      {"sin", [](const double* x) { return std::sin(x[0]); }},
      {"cos", [](const double* x) { return std::cos(x[0]); }},
      {"tanh", [](const double* x) { return std::tanh(x[0]); }},
      {"erf", [](const double* x) { return std::erf(x[0]); }},
      {"sigmoid", [](const double* x) { return 1 / (1 + std::exp(-x[0])); }},
      {"silu", [](const double* x) { return x[0] * (1 / (1 + std::exp(-x[0]))); }},
      {"gelu", [](const double* x) { return x[0] / 2 * std::erfc(-x[0] / std::sqrt(2.0)); }},
  };
  return table;
}

// Modulo 2^64, of which every narrower integer is a part.
std::uint64_t integer_formula(std::string_view name, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  if (name == "add") return x + y;
  if (name == "sub") return x - y;
  if (name == "mul") return x * y;
  if (name == "square") return x * x;
  if (name == "neg") return 0 - x;
  if (name == "abs") return a < 0 ? 0 - x : x;
  if (name == "bitwise_and") return x & y;
  if (name == "bitwise_or") return x | y;
  if (name == "bitwise_xor") return x ^ y;
  if (name == "bitwise_not") return ~x;
  if (name == "pow") {
    if (b < 0) return a == 1 ? 1 : a != -1 ? 0 : b % 2 == 0 ? 1 : ~std::uint64_t{0};
    if (b == 0) return 1;
    const std::uint64_t half = integer_formula(name, a, b / 2);
    return half * half * (b % 2 == 0 ? 1 : x);
  }
  GPUFORGE_ASSERT(name == "floor_div" || name == "mod", "elementwise: {} has no formula of integers", name);
  if (b == 0) return 0;
  if (b == -1) return name == "mod" ? 0 : 0 - x;
  const auto below =
      static_cast<std::int64_t>(std::floor(static_cast<long double>(a) / static_cast<long double>(b)));
  return static_cast<std::uint64_t>(name == "mod" ? a - below * b : below);
}

// The ends of i64 as doubles are one past them.
std::int64_t as_integer(double value) {
  if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  return value <= -0x1p63 ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(value);
}

bool has_integer_formula(std::string_view name) {
  for (const std::string_view known :
       {"add", "sub", "mul", "square", "neg", "abs", "bitwise_and", "bitwise_or", "bitwise_xor",
        "bitwise_not", "pow", "floor_div", "mod"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

double reference_value(const Resolution& how, std::span<const double> operands) {
  const std::string_view name = how.function->name;
  if (!is_floating(how.operation) && has_integer_formula(name)) {
    const std::int64_t a = as_integer(operands[0]);
    const std::int64_t b = operands.size() > 1 ? as_integer(operands[1]) : 0;
    return wrapped(integer_formula(name, a, b), how.result);
  }
  return formulas().at(name)(operands.data());
}

lab::Expected elementwise_reference(const Resolution& how, const Shape& shape,
                                    std::span<const lab::HostTensor> inputs, const lab::EachRow& each_row) {
  lab::Expected expected;
  const auto count = static_cast<std::size_t>(element_count(shape));
  expected.values.resize(count);
  std::vector<Strides> strides;
  for (const lab::HostTensor& input : inputs) {
    strides.push_back(broadcast_strides(input.shape, row_major_strides(input.shape), shape));
  }
  each_row(count, 1, [&](std::size_t place) {
    const Dims at = lab::coordinate(shape, place);
    double operands[3] = {};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) offset += at[d] * strides[i][d];
      operands[i] = inputs[i].values[static_cast<std::size_t>(offset)];
    }
    expected.values[place] = reference_value(how, std::span(operands, inputs.size()));
  });
  return expected;
}

}  // namespace gpuforge::ops
