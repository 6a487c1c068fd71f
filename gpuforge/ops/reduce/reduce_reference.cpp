#include "gpuforge/ops/reduce/reduce_reference.h"

#include <cmath>
#include <limits>

namespace gpuforge::ops {
namespace {

struct Result {
  double value = 0;
  double magnitude = 0;
};

double product(const double* x, std::size_t count, std::size_t stride) {
  double mantissa = 1;
  long exponent = 0;
  for (std::size_t i = 0; i < count; ++i) {
    int shift = 0;
    mantissa = std::frexp(mantissa * x[i * stride], &shift);
    if (std::isfinite(mantissa)) exponent += shift;
  }
  if (exponent > 4096) exponent = 4096;
  if (exponent < -4096) exponent = -4096;
  return std::ldexp(mantissa, static_cast<int>(exponent));
}

double extreme(const double* x, std::size_t count, std::size_t stride, bool largest) {
  double value = x[0];
  for (std::size_t i = 0; i < count; ++i) {
    const double next = x[i * stride];
    if (std::isnan(next)) return next;
    if (largest ? next > value : next < value) value = next;
  }
  return value;
}

Result sum(const double* x, std::size_t count, std::size_t stride) {
  Result result;
  for (std::size_t i = 0; i < count; ++i) {
    result.value += x[i * stride];
    result.magnitude += std::abs(x[i * stride]);
  }
  return result;
}

Result reduced(const double* x, std::size_t count, std::size_t stride, ReduceOp op) {
  Result result;
  switch (op) {
    case ReduceOp::sum:
      return sum(x, count, stride);
    case ReduceOp::mean:
      result = sum(x, count, stride);
      result.value /= static_cast<double>(count);
      result.magnitude /= static_cast<double>(count);
      return result;
    case ReduceOp::amax:
    case ReduceOp::amin:
      result.value = extreme(x, count, stride, op == ReduceOp::amax);
      break;
    case ReduceOp::prod:
      result.value = product(x, count, stride);
      break;
  }
  result.magnitude = std::abs(result.value);
  return result;
}

}  // namespace

lab::Expected reduce_reference(const lab::HostTensor& x, std::size_t axis, ReduceOp op,
                               const lab::EachRow& each_row) {
  std::size_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(x.shape[d]);
  for (std::size_t d = axis + 1; d < x.shape.size(); ++d) inner *= static_cast<std::size_t>(x.shape[d]);
  const std::size_t count = static_cast<std::size_t>(x.shape[axis]);
  lab::Expected out{std::vector<double>(outer * inner), std::vector<double>(outer * inner)};
  each_row(outer * inner, count, [&](std::size_t row) {
    const std::size_t first = row / inner * count * inner + row % inner;
    const Result result = reduced(x.values.data() + first, count, inner, op);
    out.values[row] = result.value;
    out.magnitudes[row] = result.magnitude;
  });
  return out;
}

}  // namespace gpuforge::ops
