#include "gpuforge/ops/reduce/reduce.h"

#include <algorithm>
#include <limits>

#include "gpuforge/kernels/device_type.h"
#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "reduce";
constexpr std::string_view kFile = "gpuforge/ops/reduce/reduce.cu";
constexpr int kNaiveThreads = 256;  // the launch bounds of reduce_naive
constexpr int kPartsThreads = 128;

struct OpName {
  std::string_view name;
  ReduceOp op;
};
constexpr OpName kOpNames[] = {{"sum", ReduceOp::sum},   {"amax", ReduceOp::amax}, {"amin", ReduceOp::amin},
                               {"prod", ReduceOp::prod}, {"mean", ReduceOp::mean}, {"max", ReduceOp::amax},
                               {"min", ReduceOp::amin}};

std::string_view device_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return "gpuforge::Sum";
    case ReduceOp::amax:
      return "gpuforge::Max";
    case ReduceOp::amin:
      return "gpuforge::Min";
    case ReduceOp::prod:
      return "gpuforge::ScaledProduct";
  }
  throw Error(ErrorCode::internal, "reduce: not a value of the operation enumeration");
}

// Of what reduce.cu keeps of a part of a row, in floats.
std::int64_t part_words(ReduceOp op) {
  return op == ReduceOp::prod ? 2 : 1;
}

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

std::uint32_t grid_for(std::int64_t rows, std::int64_t rows_per_block) {
  const std::int64_t blocks = (rows + rows_per_block - 1) / rows_per_block;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(blocks, 1, std::numeric_limits<std::int32_t>::max()));
}

// Elements a load has. 0: rows that are not of neighbours, element by element.
int vector_of(const Rows& rows, device::Address x, DType dtype, const ReduceConfig& config) {
  const std::size_t bytes = element_bytes(dtype);
  const int most = config.vector / static_cast<int>(bytes);
  switch (kind_of(rows)) {
    case RowsKind::unit:
      return row_vector(rows, {{0, x, bytes}}, most);
    case RowsKind::columns:
      return column_vector(rows, {{0, x, bytes}}, most);
    case RowsKind::strided:
      return 0;
  }
  throw Error(ErrorCode::internal, "reduce: not a value of the kind enumeration");
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

std::string reduce_expression(RowsKind kind, DType dtype, ReduceOp op, const ReduceConfig& config,
                              int vector) {
  if (config.naive) return format_text("gpuforge::reduce_naive<{}, {}>", device_type(dtype), device_op(op));
  return format_text("gpuforge::{}<{}, {}, {}, {}, {}, {}>",
                     kind == RowsKind::columns ? "reduce_columns" : "reduce_rows", device_type(dtype),
                     device_op(op), config.block, config.group, vector, config.flight);
}

std::string reduce_parts_expression(DType dtype, ReduceOp op) {
  return format_text("gpuforge::reduce_parts<{}, {}, {}>", device_type(dtype), device_op(op), kPartsThreads);
}

std::vector<std::shared_ptr<const jit::Kernel>> reduce_kernels(Context& context, const Rows& rows,
                                                               device::Address x, DType dtype, ReduceOp op,
                                                               const ReduceConfig& config) {
  const std::string first =
      reduce_expression(kind_of(rows), dtype, op, config, vector_of(rows, x, dtype, config));
  std::vector kernels{context.jit().embedded_kernel(kFile, first, context.device())};
  if (config.split > 1) {
    kernels.push_back(
        context.jit().embedded_kernel(kFile, reduce_parts_expression(dtype, op), context.device()));
  }
  return kernels;
}

void launch_reduce(const Array& out, const Array& x, const Rows& rows, ReduceOp op,
                   const ReduceConfig& config, const std::shared_ptr<memory::Allocator>& scratch,
                   device::Stream& stream) {
  Context& context = x.context();
  const auto kernels = reduce_kernels(context, rows, x.address(), x.dtype(), op, config);
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  const DeviceRows<2> device = device_rows<2>(rows);
  const float scale = op == ReduceOp::mean ? 1.0f / static_cast<float>(rows.length) : 1.0f;
  device::LaunchConfig launch;
  if (config.naive) {
    launch.grid.x = grid_for(rows.count, kNaiveThreads);
    launch.block.x = kNaiveThreads;
    (*kernels[0])(launch, stream, out, x, device, scale);
    return;
  }
  const int vector = vector_of(rows, x.address(), x.dtype(), config);
  // Parts begin alike to each other, whatever the vector.
  const std::int64_t per_split = ((rows.length + config.split - 1) / config.split + 15) / 16 * 16;
  const std::int64_t across = config.block / config.group;
  launch.grid.x = grid_for(rows.count, kind_of(rows) == RowsKind::columns ? across * vector : across);
  launch.grid.y = static_cast<std::uint32_t>(config.split);
  launch.block.x = static_cast<std::uint32_t>(config.block);
  if (config.split == 1) {
    (*kernels[0])(launch, stream, out, device::Address{0}, x, device, per_split, scale);
    return;
  }
  const Array parts = empty(context.shared_from_this(), {rows.count, config.split, part_words(op)},
                            DType::f32, stream, scratch);
  (*kernels[0])(launch, stream, out, parts, x, device, per_split, scale);
  device::LaunchConfig second;
  second.grid.x = grid_for(rows.count, kPartsThreads / 32);
  second.block.x = kPartsThreads;
  (*kernels[1])(second, stream, out, parts, std::int32_t{config.split}, device, scale);
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
