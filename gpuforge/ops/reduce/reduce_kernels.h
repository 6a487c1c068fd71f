// The parts of reduce that need no data: the problem, the choice, the kernels. reduce_sum takes its best
// variant from here. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/ops/reason.h"
#include "gpuforge/ops/reduce/reduce.h"
#include "gpuforge/ops/rows.h"

namespace gpuforge::ops {

// x is array 0, out array 1; out does not move along the axis.
Rows reduce_rows(const Shape& x_shape, const Strides& x_strides, const Strides& out_strides,
                 std::size_t axis);
// The shape of the result; invalid_argument for an axis x does not have and for an amax of nothing.
Shape reduced_shape(std::string_view who, const Shape& x_shape, std::int64_t dim, ReduceOp op, bool keepdim);

// How rows lie in memory, which decides the kernel.
enum class RowsKind { unit, columns, strided };
RowsKind kind_of(const Rows& rows);

struct ReduceProblem {
  std::int64_t count = 0;    // rows
  std::int64_t length = 0;   // of each
  std::int64_t columns = 1;  // rows side by side in memory
  RowsKind kind = RowsKind::unit;
  DType dtype = DType::f32;
};
ReduceProblem reduce_problem(const Rows& rows, DType dtype);

struct ReduceConfig {
  int block = 256;  // threads
  int group = 32;   // of them, for one row: side by side, or below each other in columns
  int vector = 16;  // bytes a load has, where rows allow it
  int flight = 4;   // loads of a row under way at once
  int rows = 1;     // that a thread has at once, where it has each in `flight` loads
  int split = 1;    // blocks a row is cut into; their parts go through memory
  bool naive = false;
  friend bool operator==(const ReduceConfig&, const ReduceConfig&) = default;
};
Config to_config(const ReduceConfig& config);
// invalid_argument for a variant there is not, and for a name or value its kernels do not have.
ReduceConfig reduce_config(std::string_view who, std::string_view variant, const Config& config);
std::vector<Config> reduce_configs(const ReduceProblem& problem, const device::DeviceFacts& facts);

struct ReduceChoice {
  ReduceConfig config;
  Reason reason;
};
TuningKey reduce_tuning_key(std::string_view op, const ReduceProblem& problem, std::string_view variant);
// Pure: of the problem, the number of multiprocessors, and the table. `who` is the op whose entries count.
ReduceChoice choose_reduce(std::string_view who, const ReduceProblem& problem, std::string_view variant,
                           const device::DeviceFacts& facts, const TuningTable& table);

// Which kernel of reduce.cu has the call, as memory lies.
enum class ReduceKernel { short_rows, rows, strided, columns, ragged_columns, naive };
struct ReducePlan {
  ReduceKernel kernel = ReduceKernel::rows;
  int vector = 1;        // elements a load
  bool regular = false;  // rows are equally far from each other
  bool aligned = false;  // and begin at vectors, of which they have whole ones
};
ReducePlan plan_reduce(const Rows& rows, device::Address x, DType dtype, const ReduceConfig& config);
jit::KernelId reduce_kernel_id(const ReducePlan& plan, DType dtype, ReduceOp op, const ReduceConfig& config);
jit::KernelId reduce_parts_kernel_id(DType dtype, ReduceOp op);
// What a launch takes, the second stage last.
std::vector<std::shared_ptr<const jit::Kernel>> reduce_kernels(Context& context, const ReducePlan& plan,
                                                               DType dtype, ReduceOp op,
                                                               const ReduceConfig& config);

// Arguments were checked and there is something to write. Partial results live in `scratch`, or in memory of
// the context's when it is nullptr.
void launch_reduce(const Array& out, const Array& x, const Rows& rows, ReduceOp op,
                   const ReduceConfig& config, const std::shared_ptr<memory::Allocator>& scratch,
                   device::Stream& stream);
void reduce_cpu(const Array& out, const Array& x, const Rows& rows, ReduceOp op, device::Stream& stream);

}  // namespace gpuforge::ops
