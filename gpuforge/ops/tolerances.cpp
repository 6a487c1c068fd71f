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
    {"layer_norm", 2e-5, 0, 1e-5,
     "float sums of up to 2^18 terms, judged against x and its mean before they cancel"},
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

double sum_roundings(std::int64_t length) {
  const auto terms = static_cast<double>(length);
  return std::min(terms, 128.0) + terms / 128 + 16;
}

}  // namespace gpuforge::ops
