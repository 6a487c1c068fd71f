#include "gpuforge/ops/reduce/reduce.h"

#include <limits>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "reduce";

struct OpName {
  std::string_view name;
  ReduceOp op;
};
constexpr OpName kOpNames[] = {{"sum", ReduceOp::sum},   {"amax", ReduceOp::amax}, {"amin", ReduceOp::amin},
                               {"prod", ReduceOp::prod}, {"mean", ReduceOp::mean}, {"max", ReduceOp::amax},
                               {"min", ReduceOp::amin}};

double of_nothing(ReduceOp op) {
  if (op == ReduceOp::mean) return std::numeric_limits<double>::quiet_NaN();
  return op == ReduceOp::prod ? 1 : 0;
}

void check_arguments(const Array& out, const Array& x, std::int64_t dim, ReduceOp op, bool keepdim) {
  check_floating(kName, "x", x);
  const Shape expected = reduced_shape(kName, x.shape(), dim, op, keepdim);
  check_device(kName, "out", out, x);
  check_dtype(kName, "out", out, x.dtype());
  check_shape(kName, "out", out, expected);
  check_output(kName, "out", out, x);
}

}  // namespace

std::string_view name(ReduceOp op) {
  for (const OpName& known : kOpNames) {
    if (known.op == op) return known.name;
  }
  throw Error(ErrorCode::internal, "reduce: not a value of the operation enumeration");
}

ReduceOp parse_reduce_op(std::string_view text) {
  for (const OpName& known : kOpNames) {
    if (known.name == text) return known.op;
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("reduce: op is one of sum, amax (max), amin (min), prod, mean; found '{}'", text));
}

Shape reduced_shape(std::string_view who, const Shape& x_shape, std::int64_t dim, ReduceOp op, bool keepdim) {
  const auto rank = static_cast<std::int64_t>(x_shape.size());
  GPUFORGE_CHECK(rank > 0, "{}: x must have one axis or more; found a scalar", who);
  GPUFORGE_CHECK(dim >= -rank && dim < rank, "{}: dim must be in {}..{} for shape {}; found {}", who, -rank,
                 rank - 1, to_string(x_shape), dim);
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + rank : dim);
  GPUFORGE_CHECK(x_shape[axis] > 0 || (op != ReduceOp::amax && op != ReduceOp::amin),
                 "{}: {} of no elements is not defined; axis {} of shape {} is empty", who, name(op), dim,
                 to_string(x_shape));
  Shape shape = x_shape;
  if (keepdim) {
    shape[axis] = 1;
  } else {
    shape.erase(axis);
  }
  return shape;
}

Rows reduce_rows(const Shape& x_shape, const Strides& x_strides, const Strides& out_strides,
                 std::size_t axis) {
  Strides out = out_strides;
  if (out.size() < x_shape.size()) {
    out.insert(axis, 0);
  } else {
    out[axis] = 0;
  }
  return make_rows(x_shape, {x_strides, out}, axis);
}

void reduce(Array& out, const Array& x, std::int64_t dim, ReduceOp op, const ReduceOptions& options,
            device::Stream& stream) {
  check_arguments(out, x, dim, op, options.keepdim);
  const Rows rows =
      reduce_rows(x.shape(), x.strides(), out.strides(), normalize_axis(dim, x.rank(), "reduce"));
  const device::DeviceFacts& facts = x.device().facts();
  const ReduceConfig config = options.config != nullptr
                                  ? reduce_config(kName, options.variant, *options.config)
                                  : choose_reduce(kName, reduce_problem(rows, x.dtype()), options.variant,
                                                  facts, x.context().tuning())
                                        .config;
  if (out.size() == 0) return;
  if (rows.length == 0) return out.fill(of_nothing(op), stream);
  if (facts.kind == device::DeviceKind::cpu) return reduce_cpu(out, x, rows, op, stream);
  launch_reduce(out, x, rows, op, config, options.scratch, stream);
}

Array reduce(const Array& x, std::int64_t dim, ReduceOp op, const ReduceOptions& options,
             device::Stream& stream) {
  const Shape shape = reduced_shape(kName, x.shape(), dim, op, options.keepdim);
  Array out = empty(x.context().shared_from_this(), shape, x.dtype(), stream);
  reduce(out, x, dim, op, options, stream);
  return out;
}

}  // namespace gpuforge::ops
