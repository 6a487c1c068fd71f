// Which kernel of reduce.cu has a call, and its launch.
#include <limits>

#include "gpuforge/base/divide.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"
#include "gpuforge/ops/unit_rows.h"

namespace gpuforge::ops {
namespace {

constexpr jit::FixedText kFile = "gpuforge/ops/reduce/reduce.cu";
constexpr int kNaiveThreads = 256;  // the launch bounds of reduce_naive
constexpr int kPartsThreads = 128;

jit::FixedText device_op(ReduceOp op) {
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

std::uint32_t grid_for(std::int64_t rows, std::int64_t rows_per_block) {
  const std::int64_t blocks = divided_up(rows, rows_per_block);
  GPUFORGE_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(),
                 "reduce: {} rows, {} a block, are more than a grid has", rows, rows_per_block);
  return static_cast<std::uint32_t>(blocks);
}

// Of a slice, in what the kernel counts: vectors where rows are of neighbours, else elements. Rows of several
// slices are of 16 elements' multiples, whatever the vector, so that slices begin alike.
std::int32_t per_slice(const Rows& rows, const ReducePlan& plan, const ReduceConfig& config) {
  const std::int64_t vector = plan.kernel == ReduceKernel::rows ? plan.vector : 1;
  const std::int64_t elements = divided_up(divided_up(rows.length, config.split), 16) * 16;
  const std::int64_t count = divided_up(elements, vector);
  GPUFORGE_CHECK(count <= std::numeric_limits<std::int32_t>::max(),
                 "reduce: a row of {} needs more than {} slices", rows.length, config.split);
  return static_cast<std::int32_t>(count);
}

device::LaunchConfig launch_of(const Rows& rows, const ReducePlan& plan, const ReduceConfig& config) {
  std::int64_t at_once = config.block / config.group;
  if (plan.kernel == ReduceKernel::columns) at_once *= plan.vector;
  if (plan.kernel == ReduceKernel::ragged_columns) at_once = (at_once - 1) * plan.vector;
  if (plan.kernel == ReduceKernel::short_rows) at_once *= config.rows;
  device::LaunchConfig launch;
  launch.grid.x = grid_for(rows.count, plan.kernel == ReduceKernel::naive ? kNaiveThreads : at_once);
  launch.grid.y = static_cast<std::uint32_t>(config.split);
  launch.block.x =
      static_cast<std::uint32_t>(plan.kernel == ReduceKernel::naive ? kNaiveThreads : config.block);
  return launch;
}

}  // namespace

ReducePlan plan_reduce(const Rows& rows, device::Address x, DType dtype, const ReduceConfig& config) {
  if (config.naive) return {.kernel = ReduceKernel::naive};
  const RowStart start{0, x, element_bytes(dtype)};
  const int most = config.vector / static_cast<int>(start.element_bytes);
  switch (kind_of(rows)) {
    case RowsKind::columns: {
      const int vector = column_vector(rows, {start}, most);
      const bool ragged = vector < most && has_equal_distances(rows) && config.group % most == 0 &&
                          config.group < config.block && rows.count >= most &&
                          rows.arrays[0].axis_stride == rows.count;
      if (ragged) return {.kernel = ReduceKernel::ragged_columns, .vector = most};
      return {.kernel = ReduceKernel::columns, .vector = vector};
    }
    case RowsKind::strided:
      return {.kernel = ReduceKernel::strided};
    case RowsKind::unit:
      break;
  }
  ReducePlan plan{.kernel = ReduceKernel::rows, .vector = row_vector(rows, {start}, most)};
  plan.regular = has_equal_distances(rows);
  plan.aligned = plan.regular && is_aligned(rows, start, plan.vector);
  const std::int64_t at_once = std::int64_t{config.group} * config.flight * plan.vector;
  if (plan.aligned && config.split == 1 && config.group <= 32 && rows.length <= at_once)
    plan.kernel = ReduceKernel::short_rows;
  return plan;
}

jit::KernelId reduce_kernel_id(const ReducePlan& plan, DType dtype, ReduceOp op, const ReduceConfig& config) {
  const jit::FixedText of = device_op(op);
  switch (plan.kernel) {
    case ReduceKernel::naive:
      return {kFile, "gpuforge::reduce_naive", dtype, of};
    case ReduceKernel::strided:
      return {kFile, "gpuforge::reduce_strided", dtype, of, config.block, config.group, config.flight};
    case ReduceKernel::columns:
      return {kFile,        "gpuforge::reduce_columns", dtype, of, config.block, config.group, plan.vector,
              config.flight};
    case ReduceKernel::ragged_columns:
      return {
          kFile,        "gpuforge::reduce_ragged_columns", dtype, of, config.block, config.group, plan.vector,
          config.flight};
    case ReduceKernel::short_rows:
      return {kFile,        "gpuforge::reduce_short",
              dtype,        of,
              config.block, config.group,
              plan.vector,  config.flight,
              config.rows};
    case ReduceKernel::rows:
      break;
  }
  const jit::FixedText rows =
      plan.regular ? jit::FixedText("gpuforge::UnitRows<2>") : jit::FixedText("gpuforge::Rows<2>");
  return {kFile,       "gpuforge::reduce_rows", dtype,       of, rows, config.block, config.group,
          plan.vector, config.flight,           plan.aligned};
}

jit::KernelId reduce_parts_kernel_id(DType dtype, ReduceOp op) {
  return {kFile, "gpuforge::reduce_parts", dtype, device_op(op), kPartsThreads};
}

std::vector<std::shared_ptr<const jit::Kernel>> reduce_kernels(Context& context, const ReducePlan& plan,
                                                               DType dtype, ReduceOp op,
                                                               const ReduceConfig& config) {
  const auto find = [&](const jit::KernelId& id) {
    return context.jit().embedded_kernel(id, context.device());
  };
  std::vector kernels{find(reduce_kernel_id(plan, dtype, op, config))};
  if (config.split > 1) kernels.push_back(find(reduce_parts_kernel_id(dtype, op)));
  return kernels;
}

void launch_reduce(const Array& out, const Array& x, const Rows& rows, ReduceOp op,
                   const ReduceConfig& config, const std::shared_ptr<memory::Allocator>& scratch,
                   device::Stream& stream) {
  Context& context = x.context();
  const ReducePlan plan = plan_reduce(rows, x.address(), x.dtype(), config);
  const auto kernels = reduce_kernels(context, plan, x.dtype(), op, config);
  const device::LaunchConfig launch = launch_of(rows, plan, config);
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  const float scale = op == ReduceOp::mean ? 1.0f / static_cast<float>(rows.length) : 1.0f;
  if (plan.kernel == ReduceKernel::naive) {
    (*kernels[0])(launch, stream, out, x, device_rows<2>(rows), scale);
    return;
  }
  if (plan.kernel == ReduceKernel::short_rows) {
    (*kernels[0])(launch, stream, out, x, unit_device_rows<2>(rows), scale);
    return;
  }
  const std::int32_t slice = per_slice(rows, plan, config);
  const auto first = [&](const auto& parts) {
    if (plan.regular) {
      (*kernels[0])(launch, stream, out, parts, x, unit_device_rows<2>(rows), slice, scale);
    } else {
      (*kernels[0])(launch, stream, out, parts, x, device_rows<2>(rows), slice, scale);
    }
  };
  if (config.split == 1) return first(device::Address{0});
  const Array parts = empty(context.shared_from_this(), {rows.count, config.split, part_words(op)},
                            DType::f32, stream, scratch);
  first(parts);
  device::LaunchConfig second;
  second.grid.x = grid_for(rows.count, kPartsThreads / 32);
  second.block.x = kPartsThreads;
  (*kernels[1])(second, stream, out, parts, std::int32_t{config.split}, device_rows<2>(rows), scale);
}

}  // namespace gpuforge::ops
